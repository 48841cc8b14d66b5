//! Files that stand for devices with zones, written anywhere: what was written is read, now and by the next process; and the file
//! refuses whoever does not go on where a zone does.

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use cygnus_runtime::{DeviceIx, IoErrorKind, Rng, Runtime};
use cygnus_types::BLOCK;
use cygnus_uring::{Access, Config, Device, NewZones, OpenError, Reactor, block_on, create_zoned_file, zones_at};
use support::TempPath;

const B: u64 = BLOCK as u64;
const ZONE: u64 = 128;
const CONVENTIONAL: u32 = 48;
const FIRST: u64 = CONVENTIONAL as u64 * ZONE;
const END: u64 = FIRST + 8 * ZONE;
const DEV: DeviceIx = DeviceIx(0);

fn zones(blocks: u64, conventional: u32) -> NewZones {
    NewZones { bytes: blocks * B, capacity: blocks * B, conventional, active_limit: 0 }
}

fn made(name: &str) -> TempPath {
    let file = TempPath::new(name);
    create_zoned_file(&file, END * B, zones(ZONE, CONVENTIONAL)).unwrap();
    file
}

fn member(file: &TempPath) -> PathBuf {
    format!("zoned:{}", file.display()).into()
}

fn with<T>(file: &TempPath, body: impl AsyncFnOnce(Runtime) -> T) -> T {
    let device = Device::open(&member(file), Access::Exclusive).unwrap();
    let config = Config { devices: vec![device], ..Config::default() };
    block_on(&config, async |reactor: Reactor| body(reactor.rt.clone()).await).unwrap()
}

fn block_of(tag: u64, at: u64) -> [u8; BLOCK] {
    let mut bytes = [0; BLOCK];
    Rng::new(tag << 16 | at).fill(&mut bytes);
    bytes
}

async fn check(rt: &Runtime, tags: &[u64]) {
    for at in (FIRST..END).step_by(32) {
        let buf = rt.alloc(32 * BLOCK);
        rt.read(DEV, at * B, buf.full()).await.unwrap();
        for (block, bytes) in (at..).zip(buf.bytes().chunks_exact(BLOCK)) {
            match tags[block as usize] {
                0 => assert!(bytes.iter().all(|&byte| byte == 0), "block {block} holds something"),
                tag => assert!(bytes == block_of(tag, block), "block {block} does not hold write {tag}"),
            }
        }
    }
}

#[test]
fn what_is_written_anywhere_is_read_by_whoever_comes_next() {
    let file = made("anywhere");
    let (mut tags, mut rng, mut tag) = (vec![0; END as usize], Rng::new(7), 0);
    for _ in 0..4 {
        with(&file, async |rt: Runtime| {
            check(&rt, &tags).await;
            let mut next = FIRST + rng.below(END - FIRST);
            for _ in 0..60 {
                let at = if rng.chance(3, 4) { next } else { FIRST + rng.below(END - FIRST) };
                let count = (1 + rng.below(16)).min(END - at);
                let mut writes = Vec::new();
                tag += 1;
                // Several at once, over the end of a zone too.
                for block in at..at + count {
                    let mut buf = rt.alloc(BLOCK);
                    buf.write(0, &block_of(tag, block));
                    tags[block as usize] = tag;
                    writes.push(rt.write(DEV, block * B, buf.full()));
                }
                for write in writes {
                    write.await.unwrap();
                }
                next = if at + count == END { FIRST } else { at + count };
                if rng.chance(1, 20) {
                    let zone = FIRST / ZONE + rng.below((END - FIRST) / ZONE);
                    rt.trim(DEV, zone * ZONE * B, ZONE * B).await.unwrap();
                    tags[(zone * ZONE) as usize..((zone + 1) * ZONE) as usize].fill(0);
                }
            }
            rt.flush(DEV).await.unwrap();
            check(&rt, &tags).await;
            rt.reopen(DEV).await.unwrap();
            check(&rt, &tags).await;
        });
    }
    let written: u64 =
        zones_at(&member(&file)).unwrap().iter().filter_map(|zone| Some(zone.pointer? - zone.start)).sum();
    assert!(written > 0 && written <= (END - FIRST) * B);
}

#[test]
fn what_cannot_be_a_device_with_zones_is_refused() {
    let file = made("few");
    assert!(
        matches!(
            create_zoned_file(&file, 64 * B, zones(8, 1)),
            Err(OpenError::Unsuitable { .. } | OpenError::Io { .. }) | Err(OpenError::InUse { .. })
        ),
        "it exists"
    );
    let few = TempPath::new("too-few");
    create_zoned_file(&few, 16 * ZONE * B, zones(ZONE, 0)).unwrap();
    let refusal = Device::open(&member(&few), Access::Exclusive).err().unwrap().to_string();
    assert!(refusal.contains("16 sequential zones of 512 KiB are too few"), "{refusal}");
    let missing = Device::open("zoned:/no/such/file".as_ref(), Access::ReadOnly).err().unwrap();
    assert!(matches!(missing, OpenError::NotFound { .. }), "{missing}");
    let plain = TempPath::file("plain", 8 << 20);
    let refusal = Device::open(&member(&plain), Access::Exclusive).err().unwrap().to_string();
    assert!(refusal.contains("describes no zones"), "{refusal}");
    assert!(zones_at(&plain).is_err());
}

#[test]
fn rows_that_somebody_else_forgot_are_zeros_and_are_written_again() {
    let file = made("behind");
    with(&file, async |rt: Runtime| {
        let mut buf = rt.alloc(16 * BLOCK);
        buf.bytes_mut().fill(9);
        rt.write(DEV, FIRST * B, buf.full()).await.unwrap();
        rt.flush(DEV).await.unwrap();
        // As another host's reset would leave it, while this process believes the pointer to be where it was.
        let pointers = OpenOptions::new().write(true).open(&*file).unwrap();
        pointers.write_all_at(&(FIRST * B).to_le_bytes(), END * B + u64::from(CONVENTIONAL) * 8).unwrap();
    });
    with(&file, async |rt: Runtime| {
        let mut buf = rt.alloc(16 * BLOCK);
        rt.read(DEV, FIRST * B, buf.full()).await.unwrap();
        assert!(buf.bytes().iter().all(|&byte| byte == 0));
        buf.bytes_mut().fill(3);
        rt.write(DEV, FIRST * B, buf.full()).await.unwrap();
        let past = rt.write(DEV, END * B, buf.full()).await.unwrap_err();
        assert_eq!(past.kind, IoErrorKind::Range);
    });
}
