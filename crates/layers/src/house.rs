//! One crate's files, what each reaches, and the circles among them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::circles::circles;
use crate::modules::Tree;
use crate::names::Names;
use crate::reach::edges;

/// A crate, seen as files that reach each other.
///
/// A file reaches another if it names something that is defined there, by a `use` line or a path, or calls a method that
/// stands there although its type is defined elsewhere. What only tests name does not count, nor does what a file passes on
/// to others by `pub use`: who names it there reaches the file that defines it.
pub struct House {
    files: Vec<PathBuf>,
    edges: Vec<BTreeSet<usize>>,
}

impl House {
    /// Reads the crate in this folder.
    pub fn read(folder: &Path) -> Self {
        let root = ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name)).into_iter().find(|path| path.exists());
        let tree = Tree::read(&root.unwrap_or_else(|| panic!("{}: no crate's root", folder.display())));
        let edges = edges(&tree, &Names::new(&tree));
        Self { files: tree.sources.into_iter().map(|source| source.path).collect(), edges }
    }

    /// Files, relative to `src`.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Which file reaches which.
    pub fn arrows(&self) -> impl Iterator<Item = (&Path, &Path)> {
        let from = self.files.iter().zip(&self.edges);
        from.flat_map(|(from, to)| to.iter().map(|&to| (from.as_path(), self.files[to].as_path())))
    }

    /// Files that reach each other, directly or through others, the largest circle first.
    pub fn circles(&self) -> Vec<BTreeSet<&Path>> {
        circles(&self.edges)
            .into_iter()
            .map(|circle| circle.into_iter().map(|file| self.files[file].as_path()).collect())
            .collect()
    }
}
