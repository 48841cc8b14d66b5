use cygnus_types::ByteSize;
use thiserror::Error;

/// A volume would become smaller, and that was not asked for (`--shrink`).
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{name} is {now} now: to make it smaller, and lose what lies behind {size}, add --shrink")]
pub struct Shrink {
    /// Name of the volume.
    pub name: String,
    /// Size that it has.
    pub now: ByteSize,
    /// Size that was asked for.
    pub size: ByteSize,
}

/// Refuses to make a volume of `now` bytes smaller unless that was asked for.
///
/// # Errors
/// That is the error.
pub fn check_shrink(now: u64, name: &str, size: ByteSize, shrink: bool) -> Result<(), Shrink> {
    match size.0 < now && !shrink {
        true => Err(Shrink { name: name.into(), now: ByteSize(now), size }),
        false => Ok(()),
    }
}
