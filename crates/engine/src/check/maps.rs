//! The maps against the summaries: entries that no summary knows, and blocks that are lost.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::{Geometry, MapEntry, Place};
use cygnus_parity as parity;
use cygnus_types::{BLOCK, Constraint, Lba, counted};

use crate::check::checker::block_name;
use crate::check::findings::{Finding, FindingKind};
use crate::reactor::Reactor;
use crate::read::of_page::OfPage;
use crate::space::segments::SegIx;
use crate::volume_state::VolumeState;

/// Which places of a segment the map and a summary agree on.
pub(crate) struct Matched {
    bits: Vec<u64>,
    segment_blocks: usize,
    pub count: u32,
    /// Row where the chain of stripes ended.
    pub chain_end: u32,
}

impl Matched {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let segment_blocks = geometry.segment_blocks as usize;
        let bits = vec![0; (segment_blocks * usize::from(geometry.width())).div_ceil(64)];
        Self { bits, segment_blocks, count: 0, chain_end: 0 }
    }

    fn bit(&self, column: u8, row: u32) -> (usize, u64) {
        let at = usize::from(column) * self.segment_blocks + row as usize;
        (at / 64, 1 << (at % 64))
    }

    pub(crate) fn insert(&mut self, column: u8, row: u32) {
        let (word, bit) = self.bit(column, row);
        self.count += u32::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    fn contains(&self, place: &Place) -> bool {
        let (word, bit) = self.bit(place.column, place.row);
        self.bits[word] & bit != 0
    }
}

/// Blocks of all volumes that the maps have as lost, by volume and address.
pub(crate) fn marked_lost(reactor: &Reactor) -> Vec<(Arc<VolumeState>, Lba)> {
    let mut lost = Vec::new();
    for volume in reactor.shared.volumes() {
        volume.controller.for_each_held(volume.blocks(), |lba, entry| {
            if !entry.is_mapped() {
                lost.push((volume.clone(), lba));
            }
        });
    }
    lost
}

/// Reports blocks that the maps have as lost: no segment tells of them any more.
pub(crate) fn report_lost(reactor: &Reactor, findings: &mut Vec<Finding>) {
    for (volume, lba) in marked_lost(reactor) {
        let block = block_name(reactor, volume.id, lba);
        let text =
            format!("{block} was lost when the array was opened by force: write it anew from a backup, or discard it");
        findings.push(Finding::new(FindingKind::Lost, text).of_block(volume.id, lba));
    }
}

/// Reports volumes that have blocks on a medium on which they must not be: how many, and the first of them.
pub(crate) fn report_misplaced(reactor: &Reactor, findings: &mut Vec<Finding>) {
    let segments = &reactor.shared.segments;
    for volume in reactor.shared.volumes() {
        let Constraint::Only(medium) = volume.constraint else { continue };
        let (mut misplaced, mut first) = (0_u64, None);
        volume.controller.for_each_mapped(|lba, entry| {
            let on = segments.medium(segments.of(entry.pba()));
            if on != medium {
                misplaced += 1;
                first.get_or_insert((lba, on));
            }
        });
        if let Some((lba, on)) = first {
            let (block, blocks) = (block_name(reactor, volume.id, lba), counted(misplaced, "block"));
            let text = format!(
                "{block} lies on {on}, and its volume is to be only on {medium}; {blocks} in all: write them anew"
            );
            findings.push(Finding::new(FindingKind::Misplaced, text).of_block(volume.id, lba));
        }
    }
}

/// A mapped block that no summary confirmed.
pub(crate) struct Unmatched {
    pub volume: Arc<VolumeState>,
    pub lba: Lba,
    entry: MapEntry,
    place: Place,
    /// Whether it lies behind the last stripe that can be found.
    behind: bool,
}

/// Every mapped block of these segments that no summary confirmed.
pub(crate) fn unmatched(reactor: &Reactor, suspects: &BTreeMap<SegIx, Matched>) -> Vec<Unmatched> {
    let mut found = Vec::new();
    if suspects.is_empty() {
        return found;
    }
    for volume in reactor.shared.volumes() {
        volume.controller.for_each_mapped(|lba, entry| {
            let place = reactor.place(entry);
            let suspect = suspects.get(&reactor.shared.segments.index(place.group, place.segment));
            if let Some(matched) = suspect.filter(|m| !m.contains(&place)) {
                let behind = place.row >= matched.chain_end;
                found.push(Unmatched { volume: volume.clone(), lba, entry, place, behind });
            }
        });
    }
    found
}

/// Looks at every mapped block that no summary confirmed.
pub(crate) async fn check_unmatched(
    reactor: &Rc<Reactor>,
    suspects: &BTreeMap<SegIx, Matched>,
    findings: &mut Vec<Finding>,
) {
    for Unmatched { volume, lba, entry, place, behind } in unmatched(reactor, suspects) {
        let state = match entry.is_of_page() {
            true => judge_of_page(reactor, &volume, lba, entry).await,
            false => judge(reactor, entry, place).await,
        };
        findings.push(describe(reactor, volume.id, lba, place, behind, state));
    }
}

/// What the devices have at the place of a map entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Intact,
    Restorable,
    Nothing,
}

async fn judge(reactor: &Rc<Reactor>, entry: MapEntry, place: Place) -> Found {
    let into = reactor.rt.alloc(BLOCK).full();
    let (member, _) = reactor.shared.member(place.group, place.column);
    let offset = reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
    let direct = match reactor.device_holding(member, place.segment) {
        Some(dev) => reactor.rt.read(dev, offset, into.clone()).await.is_ok(),
        None => false,
    };
    if direct && entry.matches(parity::checksum::crc32c(into.bytes())) {
        return Found::Intact;
    }
    match reactor.rebuild_block(&place, entry, &into).await {
        true => Found::Restorable,
        false => Found::Nothing,
    }
}

async fn judge_of_page(reactor: &Rc<Reactor>, volume: &VolumeState, lba: Lba, entry: MapEntry) -> Found {
    let fetched = OfPage::of(reactor, volume, lba, entry).fetch().await;
    let nth = lba.0 - volume.controller.page_of(lba).0;
    match fetched.right & 1 << nth {
        0 => Found::Nothing,
        _ if fetched.miss.is_none() => Found::Intact,
        _ => Found::Restorable,
    }
}

fn describe(
    reactor: &Reactor,
    volume: cygnus_types::VolumeId,
    lba: Lba,
    place: Place,
    behind: bool,
    found: Found,
) -> Finding {
    let (_, member) = reactor.shared.member(place.group, place.column);
    let offset = reactor.shared.layout.geometry().device_offset(place.segment.0, place.row);
    let block = block_name(reactor, volume, lba);
    let device = member.name();
    let why = match behind {
        true => "the headers that lead to its stripe are lost",
        false => "the summary of its stripe does not name it there",
    };
    let (kind, state) = match found {
        Found::Intact => (FindingKind::HeaderLost, "the block itself is intact: copy it away or write it anew"),
        Found::Restorable => (FindingKind::HeaderLost, "the other columns restore it: copy it away or write it anew"),
        Found::Nothing if behind => (FindingKind::Lost, "no device has it: restore it from a backup"),
        Found::Nothing => (FindingKind::Map, "the place holds something else: restore the block from a backup"),
    };
    let text = format!("{device} at byte {offset}: {block}: {why}; {state}");
    Finding::new(kind, text).on(&device, offset).of_block(volume, lba)
}
