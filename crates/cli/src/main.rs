//! The `cygnus` command.
fn main() {}
