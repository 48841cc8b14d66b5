//! Devices are made ready for an array, and forget that they were in one.

use std::rc::Rc;

use cygnus_format::DATA_START;
use cygnus_runtime::{DeviceInfo, DeviceIx, IoError};
use cygnus_types::BLOCK;

use crate::error::ArrayError;
use crate::reactor::Reactor;
use crate::read::parallel::for_each;
use crate::recover::create::wipe_device;
use crate::recover::slots::{PROBED, write_empty};

/// A device that is to forget that it was a member of a group of so many segments.
pub(crate) struct Released {
    pub dev: DeviceIx,
    pub name: String,
    pub segments: u32,
}

/// Makes devices ready: see the module's text.
#[derive(Clone)]
pub(crate) struct Preparer {
    reactor: Rc<Reactor>,
}

impl Preparer {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone() }
    }

    /// Makes a device that is new to the array ready for so many segments: no superblock, and no stripe header where a
    /// segment begins, that somebody could take for something current.
    pub(crate) async fn prepare(&self, segments: u32, device: &DeviceInfo) -> Result<(), IoError> {
        write_empty(&self.reactor.rt, device.ix).await.map_err(|failed| failed.error)?;
        self.clear_headers(segments, device.ix).await
    }

    /// Zeros where segments begin.
    pub(crate) async fn clear_headers(&self, segments: u32, dev: DeviceIx) -> Result<(), IoError> {
        let geometry = *self.reactor.shared.layout.geometry();
        if self.reactor.rt.capabilities(dev).resets.is_some() {
            // Behind a zone's pointer there are zeros.
            for segment in 0..segments {
                let at = geometry.device_offset(segment, 0);
                self.reactor.rt.trim(dev, at, geometry.segment_bytes()).await?;
            }
            return Ok(());
        }
        self.zero_ranges(dev, (0..segments).map(|s| (geometry.device_offset(s, 0), BLOCK)).collect()).await?;
        self.reactor.rt.flush(dev).await.map(drop)
    }

    async fn zero_ranges(&self, dev: DeviceIx, ranges: Vec<(u64, usize)>) -> Result<(), IoError> {
        let reactor = self.reactor.clone();
        let written = for_each(&self.reactor.rt, ranges, move |(offset, bytes)| {
            let reactor = reactor.clone();
            async move {
                let buf = reactor.rt.alloc(bytes).full();
                buf.zero(0..bytes);
                reactor.rt.write(dev, offset, buf).await.map(drop)
            }
        });
        written.await.into_iter().collect()
    }

    /// Has devices forget that they were members: in their superblocks, and in the headers by which salvage knows a device
    /// that has no superblock.
    pub(crate) async fn forget_released(&self, released: &[Released]) {
        for Released { dev, name, segments } in released {
            let forgotten = match wipe_device(&self.reactor.rt, *dev, name).await {
                Ok(()) => {
                    let cleared = self.clear_headers((*segments).min(PROBED), *dev).await;
                    cleared.map_err(|error| ArrayError::Io { device: name.clone(), offset: DATA_START, error })
                }
                Err(error) => Err(error),
            };
            match forgotten {
                Ok(()) => self.reactor.shared.log(format!("{name} is free for other use")),
                // The superblocks of the others say that it is no member, whatever its own says.
                Err(error) => self.reactor.shared.log(format!("{name} is no member any more: {error}")),
            }
        }
    }
}
