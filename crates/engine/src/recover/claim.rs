//! One array works with a device. A program that opened an array twice, or made another one of its devices, would have two that write
//! to the same places and know nothing of each other.

use cygnus_runtime::{Claim, DeviceInfo, Runtime};

use crate::error::ArrayError;

/// Has devices for an array that is to be made.
///
/// # Errors
/// [`ArrayError::Twice`], or [`ArrayError::Open`].
pub fn claim_new(rt: &Runtime, devices: &[DeviceInfo]) -> Result<Claim, ArrayError> {
    let is_first = |at: usize| devices[..at].iter().all(|other| other.ix != devices[at].ix);
    match (0..devices.len()).find(|&at| !is_first(at)) {
        Some(twice) => Err(ArrayError::Twice(devices[twice].name.clone())),
        None => claim(rt, devices.iter()),
    }
}

/// Has devices for an array alone.
///
/// # Errors
/// [`ArrayError::Open`]: an open array of this program has one of them.
pub(crate) fn claim<'a>(
    rt: &Runtime,
    devices: impl Iterator<Item = &'a DeviceInfo> + Clone,
) -> Result<Claim, ArrayError> {
    if let Some(device) = devices.clone().find(|device| rt.capabilities(device.ix).read_only) {
        return Err(ArrayError::Invalid(format!(
            "{} was opened for reading only: open it for writing too",
            device.name
        )));
    }
    rt.claim(devices.clone().map(|device| device.ix)).map_err(|taken| {
        let name = devices.into_iter().find(|device| device.ix == taken).map(|device| device.name.clone());
        ArrayError::Open(name.unwrap_or_default())
    })
}
