//! The drive over its file, without any socket: what is stored together, and what outlasts a killed server.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cygnus_softssd::{DriveError, Fault, OOB_BYTES, Store, file_bytes, format};
use cygnus_ssdlink::Convert;

const B: u64 = 4096;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, size: u64, sparse: bool) -> Self {
        let path = std::env::temp_dir().join(format!("cygnus-softssd-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        std::fs::File::create(&path).unwrap().set_len(file_bytes(size)).unwrap();
        format(&path, size, sparse, "sata").unwrap();
        Self(path)
    }
}

impl std::ops::Deref for Scratch {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn filled(blocks: u64, tag: u8) -> Vec<u8> {
    (0..blocks).flat_map(|n| [tag + n as u8; B as usize]).collect()
}

#[test]
fn blocks_and_what_is_beside_them_are_read_back() {
    for sparse in [true, false] {
        let path = Scratch::new("plain", 1 << 20, sparse);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.read(0, 8 * B).unwrap(), vec![0; 8 * B as usize]);
        assert_eq!(store.read_oob(0, 8, 16).unwrap(), vec![0; 128]);
        store.write(2 * B, &filled(2, 7), &[[1; 16], [2; 16]].concat()).unwrap();
        assert_eq!(store.read(B, 4 * B).unwrap()[B as usize..3 * B as usize], filled(2, 7));
        assert_eq!(store.read_oob(2 * B, 2, 16).unwrap(), [[1; 16], [2; 16]].concat());
        // The same contents again, with nothing beside them.
        store.write(2 * B, &filled(1, 7), &[]).unwrap();
        assert_eq!(store.read_oob(2 * B, 2, 16).unwrap(), [[0; 16], [2; 16]].concat());
        store.trim(0, 3 * B).unwrap();
        store.write(0, &filled(1, 9), &[5; 8]).unwrap();
        store.flush().unwrap();
        drop(store);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.read(0, B).unwrap(), filled(1, 9));
        assert_eq!(store.read_oob(0, 4, 8).unwrap(), [[5; 8], [0; 8], [0; 8], [2; 8]].concat());
        assert_eq!(store.read(3 * B, B).unwrap(), filled(1, 8));
    }
}

/// The two halves of every write are put into the file by hand, each as if the server had been killed after it.
#[test]
fn a_killed_write_leaves_the_old_block_with_its_own_bytes_or_the_new_one_with_its_own() {
    let path = Scratch::new("killed", 1 << 20, true);
    let data_at = file_bytes(1 << 20) - (1 << 20);
    let (mut tag, mut block) = (0, vec![0; B as usize]);
    for round in 0..40_u8 {
        let store = Store::open(&path).unwrap();
        let new = filled(1, if round % 5 == 0 { tag } else { round });
        store.write(0, &new, &[round; 32]).unwrap();
        drop(store);
        // The record is in the file. The block comes after it, so a kill between the two leaves the block that was there.
        let killed = round % 3 != 0;
        let file = std::fs::File::options().write(true).open(&*path).unwrap();
        if killed {
            file.write_all_at(&block, data_at).unwrap();
        }
        if !killed || new == block {
            (tag, block) = (round, new);
        }
        let store = Store::open(&path).unwrap();
        assert_eq!(store.read(0, B).unwrap(), block, "round {round}");
        assert_eq!(store.read_oob(0, 1, 32).unwrap(), [tag; 32], "round {round}");
    }
}

#[test]
fn what_rots_is_noticed_and_can_be_written_anew() {
    let path = Scratch::new("rot", 1 << 20, true);
    let store = Store::open(&path).unwrap();
    store.write(B, &filled(1, 1), &[1; 8]).unwrap();
    let file = std::fs::File::options().write(true).open(&*path).unwrap();
    file.write_all_at(&[99], file_bytes(1 << 20) - (1 << 20) + B + 17).unwrap();
    assert!(matches!(store.read(B, B), Err(Fault::Medium)));
    assert!(store.read(0, B).is_ok());
    store.write(B, &filled(1, 2), &[]).unwrap();
    assert_eq!(store.read(B, B).unwrap(), filled(1, 2));
}

#[test]
fn parity_is_computed_of_blocks_and_of_what_is_beside_them() {
    let path = Scratch::new("convert", 1 << 20, true);
    let store = Store::open(&path).unwrap();
    for row in 0..3_u8 {
        let (chunk, chunks) = (2 * B, 3_u32);
        let beside: Vec<u8> = (0..6).flat_map(|n| [n + 1; 32]).collect();
        store.write(8 * B, &filled(6, 7), &beside).unwrap();
        let what = Convert { source: 8 * B, destination: 100 * B, chunk, chunks, row, keeps: false };
        // Another parity of the same chunks, which stay.
        assert_eq!(store.convert(&Convert { row: (row + 1) % 3, keeps: true, ..what }).unwrap(), 8);
        assert_eq!(store.read(8 * B, 6 * B).unwrap(), filled(6, 7));
        assert_eq!(store.convert(&what).unwrap(), 8);
        for n in 0..2_u8 {
            let expect = |of: [u8; 3]| {
                let operands = of.map(|byte| [byte; 64]);
                let mut parities = [[0; 64]; 3];
                let sources: Vec<&[u8]> = operands.iter().map(|one| &one[..]).collect();
                cygnus_parity::generate(&sources, &mut parities.iter_mut().map(|one| &mut one[..]).collect::<Vec<_>>());
                parities[usize::from(row)][0]
            };
            let block = store.read((100 + u64::from(n)) * B, B).unwrap();
            assert_eq!(block, vec![expect([7 + n, 9 + n, 11 + n]); B as usize], "row {row}");
            let oob = store.read_oob((100 + u64::from(n)) * B, 1, 32).unwrap();
            assert_eq!(oob, vec![expect([1 + n, 3 + n, 5 + n]); 32], "row {row}");
        }
        assert_eq!(store.read(8 * B, 6 * B).unwrap(), vec![0; 6 * B as usize], "the chunks are forgotten");
        let overlapping = Convert { destination: 9 * B, ..what };
        let outside = Convert { destination: 1 << 20, ..what };
        for wrong in [overlapping, outside, Convert { chunk: 0, ..what }, Convert { row: 3, ..what }] {
            assert!(matches!(store.convert(&wrong), Err(Fault::Range)), "{wrong:?}");
        }
        let endless = Convert { chunk: u64::MAX / 4096 * 4096, chunks: u32::MAX, ..what };
        assert!(matches!(store.convert(&endless), Err(Fault::Range)));
    }
}

#[test]
fn ranges_that_do_not_fit_are_refused() {
    let path = Scratch::new("ranges", 1 << 20, true);
    let store = Store::open(&path).unwrap();
    for (offset, len) in [(1 << 20, B), ((1 << 20) - B, 2 * B), (u64::MAX - 4095, B), (1, B), (0, 5), (0, 0)] {
        assert!(matches!(store.read(offset, len), Err(Fault::Range)), "{offset}+{len}");
        assert!(matches!(store.trim(offset, len), Err(Fault::Range)), "{offset}+{len}");
    }
    assert!(matches!(store.write(0, &filled(1, 1), &[0; OOB_BYTES as usize + 1]), Err(Fault::Range)));
    assert!(matches!(store.write(0, &filled(2, 1), &[0; 3]), Err(Fault::Range)));
    assert!(matches!(store.read_oob(0, 0, 8), Err(Fault::Range)));
    assert!(matches!(store.read_oob(0, 1, 129), Err(Fault::Range)));
}

#[test]
fn what_is_no_drive_is_refused_with_words() {
    let path = Scratch::new("refused", 1 << 20, true);
    let held = Store::open(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(DriveError::InUse { .. })));
    drop(held);
    let file = std::fs::File::options().write(true).open(&*path).unwrap();
    file.set_len(1 << 20).unwrap();
    assert!(Store::open(&path).err().unwrap().to_string().contains("truncated"));
    file.write_all_at(&[1], 40).unwrap();
    assert!(matches!(Store::open(&path), Err(DriveError::Damaged { .. })));
    file.set_len(10).unwrap();
    assert!(matches!(Store::open(&path), Err(DriveError::Damaged { .. })));
    file.set_len(0).unwrap();
    assert!(matches!(Store::open(&path), Err(DriveError::NotADrive { .. })));
    assert!(matches!(Store::open(Path::new("/no/such")), Err(DriveError::Io { .. })));
}
