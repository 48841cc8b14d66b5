//! Checking a stopped array: whether copies and parity fit the data. Which of them is wrong cannot be told, as there are no checksums:
//! a repair believes the first copy, and the data rather than the parity, as md does, and may thus destroy what was right.

use std::collections::BTreeSet;
use std::sync::Arc;

use cygnus_engine::{ArrayError, CheckProgress, CheckReport, Finding, FindingKind, Log, Work};
use cygnus_format::DATA_START;
use cygnus_runtime::{DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{BLOCK, Uuid};

use crate::array::Array;
use crate::inner::faulted;
use crate::open::{Found, find};
use crate::raid::Raid;
use crate::renew::Misfit;

/// Verifies an array without writing anything. `progress` is called after each region.
///
/// # Errors
/// When the devices do not make up an array, or too many of its members are missing.
pub fn check<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    wanted: Option<Uuid>,
    progress: impl Fn(CheckProgress) + 'a,
) -> Work<'a, Result<CheckReport, ArrayError>> {
    Box::pin(async move {
        let began = rt.now();
        let found = find(rt, devices, wanted).await?;
        let mut report = first_report(&found);
        let Found { assembly, layout, stale } = found;
        let geometry = assembly.superblock.state.geometry;
        let number = |device: &Option<DeviceInfo>| device.as_ref().map_or(DeviceIx(u16::MAX), |info| info.ix);
        let raid = Raid::new(rt.clone(), &assembly.devices.iter().map(number).collect::<Vec<_>>(), DATA_START, layout);
        let core = &raid.0;
        for ix in (0..layout.devices()).filter(|&ix| assembly.devices[ix].is_none()) {
            core.fail(core.slot(ix));
        }
        let per_region = u64::from(geometry.segment_blocks / geometry.chunk_blocks);
        let mut unfit = BTreeSet::new();
        for stripe in 0..layout.stripes() {
            let region = (stripe / per_region) as u32;
            for misfit in core.misfits(stripe).await {
                let finding = finding_of(misfit, stripe, &raid, &assembly.devices);
                if stale.contains(&region) {
                    unfit.insert(region);
                } else {
                    report.findings.push(finding);
                }
            }
            if (stripe + 1) % per_region == 0 {
                let (segments, of) = (region as usize + 1, report.segments as usize);
                progress(CheckProgress { segments, of, bytes: bytes_read(&raid) });
            }
        }
        if !stale.is_empty() {
            report.findings.push(unclean(&stale, &unfit));
        }
        let read = bytes_read(&raid);
        report.stripes = layout.stripes();
        report.blocks = read / BLOCK as u64;
        report.bytes = read;
        report.took = rt.now().since(began);
        Ok(report)
    })
}

fn bytes_read(raid: &Raid) -> u64 {
    (0..raid.0.layout.devices()).map(|device| raid.0.device(device).traffic.get().read).sum()
}

/// What the superblocks tell.
fn first_report(found: &Found) -> CheckReport {
    let superblock = &found.assembly.superblock;
    let mut findings = Vec::new();
    for remark in &found.assembly.remarks {
        findings.push(Finding::new(FindingKind::NotAMember, remark.clone()).into_information());
    }
    if let Err(error) = found.assembly.refuse_parted() {
        findings.push(Finding::new(FindingKind::MemberParted, error.to_string()));
    }
    for (ix, device) in found.assembly.devices.iter().enumerate() {
        if device.is_none() {
            let text = format!("member {ix} is not there, or is not up to date: bring it back, or replace it");
            findings.push(Finding::new(FindingKind::MemberMissing, text).of_device(&format!("member {ix}")));
        }
    }
    CheckReport {
        name: superblock.state.name.clone(),
        uuid: superblock.array,
        clean: superblock.state.clean,
        findings,
        lost: Vec::new(),
        segments: u64::from(superblock.state.groups[0].segments()),
        stripes: 0,
        blocks: 0,
        mapped: 0,
        bytes: 0,
        readmission: None,
        took: cygnus_types::Nanos::ZERO,
    }
}

fn unclean(stale: &BTreeSet<u32>, unfit: &BTreeSet<u32>) -> Finding {
    let text = format!(
        "a crash is not made up for yet: the next start resyncs {} regions, of which {} do not fit now",
        stale.len(),
        unfit.len()
    );
    Finding::new(FindingKind::Unclean, text).into_information()
}

fn finding_of(misfit: Misfit, stripe: u64, raid: &Raid, devices: &[Option<DeviceInfo>]) -> Finding {
    let layout = &raid.0.layout;
    let name = |device: usize| devices[device].as_ref().map_or_else(String::new, |info| info.name.clone());
    match misfit {
        Misfit::Differs { device, row, blocks } => {
            let (name, offset) = (name(device), DATA_START + layout.offset(stripe, row));
            let (kind, what) = match layout.level().parity() {
                0 => (FindingKind::Data, "are no copy of what the first of the members with that data has"),
                _ => (FindingKind::Parity, "of parity are not what the data gives"),
            };
            let text = format!(
                "{name}: {blocks} blocks from byte {offset} on {what} (stripe {stripe}), and nothing tells which is right"
            );
            Finding::new(kind, text).on(&name, offset).beyond_redundancy()
        }
        Misfit::Unreadable { device } => {
            let (name, offset) = (name(device), DATA_START + layout.offset(stripe, 0));
            let text =
                format!("{name}: the stripe at byte {offset} cannot be read: 'array check --repair' writes it anew");
            Finding::new(FindingKind::Data, text).on(&name, offset)
        }
    }
}

/// Opens an array, waits for what a crash or a member's return has left to be done, makes every stripe fit, and closes it
/// cleanly. Returns how many stripes did not fit.
///
/// # Errors
/// As for opening; or when a member fails.
pub fn repair<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    wanted: Option<Uuid>,
    log: Arc<dyn Log>,
    progress: impl Fn(u64, u64) + 'a,
) -> Work<'a, Result<u64, ArrayError>> {
    Box::pin(async move {
        let array = Array::open(rt, devices, wanted, log).await?;
        array.settled().await;
        let core = array.0.core();
        let mut mended = 0;
        for stripe in 0..core.layout.stripes() {
            let misfits = core.misfits(stripe).await;
            for misfit in &misfits {
                if let Misfit::Unreadable { device } = *misfit {
                    core.mend_stripe(stripe, device).await.map_err(faulted)?;
                }
            }
            if !misfits.is_empty() {
                core.resync_stripe(stripe).await.map_err(faulted)?;
                mended += 1;
            }
            progress(stripe + 1, core.layout.stripes());
        }
        core.settle().await.map_err(faulted)?;
        array.close().await?;
        Ok(mended)
    })
}
