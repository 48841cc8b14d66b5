//! Writes to one stripe, laid over each other.

use cygnus_runtime::{Buf, BufSlice, Runtime};
use cygnus_types::BLOCK;

use crate::stripes::Waiting;

/// Data columns as bits; there are at most 64.
pub(crate) type Columns = u64;

/// Rows of a stripe of which the same columns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub row: u32,
    pub rows: u32,
    pub written: Columns,
}

/// The new contents of a stripe, as far as somebody writes it.
pub(crate) struct Batch {
    columns: Vec<Option<Buf>>,
    /// For each row, the columns that are written.
    written: Vec<Columns>,
}

impl Batch {
    /// Later writes win over earlier ones.
    pub(crate) fn new(rt: &Runtime, data_columns: usize, chunk_blocks: u32, writes: &[Waiting]) -> Self {
        let columns = std::iter::repeat_with(|| None).take(data_columns).collect();
        let mut batch = Self { columns, written: vec![0; chunk_blocks as usize] };
        for write in writes {
            let buf = batch.columns[write.column].get_or_insert_with(|| rt.alloc(chunk_blocks as usize * BLOCK));
            buf.full().copy_from(write.row as usize * BLOCK, write.data.bytes());
            let first = write.row as usize;
            for row in &mut batch.written[first..first + write.data.len() / BLOCK] {
                *row |= 1 << write.column;
            }
        }
        batch
    }

    /// The rows that are written, cut where other columns are.
    pub(crate) fn bands(&self) -> Vec<Band> {
        let mut bands: Vec<Band> = Vec::new();
        for (row, &written) in (0..).zip(&self.written) {
            match bands.last_mut() {
                Some(band) if band.written == written && band.row + band.rows == row => band.rows += 1,
                _ if written != 0 => bands.push(Band { row, rows: 1, written }),
                _ => {}
            }
        }
        bands
    }

    /// The new bytes of a column in a band.
    pub(crate) fn bytes(&self, column: usize, band: &Band) -> &[u8] {
        let buf = self.columns[column].as_ref().expect("only of columns that are written");
        let from = band.row as usize * BLOCK;
        buf.part(from..from + band.rows as usize * BLOCK)
    }

    /// The same, to be handed to a device.
    pub(crate) fn slice(&self, column: usize, band: &Band) -> BufSlice {
        let buf = self.columns[column].as_ref().expect("only of columns that are written");
        let from = band.row as usize * BLOCK;
        buf.slice(from..from + band.rows as usize * BLOCK)
    }
}
