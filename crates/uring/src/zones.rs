//! The zones of an open device: who keeps them in order, and how commands reach them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cygnus_runtime::{Capabilities, IoError, Op, Outcome, ZoneInfo, Zones};
use cygnus_zoned::{Shape, Zoned};

use crate::error::{OpenError, io_error, unsuitable};
use crate::opening::{Access, Opening};
use crate::zone_file::{ZoneFile, zoned_file};
use crate::zone_ioctl;

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
    let zones = properties
        .capabilities
        .zones
        .ok_or_else(|| unsuitable(path, "it has no zones to be written in order".into()))?;
    all(properties.size.div_ceil(zones.bytes), &|zone| {
        zone_ioctl::report(opening.raw_fd(), u64::from(zone) * zones.bytes)
    })
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
