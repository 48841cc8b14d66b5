//! The translation layer of a drive-managed shingled disk, as Aghayev and Desnoyers found it (FAST'15): bands with a fixed
//! place, and a persistent cache, a log for all writes that cannot go straight into their band.

use std::collections::{BTreeMap, VecDeque};

/// Blocks of one band in the log.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// From the band's start.
    first: u32,
    blocks: u32,
    /// In the log.
    at: u64,
}

/// What is where.
#[derive(Clone, Debug)]
pub(crate) struct Shingled {
    /// Blocks per band.
    band: u64,
    /// Blocks of the log: all, in use, and where the next entry goes.
    room: u64,
    used: u64,
    head: u64,
    /// Per band, how far it was ever written.
    written: Vec<u32>,
    /// Entries of bands that have any, oldest first.
    entries: BTreeMap<u32, Vec<Entry>>,
    /// Bands with entries, in the order of their oldest one.
    order: VecDeque<u32>,
}

/// Where a run of dirty blocks goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Straight into its band: the number of blocks.
    Band(u64),
    /// Into the log, at this place.
    Log(u64, u64),
    /// Nowhere before the band with the oldest entries is cleaned.
    Full(u32),
}

impl Shingled {
    pub(crate) fn new(band: u64, bands: u64, room: u64) -> Shingled {
        let (entries, order) = (BTreeMap::new(), VecDeque::new());
        Shingled { band, room, used: 0, head: 0, written: vec![0; bands as usize], entries, order }
    }

    /// The physical block of a logical one in its band: the log comes first on the platters.
    pub(crate) fn home(&self, lba: u64) -> u64 {
        self.room + lba
    }

    /// Blocks per band.
    pub(crate) fn band(&self) -> u64 {
        self.band
    }

    /// First block of a band.
    pub(crate) fn start(&self, band: u32) -> u64 {
        u64::from(band) * self.band
    }

    /// Where a run goes. A band takes what follows its written part, or all of it at once; anything else would destroy
    /// the neighbouring tracks.
    pub(crate) fn way(&self, lba: u64, blocks: u64) -> Way {
        let (band, offset) = ((lba / self.band) as u32, lba % self.band);
        let is_append = offset == u64::from(self.written[band as usize]) && !self.entries.contains_key(&band);
        if is_append || (offset == 0 && blocks >= self.band) {
            return Way::Band(blocks.min(self.band - offset));
        }
        let blocks = blocks.min(self.band - offset);
        if self.used + blocks > self.room {
            return Way::Full(*self.order.front().expect("a full log has entries"));
        }
        // An entry does not wrap around.
        let at = if self.head + blocks > self.room { 0 } else { self.head };
        Way::Log(at, blocks)
    }

    /// A run went into its band.
    pub(crate) fn put_in_band(&mut self, lba: u64, blocks: u64) {
        let (band, end) = ((lba / self.band) as u32, (lba % self.band + blocks) as u32);
        let written = &mut self.written[band as usize];
        *written = (*written).max(end);
        self.forget(band);
    }

    /// A run went into the log.
    pub(crate) fn put_in_log(&mut self, lba: u64, blocks: u64, at: u64) {
        let band = (lba / self.band) as u32;
        let of_band = self.entries.entry(band).or_default();
        if of_band.is_empty() {
            self.order.push_back(band);
        }
        of_band.push(Entry { first: (lba % self.band) as u32, blocks: blocks as u32, at });
        self.used += blocks;
        self.head = at + blocks;
    }

    /// The band with the oldest entries.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.order.front().copied()
    }

    /// A band was rewritten with what the log had of it.
    pub(crate) fn cleaned(&mut self, band: u32) {
        self.written[band as usize] = self.filled(band) as u32;
        self.forget(band);
    }

    fn forget(&mut self, band: u32) {
        if let Some(gone) = self.entries.remove(&band) {
            self.used -= gone.iter().map(|entry| u64::from(entry.blocks)).sum::<u64>();
            self.order.retain(|&other| other != band);
        }
    }

    /// Where the newest version of a block is on the platters.
    pub(crate) fn locate(&self, lba: u64) -> u64 {
        let offset = (lba % self.band) as u32;
        let of_band = self.entries.get(&((lba / self.band) as u32));
        let newest = of_band.and_then(|entries| {
            entries.iter().rev().find(|entry| (entry.first..entry.first + entry.blocks).contains(&offset))
        });
        newest.map_or(self.home(lba), |entry| entry.at + u64::from(offset - entry.first))
    }

    /// All bands of the first share of the disk have been written.
    pub(crate) fn fill(&mut self, share: f64) {
        let filled = (self.written.len() as f64 * share) as usize;
        self.written[..filled].fill(self.band as u32);
    }

    /// Whether a block is the first of its band.
    pub(crate) fn begins_band(&self, lba: u64) -> bool {
        lba.is_multiple_of(self.band)
    }

    /// Blocks of a band that a rewrite has to write.
    pub(crate) fn filled(&self, band: u32) -> u64 {
        let logged = self.entries.get(&band).into_iter().flatten().map(|entry| entry.first + entry.blocks);
        u64::from(logged.max().unwrap_or(0).max(self.written[band as usize]))
    }

    /// What the log has of a band: place and blocks.
    pub(crate) fn logged(&self, band: u32) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.entries.get(&band).into_iter().flatten().map(|entry| (entry.at, u64::from(entry.blocks)))
    }

    /// Bytes of host memory that its state takes.
    pub(crate) fn memory(&self) -> u64 {
        let entries: usize = self.entries.values().map(Vec::len).sum();
        (size_of_val(&*self.written) + entries * size_of::<Entry>()) as u64
    }

    /// Checks the counts against the entries.
    pub(crate) fn check(&self) {
        let entries = self.entries.values().flatten();
        assert_eq!(entries.map(|entry| u64::from(entry.blocks)).sum::<u64>(), self.used, "the log miscounts");
        assert!(self.used <= self.room && self.head <= self.room);
        let mut bands: Vec<u32> = self.order.iter().copied().collect();
        bands.sort_unstable();
        assert!(bands.iter().eq(self.entries.keys()), "the order of cleaning has other bands than the log");
    }
}
