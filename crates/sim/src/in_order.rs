//! A device that is to be written in order: what of a write it takes, and what its cache loses.

use std::ops::Range;
use std::sync::Arc;

use cygnus_format::DATA_START;
use cygnus_runtime::{IoError, IoErrorKind, Rng, ZoneInfo};
use cygnus_ssd::{Device, Model};
use cygnus_types::BLOCK;
use cygnus_zoned::{HEAD, Shape, ShapeError, Zoned};

use crate::disk::Disk;
use crate::media::Content;
use crate::model::zones_of;

// Superblocks are never in order, and patches lie behind them.
const _: () = assert!(DATA_START <= HEAD);

/// Whether an array can have a model as a member, if that is to be written in order.
///
/// # Errors
/// What its zones lack.
pub fn check_zones(model: &Model) -> Result<(), ShapeError> {
    match zones_of(model) {
        Some(zones) => Shape::of(&zones, model.blocks() * BLOCK as u64).map(drop),
        None => Ok(()),
    }
}

impl Disk {
    /// How many blocks of a write a device with zones has taken: all, or a part from the first one on.
    pub(crate) fn begun_in_order(&mut self, blocks: &Range<u64>, rng: &mut Rng, likely: u64) -> usize {
        let count = (blocks.end - blocks.start) as usize;
        match &mut self.zones {
            Some(zones) => match zones.admits(blocks) {
                false => 0,
                true if likely >= 256 => count,
                true => (0..count).take_while(|_| rng.chance(likely, 256)).count(),
            },
            None => count,
        }
    }

    /// A zone is empty.
    pub(crate) fn reset(&mut self, zone: u32) -> Result<(), IoError> {
        let blocks = self.zones.as_mut().and_then(|zones| zones.reset(zone));
        let blocks = blocks.ok_or(IoError::new(IoErrorKind::Range))?;
        blocks.for_each(|block| self.store_durably(block, Content::Zeros));
        Ok(())
    }

    /// Nothing more is written to a zone until it is reset.
    pub(crate) fn finish(&mut self, zone: u32) -> Result<(), IoError> {
        self.zones.as_mut().and_then(|zones| zones.finish(zone)).ok_or(IoError::new(IoErrorKind::Range))
    }

    /// What those who have it open know of its zones: the same for all of them, and nothing for whoever is the first to open it.
    pub(crate) fn zoned(&mut self) -> Option<Arc<Zoned>> {
        if let Some(known) = self.zoned.as_ref().filter(|known| Arc::strong_count(known) > 1) {
            return Some(known.clone());
        }
        self.zoned = Some(Arc::new(Zoned::new(self.shape()?)));
        self.zoned.clone()
    }

    /// Where things lie on it, if it is to be written in order.
    fn shape(&self) -> Option<Shape> {
        let shape = Shape::of(&self.config.zones?, self.config.size);
        Some(shape.unwrap_or_else(|why| panic!("{}: {why}", self.config.name)))
    }

    /// Bytes of the device, for whoever has somebody between.
    pub(crate) fn size(&self) -> u64 {
        self.shape().map_or(self.config.size, |shape| shape.size * BLOCK as u64)
    }

    /// How a zone stands, of a device without a model.
    pub(crate) fn zone_info(&mut self, zone: u32) -> Option<ZoneInfo> {
        self.zones.as_mut()?.info(zone)
    }

    pub(crate) fn harden(&mut self, barrier: u64) {
        self.media.harden(barrier);
        if let Some(zones) = &mut self.zones {
            zones.harden(barrier);
        }
    }

    /// What is in its cache stays with probability `keep`/256, block by block; of a zone from its start on.
    pub(crate) fn lose(&mut self, rng: &mut Rng, keep: u64) {
        for (stay, gone) in self.zones.as_mut().map(|zones| zones.lose_power(rng, keep)).unwrap_or_default() {
            stay.for_each(|block| self.media.harden_block(block));
            gone.for_each(|block| self.store_durably(block, Content::Zeros));
        }
        self.media.lose_power(rng, keep);
    }

    /// Whatever became of a write, the device believes to have done it.
    pub(crate) fn advance(&mut self, blocks: &Range<u64>, tick: u64) {
        if let Some(zones) = &mut self.zones {
            zones.advance(blocks, tick);
        }
    }
}
