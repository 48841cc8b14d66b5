//! Whether blocks are the page that the map has, and what each of them must match by itself.

use cygnus_format::MapEntry;
use cygnus_parity as parity;
use cygnus_types::{BLOCK, MAX_PAGE_BLOCKS};

use crate::read::scan::FoundStripe;

/// A bit for each of so many blocks.
pub(crate) fn all_of(blocks: usize) -> u32 {
    (1 << blocks) - 1
}

/// The entries of a page's blocks, given that of the first.
pub(crate) fn blocks_of(first: MapEntry, blocks: usize) -> [MapEntry; MAX_PAGE_BLOCKS as usize] {
    let mut all = [MapEntry::EMPTY; MAX_PAGE_BLOCKS as usize];
    (0..).zip(&mut all[..blocks]).for_each(|(n, entry)| *entry = first.nth(n));
    all
}

/// Whether these blocks are the page of an entry.
pub(crate) fn is_page(entry: MapEntry, data: &[u8]) -> bool {
    MapEntry::page_check(data.chunks_exact(BLOCK).map(parity::checksum::crc32c)) == entry.crc_bits()
}

/// What a block of a page must match by itself, as the header of its stripe says: of the `nth` of so many blocks, in this row below the
/// header. `None` if the header does not tell of that page.
pub(crate) fn own_entry(
    stripe: &FoundStripe,
    (column, row): (u8, u32),
    entry: MapEntry,
    (nth, blocks): (u64, u64),
) -> Option<MapEntry> {
    let entries = stripe.entries[usize::from(column)].as_ref()?;
    let begun = (row as usize).checked_sub(nth as usize)?;
    let of_page = entries.get(begun..begun + blocks as usize)?;
    let is_it = MapEntry::page_check(of_page.iter().map(|entry| entry.crc())) == entry.crc_bits();
    is_it.then(|| MapEntry::new(entry.pba(), of_page[nth as usize].crc()))
}
