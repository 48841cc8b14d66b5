//! The arm and the platters: how long it takes to get somewhere, and to move data there.

use cygnus_types::{BLOCK, Nanos};

use crate::disk::config::{DiskConfig, Seek};

/// Where the head is, and what it takes to move it. Positions are physical blocks, from the outermost track inwards.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    blocks: u64,
    revolution: f64,
    outer_rate: f64,
    inner_rate: f64,
    seek: Seek,
    /// Behind the last block accessed, when that was, and whether it was read.
    position: u64,
    since: Nanos,
    has_read: bool,
}

impl Head {
    /// `blocks`: all physical ones.
    pub(crate) fn new(config: &DiskConfig, blocks: u64) -> Head {
        Head {
            blocks,
            revolution: 60e9 / f64::from(config.rpm),
            outer_rate: config.outer_rate as f64 / 1e9,
            inner_rate: config.inner_rate as f64 / 1e9,
            seek: config.seek.clone(),
            position: 0,
            since: Nanos::ZERO,
            has_read: false,
        }
    }

    fn share(&self, block: u64) -> f64 {
        block as f64 / self.blocks as f64
    }

    /// Bytes per nanosecond at a block.
    fn rate(&self, block: u64) -> f64 {
        self.outer_rate + (self.inner_rate - self.outer_rate) * self.share(block)
    }

    /// Time to move `blocks` over the head.
    pub(crate) fn transfer(&self, block: u64, blocks: u64) -> Nanos {
        Nanos(((blocks * BLOCK as u64) as f64 / self.rate(block)).ceil() as u64)
    }

    /// Whether an access goes on where the last one ended without having let the place pass by: at once, or as a read
    /// after a read, because the disk has read ahead meanwhile.
    fn goes_on(&self, now: Nanos, block: u64, is_write: bool) -> bool {
        block == self.position && (now == self.since || (self.has_read && !is_write))
    }

    /// Time until an access that begins now could transfer its first block: seek, settle, rotation.
    pub(crate) fn positioning(&self, now: Nanos, block: u64, is_write: bool) -> Nanos {
        if self.goes_on(now, block, is_write) {
            return Nanos::ZERO;
        }
        let distance = self.share(block.abs_diff(self.position));
        let span = self.seek.full.since(self.seek.track).0 as f64;
        let seek = if distance > 0.0 { self.seek.track.0 as f64 + span * distance.sqrt() } else { 0.0 };
        let settled = seek + if is_write { self.seek.settle.0 as f64 } else { 0.0 };
        // Where the platter will be then, and where the block is on its track, both as shares of a turn.
        let turned = ((now.0 as f64 + settled) / self.revolution).fract();
        let place = ((block * BLOCK as u64) as f64 / (self.rate(block) * self.revolution)).fract();
        let wait = (place - turned + 1.0).fract() * self.revolution;
        Nanos((settled + wait) as u64)
    }

    /// The head stays where it is for a while, and what passes below it is not missed.
    pub(crate) fn linger(&mut self, time: Nanos) {
        self.since += time;
    }

    /// Accesses blocks; gives the time that takes.
    pub(crate) fn access(&mut self, now: Nanos, block: u64, blocks: u64, is_write: bool) -> Nanos {
        let positioning = self.positioning(now, block, is_write);
        let ahead = if self.goes_on(now, block, is_write) { now.since(self.since) } else { Nanos::ZERO };
        let takes = positioning + self.transfer(block, blocks).since(ahead);
        (self.position, self.since, self.has_read) = (block + blocks, now + takes, !is_write);
        takes
    }
}
