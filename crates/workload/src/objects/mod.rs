//! An object server on a file system: all objects are stored, then updated, then read.
//!
//! Modelled on OpenStack Swift on XFS, as far as the disk below can tell. A new object is a file in a new place: its data are
//! written, and fsync makes them durable with a flush, a record in the file system's log, and another flush. Files live
//! beside their inodes, 64 to a chunk; each object also has a directory, whose inode lies with those of other directories. The
//! inodes that were changed are written back now and then, in the order of the disk. An update writes a new file and gives up
//! the old one's place, which a later update takes. A read needs both inodes, eight of which come at once and stay in
//! memory, then the data.
//!
//! What a client does depends on the configuration and the seed alone: places and the order of objects are settled before
//! anything runs. So changed inodes are written back after so many objects, not after so many seconds, by the client whose turn it is.

mod client;
mod config;
mod plan;
mod space;

pub use config::Objects;

use crate::{Source, WorkloadError};
use client::Client;
use cygnus_runtime::Rng;
use cygnus_types::ByteSize;
use plan::Plan;
use space::Space;
use std::rc::Rc;

/// The clients: who clears the log as mkfs does, then who store, update and read, each kind when the one before has ended.
pub(crate) fn build(
    objects: &Objects,
    volume_size: u64,
    seeds: &mut Rng,
) -> Result<Vec<Box<dyn Source>>, WorkloadError> {
    objects.check()?;
    let mut space = Space::new(objects, volume_size).map_err(|needs| WorkloadError::Volume {
        name: "objects".into(),
        needs: ByteSize(needs),
        volume: ByteSize(volume_size),
    })?;
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for plan in Plan::all(objects, &mut space, seeds) {
        let plan = Rc::new(plan);
        let clients = (0..plan.clients).map(|n| Client::new(plan.clone(), n, objects.offset.0..volume_size));
        sources.extend(clients.map(|client| Box::new(client) as Box<dyn Source>));
    }
    Ok(sources)
}

#[cfg(test)]
mod tests;
