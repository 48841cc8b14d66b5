//! What one file reaches: the files of the paths that it names, and those of methods that it calls although they stand in
//! another file than their type.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{ExprMethodCall, ImplItem, Item, ItemFn, ItemImpl, ItemMod, Path, Type, UseTree, Visibility};

use crate::modules::{ModulePath, Tree, is_for_tests};
use crate::names::Names;

/// Methods by name, with the files that have one of that name in an `impl` of a type which another file defines.
pub(crate) type Outposts = BTreeMap<String, BTreeSet<usize>>;

/// Methods of the crate's types that stand elsewhere than their type. Names that occur twice in the crate are left out: a
/// call of them does not say which is meant.
pub(crate) fn outposts(tree: &Tree, names: &Names) -> Outposts {
    let mut everywhere: BTreeMap<String, BTreeSet<(usize, bool)>> = BTreeMap::new();
    for (path, module) in &tree.modules {
        for item in &module.items {
            let Item::Impl(block) = item else { continue };
            if is_for_tests(&block.attrs) {
                continue;
            }
            let own = block.trait_.is_none() && home_of(block, path, names).is_some_and(|file| file != module.file);
            for method in methods(block) {
                everywhere.entry(method).or_default().insert((module.file, own));
            }
        }
    }
    let single = |(name, places): (String, BTreeSet<(usize, bool)>)| {
        let away: BTreeSet<usize> = places.iter().filter(|(_, away)| *away).map(|(file, _)| *file).collect();
        (places.len() == 1 && !away.is_empty()).then_some((name, away))
    };
    everywhere.into_iter().filter_map(single).collect()
}

/// The file of the type that a block gives methods to.
fn home_of(block: &ItemImpl, module: &ModulePath, names: &Names) -> Option<usize> {
    let Type::Path(of) = block.self_ty.as_ref() else { return None };
    names.file(module, &segments(&of.path))
}

fn methods(block: &ItemImpl) -> impl Iterator<Item = String> {
    block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    })
}

fn segments(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// The files that each file reaches, itself not among them.
pub(crate) fn edges(tree: &Tree, names: &Names) -> Vec<BTreeSet<usize>> {
    let outposts = outposts(tree, names);
    let reached = (0..tree.sources.len()).map(|file| {
        let module = tree.sources[file].module.clone();
        let mut reader = Reader { names, outposts: &outposts, module, reached: BTreeSet::new() };
        reader.visit_file(&tree.sources[file].syntax);
        reader.reached.remove(&file);
        reader.reached
    });
    reached.collect()
}

struct Reader<'a> {
    names: &'a Names<'a>,
    outposts: &'a Outposts,
    module: ModulePath,
    reached: BTreeSet<usize>,
}

impl Reader<'_> {
    fn name(&mut self, path: &[String]) {
        self.reached.extend(self.names.file(&self.module, path));
    }

    fn call(&mut self, method: &str) {
        self.reached.extend(self.outposts.get(method).into_iter().flatten());
    }

    fn use_line(&mut self, before: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.use_line(before, &path.tree);
                before.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.use_line(before, item)),
            UseTree::Name(leaf) if leaf.ident == "self" => self.name(before),
            UseTree::Name(leaf) => self.name(&[before.as_slice(), &[leaf.ident.to_string()]].concat()),
            UseTree::Rename(leaf) => self.name(&[before.as_slice(), &[leaf.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.name(before),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let Some((_, items)) = item.content.as_ref().filter(|_| !is_for_tests(&item.attrs)) else { return };
        self.module.push(item.ident.to_string());
        items.iter().for_each(|item| self.visit_item(item));
        self.module.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // What is passed on to others is followed from where they name it.
        if matches!(item.vis, Visibility::Inherited) && !is_for_tests(&item.attrs) {
            self.use_line(&mut Vec::new(), &item.tree);
        }
    }

    /// `pub(crate)` names nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_path(&mut self, path: &'ast Path) {
        let segments = segments(path);
        self.name(&segments);
        if let [_, .., last] = segments.as_slice() {
            self.call(last);
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.call(&call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }
}
