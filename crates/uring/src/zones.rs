//! The zones of an open device: who keeps them in order, and how commands reach them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cygnus_runtime::{Capabilities, IoError, Op, Outcome, ZoneInfo, Zones};
use cygnus_zoned::{Shape, Zoned};

use crate::error::{OpenError, io_error, unsuitable};
use crate::opening::{Access, Opening};
use crate::zone_file::{ZoneFile, beneath, zoned_file};
use crate::zone_ioctl;

const NO_ZONES: &str = "it has no zones to be written in order";

/// See the module's text.
pub(crate) struct DeviceZones {
    /// What all reactors know of them.
    pub(crate) zoned: Arc<Zoned>,
    zones: Zones,
    /// Who keeps them, if the device is a file that stands for one with zones; else the kernel does.
    file: Option<ZoneFile>,
}

/// How the zones of a device stand, that is opened for this alone and only read.
///
/// # Errors
/// See [`OpenError`]; one without zones is unsuitable.
pub fn zones_at(path: &Path) -> Result<Vec<ZoneInfo>, OpenError> {
    let all = |count: u64, report: &dyn Fn(u32) -> Result<ZoneInfo, IoError>| {
        let zones = (0..count as u32).map(report).collect::<Result<_, _>>();
        zones.map_err(|error| io_error(path, "ask for its zones", io::Error::from_raw_os_error(error.errno)))
    };
    if let Some(file) = zoned_file(path) {
        let file = ZoneFile::open(file, false)?;
        return all(file.size() / file.zones().bytes, &|zone| file.report(zone));
    }
    let (opening, properties) = Opening::new(path, Access::ReadOnly, None)?;
    let zones = properties.capabilities.zones.ok_or_else(|| unsuitable(path, NO_ZONES.into()))?;
    all(properties.size.div_ceil(zones.bytes), &|zone| {
        zone_ioctl::report(opening.raw_fd(), u64::from(zone) * zones.bytes)
    })
}

/// Resets zones of a device that nobody else has open: what they hold is gone, and each can be written from its start again.
///
/// # Errors
/// See [`OpenError`]; one without zones is unsuitable, and so is one that lacks one of these zones, or has it among its conventional ones. Then none has
/// been reset.
pub fn reset_zones(path: &Path, numbers: &[u32]) -> Result<(), OpenError> {
    let (opening, mut properties) = Opening::new(beneath(path), Access::Exclusive, None)?;
    let file = zoned_file(path).map(|file| ZoneFile::open(file, true)).transpose()?;
    if let Some(file) = &file {
        (properties.size, properties.capabilities.zones) = (file.size(), Some(file.zones()));
    }
    let zones = properties.capabilities.zones.ok_or_else(|| unsuitable(path, NO_ZONES.into()))?;
    let start = |number: u32| u64::from(number) * zones.bytes;
    let failed = |doing| move |error: IoError| io_error(path, doing, io::Error::from_raw_os_error(error.errno));
    let count = properties.size.div_ceil(zones.bytes);
    for &number in numbers {
        if u64::from(number) >= count {
            return Err(unsuitable(path, format!("it has no zone {number}: its {count} zones are counted from 0")));
        }
        let zone = match &file {
            Some(file) => file.report(number),
            None => zone_ioctl::report(opening.raw_fd(), start(number)),
        };
        if zone.map_err(failed("ask for its zones"))?.pointer.is_none() {
            let why = format!("zone {number} is conventional, written anywhere, and cannot be reset: name others");
            return Err(unsuitable(path, why));
        }
    }
    let reset = |&number: &u32| match &file {
        Some(file) => file.reset(number),
        None => zone_ioctl::reset(opening.raw_fd(), start(number), zones.bytes),
    };
    numbers.iter().try_for_each(reset).map_err(failed("reset a zone"))
}

/// A command for a zone.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ZoneCommand {
    Report(u32),
    Reset(u32),
    Finish(u32),
}

impl DeviceZones {
    /// The zones of a device of `size` bytes, if it has any.
    ///
    /// # Errors
    /// When such a device cannot be written anywhere, whoever stands between.
    pub(crate) fn of(
        path: &Path,
        capabilities: &Capabilities,
        size: u64,
        file: Option<ZoneFile>,
    ) -> Result<Option<Self>, OpenError> {
        let Some(zones) = capabilities.zones else { return Ok(None) };
        let shape = Shape::of(&zones, size).map_err(|why| unsuitable(path, why.to_string()))?;
        Ok(Some(Self { zoned: Arc::new(Zoned::new(shape)), zones, file }))
    }

    /// Whether the device would take an operation; blocking for no longer than a lock. Real devices say so themselves.
    pub(crate) fn admit(&self, op: &Op) -> Result<(), IoError> {
        match (op, &self.file) {
            (Op::Write { offset, buf, .. }, Some(file)) => file.admit(*offset, buf.len() as u64),
            _ => Ok(()),
        }
    }

    /// An operation that was admitted has come to its end.
    pub(crate) fn ended(&self, op: &Op, result: Result<Outcome, IoError>) -> Result<Outcome, IoError> {
        match (op, &self.file) {
            (Op::Write { offset, buf, .. }, Some(file)) => {
                let kept = file.ended(*offset, buf.len() as u64, result.is_ok());
                result.and_then(|outcome| kept.map(|()| outcome))
            }
            _ => result,
        }
    }

    /// The device was opened anew: what was on its way is not any more.
    pub(crate) fn reopened(&self) {
        if let Some(file) = &self.file {
            file.nothing_is_under_way();
        }
    }

    /// How a zone stands; blocking.
    pub(crate) fn report(&self, opening: &Opening, zone: u32) -> io::Result<ZoneInfo> {
        let info = match &self.file {
            Some(file) => file.report(zone),
            None => zone_ioctl::report(opening.raw_fd(), u64::from(zone) * self.zones.bytes),
        };
        info.map_err(|error| io::Error::from_raw_os_error(error.errno))
    }

    /// Carries out a command; blocking.
    pub(crate) fn carry_out(&self, opening: &Opening, command: ZoneCommand) -> Result<Outcome, IoError> {
        let start = |zone: u32| u64::from(zone) * self.zones.bytes;
        match (command, &self.file) {
            (ZoneCommand::Report(zone), Some(file)) => file.report(zone).map(Outcome::Zone),
            (ZoneCommand::Report(zone), None) => zone_ioctl::report(opening.raw_fd(), start(zone)).map(Outcome::Zone),
            (ZoneCommand::Reset(zone), Some(file)) => file.reset(zone).map(|()| Outcome::Done),
            (ZoneCommand::Finish(zone), Some(file)) => file.finish(zone).map(|()| Outcome::Done),
            (ZoneCommand::Finish(zone), None) => {
                zone_ioctl::finish(opening.raw_fd(), start(zone), self.zones.bytes).map(|()| Outcome::Done)
            }
            (ZoneCommand::Reset(zone), None) => {
                zone_ioctl::reset(opening.raw_fd(), start(zone), self.zones.bytes).map(|()| Outcome::Done)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, NewZones, create_zoned_file};

    #[test]
    fn zones_are_reset_if_nobody_has_the_device_and_all_of_them_can_be() {
        const MIB: u64 = 1 << 20;
        let file = std::env::temp_dir().join(format!("cygnus-zones-{}-reset", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let zones = NewZones { bytes: MIB, capacity: MIB, conventional: 8, active_limit: 0 };
        create_zoned_file(&file, 32 * MIB, zones).unwrap();
        let written = ZoneFile::open(&file, true).unwrap();
        for number in 8..12 {
            written.admit(number * MIB, 8192).and_then(|()| written.ended(number * MIB, 8192, true)).unwrap();
        }
        drop(written);
        let path = std::path::PathBuf::from(format!("zoned:{}", file.display()));
        let bytes = || zones_at(&path).unwrap().iter().filter_map(|zone| Some(zone.pointer? - zone.start)).sum::<u64>();
        let refused = |numbers: &[u32]| reset_zones(&path, numbers).unwrap_err().to_string();
        assert!(refused(&[9, 32]).contains("no zone 32: its 32 zones"), "{}", refused(&[9, 32]));
        assert!(refused(&[9, 3]).contains("zone 3 is conventional"));
        let device = Device::open(&path, Access::Exclusive).unwrap();
        assert!(matches!(reset_zones(&path, &[9]), Err(OpenError::InUse { .. })), "{}", refused(&[9]));
        drop(device);
        assert_eq!(bytes(), 4 * 8192, "refused as a whole");
        reset_zones(&path, &[9, 11]).unwrap();
        assert_eq!(bytes(), 2 * 8192);
        assert!(reset_zones(&file, &[9]).unwrap_err().to_string().contains("no zones"), "it needs its prefix");
        std::fs::remove_file(&file).unwrap();
    }
}
