//! Reads the workspace's own source and tells which crate names which ([`dependencies`]), which file of a crate reaches
//! which ([`House`]), and which files form circles ([`circles`]). The rules that it must obey are in `tests/rules/house.rs`.

mod circles;
mod crates;
mod house;
mod modules;
mod names;
mod reach;

pub use circles::circles;
pub use crates::dependencies;
pub use house::House;
