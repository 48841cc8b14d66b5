//! A modelled device: how long its operations take, what they do to its contents, and how it fails.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_runtime::{BufSlice, Capabilities, Conversion, DeviceClass, Extra, IoError, IoErrorKind, Op, Rng, Zones};
use cygnus_types::{BLOCK, Nanos};
use cygnus_zoned::Zoned;

use crate::FaultRates;
use crate::faults::FaultKind;
use crate::length::Length;
use crate::media::{Content, Media};
use crate::parity::row_of_parity;
use crate::sheet::{Contents, Sheet};
use crate::zones::{UNWRITTEN, ZoneTable};

/// A device of a [`crate::World`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiskId(pub u32);

/// How long operations take. Each also takes up to `jitter` more, which is what lets completions overtake one another.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Any read.
    pub read: Nanos,
    /// Any write.
    pub write: Nanos,
    /// Any flush.
    pub flush: Nanos,
    /// Any trim.
    pub trim: Nanos,
    /// In addition per 4 KiB read or written.
    pub per_block: Nanos,
    /// Upper bound of the random part.
    pub jitter: Nanos,
}

impl Default for Timing {
    /// An NVMe drive of no particular make.
    fn default() -> Self {
        Self {
            read: Nanos::micros(70),
            write: Nanos::micros(15),
            flush: Nanos::micros(100),
            trim: Nanos::micros(50),
            per_block: Nanos(1_300),
            jitter: Nanos::micros(40),
        }
    }
}

/// What a new device is.
#[derive(Clone, Debug)]
pub struct DiskConfig {
    /// Name in messages.
    pub name: String,
    /// Capacity in bytes, a multiple of 4096. Costs memory only where written.
    pub size: u64,
    /// Whether it reports that trimming gives space back.
    pub can_trim: bool,
    /// Whether it computes parity inside. A device with a model does if the model does.
    pub converts: bool,
    /// Bytes that it stores beside each block. A device with a model has what the model has.
    pub oob_bytes: u16,
    /// Its zones, if it is to be written in order: it refuses whatever a drive would refuse. Reactors have it with a
    /// [`cygnus_zoned::ZonedDevice`] between them and it.
    pub zones: Option<Zones>,
    /// How long things take.
    pub timing: Timing,
    /// What goes wrong by itself.
    pub faults: FaultRates,
}

impl DiskConfig {
    /// A faultless device with default timing.
    pub fn new(name: impl Into<String>, size: u64) -> Self {
        assert!(size.is_multiple_of(BLOCK as u64), "a device has whole blocks");
        Self {
            name: name.into(),
            size,
            can_trim: true,
            converts: false,
            oob_bytes: 0,
            zones: None,
            timing: Timing::default(),
            faults: FaultRates::default(),
        }
    }
}

/// What a device has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Reads that succeeded.
    pub reads: u64,
    /// Writes that succeeded.
    pub writes: u64,
    /// Flushes that succeeded.
    pub flushes: u64,
    /// Trims that succeeded.
    pub trims: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Writes that were refused because they did not go on where their zone does.
    pub out_of_order: u64,
}

/// An operation as the device sees it.
pub(crate) enum Action {
    Read {
        offset: u64,
        buf: BufSlice,
    },
    Write {
        offset: u64,
        buf: BufSlice,
        /// What is stored beside each block, in equal parts.
        oob: Option<BufSlice>,
        /// What only a model may have a use for.
        transient: bool,
    },
    /// A write of which only the model says where it goes; then it becomes one.
    Append {
        zone: u32,
        buf: BufSlice,
    },
    Reset {
        zone: u32,
    },
    Finish {
        zone: u32,
    },
    /// A zone was reset: it holds nothing.
    Clear {
        blocks: Range<u64>,
    },
    Report {
        zone: u32,
    },
    Convert(Conversion),
    ReadOob {
        offset: u64,
        blocks: u32,
        into: BufSlice,
    },
    Trim {
        offset: u64,
        len: u64,
    },
    Flush {
        barrier: u64,
    },
    Reopen,
    /// It was refused on arrival; the answer takes its time all the same.
    Refused(IoError),
}

impl Action {
    fn blocks(&self) -> Range<u64> {
        let (offset, len) = match self {
            Action::Read { offset, buf } | Action::Write { offset, buf, .. } => (*offset, buf.len() as u64),
            Action::Trim { offset, len } => (*offset, *len),
            Action::Clear { blocks } => return blocks.clone(),
            Action::Append { .. } | Action::Reset { .. } | Action::Finish { .. } | Action::Report { .. } => (0, 0),
            Action::Convert(_) | Action::ReadOob { .. } => (0, 0),
            Action::Flush { .. } | Action::Reopen | Action::Refused(_) => (0, 0),
        };
        offset / BLOCK as u64..(offset + len) / BLOCK as u64
    }
}

/// A write or trim in flight, by its operation slot and the blocks it covers.
struct Pending {
    slot: u32,
    blocks: Range<u64>,
}

pub(crate) struct Disk {
    pub(crate) config: DiskConfig,
    /// What it can do.
    pub(crate) capabilities: Capabilities,
    pub(crate) media: Media,
    /// How its zones stand, if it has any.
    pub(crate) zones: Option<ZoneTable>,
    /// What those who use it know of its zones.
    pub(crate) zoned: Option<Arc<Zoned>>,
    /// What a blank device holds instead of media.
    sheet: Option<Sheet>,
    pub(crate) unreadable: BTreeSet<u64>,
    pub(crate) length: Length,
    pub(crate) dead: bool,
    /// It has been away, and whoever had it must open it anew.
    pub(crate) estranged: bool,
    pub(crate) write_error: Option<IoErrorKind>,
    /// What everything is answered by, on a device that lives.
    pub(crate) error: Option<IoErrorKind>,
    pub(crate) full: bool,
    pub(crate) slowness: u64,
    /// In addition, of writes and flushes.
    pub(crate) write_slowness: u64,
    pub(crate) ignores_flushes: bool,
    pub(crate) stats: DiskStats,
    /// Faults that the operation being carried out has met.
    pub(crate) met: Vec<FaultKind>,
    taken: u64,
    hung: bool,
    /// How often it has hung so far.
    hangs: u64,
    /// Operations that are due and wait for the end of a hang: slot and ticket.
    stalled: Vec<(u32, u64)>,
    pending: Vec<Pending>,
}

impl Disk {
    pub(crate) fn new(config: DiskConfig) -> Self {
        // A drive of no particular make.
        let capabilities = Capabilities {
            class: DeviceClass::Flash,
            trim: config.can_trim,
            convert: config.converts,
            oob_bytes: config.oob_bytes,
            zones: config.zones,
            ..Capabilities::default()
        };
        let zones = config.zones.map(|zones| ZoneTable::new(&zones, config.size));
        Self {
            config,
            capabilities,
            media: Media::default(),
            zones,
            zoned: None,
            sheet: None,
            unreadable: BTreeSet::new(),
            length: Length::default(),
            dead: false,
            estranged: false,
            write_error: None,
            error: None,
            full: false,
            slowness: 1,
            write_slowness: 1,
            ignores_flushes: false,
            stats: DiskStats::default(),
            met: Vec::new(),
            taken: 0,
            hung: false,
            hangs: 0,
            stalled: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// A device that holds nothing but zeros and a few blocks, which a large one keeps in `contents`.
    pub(crate) fn blank(config: DiskConfig, contents: Rc<RefCell<Contents>>) -> Self {
        Self { sheet: Some(Sheet::new(config.size, contents)), ..Self::new(config) }
    }

    /// Whether what is written to it can be read again, whatever it is.
    pub(crate) fn keeps_contents(&self) -> bool {
        self.sheet.is_none()
    }

    /// Bytes of memory that a blank device takes, besides those of its world's contents.
    pub(crate) fn sheet_memory(&self) -> u64 {
        self.sheet.as_ref().map_or(0, Sheet::memory)
    }

    /// Checks an operation on arrival. `tick` is the count of completions so far.
    pub(crate) fn admit(&mut self, op: Op, tick: u64) -> Action {
        self.taken += 1;
        if self.config.faults.dies_after.is_some_and(|n| self.taken > n) {
            self.dead = true;
        }
        let action = match op {
            Op::Read { offset, buf, .. } => Action::Read { offset, buf },
            Op::Write { offset, buf, transient, .. } => Action::Write { offset, buf, oob: None, transient },
            Op::Extra { what, .. } => of_extra(what),
            Op::Trim { offset, len, .. } => Action::Trim { offset, len },
            Op::Flush { .. } => Action::Flush { barrier: tick },
            Op::Reopen { .. } => Action::Reopen,
            other => unreachable!("{other:?} is no operation of a device"),
        };
        match action {
            _ if self.dead => Action::Refused(IoError::new(IoErrorKind::Gone)),
            Action::Reopen => {
                self.estranged = false;
                action
            }
            _ if self.estranged => Action::Refused(IoError::new(IoErrorKind::Gone)),
            Action::Read { offset, ref buf } | Action::Write { offset, ref buf, .. }
                if !self.contains(offset, buf.len() as u64) =>
            {
                Action::Refused(IoError::new(IoErrorKind::Range))
            }
            Action::Trim { offset, len } if !self.contains(offset, len) => {
                Action::Refused(IoError::new(IoErrorKind::Range))
            }
            Action::Convert(Conversion { source, destination, chunk, chunks, .. })
                if !self.contains(source, chunk.saturating_mul(chunks.into()))
                    || !self.contains(destination, chunk) =>
            {
                Action::Refused(IoError::new(IoErrorKind::Range))
            }
            odd if is_odd(&odd) => Action::Refused(IoError::new(IoErrorKind::Range)),
            ref extra if self.lacks(extra) => Action::Refused(IoError::new(IoErrorKind::Unsupported)),
            admitted => admitted,
        }
    }

    /// Whether the device has no such command.
    fn lacks(&self, action: &Action) -> bool {
        let Capabilities { zones, convert, oob_bytes, .. } = self.capabilities;
        match action {
            Action::Append { .. } | Action::Reset { .. } | Action::Finish { .. } | Action::Report { .. } => {
                zones.is_none()
            }
            Action::Convert(_) => !convert,
            Action::Write { oob: Some(_), .. } | Action::ReadOob { .. } => oob_bytes == 0,
            _ => false,
        }
    }

    fn contains(&self, offset: u64, len: u64) -> bool {
        let aligned = (offset | len).is_multiple_of(BLOCK as u64);
        aligned && offset.checked_add(len).is_some_and(|end| end <= self.config.size)
    }

    pub(crate) fn duration(&self, action: &Action, rng: &mut Rng) -> Nanos {
        let timing = &self.config.timing;
        let blocks = action.blocks();
        let transfer = timing.per_block * (blocks.end - blocks.start);
        let base = match action {
            Action::Read { .. } => timing.read + transfer,
            Action::Write { .. } => timing.write + transfer,
            Action::Trim { .. } => timing.trim,
            Action::Flush { .. } => timing.flush,
            Action::Reset { .. } | Action::Finish { .. } => timing.trim,
            // Of a model, which tells how long they take; or no more than a question.
            Action::Append { .. } | Action::Clear { .. } | Action::Report { .. } => Nanos::ZERO,
            Action::Convert(what) => {
                let blocks = what.chunk * u64::from(what.chunks + 1) / BLOCK as u64;
                timing.read + timing.write + timing.flush + timing.per_block * blocks
            }
            Action::ReadOob { .. } => Nanos::ZERO,
            Action::Reopen | Action::Refused(_) => Nanos::ZERO,
        };
        (base + Nanos(rng.below(timing.jitter.0 + 1))) * self.slowness_of(action) + Nanos(1)
    }

    /// How many times as long as it should an operation takes.
    pub(crate) fn slowness_of(&self, action: &Action) -> u64 {
        match action {
            Action::Write { .. } | Action::Flush { .. } => self.slowness * self.write_slowness,
            _ => self.slowness,
        }
    }

    /// Notes that a write or trim is in flight.
    pub(crate) fn begin(&mut self, slot: u32, action: &Action) {
        if matches!(action, Action::Write { .. } | Action::Trim { .. }) {
            self.pending.push(Pending { slot, blocks: action.blocks() });
        }
    }

    pub(crate) fn end(&mut self, slot: u32) {
        if let Some(at) = self.pending.iter().position(|p| p.slot == slot) {
            self.pending.swap_remove(at);
        }
    }

    /// Slots of the writes and trims in flight that touch `blocks`.
    pub(crate) fn pending_in(&self, blocks: Range<u64>) -> impl Iterator<Item = u32> + '_ {
        let overlaps = move |p: &&Pending| p.blocks.start < blocks.end && blocks.start < p.blocks.end;
        self.pending.iter().filter(overlaps).map(|p| p.slot)
    }

    /// Carries out an operation whose time has come. `in_flight` are the other writes that a read may see parts of.
    pub(crate) fn perform(
        &mut self,
        action: &Action,
        tick: u64,
        rng: &mut Rng,
        in_flight: &[&Action],
    ) -> Result<(), IoError> {
        if self.dead || self.estranged {
            self.met.push(FaultKind::Death);
            return Err(IoError::new(IoErrorKind::Gone));
        }
        if let Some(kind) = self.error {
            self.met.push(FaultKind::Refusal);
            return Err(IoError::new(kind));
        }
        if self.slowness_of(action) > 1 {
            self.met.push(FaultKind::Slow);
        }
        match action {
            Action::Refused(error) => return Err(*error),
            // It is there, and of its size; whoever asked looks what it holds.
            Action::Reopen => {}
            Action::Read { buf, .. } => {
                self.read(action.blocks(), buf, rng, in_flight)?;
                self.stats.reads += 1;
                self.stats.read_bytes += buf.len() as u64;
            }
            // As drives do, and for good: the pointer says so.
            Action::Clear { blocks } => match &mut self.sheet {
                Some(sheet) => sheet.clear(blocks.clone()),
                None => blocks.clone().for_each(|block| self.store_durably(block, Content::Zeros)),
            },
            Action::Convert(conversion) => self.convert(conversion)?,
            Action::ReadOob { offset, blocks, into } => self.read_oob(offset / BLOCK as u64, *blocks, into)?,
            Action::Report { .. } => {}
            Action::Reset { zone } if self.zones.is_some() => self.reset(*zone)?,
            Action::Finish { zone } if self.zones.is_some() => self.finish(*zone)?,
            // The model has.
            Action::Finish { .. } => {}
            Action::Append { .. } if self.zones.is_some() => return Err(IoError::new(IoErrorKind::Unsupported)),
            Action::Append { .. } | Action::Reset { .. } => unreachable!("the model has carried it out"),
            Action::Write { buf, .. } => {
                self.write(action, tick, rng)?;
                self.stats.writes += 1;
                self.stats.written_bytes += buf.len() as u64;
            }
            Action::Trim { .. } => {
                self.apply(action, tick, rng, 256);
                self.stats.trims += 1;
            }
            Action::Flush { barrier } => {
                if !self.ignores_flushes {
                    self.harden(*barrier);
                }
                self.stats.flushes += 1;
            }
        }
        Ok(())
    }

    fn read(&mut self, blocks: Range<u64>, buf: &BufSlice, rng: &mut Rng, others: &[&Action]) -> Result<(), IoError> {
        if let Some(sheet) = &mut self.sheet {
            sheet.read(blocks, buf);
            return Ok(());
        }
        self.length.read(&blocks)?;
        for (n, block) in blocks.enumerate() {
            if happens(self.config.faults.unreadable_per_million, rng) {
                self.unreadable.insert(block);
            }
            if self.unreadable.contains(&block) {
                self.met.push(FaultKind::Unreadable);
                return Err(IoError::new(IoErrorKind::Medium));
            }
            self.met.extend(self.media.wrong.get(&block));
            if self.zones.as_ref().is_some_and(|zones| zones.is_unwritten(block)) {
                buf.copy_from(n * BLOCK, &UNWRITTEN);
                continue;
            }
            if others.is_empty() {
                self.media.get(block).deliver(buf, n * BLOCK);
                continue;
            }
            let racing = others.iter().filter(|other| other.blocks().contains(&block) && rng.chance(1, 2)).last();
            match racing {
                Some(Action::Write { offset, buf: theirs, .. }) => {
                    let from = (block * BLOCK as u64 - offset) as usize;
                    buf.copy_from(n * BLOCK, &theirs.bytes()[from..from + BLOCK]);
                }
                _ => self.media.get(block).deliver(buf, n * BLOCK),
            }
        }
        Ok(())
    }

    /// Lets each block of a write or trim happen with probability `likely`/256.
    pub(crate) fn apply(&mut self, action: &Action, tick: u64, rng: &mut Rng, likely: u64) {
        match (action, &mut self.sheet) {
            (Action::Write { buf, .. }, Some(sheet)) => return sheet.write(action.blocks().start, buf),
            (Action::Trim { .. }, Some(sheet)) => return sheet.clear(action.blocks()),
            _ => {}
        }
        match action {
            Action::Write { buf, oob, .. } if self.zones.is_some() => {
                let blocks = action.blocks();
                let taken = self.begun_in_order(&blocks, rng, likely);
                for (n, block) in blocks.take(taken).enumerate() {
                    self.store(block, part_of(buf, oob, n), tick);
                    self.maybe_flip(block, rng);
                }
                if let Some(zones) = self.zones.as_mut().filter(|_| taken > 0) {
                    let first = action.blocks().start;
                    zones.advance(&(first..first + taken as u64), tick);
                }
            }
            Action::Reset { zone } if self.zones.is_some() && rng.chance(likely, 256) => drop(self.reset(*zone)),
            Action::Write { buf, oob, .. } => {
                for (n, block) in action.blocks().enumerate() {
                    if likely >= 256 || rng.chance(likely, 256) {
                        self.store(block, part_of(buf, oob, n), tick);
                        self.maybe_flip(block, rng);
                    }
                }
            }
            Action::Trim { .. } => self.trim(action.blocks(), tick, rng, likely),
            // All of it or nothing.
            Action::Convert(conversion) if rng.chance(likely, 256) => {
                let _ = self.convert(conversion);
            }
            _ => {}
        }
    }

    /// A block arrives where it should.
    fn store(&mut self, block: u64, content: Content, tick: u64) {
        self.unreadable.remove(&block);
        self.media.write(block, content, tick);
    }

    /// The device itself stores a block, for good.
    pub(crate) fn store_durably(&mut self, block: u64, content: Content) {
        self.unreadable.remove(&block);
        self.media.write_durably(block, content);
    }

    /// Computes parity of blocks and of what is beside them, stores it, and forgets the blocks if they do not stay.
    fn convert(&mut self, conversion: &Conversion) -> Result<(), IoError> {
        let in_blocks = |bytes: u64| bytes / BLOCK as u64;
        let (source, chunk) = (in_blocks(conversion.source), in_blocks(conversion.chunk));
        let rows = usize::from(conversion.row) + 1;
        let all = source..source + chunk * u64::from(conversion.chunks);
        if let Some(sheet) = &mut self.sheet {
            let destination = in_blocks(conversion.destination)..in_blocks(conversion.destination) + chunk;
            sheet.convert(all.clone(), destination, rows);
            if !conversion.keeps {
                sheet.clear(all);
            }
            return Ok(());
        }
        if self.unreadable.range(all.clone()).next().is_some() {
            self.met.push(FaultKind::Unreadable);
            return Err(IoError::new(IoErrorKind::Medium));
        }
        for n in 0..chunk {
            let operands: Vec<&Content> =
                (0..u64::from(conversion.chunks)).map(|nth| self.media.get(source + nth * chunk + n)).collect();
            let blocks: Vec<Vec<u8>> = operands.iter().map(|content| content.to_vec()).collect();
            let beside = operands.iter().map(|content| content.oob().len()).max().unwrap_or(0);
            let padded = |content: &&Content| {
                let mut oob = content.oob().to_vec();
                oob.resize(beside, 0);
                oob
            };
            let oob: Vec<Vec<u8>> = operands.iter().map(padded).collect();
            let parity = Content::with_oob(&row_of_parity(&blocks, rows), &row_of_parity(&oob, rows));
            self.store_durably(in_blocks(conversion.destination) + n, parity);
        }
        if !conversion.keeps {
            all.for_each(|block| self.store_durably(block, Content::Zeros));
        }
        Ok(())
    }

    /// What is beside blocks.
    fn read_oob(&mut self, first: u64, blocks: u32, into: &BufSlice) -> Result<(), IoError> {
        let each = into.len() / blocks as usize;
        into.zero(0..into.len());
        for (block, at) in (first..first + u64::from(blocks)).zip((0..).step_by(each)) {
            if self.unreadable.contains(&block) {
                self.met.push(FaultKind::Unreadable);
                return Err(IoError::new(IoErrorKind::Medium));
            }
            self.met.extend(self.media.wrong.get(&block));
            let oob = self.media.get(block).oob();
            into.copy_from(at, &oob[..oob.len().min(each)]);
        }
        Ok(())
    }

    /// Changes what is stored behind everyone's back.
    pub(crate) fn damage(&mut self, block: u64, how: FaultKind, change: impl FnOnce(&mut [u8; BLOCK])) {
        self.media.damage(block, how, change);
    }

    fn maybe_flip(&mut self, block: u64, rng: &mut Rng) {
        if happens(self.config.faults.flipped_per_million, rng) {
            let bit = rng.below(8 * BLOCK as u64);
            // Now and then it is a bit of what is beside the block.
            let flip = |bytes: &mut [u8]| bytes[bit as usize / 8 % bytes.len()] ^= 1 << (bit % 8);
            if !(bit.is_multiple_of(8) && self.media.damage_beside(block, FaultKind::BitFlip, flip)) {
                self.damage(block, FaultKind::BitFlip, |bytes| flip(bytes));
            }
        }
    }

    /// A write that has come to its end: stored as it should be, or one of the ways in which it is not.
    fn write(&mut self, action: &Action, tick: u64, rng: &mut Rng) -> Result<(), IoError> {
        let blocks = action.blocks();
        if let Some(kind) = self.write_error {
            self.met.push(FaultKind::WriteError);
            return Err(IoError::new(kind));
        }
        if self.full && blocks.clone().any(|block| *self.media.get(block) == Content::Zeros) {
            self.met.push(FaultKind::NoSpace);
            return Err(IoError::new(IoErrorKind::NoSpace));
        }
        self.length.write(&blocks)?;
        let FaultRates { lost_per_million, torn_per_million, misdirected_per_million, failed_per_million, .. } =
            self.config.faults;
        if let Some(zones) = &mut self.zones
            && !zones.admits(&blocks)
        {
            self.stats.out_of_order += 1;
            return Err(IoError::new(IoErrorKind::Unclear));
        }
        if happens(failed_per_million, rng) {
            self.met.push(FaultKind::WriteError);
            self.apply(action, tick, rng, 128);
            return Err(IoError::new(IoErrorKind::Medium));
        }
        if happens(lost_per_million, rng) {
            self.media.wrong.extend(blocks.clone().map(|block| (block, FaultKind::LostWrite)));
            self.advance(&blocks, tick);
        } else if blocks.end - blocks.start > 1 && happens(torn_per_million, rng) {
            self.apply(action, tick, rng, 128);
            self.mark_torn(blocks.clone(), action);
            self.advance(&blocks, tick);
        } else if happens(misdirected_per_million, rng) {
            self.misdirect(blocks.clone(), action, tick, rng);
            self.advance(&blocks, tick);
        } else {
            self.apply(action, tick, rng, 256);
        }
        Ok(())
    }

    /// Notes which blocks of a write were not stored.
    fn mark_torn(&mut self, blocks: Range<u64>, action: &Action) {
        let Action::Write { buf, oob, .. } = action else { return };
        for (block, nth) in blocks.zip(0..) {
            if *self.media.get(block) != part_of(buf, oob, nth) {
                self.media.wrong.entry(block).or_insert(FaultKind::TornWrite);
            }
        }
    }

    /// Stores a write's blocks elsewhere: a few blocks away, or anywhere.
    fn misdirect(&mut self, blocks: Range<u64>, action: &Action, tick: u64, rng: &mut Rng) {
        let Action::Write { buf, oob, .. } = action else { return };
        let (count, all) = (blocks.end - blocks.start, self.config.size / BLOCK as u64);
        let first = match rng.below(4) {
            0 => rng.below(all),
            1 => blocks.start.saturating_sub(1 + rng.below(16)),
            _ => blocks.start + 1 + rng.below(16),
        };
        let first = first.min(all - count);
        for n in 0..count {
            self.store(first + n, part_of(buf, oob, n as usize), tick);
        }
        let touched = blocks.chain(first..first + count);
        self.media.wrong.extend(touched.map(|block| (block, FaultKind::MisdirectedWrite)));
    }

    /// It hangs from now on; the answer names this hang.
    pub(crate) fn hang(&mut self) -> u64 {
        self.hung = true;
        self.hangs += 1;
        self.hangs
    }

    pub(crate) fn hangs(&self) -> u64 {
        self.hangs
    }

    /// Whether an operation that is due has to wait for the end of a hang.
    pub(crate) fn stall(&mut self, slot: u32, ticket: u64) -> bool {
        if self.hung {
            self.stalled.push((slot, ticket));
        }
        self.hung
    }

    /// Ends the hang of that number, and gives what waited.
    pub(crate) fn resume(&mut self, hang: u64) -> Vec<(u32, u64)> {
        if hang != self.hangs {
            return Vec::new();
        }
        self.hung = false;
        std::mem::take(&mut self.stalled)
    }

    fn trim(&mut self, blocks: Range<u64>, tick: u64, rng: &mut Rng, likely: u64) {
        /// How a trim leaves its blocks.
        const ZEROS: u64 = 0;
        const OLD: u64 = 1;
        const GARBAGE: u64 = 2;
        const MIXED: u64 = 3;
        let whole = rng.below(MIXED + 1);
        for block in blocks {
            let fate = if whole == MIXED { rng.below(MIXED) } else { whole };
            if fate == OLD || (likely < 256 && !rng.chance(likely, 256)) {
                continue;
            }
            self.unreadable.remove(&block);
            match fate {
                GARBAGE => {
                    self.met.push(FaultKind::TrimGarbage);
                    self.media.write(block, Content::Garbage(rng.next_u64()), tick);
                }
                ZEROS if self.media.is_untouched(block) => drop(self.media.wrong.remove(&block)),
                _ => self.media.write(block, Content::Zeros, tick),
            }
        }
    }

    /// It alone loses its power, and with that what is in its cache.
    pub(crate) fn lose_cache(&mut self, rng: &mut Rng) {
        let keep = survival(rng);
        self.lose(rng, keep);
        self.harden(u64::MAX);
        (self.dead, self.estranged) = (true, true);
    }

    /// The cache loses power. `in_flight` are the writes and trims that had not completed.
    pub(crate) fn lose_power(&mut self, in_flight: &[Action], rng: &mut Rng) {
        let (keep, happen) = (survival(rng), survival(rng));
        // What is converted is what the cache had, and what comes of it is durable.
        let (conversions, others): (Vec<_>, Vec<_>) =
            in_flight.iter().partition(|action| matches!(action, Action::Convert(_)));
        for action in conversions {
            self.apply(action, 0, rng, happen);
        }
        self.lose(rng, keep);
        for action in others {
            self.apply(action, 0, rng, happen);
        }
        // What is left is what the medium holds.
        self.harden(u64::MAX);
        self.zoned = None;
        self.pending.clear();
        self.estranged = false;
        self.hung = false;
        self.stalled.clear();
        self.met.clear();
    }
}

/// The `nth` block of a write, with what is beside it.
fn part_of(buf: &BufSlice, oob: &Option<BufSlice>, nth: usize) -> Content {
    let bytes = &buf.bytes()[nth * BLOCK..(nth + 1) * BLOCK];
    let Some(oob) = oob else { return Content::of(bytes) };
    let each = oob.len() / (buf.len() / BLOCK);
    Content::with_oob(bytes, &oob.bytes()[nth * each..(nth + 1) * each])
}

fn of_extra(what: Extra) -> Action {
    match what {
        Extra::Append { zone, buf } => Action::Append { zone, buf },
        Extra::Reset { zone } => Action::Reset { zone },
        Extra::Finish { zone } => Action::Finish { zone },
        Extra::Report { zone } => Action::Report { zone },
        Extra::Convert(conversion) => Action::Convert(conversion),
        Extra::WriteOob { offset, buf, oob, transient } => Action::Write { offset, buf, oob: Some(oob), transient },
        Extra::ReadOob { offset, blocks, into } => Action::ReadOob { offset, blocks, into },
    }
}

/// Whether an operation has parts that do not fit each other.
fn is_odd(action: &Action) -> bool {
    let in_blocks = |bytes: u64| bytes.is_multiple_of(BLOCK as u64);
    match action {
        Action::Write { buf, oob: Some(oob), .. } => {
            buf.is_empty() || !buf.len().is_multiple_of(BLOCK) || !oob.len().is_multiple_of(buf.len() / BLOCK)
        }
        Action::Append { buf, .. } => buf.is_empty() || !buf.len().is_multiple_of(BLOCK),
        Action::ReadOob { offset, blocks, into } => {
            !in_blocks(*offset) || *blocks == 0 || into.is_empty() || !into.len().is_multiple_of(*blocks as usize)
        }
        Action::Convert(Conversion { source, destination, chunk, chunks, row, .. }) => {
            let aligned = in_blocks(*source) && in_blocks(*destination) && in_blocks(*chunk);
            !aligned || *chunk == 0 || *chunks == 0 || usize::from(*row) >= cygnus_format::MAX_PARITY.into()
        }
        _ => false,
    }
}

/// Rolls the dice for something that happens so often in a million.
fn happens(per_million: u32, rng: &mut Rng) -> bool {
    per_million > 0 && rng.chance(u64::from(per_million), 1_000_000)
}

/// How likely a block is to survive, in 256ths: none, few, half, most, all.
fn survival(rng: &mut Rng) -> u64 {
    [0, 16, 128, 240, 256][rng.below(5) as usize]
}
