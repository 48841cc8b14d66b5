//! The controller beside the pool's counts alone: no reactor, no device.

use std::sync::Arc;

use cygnus_format::{Entry, Extent, Geometry, Kind, Layout, MapEntry, MapPage, Place, VolumeDesc};
use cygnus_parity::checksum::crc32c;
use cygnus_types::{Acknowledged, ByteSize, Constraint, GroupId, Lba, Paging, Pba, SegmentId, VolumeId};

use super::{Controllers, MapRule, Miscount, PageError, PageWriter, Publish};
use crate::space::held::{Held, Usable};
use crate::space::newest::NewestLayout;
use crate::space::segments::{SegIx, SegmentTable};
use crate::volume_state::VolumeState;
use crate::write::page::Page;

const BLOCKS: u64 = 1 << 20;

struct Ground {
    layout: Arc<NewestLayout>,
    segments: Arc<SegmentTable>,
    held: Arc<Held>,
    controllers: Controllers,
}

impl Ground {
    fn new() -> Self {
        let geometry = Geometry {
            data: 3,
            parity: 1,
            chunk_blocks: 1,
            stripe_rows: 8,
            segment_blocks: 256,
            transient_blocks: 0,
            lead_blocks: 0,
        };
        let layout =
            Layout::new(geometry, [(geometry.raid(), [Extent { first: 0, frames: 64 }])]).expect("it is sound");
        let layout = Arc::new(NewestLayout::new(layout));
        let (segments, held) = (
            Arc::new(SegmentTable::new(layout.clone())),
            Arc::new(Held::new(Usable([Some(BLOCKS), None, None, None]))),
        );
        let controllers = Controllers::new(MapRule::default(), 1, segments.clone(), held.clone());
        Self { layout, segments, held, controllers }
    }

    fn volume(&self) -> VolumeState {
        let id = VolumeId(7);
        let desc = VolumeDesc {
            id,
            name: "v".into(),
            size_bytes: ByteSize::of_blocks(BLOCKS).0,
            created_unix: 0,
            start_mib: 0,
            in_doubt: false,
            acknowledged: Acknowledged::Memory,
            constraint: Constraint::None,
            paging: Paging::BLOCKS,
        };
        VolumeState::new(&desc, self.controllers.controller(id, desc.paging, false))
    }

    /// A block in the nth segment, which the pool counts when a stripe is closed.
    fn block_in(&self, segment: u32, row: u32) -> (SegIx, Pba) {
        let (group, segment) = (GroupId(0), SegmentId(segment));
        let pba = self.layout.pba(Place { group, segment, column: 0, row });
        self.segments.add_live(self.segments.of(pba), 1);
        (self.segments.of(pba), pba)
    }
}

#[test]
fn a_block_moves_only_if_nobody_has_written_it_meanwhile() {
    let (ground, lba) = (Ground::new(), Lba(5));
    let (controllers, volume) = (&ground.controllers, ground.volume());
    let of = &volume.controller;
    let [(first, a), (second, b), (third, c)] = [1, 2, 3].map(|segment| ground.block_in(segment, 4));
    let [old, moved, newer] = [a, b, c].map(|pba| MapEntry::new(pba, 1));
    let written = controllers.publish(of, lba, old, Publish::Always).expect("nothing was asked for");
    assert_eq!((written.kind, written.old), (Kind::Data, MapEntry::EMPTY));
    let relocated = controllers.publish(of, lba, moved, Publish::Move(old, written.seq)).expect("it is still there");
    assert_eq!((relocated.kind, relocated.seq), (Kind::Relocated, written.seq), "it keeps the sequence of its birth");
    assert!(of.current_at(lba, a).is_none() && of.current_at(lba, b).is_some());
    assert!(controllers.publish(of, lba, newer, Publish::Move(old, written.seq)).is_none(), "it is elsewhere");
    assert!(controllers.publish(of, lba, newer, Publish::Always).is_some());
    assert_eq!([first, second, third].map(|seg| ground.segments.live(seg)), [0, 0, 1]);
    assert_eq!((ground.held.blocks(), of.held()), (1, 1));
    let mut record = None;
    controllers.discard(of, lba, 1, |seq| record = Some(seq));
    assert!(record.is_some_and(|seq| seq > written.seq), "a discard is newer than the write");
    assert_eq!((ground.segments.live(third), ground.held.blocks()), (0, 0));
}

#[test]
fn a_copy_that_is_lost_goes_back_unless_it_is_not_current() {
    let (ground, lba) = (Ground::new(), Lba(9));
    let volume = ground.volume();
    let of = &volume.controller;
    let [(from, a), (to, b)] = [1, 2].map(|segment| ground.block_in(segment, 4));
    let (origin, copy) = (MapEntry::new(a, 1), MapEntry::new(b, 1));
    ground.controllers.publish(of, lba, origin, Publish::Always);
    ground.controllers.publish(of, lba, copy, Publish::Move(origin, 1));
    assert!(ground.controllers.go_back(of, lba, b, origin));
    assert_eq!((ground.segments.live(from), ground.segments.live(to)), (1, 0));
    assert!(!ground.controllers.go_back(of, lba, b, origin), "it is there already");
    assert_eq!((ground.segments.live(from), ground.segments.live(to)), (1, 0));
}

#[test]
fn of_the_blocks_found_in_a_stripe_the_current_ones_are_named() {
    let ground = Ground::new();
    let volume = ground.volume();
    let found: Vec<(Lba, Pba)> = (0..40).map(|n| (Lba(n * 1000), ground.block_in(1, 4 + n as u32).1)).collect();
    for &(lba, pba) in found.iter().step_by(3) {
        ground.controllers.publish(&volume.controller, lba, MapEntry::new(pba, 0), Publish::Always);
    }
    let mut current = Vec::new();
    let numbered: Vec<(usize, (Lba, Pba))> = found.iter().copied().enumerate().collect();
    let add = |&(index, _): &(usize, _), entry: MapEntry| current.push((index, entry.pba()));
    volume.controller.current(&numbered, |&(_, (lba, _))| lba, |&(_, (_, pba))| pba, add);
    let expected: Vec<_> = found.iter().enumerate().step_by(3).map(|(index, &(_, pba))| (index, pba)).collect();
    assert_eq!(current, expected);
}

#[test]
fn a_checkpoints_pages_make_the_same_map_again() {
    let ground = Ground::new();
    let volume = ground.volume();
    // A page that is full, two that are not, and a block alone: more packed entries than fit into one page.
    let full = 0..512;
    let (thin, alone) = ((512..700).chain(1024..1200), std::iter::once(900_000));
    let (seg, pba) = ground.block_in(1, 4);
    let entry = |lba: u64| MapEntry::new(pba, lba as u32);
    let of = &volume.controller;
    full.chain(thin).chain(alone).for_each(|lba| ground.controllers.replay_write(of, Lba(lba), entry(lba)));
    ground.controllers.lose(of, Lba(5));
    let mut writer = PageWriter::default();
    let mut pages: Vec<Page> = writer.of_volume(&volume.controller, BLOCKS).collect();
    pages.extend(writer.rest());
    assert!(writer.rest().is_none(), "nothing is written twice");
    let kinds: Vec<Kind> = pages.iter().map(|page| page.kind).collect();
    assert_eq!(kinds, [Kind::Meta, Kind::Packed, Kind::Packed]);

    let fresh = Ground::new();
    let mut reader = fresh.controllers.page_reader(vec![Arc::new(fresh.volume())]);
    for Page { kind, volume, first, bytes } in &pages {
        let summary = Entry::new(*kind, *volume, *first, 1, crc32c(&bytes[..]));
        reader.take_in(&fresh.layout, &summary, &bytes[..]).expect("it was just written");
    }
    assert_eq!((fresh.segments.live(seg), fresh.held.blocks()), (0, 0), "nothing of it counts yet");
    let volumes = fresh.controllers.has_read(reader);
    assert_eq!(all_of(&volumes[0]), all_of(&volume));
    assert_eq!(all_of(&volumes[0]).len(), 512 + 188 + 176 + 1);
    assert_eq!((fresh.segments.live(seg), fresh.held.blocks(), volumes[0].controller.held()), (876, 877, 877));
    assert_eq!(fresh.controllers.recount(&fresh.layout, &volumes), Ok(()));
}

/// Every block of a volume that is held, and its entry.
fn all_of(volume: &VolumeState) -> Vec<(Lba, MapEntry)> {
    let mut all = Vec::new();
    volume.controller.for_each_held(BLOCKS, |lba, entry| all.push((lba, entry)));
    all
}

#[test]
fn a_page_is_refused_if_a_block_of_it_cannot_be_where_it_says() {
    let ground = Ground::new();
    let mut reader = ground.controllers.page_reader(vec![Arc::new(ground.volume())]);
    let mut take_in = |volume: u32, first: u64, pba: Pba| {
        let mut bytes = [0; 4096];
        let mut entries = [MapEntry::EMPTY; 512];
        entries[7] = MapEntry::new(pba, 1);
        MapPage::encode(&entries, &mut bytes);
        let summary = MapPage::entry(VolumeId(volume), first, 1, &bytes);
        reader.take_in(&ground.layout, &summary, &bytes)
    };
    let (_, here) = ground.block_in(1, 4);
    assert_eq!(take_in(7, 1, here), Ok(()));
    assert_eq!(take_in(8, 1, Pba::MAX), Ok(()), "its volume was deleted");
    let beyond = take_in(7, 2, Pba(64 * 1024));
    let why = beyond.unwrap_err().to_string();
    assert!(why.contains("block 1031 of volume \"v\"") && why.contains("where no R-group is"), "{why}");
    let nowhere = take_in(7, 1 << 40, here);
    assert!(matches!(nowhere, Err(PageError::Beyond { .. })));
    let mut bytes = [0; 4096];
    let mut entries = [MapEntry::EMPTY; 512];
    entries[7] = MapEntry::of_page(here, 1);
    MapPage::encode(&entries, &mut bytes);
    let of_page = reader.take_in(&ground.layout, &MapPage::entry(VolumeId(7), 1, 1, &bytes), &bytes);
    assert!(matches!(of_page, Err(PageError::OfPage { .. })), "the volume is mapped by blocks");
}

#[test]
fn the_counts_follow_what_recovery_does_and_a_recount_sees_if_they_do_not() {
    let ground = Ground::new();
    let (controllers, volume) = (&ground.controllers, Arc::new(ground.volume()));
    let of = &volume.controller;
    let pba =
        |segment, row| ground.layout.pba(Place { group: GroupId(0), segment: SegmentId(segment), column: 0, row });
    let entry = |segment, lba: u64| MapEntry::new(pba(segment, 4 + lba as u32), 0);
    (0..40).for_each(|lba| controllers.replay_write(of, Lba(lba), entry(1, lba)));
    (0..10).for_each(|lba| controllers.replay_write(of, Lba(lba), entry(2, lba)));
    controllers.replay_discard(of, Lba(8), 4);
    let given_up = controllers.give_up(of, |lba, _| lba.0 >= 38);
    assert_eq!(given_up, [38, 39].map(|lba| (Lba(lba), entry(1, lba))));
    let live = |segment| ground.segments.live(ground.segments.of(pba(segment, 4)));
    assert_eq!((live(1), live(2), of.held(), ground.held.blocks()), (26, 8, 34, 34));
    let volumes = [volume.clone()];
    let recount = || controllers.recount(&ground.layout, &volumes);
    assert_eq!(recount(), Ok(()));

    ground.block_in(2, 4);
    let of_segment = Miscount::OfSegment { group: GroupId(0), segment: SegmentId(2), current: 8, counted: 9 };
    assert_eq!(recount(), Err(of_segment));
    ground.held.add(1);
    assert_eq!(recount(), Err(Miscount::OfArray { held: 34, counted: 35 }));
}

/// What a volume that is mapped by pages should say of its blocks.
mod by_pages {
    use proptest::prelude::*;

    use super::super::{PublishPage, PublishedPage};
    use super::*;

    const PAGE: u64 = 4;
    const SIZE: u64 = 8 * PAGE;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Block(u64),
        Page(u64),
        Discard(u64, u64),
        MovePage(u64),
        MoveBlock(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..SIZE).prop_map(Step::Block),
            (0..SIZE / PAGE).prop_map(Step::Page),
            (0..SIZE, 1..12_u64).prop_map(|(at, n)| Step::Discard(at, n.min(SIZE - at))),
            (0..SIZE / PAGE).prop_map(Step::MovePage),
            (0..SIZE).prop_map(Step::MoveBlock),
        ];
        prop::collection::vec(step, 1..80)
    }

    /// The checksum of the block that is written at an address.
    fn crc_at(pba: u64) -> u32 {
        pba.wrapping_mul(0x9E37_79B9) as u32
    }

    fn page_at(pba: Pba) -> MapEntry {
        MapEntry::of_page(pba, MapEntry::page_check((pba.0..pba.0 + PAGE).map(crc_at)))
    }

    impl Ground {
        fn paged(&self) -> VolumeState {
            let paging = Paging::new(PAGE as u8, 0).unwrap();
            let desc = VolumeDesc {
                id: VolumeId(9),
                name: "p".into(),
                size_bytes: ByteSize::of_blocks(SIZE).0,
                created_unix: 0,
                start_mib: 0,
                in_doubt: false,
                acknowledged: Acknowledged::Memory,
                constraint: Constraint::None,
                paging,
            };
            VolumeState::new(&desc, self.controllers.controller(desc.id, paging, false))
        }

        /// So many blocks, one behind the other, in a segment of their own.
        fn run(&self, n: u32, blocks: u64) -> Pba {
            let (group, segment) = (GroupId(0), SegmentId(n % 60));
            let pba = self.layout.pba(Place { group, segment, column: n as u8 % 3, row: 4 + n / 60 * 4 });
            self.segments.add_live(self.segments.of(pba), blocks as u32);
            pba
        }
    }

    proptest! {
        /// Whatever is written, moved and discarded, by block and by page: each block is where it was put last, counts follow, and a
        /// checkpoint brings all of it back.
        #[test]
        fn each_block_is_where_it_was_put_last(steps in steps()) {
            let ground = Ground::new();
            let volume = ground.paged();
            let (of, all) = (&volume.controller, &ground.controllers);
            let mut model = [None; SIZE as usize];
            for (n, step) in (1..).zip(&steps) {
                match *step {
                    Step::Block(at) => {
                        let pba = ground.run(n, 1);
                        all.publish(of, Lba(at), MapEntry::new(pba, crc_at(pba.0)), Publish::Always).unwrap();
                        model[at as usize] = Some(pba);
                    }
                    Step::Page(page) => {
                        let pba = ground.run(n, PAGE);
                        all.publish_page(of, Lba(page * PAGE), page_at(pba), PublishPage::Always).unwrap();
                        (0..PAGE).for_each(|n| model[(page * PAGE + n) as usize] = Some(Pba(pba.0 + n)));
                    }
                    Step::Discard(at, blocks) => {
                        all.discard(of, Lba(at), blocks, |_| {});
                        model[at as usize..(at + blocks) as usize].fill(None);
                    }
                    Step::MovePage(page) => {
                        let (pba, first) = (ground.run(n, PAGE), Lba(page * PAGE));
                        let were = of.locate_page(first);
                        let stale = [MapEntry::LOST; PAGE as usize];
                        let how = PublishPage::Move { were: &stale, seqs: &[1; PAGE as usize] };
                        prop_assert!(all.publish_page(of, first, page_at(pba), how).is_none(), "it is not what was expected");
                        let how = PublishPage::Move { were: &were[..PAGE as usize], seqs: &[1; PAGE as usize] };
                        let PublishedPage { kind, old, .. } = all.publish_page(of, first, page_at(pba), how).unwrap();
                        prop_assert_eq!((kind, old), (Kind::Relocated, were));
                        (0..PAGE).for_each(|n| model[(page * PAGE + n) as usize] = Some(Pba(pba.0 + n)));
                    }
                    Step::MoveBlock(at) if model[at as usize].is_some() => {
                        let pba = ground.run(n, 1);
                        let entry = MapEntry::new(pba, crc_at(pba.0));
                        all.publish(of, Lba(at), entry, Publish::Move(of.locate(Lba(at)), 1)).unwrap();
                        model[at as usize] = Some(pba);
                    }
                    Step::MoveBlock(_) => {}
                }
                for (at, expected) in (0..).zip(model) {
                    let entry = of.locate(Lba(at));
                    prop_assert_eq!(entry.is_mapped().then(|| entry.pba()), expected, "block {} after {:?}", at, step);
                }
                let known = model.iter().flatten().count() as u64;
                let mut listed = 0;
                of.for_each_mapped(|_, _| listed += 1);
                prop_assert_eq!((of.held(), listed), (known, known));
                prop_assert_eq!(all.recount(&ground.layout, &[]).is_err(), known > 0, "other volumes hold nothing");
            }
            // What a checkpoint has of it comes back, in whatever order its pages are read.
            let mut pages: Vec<Page> = Vec::new();
            let mut writer = PageWriter::default();
            pages.extend(writer.of_volume(of, SIZE));
            pages.extend(writer.rest());
            for turned in [false, true] {
                if turned {
                    pages.reverse();
                }
                let again = Ground::new();
                let other = Arc::new(again.paged());
                let mut reader = again.controllers.page_reader(vec![other.clone()]);
                for page in &pages {
                    let summary = Entry::new(page.kind, page.volume, page.first, 1, crc32c(&page.bytes[..]));
                    reader.take_in(&again.layout, &summary, &page.bytes[..]).unwrap();
                }
                again.controllers.has_read(reader);
                for at in (0..SIZE).map(Lba) {
                    prop_assert_eq!(other.controller.locate(at), of.locate(at));
                }
                prop_assert_eq!(other.controller.held(), of.held());
                prop_assert_eq!(again.controllers.recount(&again.layout, std::slice::from_ref(&other)), Ok(()));
            }
        }
    }

    #[test]
    fn a_page_whose_blocks_were_put_one_by_one_gets_one_entry_again() {
        let ground = Ground::new();
        let (volume, pba) = (ground.paged(), ground.run(1, 0));
        let of = &volume.controller;
        for n in 0..PAGE {
            let entry = MapEntry::new(Pba(pba.0 + n), crc_at(pba.0 + n));
            ground.controllers.fold(of, &ground.layout, Lba(n));
            assert_eq!(of.own_entries(), n, "it is not all there");
            ground.controllers.replay_write(of, Lba(n), entry);
        }
        ground.controllers.fold(of, &ground.layout, Lba(2));
        assert_eq!((of.own_entries(), of.locate(Lba(0))), (0, page_at(pba)));
        // The last one lies elsewhere.
        ground.controllers.replay_write(of, Lba(3), MapEntry::new(Pba(pba.0 + 9), 1));
        ground.controllers.fold(of, &ground.layout, Lba(3));
        assert_eq!((of.own_entries(), of.held()), (1, PAGE));
    }

    /// Blocks that are written one by one take the page's entry away; who reads meanwhile must not take them for zeros.
    #[test]
    fn a_block_that_is_there_is_never_seen_as_nothing() {
        let ground = Ground::new();
        let (volume, all) = (ground.paged(), &ground.controllers);
        let of = &volume.controller;
        let page = ground.run(1, PAGE);
        let write_page = || all.publish_page(of, Lba(0), page_at(page), PublishPage::Always).map(drop).unwrap();
        write_page();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    (0..PAGE).for_each(|n| assert!(of.locate(Lba(n)).is_mapped(), "block {n} is there"));
                }
            });
            for _ in 0..20_000 {
                for n in 0..PAGE {
                    ground.segments.add_live(ground.segments.of(page), 1);
                    all.publish(of, Lba(n), MapEntry::new(Pba(page.0 + n), 1), Publish::Always).unwrap();
                }
                ground.segments.add_live(ground.segments.of(page), PAGE as u32);
                write_page();
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            looks.join().unwrap();
        });
    }
}
