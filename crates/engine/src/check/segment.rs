//! One segment, stripe by stripe: headers, then what they say of the map, then the rows.

use std::sync::Arc;

use cygnus_format::{Entry, Kind, Place, Stream, StripeError, StripeHeader};
use cygnus_types::{GroupId, SegmentId};

use crate::check::checker::Checker;
use crate::check::findings::{Finding, FindingKind};
use crate::check::maps::Matched;
use crate::check::result::SegmentResult;
use crate::check::rows;
use crate::check::window::Window;
use crate::read::page_check::own_entry;
use crate::read::scan::{FoundStripe, Scanner, merge};
use crate::space::segments::{SegIx, SegState};
use crate::volume_state::VolumeState;

/// A copy of a header that is wrong: where it is, and what is wrong with it.
struct BadCopy {
    column: u8,
    row: u32,
    why: String,
    /// A newer program has written it.
    newer: bool,
}

/// Checks a segment that holds something needed. Should it be emptied and used anew meanwhile, which happens beside a
/// running scrub, this ends with what was found before.
pub(crate) async fn verify(checker: &Checker, seg: SegIx, group: GroupId, segment: SegmentId) -> SegmentResult {
    let shared = &checker.reactor.shared;
    let geometry = shared.segments.shape(seg);
    let use_of = || match shared.segments.state(seg) {
        // Cleaning gave it up: the same blocks are in it.
        SegState::Damaged => (SegState::Sealed, shared.segments.seq(seg)),
        state => (state, shared.segments.seq(seg)),
    };
    let begun_as = use_of();
    let is_same = || use_of() == begun_as && !(checker.beside_guests && checker.reactor.is_ending());
    let mut result = SegmentResult { segments: 1, ..SegmentResult::default() };
    let mut window = Window::new(checker, group, segment);
    let mut matched = Matched::new(&geometry);
    let mut life = checker.pages.get(&seg).map(|&(life, _)| life);
    let mut row = 0;
    loop {
        let full = geometry.full_rows_at(row);
        if full == 0 {
            break;
        }
        let header = geometry.header_blocks(full);
        window.cover(row, row + header, true).await;
        if !is_same() {
            break;
        }
        let (stripe, bad) = read_headers(checker, &window, Place { group, segment, column: 0, row }, header, life);
        let Some(stripe) = stripe else {
            report_newer(checker, Place { group, segment, column: 0, row }, bad, &mut result);
            break;
        };
        life = Some(stripe.common.segment_seq);
        window.cover(row, stripe.common.end_row(), true).await;
        if !is_same() {
            break;
        }
        row = stripe.common.end_row();
        let before = result.findings.len();
        if match_entries(checker, seg, &stripe, &mut matched, &mut result) {
            result.stripes += 1;
            report_copies(checker, &stripe, bad, &mut result);
            rows::verify(checker, &window, &stripe, &mut result);
        }
        if result.findings.len() > before {
            result.damaged.push(stripe);
        }
        // Others get a turn between two stripes.
        checker.reactor.rt.yield_now().await;
    }
    matched.chain_end = row;
    if is_same() && matched.count < shared.segments.live(seg) {
        result.suspects.insert(seg, matched);
    }
    result.bytes += window.bytes;
    result
}

/// The stripe that begins at a row, and the copies of its header that are wrong.
fn read_headers(
    checker: &Checker,
    window: &Window<'_>,
    at: Place,
    blocks: u32,
    life: Option<u64>,
) -> (Option<FoundStripe>, Vec<BadCopy>) {
    let geometry = checker.reactor.shape(at.group, at.segment);
    let (width, copies) = (geometry.width(), geometry.header_copies());
    let mut good: Vec<(u32, StripeHeader<'_>)> = Vec::new();
    let mut bad = Vec::new();
    let blocks = blocks / copies;
    for (column, row) in (0..width).flat_map(|column| (0..copies).map(move |copy| (column, at.row + copy * blocks))) {
        let Some(bytes) = window.rows(column, row, blocks) else { continue };
        match Scanner::of(&checker.reactor).header_at(Place { column, ..at }, bytes, life) {
            _ if window.any_unreadable(column, row, blocks) => {
                bad.push(BadCopy { column, row, why: "the device cannot read it".into(), newer: false });
            }
            Ok(header) => good.push((row, header)),
            Err(StripeError::NotAStripe) => {
                bad.push(BadCopy { column, row, why: "no header is there".into(), newer: false });
            }
            Err(error) => {
                let newer = matches!(error, StripeError::UnknownProtection(_));
                bad.push(BadCopy { column, row, why: error.to_string(), newer });
            }
        }
    }
    let headers: Vec<_> = good.iter().map(|(_, header)| *header).collect();
    let stripe = merge(&headers, usize::from(width), 0);
    if let Some(stripe) = &stripe {
        for (row, header) in good {
            let column = header.column();
            if *header.common() != stripe.common {
                bad.push(BadCopy { column, row, why: "it is the header of another stripe".into(), newer: false });
            } else if !agrees(&header, stripe) {
                bad.push(BadCopy { column, row, why: "it contradicts the other copies".into(), newer: false });
            }
        }
    }
    (stripe, bad)
}

/// Whether a copy says the same as the copies joined.
fn agrees(header: &StripeHeader<'_>, stripe: &FoundStripe) -> bool {
    let same_entries = |column: u8| match (header.entries_of(column), &stripe.entries[usize::from(column)]) {
        (Some(mine), Some(joined)) => mine == &joined[..],
        _ => true,
    };
    header.discards() == &stripe.discards[..] && (0..stripe.common.width()).all(same_entries)
}

/// Reports a stripe that only a newer program can read.
fn report_newer(checker: &Checker, at: Place, bad: Vec<BadCopy>, result: &mut SegmentResult) {
    let Some(BadCopy { column, row, why, .. }) = bad.into_iter().find(|copy| copy.newer) else { return };
    let (device, offset) = checker.locate(Place { column, row, ..at });
    let text = format!("{device} at byte {offset}: {why}. Nothing is known of what the segment holds from there on");
    result.findings.push(Finding::new(FindingKind::Unaccounted, text).on(&device, offset));
}

fn report_copies(checker: &Checker, stripe: &FoundStripe, bad: Vec<BadCopy>, result: &mut SegmentResult) {
    let common = &stripe.common;
    for BadCopy { column, row, why, .. } in bad {
        let place = Place { group: common.group, segment: common.segment, column, row };
        checker.blame(place, |counters| &counters.corrupt);
        let (device, offset) = checker.locate(place);
        let kind = if why.contains("contradicts") { FindingKind::HeadersDiffer } else { FindingKind::Header };
        let text = format!(
            "{device} at byte {offset}: header of stripe {}: {why}. {} of {} copies are left; cleaning or rewriting its \
             blocks makes new ones",
            common.stripe_seq,
            stripe.copies,
            u32::from(common.width()) * common.rotation.copies(),
        );
        result.findings.push(Finding::new(kind, text).on(&device, offset));
    }
}

/// Compares the stripe's entries with the map, and notes which map entries have found their block. Says whether
/// anybody needs the stripe.
fn match_entries(
    checker: &Checker,
    seg: SegIx,
    stripe: &FoundStripe,
    matched: &mut Matched,
    result: &mut SegmentResult,
) -> bool {
    let common = &stripe.common;
    let pages = checker.pages.get(&seg).filter(|(life, _)| *life == common.segment_seq);
    let mut volume: Option<Arc<VolumeState>> = None;
    let mut needed = false;
    for (column, row, entry) in stripe.blocks() {
        let place = Place { group: common.group, segment: common.segment, column, row: common.first_data_row() + row };
        match entry.kind() {
            Kind::Data | Kind::Relocated => {
                if volume.as_ref().is_none_or(|v| v.id != entry.volume()) {
                    volume = checker.reactor.shared.volume(entry.volume());
                }
                let Some(volume) = &volume else { continue };
                if let Some(current) =
                    volume.controller.current_at(entry.lba(), checker.reactor.shared.layout.pba(place))
                {
                    needed = true;
                    result.mapped += 1;
                    matched.insert(column, place.row);
                    let of = &volume.controller;
                    let nth = (entry.lba().0 - of.page_of(entry.lba()).0, of.page_blocks());
                    let own = match current.is_of_page() {
                        true => own_entry(stripe, (column, row), current, nth),
                        false => Some(current),
                    };
                    if !own.is_some_and(|own| own.matches(entry.crc())) {
                        result.findings.push(wrong_bits(checker, place, entry));
                    }
                }
            }
            Kind::Meta | Kind::Packed | Kind::Protections if common.stream == Stream::Meta => {
                if pages.is_some_and(|&(_, generation)| generation == entry.seq()) {
                    needed = true;
                    *result.pages.entry(entry.seq()).or_default() += 1;
                }
            }
            Kind::Meta | Kind::Packed | Kind::Protections | Kind::Void | Kind::Parity => {}
        }
    }
    needed
}

fn wrong_bits(checker: &Checker, place: Place, entry: &Entry) -> Finding {
    let (device, offset) = checker.locate(place);
    let block = checker.block_name(entry.volume(), entry.lba());
    let text = format!(
        "{device} at byte {offset}: {block}: the map has another checksum than the stripe's summary ({:08x}): reading \
         it will fail; restore it from a backup",
        entry.crc()
    );
    Finding::new(FindingKind::Map, text).on(&device, offset).of_block(entry.volume(), entry.lba())
}

impl Checker {
    /// Reads and judges one segment.
    pub(crate) async fn segment(&self, seg: SegIx) -> SegmentResult {
        let (group, segment) = self.reactor.shared.segments.locate(seg);
        let needed = self.reactor.shared.segments.live(seg) > 0 || self.pages.contains_key(&seg);
        match needed {
            true => verify(self, seg, group, segment).await,
            false => self.unneeded(group, segment).await,
        }
    }

    /// A segment that nothing points to may hold anything, except stripes that nobody knows of.
    async fn unneeded(&self, group: GroupId, segment: SegmentId) -> SegmentResult {
        let mut result = SegmentResult::default();
        let Some(horizon) = self.horizon else { return result };
        let Some(first) = Scanner::of(&self.reactor).stripe_at(group, segment, 0, None).await else { return result };
        if first.common.stripe_seq >= horizon && first.common.stream != Stream::Meta {
            let seq = first.common.stripe_seq;
            let text = format!(
                "{group} {segment}: its first stripe has sequence {seq} and the newest checkpoint covers those below \
                 {horizon}, though the array was stopped cleanly: a superblock from before was put back?"
            );
            result.findings.push(Finding::new(FindingKind::Unaccounted, text));
        }
        result
    }
}
