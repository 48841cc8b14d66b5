//! What only some devices can do, through the runtime's driver, on modelled drives: zones, parity inside, bytes beside blocks.

use cygnus_runtime::{
    Buf, Capabilities, Conversion, DeviceClass, DeviceIx, Extra, IoError, IoErrorKind, Outcome, Runtime, ZoneInfo,
    Zones,
};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_ssd::{Cache, Mapping, Model, ModelConfig, Preset, SsdConfig, XorEngine, ZoneLayout};
use cygnus_types::{BLOCK, Nanos, ReactorId};

const DEV: DeviceIx = DeviceIx(0);
const B: u64 = BLOCK as u64;
/// Blocks of a zone: two erase blocks of 8 x 8 pages.
const ZONE: u64 = 128;

fn small() -> SsdConfig {
    let mut config = Preset::Samsung850Pro.config().ssd().unwrap();
    (config.flash.channels, config.flash.dies_per_channel, config.flash.pages_per_block) = (2, 2, 8);
    config.capacity = 16 << 20;
    config.cache = Cache { bytes: 1 << 20, protected: true };
    config.spare = 0.6;
    config
}

fn zoned() -> SsdConfig {
    let mut config = small();
    config.mapping = Mapping::Zoned(ZoneLayout { dies: 2, open: 3 });
    config.spare = 0.05;
    config
}

/// It has 16 bytes beside each block, and computes parity of up to 63 blocks.
fn offloading() -> SsdConfig {
    let mut config = small();
    config.oob = 16;
    config.xor = Some(XorEngine { rate: 4_096_000_000, latency: Nanos::micros(3), buffer: 64 * B });
    config
}

fn world_of(config: impl Into<ModelConfig>) -> (World, DiskId) {
    let config = config.into();
    let world = World::new(1);
    let size = config.capacity();
    let disk = world.add_modelled(DiskConfig::new("drive", size), Model::new(config).unwrap());
    (world, disk)
}

fn filled(rt: &Runtime, blocks: usize, tag: u8) -> Buf {
    let mut buf = rt.alloc(blocks * BLOCK);
    buf.bytes_mut().chunks_exact_mut(BLOCK).zip(tag..).for_each(|(block, tag)| block.fill(tag));
    buf
}

fn run<T>(world: &World, disk: DiskId, body: impl AsyncFnOnce(Runtime) -> T) -> T {
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.run(body(rt.clone())).expect("it does not stall")
}

async fn tag_at(rt: &Runtime, block: u64) -> u8 {
    let buf = rt.alloc(BLOCK);
    rt.read(DEV, block * B, buf.full()).await.unwrap();
    let bytes = buf.bytes();
    assert!(bytes.iter().all(|&byte| byte == bytes[0]), "block {block} is not of one tag");
    bytes[0]
}

async fn zone(rt: &Runtime, zone: u32) -> ZoneInfo {
    match rt.extra(DEV, Extra::Report { zone }).await.unwrap() {
        Outcome::Zone(info) => info,
        other => panic!("{other:?}"),
    }
}

fn refused(kind: IoErrorKind) -> Result<Outcome, IoError> {
    Err(IoError::new(kind))
}

#[test]
fn zones_are_appended_to_reported_and_reset() {
    let (world, disk) = world_of(zoned());
    run(&world, disk, async |rt| {
        let zones =
            Zones { bytes: ZONE * B, capacity: ZONE * B, conventional: Some(0), active_limit: 3, commands: true };
        let flash = Capabilities { class: DeviceClass::Flash, trim: true, ..Capabilities::default() };
        assert_eq!(rt.capabilities(DEV), Capabilities { zones: Some(zones), ..flash });
        let append = |tag, blocks| rt.extra(DEV, Extra::Append { zone: 2, buf: filled(&rt, blocks, tag).full() });

        // Two at a time: which of them is first the drive decides, and says.
        let both = [append(10, 3), append(20, 2)];
        let mut places = Vec::new();
        for one in both {
            places.push(one.await.unwrap());
        }
        let start = 2 * ZONE;
        let (first, second) = match places[..] {
            [Outcome::At(first), Outcome::At(second)] => (first / B, second / B),
            _ => panic!("{places:?}"),
        };
        assert!((first, second) == (start, start + 3) || (first, second) == (start + 2, start), "{first} {second}");
        for n in 0..3 {
            assert_eq!(tag_at(&rt, first + n).await, 10 + n as u8);
        }
        assert_eq!((tag_at(&rt, second).await, tag_at(&rt, second + 1).await), (20, 21));

        let at = |pointer: u64| ZoneInfo { start: start * B, capacity: ZONE * B, pointer: Some(pointer * B) };
        assert_eq!(zone(&rt, 2).await, at(start + 5));
        // Elsewhere than at the pointer nothing can be written, and not more than there is room for.
        let amiss = rt.write(DEV, (start + 9) * B, filled(&rt, 1, 1).full()).await;
        assert_eq!(amiss, refused(IoErrorKind::Range));
        assert_eq!(append(1, ZONE as usize).await, refused(IoErrorKind::Range));
        rt.write(DEV, (start + 5) * B, filled(&rt, 1, 30).full()).await.unwrap();
        assert_eq!(zone(&rt, 2).await, at(start + 6));
        append(40, ZONE as usize - 6).await.unwrap();
        assert!(zone(&rt, 2).await.is_full());

        rt.extra(DEV, Extra::Reset { zone: 2 }).await.unwrap();
        assert_eq!(zone(&rt, 2).await, at(start));
        assert_eq!(tag_at(&rt, start).await, 0);
        assert_eq!(append(50, 1).await, Ok(Outcome::At(start * B)));
        assert_eq!(tag_at(&rt, start).await, 50);
        assert_eq!(rt.extra(DEV, Extra::Report { zone: 1 << 20 }).await, refused(IoErrorKind::Range));
    });
    // What a reset has forgotten does not come back with the power.
    run(&world, disk, async |rt| {
        append_and_flush(&rt, 3, 60).await;
        rt.extra(DEV, Extra::Reset { zone: 3 }).await.unwrap();
    });
    world.cut_power();
    world.restore_power();
    run(&world, disk, async |rt| assert_eq!(tag_at(&rt, 3 * ZONE).await, 0));
}

async fn append_and_flush(rt: &Runtime, zone: u32, tag: u8) {
    rt.extra(DEV, Extra::Append { zone, buf: filled(rt, 1, tag).full() }).await.unwrap();
    rt.flush(DEV).await.unwrap();
}

#[test]
fn parity_is_computed_inside_and_the_chunks_are_forgotten() {
    let (world, disk) = world_of(offloading());
    let (chunk, chunks, into) = (2_u64, 3_u32, 100_u64);
    let conversion =
        |row| Conversion { source: 8 * B, destination: into * B, chunk: chunk * B, chunks, row, keeps: false };
    for row in 0..3_u8 {
        run(&world, disk, async |rt| {
            assert!(rt.capabilities(DEV).convert);
            rt.write(DEV, 8 * B, filled(&rt, 6, 7).full()).await.unwrap();
            // Another parity of the same chunks, which stay.
            let other = Conversion { row: (row + 1) % 3, keeps: true, ..conversion(row) };
            rt.extra(DEV, Extra::Convert(other)).await.unwrap();
            assert_eq!(tag_at(&rt, 8).await, 7);
            rt.extra(DEV, Extra::Convert(conversion(row))).await.unwrap();
        });
        // It was durable when it ended.
        world.cut_power();
        world.restore_power();
        run(&world, disk, async |rt| {
            for n in 0..chunk {
                let operands: Vec<[u8; 64]> =
                    (0..u64::from(chunks)).map(|nth| [7 + (nth * chunk + n) as u8; 64]).collect();
                let sources: Vec<&[u8]> = operands.iter().map(|one| &one[..]).collect();
                let mut parities = [[0; 64]; 3];
                cygnus_parity::generate(&sources, &mut parities.iter_mut().map(|one| &mut one[..]).collect::<Vec<_>>());
                assert_eq!(tag_at(&rt, into + n).await, parities[usize::from(row)][0], "row {row}");
            }
            assert_eq!(tag_at(&rt, 8).await, 0, "the chunks are forgotten");
            // What overlaps, and what is too large for the drive's memory, it refuses; it is still there.
            let overlapping = Conversion { destination: 9 * B, ..conversion(row) };
            let large = Conversion { chunk: 32 * B, ..conversion(row) };
            for wrong in [overlapping, large, Conversion { chunk: 0, ..conversion(row) }, conversion(3)] {
                assert_eq!(rt.extra(DEV, Extra::Convert(wrong)).await, refused(IoErrorKind::Range), "{wrong:?}");
            }
        });
    }
}

#[test]
fn bytes_beside_blocks_live_and_die_with_them() {
    let (world, disk) = world_of(offloading());
    let (mut old, mut new) = (0, 0);
    for round in 0..40_u8 {
        run(&world, disk, async |rt| {
            assert_eq!(rt.capabilities(DEV).oob_bytes, 16);
            let put = async |tag: u8| {
                let mut beside = rt.alloc(2 * 8);
                beside.bytes_mut()[..8].fill(tag);
                beside.bytes_mut()[8..].fill(tag + 1);
                let what = Extra::WriteOob {
                    offset: 4 * B,
                    buf: filled(&rt, 2, tag).full(),
                    oob: beside.full(),
                    transient: false,
                };
                rt.extra(DEV, what).await.unwrap();
            };
            put(100).await;
            rt.flush(DEV).await.unwrap();
            put(200).await;
        });
        world.cut_power();
        world.restore_power();
        run(&world, disk, async |rt| {
            let beside = rt.alloc(2 * 8);
            rt.extra(DEV, Extra::ReadOob { offset: 4 * B, blocks: 2, into: beside.full() }).await.unwrap();
            for n in 0..2_u8 {
                let tag = tag_at(&rt, 4 + u64::from(n)).await;
                assert!(tag == 100 + n || tag == 200 + n, "round {round}");
                assert!(beside.bytes()[usize::from(n) * 8..][..8].iter().all(|&byte| byte == tag), "round {round}");
                *(if tag < 200 { &mut old } else { &mut new }) += 1;
            }
            // A plain write has nothing beside it.
            rt.write(DEV, 4 * B, filled(&rt, 1, 9).full()).await.unwrap();
            rt.extra(DEV, Extra::ReadOob { offset: 4 * B, blocks: 1, into: beside.slice(0..8) }).await.unwrap();
            assert_eq!(beside.bytes()[..8], [0; 8]);
            let too_long = rt.alloc(17);
            let what =
                Extra::WriteOob { offset: 0, buf: filled(&rt, 1, 1).full(), oob: too_long.full(), transient: false };
            assert_eq!(rt.extra(DEV, what).await, refused(IoErrorKind::Range));
        });
    }
    assert!(old > 0 && new > 0, "{old} old, {new} new");
}

#[test]
fn a_device_says_what_it_lacks() {
    let flash = Capabilities { class: DeviceClass::Flash, trim: true, ..Capabilities::default() };
    let disk_of = |config: ModelConfig| world_of(config);
    let plain = World::new(1);
    let plain = (plain.clone(), plain.add_disk(DiskConfig::new("plain", 1 << 20)));
    let deaf = World::new(1);
    let deaf = (deaf.clone(), deaf.add_disk(DiskConfig { can_trim: false, ..DiskConfig::new("deaf", 1 << 20) }));
    let hard = Preset::ALL.into_iter().map(Preset::config).find(|config| matches!(config, ModelConfig::Disk(_)));
    let hard = disk_of(hard.expect("there are disks").scaled_down(1024.0));
    let blank = World::new(1);
    let model = Model::new(offloading().into()).unwrap();
    let blank = (blank.clone(), blank.add_blank(DiskConfig::new("blank", 16 << 20), model));
    let all = [
        (disk_of(small().into()), flash),
        (plain, flash),
        (deaf, Capabilities { trim: false, ..flash }),
        (hard, Capabilities { class: DeviceClass::Disk, ..flash }),
        // What it computes is as blank as the rest.
        (blank, Capabilities { convert: true, ..flash }),
    ];
    for ((world, disk), wanted) in all {
        run(&world, disk, async |rt| {
            let found = rt.capabilities(DEV);
            assert_eq!(Capabilities { zones: None, ..found }, wanted);
            assert_eq!(rt.capabilities(DeviceIx(7)), Capabilities::default(), "there is no such device");
            let conversion = Conversion { source: 0, destination: 8 * B, chunk: B, chunks: 2, row: 0, keeps: false };
            let page = rt.alloc(BLOCK);
            let mut lacked = vec![
                Extra::ReadOob { offset: 0, blocks: 1, into: page.slice(0..8) },
                Extra::WriteOob { offset: 0, buf: page.full(), oob: page.slice(0..8), transient: false },
            ];
            if !found.convert {
                lacked.push(Extra::Convert(conversion));
            }
            if found.zones.is_none() {
                lacked.extend([Extra::Report { zone: 0 }, Extra::Reset { zone: 0 }]);
                lacked.push(Extra::Append { zone: 0, buf: page.full() });
            }
            for what in lacked {
                let name = format!("{what:?}");
                let refusal = rt.extra(DEV, what).await;
                assert_eq!(refusal, refused(IoErrorKind::Unsupported), "{name}");
                assert_eq!(refusal.unwrap_err().to_string(), "the device has no such command");
            }
        });
    }
}
