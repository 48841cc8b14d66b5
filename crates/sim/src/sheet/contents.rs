//! What the large blank devices of a world hold besides zeros: the engine's own blocks, packed, equal parts of them once.
//!
//! A block is kept as a list of its parts, packed. Each column's entries are in the headers of m + 1 columns, which differ in
//! little else; so a header has a part for each table, and these are compared with those kept lately. Anything else is one
//! part.

use cygnus_format::HeaderParts;
use cygnus_format::header_parts::OWN_BYTES;
use cygnus_types::BLOCK;

use super::bits::{SLACK, pack, unpack};
use super::cells::{Cells, NONE};

const WORD: usize = size_of::<u64>();
/// Words in an entry of a stripe's header.
const ENTRY: usize = 3;
/// What a block's list begins with: that it is a header, or else the number of words of each record of a table.
const HEADER: u8 = 0;
/// Bytes of the fixed part of a header.
const FIXED: usize = cygnus_format::STRIPE_FIXED;
/// Parts that are remembered. All columns of a stripe are written at about the same time.
const RECENT: u64 = 512;
/// Words at either end of a part by which it is found.
const HASHED: usize = 2 * ENTRY;

/// A part kept lately.
#[derive(Clone, Default)]
struct Recent {
    bytes: Vec<u8>,
    stride: usize,
    at: u32,
}

/// See the module's text. A block is named by a number.
pub(crate) struct Contents {
    cells: Cells,
    /// By their hash. Each counts as one more user of the part, so that its number never leads to anything else.
    recent: Box<[Recent]>,
    /// Room to work in.
    words: Vec<u64>,
    packed: Vec<u8>,
    other: Vec<u8>,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            cells: Cells::default(),
            recent: vec![Recent::default(); RECENT as usize].into(),
            words: Vec::new(),
            packed: Vec::new(),
            other: Vec::new(),
        }
    }
}

/// Of the first records and the last: parts of different stripes differ in all of them, as a rule, and parts of the same
/// hash are compared to the end.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: &[u8; WORD]| {
        (hash ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    };
    let words = bytes.as_chunks().0;
    let few = words.len().min(HASHED);
    words[..few].iter().chain(&words[words.len() - few..]).fold(words.len() as u64, mix)
}

fn read_words(bytes: &[u8], words: &mut Vec<u64>) {
    words.clear();
    words.extend(bytes.as_chunks::<WORD>().0.iter().map(|word| u64::from_le_bytes(*word)));
}

fn write_words(words: &[u64], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<WORD>().0) {
        *bytes = word.to_le_bytes();
    }
}

/// The numbers in a list.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number))
}

impl Contents {
    /// Keeps a block; gives its number.
    pub(super) fn hold(&mut self, block: &[u8]) -> u32 {
        assert_eq!(block.len(), BLOCK, "contents come in whole blocks");
        match HeaderParts::of(block) {
            Some(parts) => self.hold_header(block, parts),
            None => self.hold_table(block),
        }
    }

    fn hold_table(&mut self, block: &[u8]) -> u32 {
        read_words(block, &mut self.words);
        let alike = |distance: usize| {
            let pairs = self.words.iter().zip(&self.words[distance..]);
            pairs.filter(|(a, b)| *a >> 32 == *b >> 32).count()
        };
        // Entries, where a header goes on, are like entries; all else is more like its neighbours.
        let stride = if alike(ENTRY) > alike(1) { ENTRY } else { 1 };
        let part = self.pack(stride, 1);
        self.list_of([stride as u8].into_iter().chain(part.to_le_bytes()))
    }

    /// Keeps a list.
    fn list_of(&mut self, bytes: impl IntoIterator<Item = u8>) -> u32 {
        self.packed.clear();
        self.packed.extend(bytes);
        self.cells.put(&mut self.packed)
    }

    /// Keeps `words` as a part with `users` users; the part is packed behind that number.
    fn pack(&mut self, stride: usize, users: u32) -> u32 {
        self.packed.clear();
        self.packed.extend_from_slice(&users.to_le_bytes());
        pack(&self.words, stride, &mut self.packed);
        self.cells.put(&mut self.packed)
    }

    /// Behind the kind come the bytes of the fixed part that are the column's own, and the numbers of the parts: the rest
    /// of the fixed part, what is behind the tables, the tables.
    fn hold_header(&mut self, block: &[u8], parts: HeaderParts) -> u32 {
        let mut fixed: [u8; FIXED] = block[..FIXED].try_into().expect("blocks are longer");
        let mut list = vec![HEADER];
        for own in OWN_BYTES {
            list.extend_from_slice(&fixed[own.clone()]);
            fixed[own].fill(0);
        }
        let rest = &block[parts.rest()];
        let is_zeros = rest.as_chunks::<WORD>().0.iter().fold(0, |any, word| any | u64::from_le_bytes(*word)) == 0;
        list.extend(self.share(&fixed, FIXED / WORD).to_le_bytes());
        list.extend(if is_zeros { NONE } else { self.share(rest, ENTRY) }.to_le_bytes());
        for table in parts.tables() {
            list.extend(self.share(&block[table], ENTRY).to_le_bytes());
        }
        self.cells.put(&mut list)
    }

    /// Keeps a part, or finds it among those kept lately.
    fn share(&mut self, bytes: &[u8], stride: usize) -> u32 {
        let slot = (hash(bytes) % RECENT) as usize;
        let recent = &self.recent[slot];
        let lately = recent.at;
        if lately != NONE && recent.stride == stride && *recent.bytes == *bytes {
            self.count_users(lately, 1);
            return lately;
        }
        self.unshare(lately);
        read_words(bytes, &mut self.words);
        // It has two users: who keeps it, and the memory of what was kept lately.
        let at = self.pack(stride, 2);
        let recent = &mut self.recent[slot];
        (recent.stride, recent.at) = (stride, at);
        recent.bytes.clear();
        recent.bytes.extend_from_slice(bytes);
        at
    }

    fn count_users(&mut self, part: u32, change: i32) -> u32 {
        let users = self.cells.bytes_mut(part).first_chunk_mut::<4>().expect("a cell has room for it");
        let count = u32::from_le_bytes(*users).checked_add_signed(change).expect("users are counted");
        *users = count.to_le_bytes();
        count
    }

    /// One user less of a part, if there is one.
    fn unshare(&mut self, part: u32) {
        if part != NONE && self.count_users(part, -1) == 0 {
            self.cells.free(part);
        }
    }

    /// Gives a block up.
    pub(super) fn release(&mut self, block: u32) {
        let mut list = std::mem::take(&mut self.packed);
        self.cells.get(block, &mut list);
        let parts = if list[0] == HEADER { PARTS.. } else { TABLE.. };
        numbers(&list[parts]).for_each(|part| self.unshare(part));
        self.packed = list;
        self.cells.free(block);
    }

    /// Gives a block's bytes.
    pub(super) fn copy_to(&mut self, block: u32, bytes: &mut [u8; BLOCK]) {
        let mut list = std::mem::take(&mut self.packed);
        self.cells.get(block, &mut list);
        match list[0] {
            HEADER => self.copy_header(&list, bytes),
            stride => numbers(&list[TABLE..]).take(1).for_each(|part| self.copy_part(part, stride.into(), bytes)),
        }
        self.packed = list;
    }

    fn copy_header(&mut self, list: &[u8], bytes: &mut [u8; BLOCK]) {
        let mut numbers = numbers(&list[PARTS..]);
        let (fixed, rest) = (numbers.next().unwrap_or(NONE), numbers.next().unwrap_or(NONE));
        self.copy_part(fixed, FIXED / WORD, &mut bytes[..FIXED]);
        let parts = HeaderParts::of(&bytes[..FIXED]).expect("it was taken for a header");
        for (table, number) in parts.tables().zip(numbers) {
            self.copy_part(number, ENTRY, &mut bytes[table]);
        }
        match rest {
            NONE => bytes[parts.rest()].fill(0),
            rest => self.copy_part(rest, ENTRY, &mut bytes[parts.rest()]),
        }
        let mut own = &list[1..];
        for range in OWN_BYTES {
            let (these, others) = own.split_at(range.len());
            bytes[range].copy_from_slice(these);
            own = others;
        }
    }

    fn copy_part(&mut self, part: u32, stride: usize, bytes: &mut [u8]) {
        self.cells.get(part, &mut self.other);
        self.other.extend_from_slice(&[0; SLACK]);
        self.words.resize(bytes.len() / WORD, 0);
        unpack(&self.other[4..], stride, &mut self.words);
        write_words(&self.words, bytes);
    }

    /// Keeps the numbers of blocks.
    pub(super) fn hold_list(&mut self, blocks: &[u32]) -> u32 {
        self.list_of(blocks.iter().flat_map(|block| block.to_le_bytes()))
    }

    /// Adds `count` numbers of a list to `blocks`.
    pub(super) fn list(&mut self, list: u32, count: usize, blocks: &mut Vec<u32>) {
        self.cells.get(list, &mut self.packed);
        blocks.extend(numbers(&self.packed).take(count));
    }

    /// Gives a list up, not the blocks.
    pub(super) fn release_list(&mut self, list: u32) {
        self.cells.free(list);
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> u64 {
        let recent: usize = self.recent.iter().map(|recent| recent.bytes.len()).sum();
        self.cells.memory() + recent as u64
    }
}

/// Where the numbers of a header's parts begin: behind the kind and the column's own bytes.
const PARTS: usize = {
    let [a, b] = OWN_BYTES;
    1 + (a.end - a.start) + (b.end - b.start)
};
/// Where the number of a table's part is: behind the kind.
const TABLE: usize = 1;

#[cfg(test)]
mod tests {
    use cygnus_format::{Entry, Kind, Rotation, Stream, StripeCommon, Summary};
    use cygnus_types::{GroupId, Lba, ReactorId, SegmentId, VolumeId};
    use proptest::prelude::*;

    use super::*;

    const ROWS: u32 = 48;

    /// The headers of a stripe's columns whose blocks have addresses from `lba` on.
    fn headers(lba: u64, parity: u8) -> Vec<Vec<u8>> {
        let width = 7 + parity;
        let common = StripeCommon {
            array_tag: 0x1234_5678_9abc_def0,
            group: GroupId(0),
            segment: SegmentId(9),
            segment_seq: lba,
            stripe_seq: lba * 3,
            session: 2,
            durable: lba,
            opened: 0,
            start_row: 65,
            header_blocks: 1,
            rows: ROWS,
            rotation: Rotation { data: 7, parity, parity_start: 3 },
            stream: Stream::Clients,
            reactor: ReactorId(0),
        };
        let entry = |n| Entry::new(Kind::Data, VolumeId(1), Lba((lba + n) * 0x9E37_79B9 % (1 << 28)), lba + n, 77);
        let entries: Vec<Entry> = (0..u64::from(ROWS) * u64::from(width)).map(entry).collect();
        let summary = Summary::new(&entries, ROWS);
        let header = |column| {
            let mut header = vec![0; BLOCK];
            common.encode_into(&mut header, column, summary, &[]);
            header
        };
        (0..width).map(header).collect()
    }

    fn bytes_of(contents: &mut Contents, block: u32) -> Vec<u8> {
        let mut bytes = [0xee; BLOCK];
        contents.copy_to(block, &mut bytes);
        bytes.to_vec()
    }

    #[test]
    fn the_headers_of_a_stripe_share_their_tables() {
        let (mut contents, mut blocks) = (Contents::default(), Vec::new());
        for lba in 0..100 {
            for header in headers(lba * 1000, 1) {
                blocks.push((contents.hold(&header), header));
            }
        }
        for (block, header) in &blocks {
            assert!(bytes_of(&mut contents, *block) == *header);
        }
        // Of each column: its own list, and 28 bits of address and 10 of sequence for each block, not twice; and a little.
        let each = contents.cells.in_use() * 32 / blocks.len();
        assert!(each < 32 + ROWS as usize * (28 + 10) / 8 + 100, "{each} bytes");
    }

    /// Blocks of all kinds, damaged headers among them.
    fn block() -> impl Strategy<Value = Vec<u8>> {
        let any_header = (0_u64..4, 0_usize..8, 0_usize..200, any::<u8>()).prop_map(|(lba, column, at, byte)| {
            let mut header = headers(lba, 1).swap_remove(column);
            if at >= 8 {
                header[at] = byte;
            }
            header
        });
        let table = (0_u64..1 << 40, 0_u64..9).prop_map(|(from, step)| {
            (0..512).flat_map(|n| ((from + n * step) << 28).to_le_bytes()).collect::<Vec<u8>>()
        });
        prop_oneof![4 => any_header, 1 => table, 1 => prop::collection::vec(any::<u8>(), BLOCK)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn gives_back_what_it_holds(acts in prop::collection::vec((block(), any::<bool>(), any::<usize>()), 0..60)) {
            let (mut contents, mut held) = (Contents::default(), Vec::<(u32, Vec<u8>)>::new());
            for (bytes, goes, which) in acts {
                if goes && !held.is_empty() {
                    contents.release(held.swap_remove(which % held.len()).0);
                }
                held.push((contents.hold(&bytes), bytes));
                for (block, bytes) in &held {
                    prop_assert!(bytes_of(&mut contents, *block) == *bytes);
                }
            }
            held.iter().for_each(|(block, _)| contents.release(*block));
            for slot in 0..RECENT as usize {
                contents.unshare(contents.recent[slot].at);
            }
            prop_assert_eq!(contents.cells.in_use(), 0, "nothing is left behind");
        }
    }
}
