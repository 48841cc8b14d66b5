//! What documents name is there: the files that they link to, and the sources that they point at.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace is two folders up")
}

/// Every file of this kind that belongs to the project.
fn files(kind: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the project can be read") {
            let path = entry.expect("its entries too").path();
            let name = path.file_name().expect("an entry has a name").to_string_lossy();
            // What cargo builds is marked as such; a crate is called `target` too.
            let is_built = path.join("CACHEDIR.TAG").exists();
            let is_ours = !name.starts_with('.') && !is_built && !["corpus", "artifacts"].contains(&&*name);
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == kind) {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no {kind} files below {}", root().display());
    found
}

/// What stands between `before` and `after`, everywhere in a text.
fn between<'a>(text: &'a str, before: &'a str, after: char) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split_once(after).map(|(inside, _)| inside))
}

#[test]
fn links_lead_somewhere() {
    let mut dead = Vec::new();
    for file in files("md") {
        let text = fs::read_to_string(&file).expect("a document is text");
        for link in between(&text, "](", ')').filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let path = link.split('#').next().expect("a split has a first part");
            if !file.with_file_name(path).exists() {
                dead.push(format!("{}: {link}", file.display()));
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere:\n{}", dead.join("\n"));
}

/// Sources that a text names in backquotes, by the end of their path or all of it, and that are not among `sources`.
fn names_of_no_source<'a>(text: &'a str, sources: &[PathBuf]) -> Vec<&'a str> {
    // Neither sentences nor patterns as `*.rs`.
    let is_name = |name: &&str| {
        name.ends_with(".rs") && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'))
    };
    let exists = |name: &&str| sources.iter().any(|source| source.ends_with(name));
    text.split('`').filter(is_name).filter(|name| !exists(name)).collect()
}

#[test]
fn a_name_of_no_source_is_noticed() {
    let sources = [PathBuf::from("crates/engine/src/read/path.rs")];
    let text = "`path.rs` is `read/path.rs`, but `read_path.rs`, `write/path.rs` and `engine/path.rs` are nothing.";
    assert_eq!(names_of_no_source(text, &sources), ["read_path.rs", "write/path.rs", "engine/path.rs"]);
}

#[test]
fn sources_and_decisions_that_are_named_exist() {
    let (mut missing, sources) = (Vec::new(), files("rs"));
    for file in files("md").iter().chain(&sources) {
        let text = fs::read_to_string(file).expect("a document or a source is text");
        let names = names_of_no_source(&text, &sources);
        missing.extend(names.into_iter().map(|name| format!("{}: {name}", file.display())));
    }
    for file in &sources {
        let text = fs::read_to_string(file).expect("a source is text");
        for name in between(&text, "docs/decisions/", '.').filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        {
            if !root().join("docs/decisions").join(format!("{name}.md")).exists() {
                missing.push(format!("{}: docs/decisions/{name}.md", file.display()));
            }
        }
    }
    missing.retain(|line| !line.contains("/tests/rules/documents.rs"));
    assert!(missing.is_empty(), "named and not there:\n{}", missing.join("\n"));
}

#[test]
fn every_decision_is_in_the_table_of_decisions() {
    let table = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the document is there");
    for page in fs::read_dir(root().join("docs/decisions")).expect("the folder is there") {
        let name = page.expect("a page").file_name().into_string().expect("a name in plain letters");
        assert!(name.as_bytes()[..3].iter().all(u8::is_ascii_digit), "{name} has no number");
        assert!(table.contains(&format!("docs/decisions/{name}")), "{name} is not in ARCHITECTURE.md's table");
    }
}
