//! The files of a crate and the modules in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, File, Item, ItemMod};

/// A module's path from the crate's root, which is empty.
pub(crate) type ModulePath = Vec<String>;

/// One file of a crate.
pub(crate) struct Source {
    /// Relative to the crate's `src`.
    pub path: PathBuf,
    pub module: ModulePath,
    pub syntax: File,
}

/// A module, in a file of its own or within another's.
pub(crate) struct Module {
    /// Which of the sources it is in.
    pub file: usize,
    pub items: Vec<Item>,
}

/// A crate's files and modules, without those that only tests have.
#[derive(Default)]
pub(crate) struct Tree {
    pub sources: Vec<Source>,
    pub modules: BTreeMap<ModulePath, Module>,
}

impl Tree {
    /// Reads all files that belong to the crate with this root file.
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        let base = root.parent().expect("a file is in a folder");
        tree.file(base, root, Vec::new());
        tree
    }

    fn file(&mut self, base: &Path, path: &Path, module: ModulePath) {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = self.sources.len();
        let items = syntax.items.clone();
        let relative = path.strip_prefix(base).expect("sources are below their root").to_owned();
        self.sources.push(Source { path: relative, module: module.clone(), syntax });
        self.module(base, &folder_of(path), module, file, items);
    }

    fn module(&mut self, base: &Path, folder: &Path, module: ModulePath, file: usize, items: Vec<Item>) {
        for item in &items {
            let Item::Mod(child) = item else { continue };
            if is_for_tests(&child.attrs) {
                continue;
            }
            let name = child.ident.to_string();
            let path = [module.as_slice(), std::slice::from_ref(&name)].concat();
            match &child.content {
                Some((_, within)) => self.module(base, &folder.join(&name), path, file, within.clone()),
                None => self.file(base, &file_of(folder, child), path),
            }
        }
        self.modules.insert(module, Module { file, items });
    }
}

/// Where the children of a file's module are.
fn folder_of(path: &Path) -> PathBuf {
    let stem = path.file_stem().expect("a file has a name");
    match stem.to_str() {
        Some("lib" | "main" | "mod") => path.parent().expect("a file is in a folder").to_owned(),
        _ => path.with_file_name(stem),
    }
}

fn file_of(folder: &Path, module: &ItemMod) -> PathBuf {
    let said = module.attrs.iter().find(|attr| attr.path().is_ident("path"));
    if let Some(syn::Meta::NameValue(pair)) = said.map(|attr| &attr.meta) {
        return folder.join(pair.value.to_token_stream().to_string().trim_matches('"'));
    }
    let flat = folder.join(format!("{}.rs", module.ident));
    if flat.exists() { flat } else { folder.join(module.ident.to_string()).join("mod.rs") }
}

/// Whether code with these attributes is there for tests only.
pub(crate) fn is_for_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let text = attr.meta.to_token_stream().to_string().replace(' ', "");
        text == "cfg(test)" || text == "test" || text.starts_with("cfg(all(test,")
    })
}
