//! Block contents that say which write they come from.
//!
//! Every write has a version, and its bytes are a function of (volume, block, version). Each 512-byte sector begins with
//! that triple, so a wrong block found by a read can be named: another block's, an older version's, or damaged.
//!
//! ```text
//! byte  0   8        12        16              24             512
//!       magic volume  version   block*8+sector  noise from all of these
//! ```

use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use cygnus_runtime::Rng;
use cygnus_types::BLOCK;

const SECTOR: usize = 512;
const MAGIC: u64 = u64::from_le_bytes(*b"CYGNUSVW");

/// Number of a write, unique in a run. Version 0 is "zeros": never written, trimmed or zeroed.
pub type Version = u32;

/// A block of a volume. Volumes have numbers that are never used again in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which volume.
    pub volume: u32,
    /// Which 4 KiB block of it.
    pub block: u64,
}

/// What a block may hold: the bytes of one write, or a patchwork left by unaligned ones.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// All of it from one write.
    Whole(Version),
    /// Consecutive pieces that together cover the block.
    Mixed(Rc<[Piece]>),
}

/// Bytes up to `end`, from the end of the piece before, of one write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    end: u16,
    version: Version,
}

impl Content {
    /// A block of zeros.
    pub const ZEROS: Content = Content::Whole(0);

    /// This content after a write of `version` to a byte range of the block.
    pub fn overlaid(&self, range: Range<usize>, version: Version) -> Content {
        if range == (0..BLOCK) {
            return Content::Whole(version);
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut add = |end: usize, version| match pieces.last_mut() {
            _ if end == 0 => {}
            Some(last) if last.version == version => last.end = end as u16,
            _ => pieces.push(Piece { end: end as u16, version }),
        };
        let mut start = 0;
        for piece in self.pieces() {
            let end = piece.end as usize;
            if start < range.start {
                add(end.min(range.start), piece.version);
            }
            if start <= range.start && range.start < end {
                add(range.end, version);
            }
            if end > range.end {
                add(end, piece.version);
            }
            start = end;
        }
        match pieces[..] {
            [only] => Content::Whole(only.version),
            _ => Content::Mixed(pieces.into()),
        }
    }

    fn pieces(&self) -> Vec<Piece> {
        match self {
            Content::Whole(version) => vec![Piece { end: BLOCK as u16, version: *version }],
            Content::Mixed(pieces) => pieces.to_vec(),
        }
    }

    /// Whether `bytes` (one block) are this content at that place.
    pub fn matches(&self, place: Place, bytes: &[u8]) -> bool {
        self.matches_part(place, 0..BLOCK, bytes)
    }

    /// Whether `bytes` are what this content has in a byte range of the block.
    pub fn matches_part(&self, place: Place, range: Range<usize>, bytes: &[u8]) -> bool {
        let mut start = 0;
        let mut same = |end: usize, version| {
            let part = start.max(range.start)..end.min(range.end);
            start = end;
            part.is_empty() || {
                let seen = &bytes[part.start - range.start..part.end - range.start];
                matches_version(place, version, part, seen)
            }
        };
        match self {
            Content::Whole(version) => same(BLOCK, *version),
            Content::Mixed(pieces) => pieces.iter().all(|piece| same(piece.end as usize, piece.version)),
        }
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |version: Version| if version == 0 { "zeros".to_owned() } else { format!("v{version}") };
        match self {
            Content::Whole(version) => f.write_str(&name(*version)),
            Content::Mixed(pieces) => {
                let mut start = 0;
                for (n, piece) in pieces.iter().enumerate() {
                    let gap = if n == 0 { "" } else { " " };
                    write!(f, "{gap}{}[{start}..{}]", name(piece.version), piece.end)?;
                    start = piece.end;
                }
                Ok(())
            }
        }
    }
}

fn sector(place: Place, version: Version, number: usize, bytes: &mut [u8; SECTOR]) {
    let who = u64::from(place.volume) | u64::from(version) << 32;
    let place = place.block * (BLOCK / SECTOR) as u64 + number as u64;
    bytes[0..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&who.to_le_bytes());
    bytes[16..24].copy_from_slice(&place.to_le_bytes());
    Rng::new(who.rotate_left(17) ^ place.wrapping_mul(0x9E37_79B9_7F4A_7C15)).fill(&mut bytes[24..]);
}

/// Calls `each` with the version's bytes, in pieces that lie within one sector, and where they go in `range`.
fn for_each_part(
    place: Place,
    version: Version,
    range: Range<usize>,
    mut each: impl FnMut(usize, &[u8]) -> bool,
) -> bool {
    let mut bytes = [0; SECTOR];
    let mut at = range.start;
    while at < range.end {
        let number = at / SECTOR;
        let end = range.end.min((number + 1) * SECTOR);
        if version != 0 {
            sector(place, version, number, &mut bytes);
        }
        if !each(at - range.start, &bytes[at - number * SECTOR..end - number * SECTOR]) {
            return false;
        }
        at = end;
    }
    true
}

fn matches_version(place: Place, version: Version, range: Range<usize>, bytes: &[u8]) -> bool {
    for_each_part(place, version, range, |at, part| bytes[at..at + part.len()] == *part)
}

/// Fills `bytes` with what `version` writes to a byte range of a block.
pub fn fill(place: Place, version: Version, range: Range<usize>, bytes: &mut [u8]) {
    for_each_part(place, version, range, |at, part| {
        bytes[at..at + part.len()].copy_from_slice(part);
        true
    });
}

/// Bytes from one write at least: fewer may be the same by chance.
const LEAST_PIECE: usize = 4;

/// Whether `bytes` are pieces of what writes up to `newest` have put into a byte range of a block, zeros among them.
pub fn is_patchwork(place: Place, newest: Version, range: Range<usize>, bytes: &[u8]) -> bool {
    let same = |start: usize, version: Version| {
        let (mut len, from) = (0, range.start + start);
        for_each_part(place, version, from..range.end, |at, part| {
            let seen = &bytes[start + at..start + at + part.len()];
            let matching = seen.iter().zip(part).take_while(|(a, b)| a == b).count();
            len = at + matching;
            matching == part.len()
        });
        len
    };
    let mut at = 0;
    while at < range.len() {
        let longest = (0..=newest).map(|version| same(at, version)).max().unwrap_or(0);
        if longest < LEAST_PIECE.min(range.len() - at) {
            return false;
        }
        at += longest;
    }
    true
}

/// Says in words what a block holds, by what its sectors claim.
pub fn describe(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
        let claim = claim_of(number, sector);
        if claim != last {
            let comma = if text.is_empty() { "" } else { "; " };
            text += &format!("{comma}from byte {}: {claim}", number * SECTOR);
            last = claim;
        }
    }
    text
}

fn claim_of(number: usize, bytes: &[u8]) -> String {
    if bytes.iter().all(|&b| b == 0) {
        return "zeros".into();
    }
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    if word(0) != MAGIC {
        return "bytes that no whole sector of a write begins with".into();
    }
    let (who, place) = (word(8), word(16));
    let per_block = (BLOCK / SECTOR) as u64;
    let (volume, version, block) = (who as u32, (who >> 32) as u32, place / per_block);
    let mut genuine = [0; SECTOR];
    sector(Place { volume, block }, version, (place % per_block) as usize, &mut genuine);
    let shifted = if place % per_block == number as u64 { "" } else { ", in the wrong sector" };
    let damaged = if genuine == *bytes { "" } else { ", partly overwritten or damaged" };
    format!("volume {volume} block {block} v{version}{shifted}{damaged}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { volume: 3, block: 7 };

    fn rendered(writes: &[(Range<usize>, Version)]) -> (Content, Vec<u8>) {
        let mut bytes = vec![0; BLOCK];
        let mut content = Content::ZEROS;
        for (range, version) in writes {
            fill(PLACE, *version, range.clone(), &mut bytes[range.clone()]);
            content = content.overlaid(range.clone(), *version);
        }
        (content, bytes)
    }

    #[test]
    fn overlays_agree_with_bytes() {
        let mut rng = Rng::new(5);
        for _ in 0..500 {
            let mut writes = Vec::new();
            for version in 1..6 {
                let (a, b) = (rng.below(BLOCK as u64 + 1) as usize, rng.below(BLOCK as u64 + 1) as usize);
                if a != b {
                    writes.push((a.min(b)..a.max(b), version % 4));
                }
            }
            let (content, mut bytes) = rendered(&writes);
            assert!(content.matches(PLACE, &bytes), "{writes:?} gave {content:?}");
            let at = rng.below(BLOCK as u64) as usize;
            bytes[at] ^= 1;
            assert!(!content.matches(PLACE, &bytes));
        }
    }

    #[test]
    fn pieces_of_earlier_writes_are_told_from_what_was_never_there() {
        let (_, mut bytes) = rendered(&[(0..BLOCK, 2), (700..1900, 1), (3000..3100, 0)]);
        assert!(is_patchwork(PLACE, 3, 0..BLOCK, &bytes));
        assert!(is_patchwork(PLACE, 3, 650..1500, &bytes[650..1500]));
        assert!(!is_patchwork(PLACE, 1, 0..BLOCK, &bytes), "version 2 is not written yet");
        assert!(!is_patchwork(Place { block: 8, ..PLACE }, 3, 0..BLOCK, &bytes));
        bytes[1000] ^= 1;
        assert!(!is_patchwork(PLACE, 3, 0..BLOCK, &bytes));
    }

    #[test]
    fn a_stranger_is_named() {
        let (_, mut bytes) = rendered(&[(0..BLOCK, 9)]);
        assert_eq!(describe(&bytes), "from byte 0: volume 3 block 7 v9");
        assert!(!Content::Whole(9).matches(Place { block: 8, ..PLACE }, &bytes), "the same version elsewhere differs");
        bytes[1000] ^= 1;
        bytes[1024..].fill(0);
        assert_eq!(
            describe(&bytes),
            "from byte 0: volume 3 block 7 v9; from byte 512: volume 3 block 7 v9, partly overwritten or damaged; \
             from byte 1024: zeros"
        );
    }
}
