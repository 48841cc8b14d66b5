//! Devices that are opened, and one reactor with them on the calling thread for work that ends.

use crate::HostError;
use crate::answer::Awaited;
use crate::members::Assembly;
use cygnus_uring::{Access, Config, Device, Holder, OpenError, RELEASE_PATIENCE, Reactor, block_on};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A reactor's configuration with these devices, and a seed nobody can guess: uuids come from it.
///
/// # Errors
/// When the system gives no random bytes.
pub fn config(devices: Vec<Device>) -> Result<Config, HostError> {
    const SOURCE: &str = "/dev/urandom";
    let mut seed = [0; 8];
    let read = File::open(SOURCE).and_then(|mut source| source.read_exact(&mut seed));
    read.map_err(|source| HostError::Read { path: SOURCE.into(), source })?;
    Ok(Config { devices, seed: u64::from_le_bytes(seed), ..Config::default() })
}

/// How long to wait for a device that somebody else holds. The kernel lets go of a process's files only some time after
/// the process is gone when they were registered with a ring; a command that follows another, or a server that follows
/// a killed one, must not stumble over that.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// Opens all of these.
///
/// # Errors
/// For the first one that is not to be had.
pub fn open_all<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, access: Access) -> Result<Vec<Device>, HostError> {
    let begun = Instant::now();
    // What is in use answers that at once, and is no device that gives no answer.
    let open = |path: &'a PathBuf| loop {
        let place = path.clone();
        match Awaited::new(path, move || Device::open_now(&place, access))?.wait()? {
            Err(OpenError::InUse { .. }) if begun.elapsed() < RELEASE_PATIENCE => std::thread::sleep(PATIENCE / 100),
            opened => return Ok(opened?),
        }
    };
    // One after the other: of two paths to one device the second is refused.
    paths.into_iter().map(open).collect()
}

/// Opens all of these to be read, while nobody else has them to write. What may only be read, or lies on a file system of that sort, cannot
/// be claimed, and need not be.
///
/// # Errors
/// For the first one that is not to be had.
pub fn open_all_to_read<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Device>, HostError> {
    let open = |path: &'a PathBuf| match open_all([path], Access::Exclusive) {
        Err(HostError::Open(OpenError::ReadOnly { .. })) => open_all([path], Access::ReadOnly),
        Err(HostError::Open(OpenError::Io { source, .. })) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            open_all([path], Access::ReadOnly)
        }
        opened => opened,
    };
    let opened: Result<Vec<_>, _> = paths.into_iter().map(open).collect();
    opened.map(|opened| opened.into_iter().flatten().collect())
}

/// The members that were found, opened to be read as by [`open_all_to_read`].
///
/// # Errors
/// As of that.
pub fn open_members_to_read(assembly: &Assembly) -> Result<Vec<Device>, HostError> {
    open_all_to_read(assembly.found().map(|member| &member.path)).map_err(|error| may_be_served(error, assembly))
}

/// The members that were found, opened.
///
/// # Errors
/// As of [`open_all`].
pub fn open_members(assembly: &Assembly, access: Access) -> Result<Vec<Device>, HostError> {
    open_all(assembly.found().map(|member| &member.path), access).map_err(|error| may_be_served(error, assembly))
}

/// The members that were found and can be opened to be written, and of the others why not. What is immutable, on a file system that
/// may only be read, or of another user is as good as away, and an array does without what its redundancy covers.
///
/// # Errors
/// When somebody else has one, who may be another server of the array; and when there is none that can be opened.
pub fn open_members_that_can(assembly: &Assembly) -> Result<(Vec<Device>, Vec<HostError>), HostError> {
    let (mut opened, mut refused) = (Vec::new(), Vec::new());
    for member in assembly.found() {
        match open_all([&member.path], Access::Exclusive) {
            Ok(devices) => opened.extend(devices),
            Err(error @ HostError::Open(OpenError::InUse { .. })) => return Err(may_be_served(error, assembly)),
            Err(error @ (HostError::Open(_) | HostError::NoAnswer { .. })) => refused.push(error),
            Err(error) => return Err(error),
        }
    }
    match opened.is_empty() {
        true if !refused.is_empty() => Err(refused.swap_remove(0)),
        _ => Ok((opened, refused)),
    }
}

/// Of a member that somebody else has, adds what to do if that is a server of this array.
pub fn may_be_served(error: HostError, assembly: &Assembly) -> HostError {
    match error {
        HostError::Open(OpenError::InUse { holder: Some(Holder::Devices(_)), .. }) => error,
        HostError::Open(source @ OpenError::InUse { by: None, .. }) => {
            HostError::Elsewhere { array: assembly.newest.state.name.clone(), source: Box::new(source) }
        }
        other => other,
    }
}

/// Runs `main` on a reactor with these devices, on the calling thread.
///
/// # Errors
/// What `main` returns; and when there is no reactor to be had.
pub fn on_reactor<T, E: From<HostError>>(
    devices: Vec<Device>,
    main: impl AsyncFnOnce(Reactor) -> Result<T, E>,
) -> Result<T, E> {
    block_on(&config(devices)?, main).map_err(HostError::from)?
}

/// Seconds since 1970 UTC.
pub fn now_unix() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
