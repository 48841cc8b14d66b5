//! Recovery, step "tail": stripes written after the last known flush may be torn, so their blocks are read and judged.
//!
//! A block that matches its checksum was written; one that does not, and that the parity cannot restore, was not, and
//! since no flush covered it, nobody was promised it. A stripe that is not wholly consistent cannot protect its blocks
//! any more: they are kept in memory and written anew before the array goes into service.

use std::rc::Rc;

use cygnus_format::{Kind, StripeCommon};
use cygnus_parity as parity;
use cygnus_runtime::Buf;
use cygnus_types::BLOCK;

use crate::reactor::Reactor;
use crate::scan::FoundStripe;
use crate::stripe::physical_column;

/// A block that exists: physical column, row below the header, and the data if its stripe is not consistent.
pub(crate) type Existing = (u8, u32, Option<Box<[u8]>>);

/// What reading a stripe of the tail showed.
pub(crate) struct Verdict {
    /// Every block, header and parity block is as it should be.
    pub consistent: bool,
    pub blocks: Vec<Existing>,
    /// Blocks that do not exist.
    pub lost: usize,
}

impl Reactor {
    /// Rows of all columns below the headers, by physical column; `None` where a column cannot be read.
    pub(crate) async fn read_stripe(self: &Rc<Self>, common: &StripeCommon) -> Vec<Option<Buf>> {
        let bytes = common.rows as usize * BLOCK;
        let offset = self.shared.layout.geometry().device_offset(common.segment.0, common.first_data_row());
        let reads: Vec<_> = (0..common.width())
            .map(|column| {
                let dev = self.device_in_service(self.shared.layout.member(common.group, column))?;
                (bytes > 0).then(|| {
                    let buf = self.rt.alloc(bytes);
                    let op = self.rt.read(dev, offset, buf.full());
                    (buf, op)
                })
            })
            .collect();
        crate::scan::ended(reads).await
    }

    /// Reads and judges a stripe.
    pub(crate) async fn judge_stripe(self: &Rc<Self>, stripe: &FoundStripe) -> Verdict {
        let common = &stripe.common;
        let columns = self.read_stripe(common).await;
        let in_service = (0..common.width())
            .filter(|&c| self.device_in_service(self.shared.layout.member(common.group, c)).is_some())
            .count();
        let mut full = Columns::new(common, columns);
        let mut consistent = stripe.headers == in_service && stripe.entries.iter().all(Option::is_some);
        consistent &= full.fill_missing() && full.parity_matches();
        let mut blocks = Vec::new();
        let mut lost = 0;
        for (column, row, entry) in stripe.blocks() {
            if entry.kind() == Kind::Void {
                continue;
            }
            let here = full.block(column, row).filter(|b| parity::checksum::crc32c(b) == entry.crc());
            match here.map(Box::from).or_else(|| full.restore(column, row, entry.crc())) {
                Some(data) if here.is_some() => blocks.push((column, row, Some(data))),
                Some(data) => {
                    consistent = false;
                    blocks.push((column, row, Some(data)));
                }
                None => {
                    consistent = false;
                    lost += 1;
                }
            }
        }
        if consistent {
            blocks.iter_mut().for_each(|(_, _, data)| *data = None);
        }
        Verdict { consistent, blocks, lost }
    }
}

/// The columns of a stripe in logical order, those that could not be read filled from the parity.
struct Columns<'a> {
    common: &'a StripeCommon,
    /// As read.
    read: Vec<Option<Buf>>,
    /// Missing columns, computed.
    computed: Vec<Option<Vec<u8>>>,
}

impl<'a> Columns<'a> {
    fn new(common: &'a StripeCommon, mut physical: Vec<Option<Buf>>) -> Self {
        let width = common.width();
        let read: Vec<_> =
            (0..width).map(|l| physical[usize::from(physical_column(common.rotation, l))].take()).collect();
        Self { common, read, computed: (0..width).map(|_| None).collect() }
    }

    fn k(&self) -> usize {
        usize::from(self.common.rotation.data)
    }

    fn sources(&self) -> Vec<Option<&[u8]>> {
        self.read.iter().map(|c| c.as_ref().map(Buf::bytes)).collect()
    }

    /// Computes the data columns that are missing; `false` if that is impossible.
    fn fill_missing(&mut self) -> bool {
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
    fn parity_matches(&self) -> bool {
        let Some(data) = (0..self.k()).map(|l| self.column(l)).collect::<Option<Vec<_>>>() else {
            return self.common.rows == 0;
        };
        let bytes = self.common.rows as usize * BLOCK;
        let mut expected = vec![vec![0; bytes]; self.read.len() - self.k()];
        let mut views: Vec<&mut [u8]> = expected.iter_mut().map(Vec::as_mut_slice).collect();
        parity::generate(&data, &mut views);
        expected.iter().zip(&self.read[self.k()..]).all(|(want, have)| match have {
            Some(have) => have.bytes() == &want[..],
            None => true,
        })
    }

    fn logical(&self, physical: u8) -> usize {
        (0..self.common.width())
            .find(|&l| physical_column(self.common.rotation, l) == physical)
            .map(usize::from)
            .expect("every physical column has a role")
    }

    fn block(&self, physical: u8, row: u32) -> Option<&[u8]> {
        self.column(self.logical(physical)).map(|c| &c[row as usize * BLOCK..(row as usize + 1) * BLOCK])
    }

    /// The block as the other columns have it, if that matches the checksum.
    fn restore(&self, physical: u8, row: u32, crc: u32) -> Option<Box<[u8]>> {
        let wanted = self.logical(physical);
        let range = row as usize * BLOCK..(row as usize + 1) * BLOCK;
        let mut out = vec![0; BLOCK];
        let mut attempt = |suspect: Option<usize>| {
            let sources: Vec<Option<&[u8]>> = (0..self.read.len())
                .map(|l| {
                    let usable = l != wanted && Some(l) != suspect;
                    self.read[l].as_ref().filter(|_| usable).map(|c| &c.bytes()[range.clone()])
                })
                .collect();
            parity::reconstruct(self.k(), &sources, wanted, &mut out).is_ok() && parity::checksum::crc32c(&out) == crc
        };
        let found = attempt(None) || (0..self.read.len()).any(|suspect| attempt(Some(suspect)));
        found.then(|| out.into_boxed_slice())
    }
}
