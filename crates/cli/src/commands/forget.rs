//! `cygnus array forget`

use super::Context;
use crate::failure::Failure;
use cygnus_host::ArrayName;
use cygnus_types::counted;
use serde::Serialize;
use std::path::PathBuf;

/// What was forgotten.
#[derive(Debug, Serialize)]
struct Forgotten {
    array: String,
    uuid: String,
    /// Where its members and spares were last seen.
    places: Vec<PathBuf>,
}

/// Does it: the state directory's file goes, and no device is looked at.
pub fn run(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(name)?;
    context.require_stopped(name, "forget")?;
    context.state.forget(name)?;
    let places: Vec<PathBuf> = record.paths().cloned().collect();
    let sentence = format!(
        "Forgot array {name}, last seen at {}. Nothing was written to them: 'cygnus array scan PATH...' finds it again.",
        counted(places.len(), "place"),
    );
    context.output.done(&Forgotten { array: record.name, uuid: record.uuid, places }, &sentence)
}
