//! Which crate of the workspace names which, by their manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What each crate in this folder depends on, of those whose names begin with `prefix`; names without the prefix. What only
/// tests depend on is left out.
pub fn dependencies(folder: &Path, prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let manifests = entries.map(|entry| entry.expect("a folder can be read").path().join("Cargo.toml"));
    manifests.filter(|path| path.exists()).map(|path| of_manifest(&path, prefix)).collect()
}

fn of_manifest(path: &Path, prefix: &str) -> (String, BTreeSet<String>) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let manifest: toml::Table = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let own = |name: &str| name.strip_prefix(prefix).map(str::to_owned);
    let name = manifest["package"]["name"].as_str().expect("a package has a name");
    let all = manifest.get("dependencies").and_then(toml::Value::as_table);
    let named = all.into_iter().flat_map(toml::Table::keys).filter_map(|key| own(key)).collect();
    (own(name).unwrap_or_else(|| name.to_owned()), named)
}
