//! Devices that keep only their first bytes. What is left is the engine.

use std::time::Instant;

use cygnus_format::DATA_START;
use cygnus_runtime::{DeviceInfo, DeviceIx, Op};
use cygnus_types::Nanos;

use crate::at_once::{AtOnce, Contents};

/// Bytes that each device keeps: the superblocks.
const KEPT: usize = DATA_START as usize;

pub(crate) struct FirstBytes {
    epoch: Instant,
    kept: Vec<Vec<u8>>,
}

/// A driver of `devices` devices of `size` bytes, and their descriptions.
pub(crate) fn null_driver(devices: usize, size: u64) -> (AtOnce<FirstBytes>, Vec<DeviceInfo>) {
    let info = |n| DeviceInfo { ix: DeviceIx(n as u16), name: format!("null{n}"), size, logical_block: 4096 };
    let contents = FirstBytes { epoch: Instant::now(), kept: vec![vec![0; KEPT]; devices] };
    (AtOnce::new(contents), (0..devices).map(info).collect())
}

impl FirstBytes {
    fn kept(&mut self, dev: DeviceIx, offset: u64, len: usize) -> Option<&mut [u8]> {
        self.kept[usize::from(dev.0)].get_mut(offset as usize..)?.get_mut(..len)
    }
}

impl Contents for FirstBytes {
    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    fn carry_out(&mut self, op: &Op) {
        match op {
            Op::Read { dev, offset, buf } => match self.kept(*dev, *offset, buf.len()) {
                Some(kept) => buf.copy_from(0, kept),
                None => buf.zero(0..buf.len()),
            },
            Op::Write { dev, offset, buf, .. } => {
                if let Some(kept) = self.kept(*dev, *offset, buf.len()) {
                    kept.copy_from_slice(buf.bytes());
                }
            }
            _ => {}
        }
    }
}
