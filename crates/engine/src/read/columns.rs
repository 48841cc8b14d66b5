//! The columns of a stripe together: what is missing is computed, what is wrong is put right.

use std::ops::Range;

use cygnus_format::{Entry, Kind, StripeCommon};
use cygnus_parity as parity;
use cygnus_runtime::Buf;
use cygnus_types::BLOCK;

use crate::read::reconstruct::restore_block;

/// The columns of a stripe in logical order, those that could not be read filled from the parity.
pub(crate) struct Columns<'a> {
    common: &'a StripeCommon,
    /// As read.
    read: Vec<Option<Buf>>,
    /// Missing columns, computed.
    computed: Vec<Option<Vec<u8>>>,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(common: &'a StripeCommon, mut physical: Vec<Option<Buf>>) -> Self {
        let read: Vec<_> =
            common.rotation.physical_columns().map(|column| physical[usize::from(column)].take()).collect();
        Self { common, computed: read.iter().map(|_| None).collect(), read }
    }

    fn k(&self) -> usize {
        self.common.rotation.needed()
    }

    fn sources(&self) -> Vec<Option<&[u8]>> {
        self.read.iter().map(|c| c.as_ref().map(Buf::bytes)).collect()
    }

    /// Computes the data columns that are missing; `false` if that is impossible.
    pub(crate) fn fill_missing(&mut self) -> bool {
        let bytes = self.common.rows as usize * BLOCK;
        let mut all = true;
        if bytes == 0 {
            return true;
        }
        for logical in 0..self.k() {
            if self.read[logical].is_none() {
                let mut out = vec![0; bytes];
                if parity::reconstruct(self.k(), &self.sources(), logical, &mut out).is_ok() {
                    self.computed[logical] = Some(out);
                } else {
                    all = false;
                }
            }
        }
        all
    }

    fn column(&self, logical: usize) -> Option<&[u8]> {
        self.read[logical].as_ref().map(Buf::bytes).or(self.computed[logical].as_deref())
    }

    /// Whether the parity columns at hand are what the data columns give.
    pub(crate) fn parity_matches(&self) -> bool {
        self.common.rows == 0 || self.rows_match(0..self.common.rows)
    }

    /// The same of some rows.
    pub(crate) fn rows_match(&self, rows: Range<u32>) -> bool {
        let range = rows.start as usize * BLOCK..rows.end as usize * BLOCK;
        let part = |logical| self.column(logical).map(|column| &column[range.clone()]);
        let Some(data) = (0..self.k()).map(part).collect::<Option<Vec<_>>>() else { return false };
        let mut expected = vec![vec![0; range.len()]; self.read.len() - self.k()];
        let mut views: Vec<&mut [u8]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
        parity::generate(&data, &mut views);
        let here = |logical: usize| self.read[logical].as_ref().map(|column| &column.bytes()[range.clone()]);
        (self.k()..).zip(&expected).all(|(logical, want)| here(logical).is_none_or(|have| have == want))
    }

    fn logical(&self, physical: u8) -> usize {
        self.common.rotation.logical(physical)
    }

    pub(crate) fn block(&self, physical: u8, row: u32) -> Option<&[u8]> {
        self.column(self.logical(physical)).map(|c| &c[row as usize * BLOCK..(row as usize + 1) * BLOCK])
    }

    /// The block as the other columns have it, if that matches the checksum.
    pub(crate) fn restore(&self, physical: u8, row: u32, crc: u32) -> Option<Box<[u8]>> {
        let wanted = self.logical(physical);
        let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
        let row: Vec<Option<&[u8]>> =
            self.read.iter().map(|column| column.as_ref().map(|c| &c.bytes()[range.clone()])).collect();
        let mut out = vec![0; BLOCK];
        let found =
            restore_block(self.common.rotation, &row, wanted, &mut out, |block| parity::checksum::crc32c(block) == crc);
        found.then(|| out.into_boxed_slice())
    }

    /// Puts right what the summary entries (by physical column) show to be wrong in data columns, as far as the parity
    /// allows. Returns the blocks that stay wrong: physical column and row.
    pub(crate) fn heal(&mut self, entries: &[Option<Vec<Entry>>]) -> Vec<(u8, u32)> {
        let mut wrong = Vec::new();
        for (physical, entries) in (0..).zip(entries) {
            let rows = entries.iter().flatten().zip(0..).filter(|(entry, _)| entry.kind() != Kind::Void);
            for (entry, row) in rows {
                let intact = self.block(physical, row).is_some_and(|b| parity::checksum::crc32c(b) == entry.crc());
                if intact {
                    continue;
                }
                match self.restore(physical, row, entry.crc()) {
                    Some(block) => self.put(physical, row, &block),
                    None => wrong.push((physical, row)),
                }
            }
        }
        wrong
    }

    /// Data blocks of which the entries say that they hold nothing are zeros, whatever was read: a misdirected write may be there, which
    /// no checksum tells, and which would get into each column that is computed.
    pub(crate) fn blank(&mut self, entries: &[Option<Vec<Entry>>]) {
        for (physical, entries) in (0..).zip(entries) {
            if !self.common.rotation.is_data(physical) {
                continue;
            }
            let void = entries.iter().flatten().zip(0..).filter(|(entry, _)| entry.kind() == Kind::Void);
            void.for_each(|(_, row)| self.put(physical, row, &[0; BLOCK]));
        }
    }

    /// Whether what the entries say holds nothing is zeros, also in the columns that were computed. Those match any parity, that of
    /// another stripe too: a void slot is the only block of theirs that tells.
    pub(crate) fn void_is_zeros(&self, entries: &[Option<Vec<Entry>>]) -> bool {
        let data = (0..).zip(entries).filter(|&(physical, _)| self.common.rotation.is_data(physical));
        data.flat_map(|(physical, entries)| (0..).zip(entries.iter().flatten()).map(move |(row, e)| (physical, row, e)))
            .filter(|(.., entry)| entry.kind() == Kind::Void)
            .all(|(physical, row, _)| self.block(physical, row).is_none_or(|block| block.iter().all(|&byte| byte == 0)))
    }

    /// The same, unless its column cannot be had.
    fn put(&mut self, physical: u8, row: u32, block: &[u8]) {
        let logical = self.logical(physical);
        let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
        match (&mut self.read[logical], &mut self.computed[logical]) {
            (Some(read), _) => read.bytes_mut()[range].copy_from_slice(block),
            (None, Some(computed)) => computed[range].copy_from_slice(block),
            (None, None) => {}
        }
    }

    /// From now on this is what the block holds. Of a column that cannot be had the other blocks count as zeros then.
    pub(crate) fn supply(&mut self, physical: u8, row: u32, block: &[u8]) {
        let logical = self.logical(physical);
        if self.column(logical).is_none() {
            self.computed[logical] = Some(vec![0; self.common.rows as usize * BLOCK]);
        }
        self.put(physical, row, block);
    }

    /// A column as it should be on its device, given that the data columns are; zeros where they are not known.
    pub(crate) fn whole(&self, physical: u8) -> Vec<u8> {
        let bytes = self.common.rows as usize * BLOCK;
        let zeros = vec![0; bytes];
        let logical = self.logical(physical);
        if self.common.rotation.is_data(physical) {
            return self.column(logical).map_or(zeros, <[u8]>::to_vec);
        }
        let data: Vec<&[u8]> = (0..self.k()).map(|l| self.column(l).unwrap_or(&zeros)).collect();
        let mut parities = vec![vec![0; bytes]; self.read.len() - self.k()];
        let mut views: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
        parity::generate(&data, &mut views);
        parities.swap_remove(logical - self.k())
    }
}
