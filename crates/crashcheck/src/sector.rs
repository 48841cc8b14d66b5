//! Sector contents that describe themselves.
//!
//! ```text
//! word 0      magic
//! word 1      run: one number per array created, so that leftovers of an earlier array are told apart
//! word 2      sector number on the volume
//! word 3      version: the number of the operation that wrote it
//! word 4..64  a fill computed from the three above
//! ```
//! Every one of the 512 bytes follows from (run, sector, version), so a check is an exact comparison and not
//! a matter of a checksum's luck: torn, mixed and misplaced contents all show.

use crate::rng::mix;

/// The checker's unit of truth. Smaller than the array's block on purpose: partial-block writes are judged too.
pub const SECTOR: usize = 512;

const MAGIC: u64 = 0x4359_474e_5553_4331;
const WORDS: usize = SECTOR / 8;

/// The number of the operation that wrote a sector. Zero stands for "zeros": never written, trimmed or zeroed.
pub type Version = u64;

/// What 512 bytes read back turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All bytes zero.
    Zeros,
    /// The exact contents that operation wrote to this sector.
    Written(Version),
    /// The exact contents of another place or another array.
    Elsewhere {
        /// Run the contents belong to.
        run: u64,
        /// Sector the contents belong to.
        sector: u64,
        /// Operation that wrote them.
        version: Version,
    },
    /// Nothing this checker ever wrote: torn, mixed or corrupted. The offset is the first wrong byte when the header is intact.
    Garbage {
        /// First byte that differs from what the header promises; 0 if the header itself is unreadable.
        at: usize,
    },
}

/// Fills `buf` (whole sectors) with version `version` of the sectors from `first` on.
pub fn fill(buf: &mut [u8], run: u64, first: u64, version: Version) {
    assert_eq!(buf.len() % SECTOR, 0, "contents are described per whole sector");
    for (i, sector) in buf.chunks_exact_mut(SECTOR).enumerate() {
        fill_one(sector, run, first + i as u64, version);
    }
}

/// Tells what the 512 bytes read from sector `sector` are.
pub fn inspect(buf: &[u8], run: u64, sector: u64) -> Seen {
    if buf.iter().all(|&b| b == 0) {
        return Seen::Zeros;
    }
    if word(buf, 0) != MAGIC {
        return Seen::Garbage { at: 0 };
    }
    let (its_run, its_sector, version) = (word(buf, 1), word(buf, 2), word(buf, 3));
    let mut expected = [0u8; SECTOR];
    fill_one(&mut expected, its_run, its_sector, version);
    if let Some(at) = (0..SECTOR).find(|&i| buf[i] != expected[i]) {
        return Seen::Garbage { at };
    }
    if (its_run, its_sector) == (run, sector) {
        Seen::Written(version)
    } else {
        Seen::Elsewhere { run: its_run, sector: its_sector, version }
    }
}

fn fill_one(sector: &mut [u8], run: u64, number: u64, version: Version) {
    let key = mix(run ^ mix(number ^ mix(version)));
    for (i, word) in sector.chunks_exact_mut(8).enumerate() {
        let value = match i {
            0 => MAGIC,
            1 => run,
            2 => number,
            3 => version,
            _ => key.wrapping_mul(2 * i as u64 + 1).rotate_left(i as u32),
        };
        word.copy_from_slice(&value.to_le_bytes());
    }
}

fn word(buf: &[u8], i: usize) -> u64 {
    debug_assert!(i < WORDS);
    u64::from_le_bytes(buf[i * 8..i * 8 + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_apart() {
        let mut buf = vec![0u8; 2 * SECTOR];
        assert_eq!(inspect(&buf[..SECTOR], 7, 10), Seen::Zeros);
        fill(&mut buf, 7, 10, 99);
        assert_eq!(inspect(&buf[..SECTOR], 7, 10), Seen::Written(99));
        assert_eq!(inspect(&buf[SECTOR..], 7, 11), Seen::Written(99));
        assert_eq!(inspect(&buf[SECTOR..], 7, 10), Seen::Elsewhere { run: 7, sector: 11, version: 99 });
        assert_eq!(inspect(&buf[..SECTOR], 8, 10), Seen::Elsewhere { run: 7, sector: 10, version: 99 });
        buf[300] ^= 1;
        assert_eq!(inspect(&buf[..SECTOR], 7, 10), Seen::Garbage { at: 300 });
        buf[0] ^= 1;
        assert_eq!(inspect(&buf[..SECTOR], 7, 10), Seen::Garbage { at: 0 });
    }

    #[test]
    fn halves_of_two_versions_are_garbage() {
        let (mut a, mut b) = (vec![0u8; SECTOR], vec![0u8; SECTOR]);
        fill(&mut a, 1, 5, 1);
        fill(&mut b, 1, 5, 2);
        a[256..].copy_from_slice(&b[256..]);
        assert!(matches!(inspect(&a, 1, 5), Seen::Garbage { .. }));
    }
}
