//! Opening an array: who its members are, and which regions a crash may have left unfinished.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_engine::{ArrayError, Assembly, Log, Work, assemble_in_place, change_member, depart};
use cygnus_format::{ArrayState, DATA_START, INTENT_OFFSET, INTENT_REGIONS, IntentBlock, MemberState};
use cygnus_runtime::{DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{BLOCK, Uuid};

use crate::array::Array;
use crate::inner::Inner;
use crate::intent::Intent;
use crate::layout::{Layout, Level};
use crate::ledger::Ledger;
use crate::raid::Raid;
use crate::report::OpenReport;

/// An array's parts, before anything of it was written.
pub(crate) struct Found {
    pub assembly: Assembly,
    pub layout: Layout,
    /// Regions whose bits were set when the last session ended without a clean stop.
    pub stale: BTreeSet<u32>,
}

/// The arithmetic of an array of this state.
pub(crate) fn layout_of(state: &ArrayState) -> Result<Layout, ArrayError> {
    let invalid = |why: String| ArrayError::Invalid(why);
    let level: Level = state
        .preset
        .parse()
        .map_err(|_| invalid(format!("{} has the unknown level {}: use a newer version", state.name, state.preset)))?;
    let geometry = &state.geometry;
    let segments = state.groups.iter().map(|group| group.segments()).min().unwrap_or(0);
    let chunks = u64::from(segments) * u64::from(geometry.segment_blocks / geometry.chunk_blocks);
    let blocks = chunks * u64::from(geometry.chunk_blocks);
    Layout::new(level, state.members().count(), geometry.chunk_blocks, blocks)
        .map_err(|error| invalid(error.to_string()))
}

/// Finds an array among devices; writes nothing.
pub(crate) async fn find(rt: &Runtime, devices: &[DeviceInfo], wanted: Option<Uuid>) -> Result<Found, ArrayError> {
    let assembly = assemble_in_place(rt, devices, wanted).await?;
    let state = &assembly.superblock.state;
    let layout = layout_of(state)?;
    if !state.geometry.segment_blocks.is_multiple_of(state.geometry.chunk_blocks) {
        return Err(ArrayError::Invalid(format!("{} has regions of broken chunks: use a newer version", state.name)));
    }
    let mut stale = BTreeSet::new();
    if !state.clean && layout.level() != Level::Raid0 {
        for device in assembly.devices.iter().flatten() {
            read_log(rt, device, assembly.superblock.array, state.groups[0].segments(), &mut stale).await;
        }
    }
    Ok(Found { assembly, layout, stale })
}

/// Collects the regions whose bits are set on a member, or cannot be read.
async fn read_log(rt: &Runtime, device: &DeviceInfo, array: Uuid, regions: u32, stale: &mut BTreeSet<u32>) {
    for index in 0..cygnus_format::intent::blocks_for(regions) {
        let buf = rt.alloc(BLOCK);
        let read = rt.read(device.ix, INTENT_OFFSET + u64::from(index) * BLOCK as u64, buf.full()).await.is_ok();
        let decoded =
            || IntentBlock::decode(buf.part(0..BLOCK)).and_then(|block| block.verify(array.tag(), index)).ok();
        let block = if read { decoded() } else { None };
        let first = index * INTENT_REGIONS;
        let set = |n: &u32| block.as_ref().is_none_or(|block| block.get(*n));
        stale.extend((0..INTENT_REGIONS.min(regions - first)).filter(set).map(|n| first + n));
    }
}

impl Array {
    /// Opens an array from its members among `devices`, in any order, and begins what has to be made good.
    ///
    /// # Errors
    /// When the devices do not make up an array, or too many of its members are missing.
    pub fn open<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        wanted: Option<Uuid>,
        log: Arc<dyn Log>,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Box::pin(open(rt, devices, wanted, log, false))
    }

    /// As [`Array::open`], also where a superblock is lost that may have been the newest: whether a member had left by then is
    /// not known, and one that had is read as if it had not.
    ///
    /// # Errors
    /// As [`Array::open`], except [`ArrayError::LostSuperblock`] and [`ArrayError::PartedWays`].
    pub fn open_by_force<'a>(
        rt: &'a Runtime,
        devices: &'a [DeviceInfo],
        wanted: Option<Uuid>,
        log: Arc<dyn Log>,
    ) -> Work<'a, Result<Self, ArrayError>> {
        Box::pin(open(rt, devices, wanted, log, true))
    }
}

async fn open(
    rt: &Runtime,
    devices: &[DeviceInfo],
    wanted: Option<Uuid>,
    log: Arc<dyn Log>,
    by_force: bool,
) -> Result<Array, ArrayError> {
    let began = rt.now();
    let mut found = find(rt, devices, wanted).await?;
    match found.assembly.refuse_lost() {
        Err(why) if by_force => log.line(&format!("open: by force: {why}")),
        sound => sound?,
    }
    match found.assembly.refuse_parted() {
        Err(why) if by_force => log.line(&format!("open: by force: {why}")),
        sound => sound?,
    }
    let claim = found.assembly.claim(rt)?;
    found.assembly.settle_superblocks(rt, |line| log.line(&format!("open: {line}"))).await;
    let was_clean = found.assembly.superblock.state.clean;
    let mut report = OpenReport { was_clean, stale_regions: found.stale.len(), ..OpenReport::default() };
    let returning = begin_session(&mut found);
    let open_hole = found.assembly.devices.iter().any(Option::is_none) && found.layout.level().parity() > 0;
    report.remarks.append(&mut found.assembly.remarks);
    if open_hole && !found.stale.is_empty() {
        report.remarks.push(format!(
            "power failed, or the server was killed, while {} regions were being written, and a member is away: \
                     blocks of that member in these regions may be wrong (the write hole)",
            found.stale.len()
        ));
    }
    let array = put_into_service(rt, found, &returning, log).await?;
    report.took = rt.now().since(began);
    report.remarks.iter().for_each(|remark| array.0.ledger().log.line(remark));
    array.0.report.replace(report);
    array.0.claim.set(Some(claim));
    array.0.begin_guardian();
    array.0.start_workers();
    Ok(array)
}

/// Notes in the state that a session begins and who is not there; returns the members that have come back and are to be
/// filled.
fn begin_session(found: &mut Found) -> Vec<(usize, DeviceInfo)> {
    let superblock = &mut found.assembly.superblock;
    let (generation, state) = (superblock.generation, &mut superblock.state);
    state.session += 1;
    state.clean = false;
    // Whoever is absent left in the session before: should it be opened without us, it will have a later one.
    let session = state.session - 1;
    let mut returning = Vec::new();
    let members = state.groups.iter_mut().flat_map(|group| &mut group.members);
    for (ix, desc) in members.enumerate() {
        if found.assembly.devices[ix].is_some() {
            continue;
        }
        if matches!(desc.state, MemberState::Online | MemberState::Rebuilding) {
            depart(desc, MemberState::Missing, 0, generation.saturating_sub(1), session);
        }
        if let Some(back) = found.assembly.returning.iter().find(|back| back.member.index() == ix) {
            change_member(desc, MemberState::Rebuilding);
            returning.push((ix, back.device.clone()));
        }
    }
    returning
}

async fn put_into_service(
    rt: &Runtime,
    found: Found,
    returning: &[(usize, DeviceInfo)],
    log: Arc<dyn Log>,
) -> Result<Array, ArrayError> {
    let Found { assembly, layout, stale } = found;
    // A member that is not there has a number that no device has: nothing is ever asked of it.
    let number = |device: &Option<DeviceInfo>| device.as_ref().map_or(DeviceIx(u16::MAX), |info| info.ix);
    let raid = Raid::new(rt.clone(), &assembly.devices.iter().map(number).collect::<Vec<_>>(), DATA_START, layout);
    let core = &raid.0;
    for ix in (0..layout.devices()).filter(|&ix| assembly.devices[ix].is_none()) {
        core.fail(core.slot(ix));
    }
    let mut devices = assembly.devices;
    for (ix, device) in returning {
        core.attach(*ix, device.ix, 0, false);
        devices[*ix] = Some(device.clone());
    }
    for (ix, device) in devices.iter().enumerate() {
        let name = device.as_ref().map_or_else(|| format!("member {ix}"), |device| device.name.clone());
        core.device(ix).name.replace(name);
    }
    let (array, state) = (assembly.superblock.array, &assembly.superblock.state);
    let geometry = &state.geometry;
    let stripes = u64::from(geometry.segment_blocks / geometry.chunk_blocks);
    let regions = state.groups[0].segments();
    let intent =
        (layout.level() != Level::Raid0).then(|| Intent::new(array.tag(), state.session, stripes, regions, &stale));
    let ledger = Rc::new(Ledger::new(assembly.superblock, intent, log));
    ledger.generation.set(assembly.last_generation);
    core.ledger.set(ledger.clone()).ok().expect("the array is new");
    let faulted = |error: crate::RaidError| ArrayError::Faulted(error.to_string());
    if let Some(intent) = ledger.intent() {
        intent.store(core).await.map_err(faulted)?;
    }
    ledger.commit(core).await.map_err(faulted)?;
    Ok(Array(Rc::new(Inner::new(rt.clone(), raid, devices))))
}
