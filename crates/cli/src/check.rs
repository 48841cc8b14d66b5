//! `array check`: everything on the disks of a stopped array against everything else. Changes nothing.
//!
//! 1. Superblocks: members there, of one generation, both slots readable.
//! 2. Opening without writing: checkpoint, replay.
//! 3. Every stripe in a segment that holds anything needed: headers on all columns, entries alike in all copies, the
//!    checksum of every block, parity.
//! 4. Every map entry: the summary of the stripe it points into says the same volume, address and checksum.
//!
//! A stripe that was being written when power failed may be torn, and stays so until its segment is cleaned. That is
//! worth a note, not a complaint, unless a flush is known to have covered it.

use crate::members::Assembly;
use crate::ondisk::{Columns, FoundStripe, Header};
use cygnus_control::paint::{Paint, Tone};
use cygnus_engine::Array;
use cygnus_format::{Entry, Kind, Layout, MapEntry, Role, RootUse, crc32c};
use cygnus_types::{BLOCK, ByteSize, GroupId, Lba, SegmentId, VolumeId};
use serde::Serialize;
use std::collections::BTreeMap;

/// What was found.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    name: String,
    /// Inconsistencies: the array is not as it should be.
    pub problems: Vec<String>,
    /// Oddities that are no damage.
    notes: Vec<String>,
    /// Segments looked at.
    segments: u64,
    /// Stripes looked at.
    stripes: u64,
    /// Blocks whose checksum was compared.
    blocks: u64,
    /// Map entries compared.
    mapped: u64,
}

/// A map entry, seen from the place it points to.
struct Expected {
    column: u8,
    row: u32,
    volume: VolumeId,
    lba: Lba,
    entry: MapEntry,
}

/// Checks what the superblocks say of themselves and each other.
pub fn superblocks(assembly: &Assembly) -> Report {
    let mut report = Report { name: assembly.newest.state.name.clone(), ..Report::default() };
    for index in assembly.missing() {
        report.problems.push(format!("member {index} is missing; what it holds was not checked"));
    }
    report.problems.extend(assembly.oddities.iter().cloned());
    for member in assembly.members.iter().flatten() {
        let (path, generation) = (member.path.display(), member.superblock.generation);
        let newest = assembly.newest.generation;
        if generation != newest {
            report.problems.push(format!("{path}: superblock of generation {generation}, the newest is {newest}"));
        }
        if let Some(error) = &member.other_slot
            && newest > 1
        {
            report.notes.push(format!("{path}: the other superblock slot: {error}"));
        }
    }
    report
}

/// Checks an array that was opened without writing.
pub fn contents(array: &Array, assembly: &Assembly, report: &mut Report) -> Result<(), String> {
    let state = &assembly.newest.state;
    let layout = state.layout().map_err(|error| error.to_string())?;
    report.notes.extend(array.recovery().remarks.iter().cloned());
    let durable = durable_marks(assembly, &layout)?;
    for group in (0..layout.groups() as u16).map(GroupId) {
        // One group at a time bounds the memory that the expectations take.
        let mut expected = expectations(array, &layout, group, report);
        for root in state.roots.iter().flatten() {
            let pages = root.segments.iter().filter(|at| at.group == group && at.use_of == RootUse::Pages);
            for at in pages {
                expected.entry(at.segment).or_default();
            }
        }
        let columns = Columns::open(assembly, &layout, group)?;
        let checker = Checker { columns: &columns, group, durable: &durable, assembly, layout: &layout };
        for (segment, expected) in expected {
            checker.segment(segment, expected, report);
        }
    }
    Ok(())
}

/// By session: the stripe sequence below which everything was durable, as far as the disks tell.
fn durable_marks(assembly: &Assembly, layout: &Layout) -> Result<BTreeMap<u64, u64>, String> {
    let mut marks: BTreeMap<u64, u64> = BTreeMap::new();
    for group in (0..layout.groups() as u16).map(GroupId) {
        let columns = Columns::open(assembly, layout, group)?;
        for segment in (0..layout.segments(group)).map(SegmentId) {
            for stripe in columns.chain(segment) {
                let mark = marks.entry(stripe.common.session).or_default();
                *mark = (*mark).max(stripe.common.durable);
            }
        }
    }
    let state = &assembly.newest.state;
    if state.clean {
        marks.insert(state.session, u64::MAX);
    }
    Ok(marks)
}

/// What the map says of one group, by segment.
fn expectations(
    array: &Array,
    layout: &Layout,
    group: GroupId,
    report: &mut Report,
) -> BTreeMap<SegmentId, Vec<Expected>> {
    let mut expected: BTreeMap<SegmentId, Vec<Expected>> = BTreeMap::new();
    for name in array.volume_names() {
        let Some(volume) = array.volume(&name) else { continue };
        volume.for_each_mapped(|lba, entry| match layout.locate(entry.pba()) {
            Some(place) if place.group == group => expected.entry(place.segment).or_default().push(Expected {
                column: place.column,
                row: place.row,
                volume: volume.id(),
                lba,
                entry,
            }),
            Some(_) => {}
            None if group.0 == 0 => {
                report.problems.push(format!("volume {name} {lba} is mapped to {}, beyond the array", entry.pba()));
            }
            None => {}
        });
    }
    expected
}

struct Checker<'a> {
    columns: &'a Columns,
    group: GroupId,
    durable: &'a BTreeMap<u64, u64>,
    assembly: &'a Assembly,
    layout: &'a Layout,
}

impl Checker<'_> {
    fn segment(&self, segment: SegmentId, mut expected: Vec<Expected>, report: &mut Report) {
        report.segments += 1;
        report.mapped += expected.len() as u64;
        expected.sort_by_key(|e| (e.row, e.column));
        let mut chain = self.columns.chain(segment);
        let place = format!("R-group {} {segment}", self.group.0);
        for stripe in chain.by_ref() {
            report.stripes += 1;
            let place = format!("{place} row {} (stripe {})", stripe.common.start_row, stripe.common.stripe_seq);
            let mut found = Vec::new();
            let entries = self.entries(&stripe, &mut found);
            self.blocks(segment, &stripe, &entries, &mut found, report);
            let mark = self.durable.get(&stripe.common.session).copied().unwrap_or(0);
            let must_be_whole = stripe.common.stripe_seq < mark;
            let list = if must_be_whole { &mut report.problems } else { &mut report.notes };
            let tail = if must_be_whole { "" } else { "; it was not flushed" };
            list.extend(found.into_iter().map(|what| format!("{place}: {what}{tail}")));
            compare_map(&stripe, &entries, &mut expected, &place, report);
        }
        if let Some(error) = chain.broken() {
            report.notes.push(format!("{place}: behind the last stripe: {error}"));
        }
        for lost in expected {
            report.problems.push(format!(
                "volume {} {} is mapped to {place} column {} row {}, where no stripe is",
                lost.volume.0, lost.lba, lost.column, lost.row
            ));
        }
    }

    fn path(&self, column: u8) -> String {
        let index = self.layout.member(self.group, column).index();
        let member = self.assembly.members[index].as_ref();
        member.map_or(format!("member {index}"), |member| member.path.display().to_string())
    }

    /// The entries of each column, compared over all copies.
    fn entries(&self, stripe: &FoundStripe, found: &mut Vec<String>) -> Vec<Vec<Entry>> {
        for (column, header) in (0..).zip(&stripe.columns) {
            match header {
                Some(Err(error)) => found.push(format!("{}: {error}", self.path(column))),
                Some(Ok(header)) if header.common != stripe.common => {
                    found.push(format!("{}: the header is of another stripe", self.path(column)));
                }
                Some(Ok(_)) | None => {}
            }
        }
        let copies_of = |column: u8| stripe.headers().filter_map(move |header: &Header| header.entries_of(column));
        (0..stripe.common.width())
            .map(|column| {
                let mut copies = copies_of(column);
                let first = copies.next().unwrap_or_default();
                if copies.any(|copy| copy != first) {
                    found.push(format!("the summaries of column {column} differ from header to header"));
                }
                first.to_vec()
            })
            .collect()
    }

    /// Compares every block with its checksum, and parity with the data.
    fn blocks(
        &self,
        segment: SegmentId,
        stripe: &FoundStripe,
        entries: &[Vec<Entry>],
        found: &mut Vec<String>,
        report: &mut Report,
    ) {
        let common = &stripe.common;
        if common.rows == 0 {
            return;
        }
        let mut columns: Vec<Option<Vec<u8>>> = Vec::new();
        let mut intact = true;
        for (column, entries) in (0..).zip(entries) {
            let read = self.columns.read(segment, column, common.first_data_row(), common.rows);
            let mut bytes = match read {
                None => None,
                Some(Ok(bytes)) => Some(bytes),
                Some(Err(error)) => {
                    found.push(format!("{}: cannot be read: {error}", self.path(column)));
                    None
                }
            };
            for (row, (entry, block)) in
                entries.iter().zip(bytes.iter_mut().flat_map(|bytes| bytes.chunks_exact_mut(BLOCK))).enumerate()
            {
                if entry.kind() == Kind::Void {
                    // Never written: whatever stands there counts as zeros. Parity need not have an entry.
                    if matches!(common.rotation.role(column), Role::Data(_)) {
                        block.fill(0);
                    }
                    continue;
                }
                report.blocks += 1;
                if crc32c(block) != entry.crc() {
                    intact = false;
                    let row = common.first_data_row() + row as u32;
                    found.push(format!("{}: the block at row {row} is not what was written", self.path(column)));
                }
            }
            columns.push(bytes);
        }
        if let Some(columns) = columns.into_iter().collect::<Option<Vec<_>>>().filter(|_| intact) {
            let of_role = |wanted: fn(Role) -> Option<u8>| {
                let mut list: Vec<(u8, &[u8])> = (0..)
                    .zip(&columns)
                    .filter_map(|(column, bytes)| Some((wanted(common.rotation.role(column))?, &bytes[..])))
                    .collect();
                list.sort_by_key(|(number, _)| *number);
                list.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>()
            };
            let data = of_role(|role| if let Role::Data(number) = role { Some(number) } else { None });
            let parity = of_role(|role| if let Role::Parity(number) = role { Some(number) } else { None });
            if !cygnus_parity::verify(&data, &parity) {
                found.push("parity does not match the data".into());
            }
        }
    }
}

/// Takes out of `expected` what lies in this stripe, and compares it with the entries.
fn compare_map(
    stripe: &FoundStripe,
    entries: &[Vec<Entry>],
    expected: &mut Vec<Expected>,
    place: &str,
    report: &mut Report,
) {
    let rows = stripe.common.first_data_row()..stripe.common.end_row();
    expected.retain(|expected| {
        if !rows.contains(&expected.row) {
            return true;
        }
        let column = entries.get(usize::from(expected.column));
        let entry = column.and_then(|entries| entries.get((expected.row - rows.start) as usize));
        let agrees = entry.is_some_and(|entry| {
            matches!(entry.kind(), Kind::Data | Kind::Relocated)
                && (entry.volume(), entry.lba()) == (expected.volume, expected.lba)
                && expected.entry.matches(entry.crc())
        });
        if !agrees {
            report.problems.push(format!(
                "volume {} {} is mapped to {place} column {} row {}, but the summary there says {}",
                expected.volume.0,
                expected.lba,
                expected.column,
                expected.row,
                entry.map_or("nothing".into(), |entry| format!("{entry:?}")),
            ));
        }
        false
    });
}

impl Report {
    /// The number of problems, in words.
    pub fn count(&self) -> String {
        let count = self.problems.len();
        format!("{count} problem{}", if count == 1 { "" } else { "s" })
    }

    /// For people.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        for problem in &self.problems {
            out.push_str(&format!("{} {problem}\n", paint.tone(Tone::Bad, "problem:")));
        }
        for note in &self.notes {
            out.push_str(&format!("{} {note}\n", paint.tone(Tone::Faint, "note:")));
        }
        let verdict = match self.problems.len() {
            0 => paint.tone(Tone::Good, "consistent"),
            _ => paint.tone(Tone::Bad, &self.count()),
        };
        out.push_str(&format!(
            "{}: {verdict}; {} segments, {} stripes, {} blocks ({}), {} map entries checked\n",
            self.name,
            self.segments,
            self.stripes,
            self.blocks,
            ByteSize(self.blocks * BLOCK as u64),
            self.mapped,
        ));
        out
    }
}
