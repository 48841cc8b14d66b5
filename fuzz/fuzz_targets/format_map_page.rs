//! A map page with any contents under any summary entry: an error or 512 sound entries that encode to the same block,
//! never a panic.
#![no_main]

use cygnus_format::{Entry, Kind, MAP_PAGE_ENTRIES, MapEntry, MapPage, crc32c};
use cygnus_types::{Lba, VolumeId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut block = [0; 4096];
    let length = input.len().min(4096);
    block[..length].copy_from_slice(&input[..length]);
    check(input, &Entry::VOID);
    check(&block, &Entry::new(Kind::Meta, VolumeId(1), Lba(2), 3, 4));
    check(&block, &Entry::new(Kind::Meta, VolumeId(1), Lba(2), 3, crc32c(&block)));
});

fn check(bytes: &[u8], entry: &Entry) {
    let Ok(page) = MapPage::decode(bytes).and_then(|unverified| unverified.verify(entry)) else { return };
    let entries: Vec<MapEntry> = page.entries().collect();
    assert!(entries.iter().all(|e| !e.is_mapped() || e.pba().0 != 0));
    let entries: [MapEntry; MAP_PAGE_ENTRIES] = entries.try_into().expect("a page is 512 entries");
    let mut again = [0; 4096];
    MapPage::encode(&entries, &mut again);
    assert_eq!(again, bytes);
}
