use cygnus_types::Uuid;

use super::*;
use crate::constants::{DATA_START, SUPERBLOCK_AREA};
use crate::superblock::tests::sample;

/// A device's first bytes, with all slots empty.
fn head() -> Vec<u8> {
    let mut head = vec![0; SUPERBLOCK_AREA as usize];
    SUPERBLOCK_OFFSETS.as_flattened().iter().for_each(|&at| put(&mut head, at, &empty_slot()));
    head
}

fn put(head: &mut [u8], at: u64, bytes: &[u8]) {
    head[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

fn of(generation: u64) -> Superblock {
    Superblock { generation, ..sample() }
}

/// The first bytes of a device to which these generations were written, one after the other.
fn written(generations: &[u64]) -> Vec<u8> {
    let mut head = head();
    for &generation in generations {
        copies_for(generation).iter().for_each(|&at| put(&mut head, at, &of(generation).encode().unwrap()));
    }
    head
}

#[test]
fn slots_alternate_and_no_two_copies_overlap() {
    assert_ne!(copies_for(1), copies_for(2));
    assert_eq!(copies_for(1), copies_for(3));
    let mut all = SUPERBLOCK_OFFSETS.as_flattened().to_vec();
    all.sort_unstable();
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] >= SUPERBLOCK_SLOT));
    assert!(all[3] + SUPERBLOCK_SLOT <= DATA_START);
}

#[test]
fn the_newest_superblock_counts() {
    for generations in [&[7][..], &[6, 7], &[7, 8, 9]] {
        let slots = Slots::read(&written(generations)).unwrap();
        assert_eq!(slots.newest, of(*generations.last().unwrap()));
        assert_eq!((slots.lost(), slots.mendable()), (None, Vec::new()));
    }
    assert_eq!(Slots::read(&head()), Err(SuperblockError::NotASuperblock));
    assert_eq!(Slots::read(&vec![0; SUPERBLOCK_AREA as usize]), Err(SuperblockError::NotASuperblock));
    assert!(Slots::read(&[]).is_err());
    let mut stranger = written(&[6, 7]);
    put(&mut stranger, copies_for(6)[1], &Superblock { array: Uuid::from_random(9, 9), ..of(6) }.encode().unwrap());
    assert!(matches!(Slots::read(&stranger), Err(SuperblockError::TwoArrays(..))));
}

/// Whatever one copy looks like, the other one has what counts, and mends it.
#[test]
fn one_spoiled_copy_hides_nothing() {
    for copy in SUPERBLOCK_OFFSETS.as_flattened() {
        for what in [&b"torn"[..], &[0; BLOCK]] {
            let mut head = written(&[6, 7]);
            put(&mut head, *copy, what);
            let slots = Slots::read(&head).unwrap();
            assert_eq!((&slots.newest, slots.lost()), (&of(7), None));
            let [(from, to)] = slots.mendable()[..] else { panic!("{:?}", slots.mendable()) };
            assert!(to == *copy && SUPERBLOCK_OFFSETS.contains(&[from.min(to), from.max(to)]));
        }
    }
}

/// Cut short at any point, an update leaves what was before it, or what it wrote, and never looks like rot.
#[test]
fn an_update_that_was_cut_short_is_not_taken_for_rot() {
    let new = of(8).encode().unwrap();
    let [first, second] = copies_for(8);
    for empty in [false, true] {
        let mut head = if empty { written(&[7]) } else { written(&[6, 7]) };
        put(&mut head, first, &new);
        head[first as usize + 100] ^= 1;
        let torn = Slots::read(&head).unwrap();
        assert_eq!((&torn.newest, torn.lost(), torn.mendable()), (&of(7), None, vec![(second, first)]));
        put(&mut head, first, &new);
        head[second as usize..second as usize + 100].fill(3);
        let torn = Slots::read(&head).unwrap();
        assert_eq!((&torn.newest, torn.lost(), torn.mendable()), (&of(8), None, vec![(first, second)]));
    }
}

#[test]
fn a_slot_without_a_copy_is_lost_whichever_it_is() {
    for generation in [6, 7] {
        for zeroed in [false, true] {
            let mut head = written(&[6, 7]);
            for at in copies_for(generation) {
                match zeroed {
                    true => put(&mut head, at, &[0; BLOCK]),
                    false => head[at as usize + 200] ^= 4,
                }
            }
            let slots = Slots::read(&head).unwrap();
            assert_eq!(slots.newest, of(13 - generation));
            assert_eq!(slots.lost().map(|(at, _)| at), Some(copies_for(generation)[0]));
            assert_eq!(slots.mendable(), []);
        }
    }
}

#[test]
fn a_member_that_was_given_to_others_is_not_ours() {
    // mkfs.xfs leaves the other slots alone, mdadm even the first block.
    let mut xfs = written(&[6, 7]);
    put(&mut xfs, 0, b"XFSB");
    assert_eq!(Slots::read(&xfs), Err(SuperblockError::TakenOver("xfs")));
    let mut md = written(&[6, 7]);
    put(&mut md, 4096, &[0xfc, 0x4e, 0x2b, 0xa9]);
    assert_eq!(Slots::read(&md), Err(SuperblockError::TakenOver("mdraid")));
    // Our own bytes may look like anything: here with a boot sector's 55 AA.
    let mut lookalike = of(6).encode().unwrap();
    lookalike[510..512].copy_from_slice(&[0x55, 0xaa]);
    checksum::seal(&mut lookalike);
    assert_eq!(probe::taken_over_by(&lookalike), None);
}

#[test]
fn what_says_that_it_is_empty_is_nothing() {
    assert_eq!(probe::probe(&head()), probe::Probe::Blank);
    let mut flipped = head();
    flipped[9] ^= 1;
    assert_eq!(probe::probe(&flipped), probe::Probe::Unknown);
}
