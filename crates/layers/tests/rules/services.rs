//! What is done over a reactor is a service of its own, and no method of the reactor: each method there can be called from
//! everywhere, with all that the reactor holds.

use std::path::{Path, PathBuf};

use syn::{ImplItem, Item, Type};

/// Methods that `Reactor` has, in all files of the engine. The number may only become smaller.
const METHODS: usize = 78;

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the engine has sources") {
        let path = entry.expect("a folder can be read").path();
        match path.is_dir() {
            true => found.extend(sources(&path)),
            false => found.push(path),
        }
    }
    found
}

/// How many methods of a type's own a file has.
fn methods_of(name: &str, source: &str) -> usize {
    let is_it = |ty: &Type| matches!(ty, Type::Path(path) if path.path.is_ident(name));
    let file = syn::parse_file(source).expect("it compiles");
    let own = file.items.iter().filter_map(|item| match item {
        Item::Impl(of) if of.trait_.is_none() && is_it(&of.self_ty) => Some(&of.items),
        _ => None,
    });
    own.flatten().filter(|item| matches!(item, ImplItem::Fn(_))).count()
}

#[test]
fn the_reactor_gets_no_more_methods() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("engine").join("src");
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a source is text");
    let methods: usize = sources(&engine).iter().map(|path| methods_of("Reactor", &text(path))).sum();
    assert_eq!(methods, METHODS, "more: make a service of what is new (ARCHITECTURE.md); fewer: write the number down");
}

#[test]
fn only_methods_of_the_type_itself_count() {
    let source = "impl Reactor { fn a() {} const B: u8 = 0; fn c(&self) {} } impl Room for Reactor { fn d() {} } \
                  impl Service { fn e(reactor: &Reactor) {} } impl Reactor { fn f() {} }";
    assert_eq!(methods_of("Reactor", source), 3);
}
