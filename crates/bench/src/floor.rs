//! What one core of this machine needs for the parts of a write that no array can avoid.

use std::hint::black_box;
use std::time::Instant;

use cygnus_parity::checksum::crc32c;
use cygnus_parity::generate;
use cygnus_types::BLOCK;

use crate::report::Row;

/// Rows of a stripe column in the measurement: 256 KiB.
const ROWS: usize = 64;

/// Times in nanoseconds for one 4 KiB block.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    /// Copying a block to memory that is not in the cache.
    pub copy: f64,
    /// CRC32C of a block in the cache.
    pub crc: f64,
    /// A block's share of the parity of k columns.
    pub parity: f64,
    /// A random change of an 8-byte entry in a large table.
    pub map: f64,
    k: usize,
    m: usize,
}

/// Best of five, since other load only ever adds.
fn best(rounds: usize, mut work: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..5 {
        let begun = Instant::now();
        for _ in 0..rounds {
            work();
        }
        least = least.min(begun.elapsed().as_nanos() as f64 / rounds as f64);
    }
    least
}

impl Floor {
    /// Measures; takes about a second. `span` is how many bytes the copies are spread over.
    pub fn measure(k: usize, m: usize, span: usize) -> Self {
        let source = vec![7u8; BLOCK];
        let mut area = vec![0u8; span];
        let blocks = span / BLOCK;
        let mut at = 0;
        let copy = best(blocks.min(1 << 16), || {
            area[at * BLOCK..(at + 1) * BLOCK].copy_from_slice(black_box(&source));
            at = (at + 1) % blocks;
        });
        let crc = best(20_000, || {
            black_box(crc32c(black_box(&source)));
        });
        Self { copy, crc, parity: parity(k, m), map: map(), k, m }
    }

    /// The sum: a block copied into the stripe, checksummed, its share of parity, and with the parity written out, and
    /// the map changed.
    pub fn write(&self) -> f64 {
        let written = (self.k + self.m) as f64 / self.k as f64;
        self.copy + self.crc + self.parity + self.copy * written + self.map
    }

    /// A read: one copy from the device, one checksum, one look into the map.
    pub fn read(&self) -> f64 {
        self.copy + self.crc + self.map
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        vec![
            Row::new("copy of a block to cold memory", self.copy, BLOCK),
            Row::new("CRC32C of a block", self.crc, BLOCK),
            Row::new(format!("a block's share of {}+{} parity", self.k, self.m), self.parity, BLOCK),
            Row::new("random change of a map entry", self.map, 8),
            Row::new("sum for a write (copied in, parity, copied out)", self.write(), BLOCK),
            Row::new("sum for a read", self.read(), BLOCK),
        ]
    }
}

fn parity(k: usize, m: usize) -> f64 {
    let columns = vec![vec![3u8; ROWS * BLOCK]; k];
    let data: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    let mut out = vec![vec![0u8; ROWS * BLOCK]; m];
    let stripe = best(200, || {
        let mut views: Vec<&mut [u8]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        generate(black_box(&data), &mut views);
    });
    stripe / (k * ROWS) as f64
}

fn map() -> f64 {
    let mut table = vec![0u64; 1 << 20];
    let mut x = 1u64;
    best(200_000, || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let slot = (x >> 44) as usize;
        table[slot] = black_box(table[slot] ^ x);
    })
}
