use super::*;

fn device() -> Vec<u8> {
    vec![0; PROBE_HEAD]
}

fn with(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut head = device();
    head[offset..offset + bytes.len()].copy_from_slice(bytes);
    head
}

#[test]
fn every_signature_is_found_at_its_place_only() {
    for s in SIGNATURES {
        assert_eq!(probe(&with(s.offset, s.magic)), Probe::Foreign { what: s.what });
        let elsewhere = with(s.offset + 256, s.magic);
        assert_ne!(probe(&elsewhere), Probe::Foreign { what: s.what }, "{} moved by 256 bytes", s.what);
    }
}

#[test]
fn structured_signatures_are_found() {
    let what = |head: &[u8]| match probe(head) {
        Probe::Foreign { what } => what,
        other => panic!("{other:?}"),
    };
    let mut ext = with(1080, b"\x53\xef");
    assert_eq!(what(&ext), "ext2");
    ext[1024 + 92] = 0x04;
    assert_eq!(what(&ext), "ext3");
    ext[1024 + 96] = 0x40;
    assert_eq!(what(&ext), "ext4");
    assert_eq!(what(&with(512, b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0LVM2 001")), "LVM2");
    assert_eq!(what(&with(0, &MD_MAGIC)), "mdraid");
    assert_eq!(what(&with(4096, &MD_MAGIC)), "mdraid");
    assert_eq!(what(&with(4086, b"SWAPSPACE2")), "swap");
    assert_eq!(what(&with(65526, b"SWAPSPACE2")), "swap");
    assert_eq!(what(&with(131 << 10, &0x00ba_b10c_u64.to_le_bytes())), "zfs");
    assert_eq!(what(&with(510, b"\x55\xaa")), "MBR");
}

#[test]
fn the_end_of_the_device_counts_too() {
    let md = |offset: usize, bytes: &[u8]| {
        let mut tail = vec![0; PROBE_TAIL];
        tail[offset..offset + bytes.len()].copy_from_slice(bytes);
        probe_with_tail(&device(), &tail)
    };
    let raid = Probe::Foreign { what: "mdraid" };
    // 1.0 lies 8 KiB before the end; 0.90 at 64 KiB before the last multiple of 64 KiB.
    assert_eq!(md(PROBE_TAIL - 8192, b"\xfc\x4e\x2b\xa9\x01\0\0\0"), raid);
    assert_eq!(md(PROBE_TAIL - 65536, b"\xfc\x4e\x2b\xa9\0\0\0\0"), raid);
    assert_eq!(md(PROBE_TAIL - 65536, b"\xa9\x2b\x4e\xfc\0\0\0\0"), raid);
    assert_eq!(md(PROBE_TAIL - 65535, b"\xfc\x4e\x2b\xa9\0\0\0\0"), Probe::Unknown);
    assert_eq!(md(PROBE_TAIL - 512, b"EFI PART"), Probe::Foreign { what: "GPT" });
    let Probe::Foreign { what } = md(PROBE_TAIL - BLOCK, b"CYGZONES") else { panic!("a file with zones is known") };
    assert!(what.contains("zoned:FILE"));
    assert_eq!(md(PROBE_TAIL - 2 * BLOCK, b"CYGZONES"), Probe::Unknown);
    assert_eq!(md(0, b""), Probe::Blank);
}

#[test]
fn our_own_are_known_even_when_damaged() {
    let state = crate::array_state::tests::tank();
    let superblock = Superblock {
        generation: 1,
        array: Uuid::from_random(1, 2),
        member: cygnus_types::MemberIx(0),
        member_uuid: state.groups[0].members[0].uuid,
        read_only: false,
        state,
    };
    let (array, member) = (superblock.array, superblock.member_uuid);
    let mut head = superblock.encode().unwrap();
    assert_eq!(probe(&head), Probe::Cygnus { array, member, intact: true });
    *head.last_mut().unwrap() ^= 1;
    assert_eq!(probe(&head), Probe::Cygnus { array, member, intact: false });
    let magic_only = with(0, &SUPERBLOCK_MAGIC);
    assert!(matches!(probe(&magic_only), Probe::Cygnus { intact: false, .. }));
    *head.last_mut().unwrap() ^= 1;
    // A new array has only the second slot.
    let second = with(crate::SUPERBLOCK_OFFSETS[1][0] as usize, &head);
    assert_eq!(probe(&second), Probe::Cygnus { array, member, intact: true });
    let mut swap = second;
    swap[4086..4096].copy_from_slice(b"SWAPSPACE2");
    assert_eq!(probe(&swap), Probe::Foreign { what: "swap" });
}

#[test]
fn zeros_are_blank_and_the_rest_is_somebodys() {
    assert_eq!(probe(&device()), Probe::Blank);
    assert_eq!(probe(&[]), Probe::Blank);
    assert_eq!(probe(&with(200_000, b"\x01")), Probe::Unknown);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(head in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..9000)) {
        let _ = probe_with_tail(&head, &head);
    }
}
