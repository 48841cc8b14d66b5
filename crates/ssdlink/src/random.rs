//! Numbers that nobody can guess: identities of drives and hosts.

use std::fs::File;
use std::io::{self, Read};

/// Sixteen bytes of the system's randomness.
///
/// # Errors
/// When the system gives none.
pub fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
