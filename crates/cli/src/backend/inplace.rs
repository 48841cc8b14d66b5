//! Arrays that update in place, for the commands: opened and checked.

use super::places;
use crate::failure::Failure;
use cygnus_engine::{CheckProgress, CheckReport, Log};
use cygnus_host::devices::{may_be_served, on_reactor, open_all, open_all_to_read, open_members};
use cygnus_host::members::Assembly;
use cygnus_host::state::ArrayRecord;
use cygnus_inplace::{Array, CreateOptions};
use cygnus_types::Uuid;
use cygnus_uring::Access;
use std::path::PathBuf;
use std::sync::Arc;

/// Makes an array of these members, in this order.
pub fn create(members: &[PathBuf], options: &CreateOptions) -> Result<Uuid, Failure> {
    on_reactor(open_all(members, Access::Exclusive)?, async |reactor| {
        cygnus_inplace::create(&reactor.rt, &reactor.devices, options).await.map_err(Failure::of)
    })
}

/// Opens a stopped array, does something with it, and closes it cleanly.
pub fn with_array<T>(
    assembly: &Assembly,
    log: Arc<dyn Log>,
    work: impl AsyncFnOnce(&Array) -> Result<T, Failure>,
) -> Result<T, Failure> {
    on_reactor(open_members(assembly, Access::Exclusive)?, async |reactor| {
        let array = Array::open(&reactor.rt, &reactor.devices, Some(assembly.newest.array), log).await;
        let array = array.map_err(Failure::from)?;
        let done = work(&array).await;
        // Also when the work failed: what it did not do is no reason to leave the array unclean.
        array.close().await.map_err(Failure::from)?;
        done
    })
}

/// Checks a stopped array without writing anything to it.
pub fn check(
    record: &ArrayRecord,
    assembly: &Assembly,
    progress: impl Fn(CheckProgress) + 'static,
) -> Result<CheckReport, Failure> {
    let wanted = record.array()?;
    let devices = open_all_to_read(places(record, assembly)).map_err(|error| may_be_served(error, assembly))?;
    on_reactor(devices, async |reactor| {
        let checked = cygnus_inplace::check(&reactor.rt, &reactor.devices, Some(wanted), progress).await;
        checked.map_err(Failure::from)
    })
}

/// Makes copies and parity of a stopped array fit; returns how many stripes did not.
pub fn repair(assembly: &Assembly, log: Arc<dyn Log>, progress: impl Fn(u64, u64)) -> Result<u64, Failure> {
    let wanted = Some(assembly.newest.array);
    on_reactor(open_members(assembly, Access::Exclusive)?, async |reactor| {
        let mended = cygnus_inplace::repair(&reactor.rt, &reactor.devices, wanted, log, progress).await;
        mended.map_err(Failure::from)
    })
}
