//! Devices that hold something: whoever wants them used all the same is told what would be lost, and asked.

use crate::confirm;
use crate::failure::Failure;
use cygnus_host::members::{self, Found};
use cygnus_host::place;
use std::path::{Path, PathBuf};

/// Asks whether what these hold may be lost, if `force` is to have them used whatever they hold. Without it the engine
/// refuses those that hold anything.
pub fn confirm(paths: &[PathBuf], force: bool, yes: bool) -> Result<(), Failure> {
    if !force {
        return Ok(());
    }
    let lost: Vec<String> = paths.iter().filter_map(|path| lost(path)).collect();
    match lost.is_empty() {
        true => Ok(()),
        false => confirm::confirm(&format!("{}: overwrite that?", lost.join(", ")), yes),
    }
}

/// What is on it, in words; `None` if there is nothing, or no such device.
fn lost(path: &Path) -> Option<String> {
    if !place::is_there(path) {
        return None;
    }
    let shown = path.display();
    match members::look(path) {
        Found::Nothing => None,
        Found::Member(member) => {
            let (name, array) = (&member.superblock.state.name, member.superblock.array);
            Some(format!("{shown} holds a member of array {name} ({array})"))
        }
        Found::Other(what) => Some(format!("{shown} holds {what}")),
        Found::Unreadable(why) => Some(format!("{why}, so nobody knows what it holds")),
    }
}
