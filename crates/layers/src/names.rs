//! What a path in the source means: the file in which it is defined.

use std::collections::BTreeMap;

use syn::{Item, UseTree};

use crate::modules::{ModulePath, Tree, is_for_tests};

/// How far a name is followed through re-exports.
const MOST_HOPS: usize = 16;

/// What the `use` lines of each module bring in.
pub(crate) struct Names<'a> {
    tree: &'a Tree,
    /// By module: name here, and the path that it stands for.
    named: BTreeMap<&'a ModulePath, BTreeMap<String, Vec<String>>>,
    /// By module: paths of which everything is brought in.
    globs: BTreeMap<&'a ModulePath, Vec<Vec<String>>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(tree: &'a Tree) -> Self {
        let mut names = Self { tree, named: BTreeMap::new(), globs: BTreeMap::new() };
        for (path, module) in &tree.modules {
            for item in &module.items {
                if let Item::Use(line) = item
                    && !is_for_tests(&line.attrs)
                {
                    names.bring_in(path, &mut Vec::new(), &line.tree);
                }
            }
        }
        names
    }

    fn bring_in(&mut self, module: &'a ModulePath, before: &mut Vec<String>, tree: &UseTree) {
        let mut name = |alias: String, before: &[String], last: &str| {
            let path = if last == "self" { before.to_vec() } else { [before, &[last.to_owned()]].concat() };
            self.named.entry(module).or_default().insert(alias, path);
        };
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.bring_in(module, before, &path.tree);
                before.pop();
            }
            UseTree::Name(leaf) if leaf.ident == "self" => {
                let alias = before.last().expect("`self` stands in braces behind a path").clone();
                name(alias, before, "self");
            }
            UseTree::Name(leaf) => name(leaf.ident.to_string(), before, &leaf.ident.to_string()),
            UseTree::Rename(leaf) => name(leaf.rename.to_string(), before, &leaf.ident.to_string()),
            UseTree::Glob(_) => self.globs.entry(module).or_default().push(before.clone()),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.bring_in(module, before, item)),
        }
    }

    /// The file in which that is defined which this path means in this module; `None` if it is of another crate, or local.
    pub(crate) fn file(&self, module: &ModulePath, path: &[String]) -> Option<usize> {
        self.follow(module, path, MOST_HOPS)
    }

    fn follow(&self, module: &ModulePath, path: &[String], hops: usize) -> Option<usize> {
        let hops = hops.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.within(&Vec::new(), rest, hops),
            "self" => self.within(module, rest, hops),
            "super" => self.within(&module[..module.len().checked_sub(1)?].to_vec(), rest, hops),
            _ => self.within(module, path, hops),
        }
    }

    /// Where `path` leads from a module, whose own names come first.
    fn within(&self, module: &ModulePath, path: &[String], hops: usize) -> Option<usize> {
        let hops = hops.checked_sub(1)?;
        let here = self.tree.modules.get(module)?;
        let Some((first, rest)) = path.split_first() else { return Some(here.file) };
        if first == "super" {
            return self.follow(module, path, hops);
        }
        let child = [module.as_slice(), std::slice::from_ref(first)].concat();
        if self.tree.modules.contains_key(&child) {
            return self.within(&child, rest, hops);
        }
        if here.items.iter().any(|item| defines(item, first)) {
            return Some(here.file);
        }
        if let Some(target) = self.named.get(module).and_then(|names| names.get(first)) {
            let whole = [target.as_slice(), rest].concat();
            return (target.as_slice() != path).then(|| self.follow(module, &whole, hops)).flatten();
        }
        let mut globs = self.globs.get(module).into_iter().flatten();
        globs.find_map(|from| self.follow(module, &[from.as_slice(), path].concat(), hops))
    }
}

/// Whether this item gives a thing this name.
fn defines(item: &Item, name: &str) -> bool {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => return item.ident.as_ref().is_some_and(|ident| ident == name),
        _ => return false,
    };
    ident == name
}
