//! The controller beside the pool's counts alone: no reactor, no device.

use std::sync::Arc;

use cygnus_format::{Entry, Extent, Geometry, Kind, Layout, MapEntry};
use cygnus_parity::checksum::crc32c;
use cygnus_types::{ByteSize, GroupId, Lba, Pba, SegmentId, VolumeId};

use super::{Controllers, MapRule, PageWriter, Publish, take_in};
use crate::space::held::Held;
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
        let geometry = Geometry { data: 3, parity: 1, chunk_blocks: 1, stripe_rows: 8, segment_blocks: 256 };
        let layout = Layout::new(geometry, [[Extent { first: 0, frames: 64 }]]).expect("it is sound");
        let layout = Arc::new(NewestLayout::new(layout));
        let (segments, held) = (Arc::new(SegmentTable::new(layout.clone())), Arc::new(Held::new(BLOCKS)));
        let controllers = Controllers::new(MapRule::default(), 1, segments.clone(), held.clone());
        Self { layout, segments, held, controllers }
    }

    fn volume(&self) -> VolumeState {
        let id = VolumeId(7);
        VolumeState::new(id, "v".into(), ByteSize::of_blocks(BLOCKS), self.controllers.controller(id, false))
    }

    /// A block in the nth segment, which the pool counts when a stripe is closed.
    fn block_in(&self, segment: u32, row: u32) -> (SegIx, Pba) {
        let (group, segment) = (GroupId(0), SegmentId(segment));
        let pba = self.layout.pba(cygnus_format::Place { group, segment, column: 0, row });
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
    let (_, pba) = ground.block_in(1, 4);
    let entry = |lba: u64| MapEntry::new(pba, lba as u32);
    full.chain(thin).chain(alone).for_each(|lba| volume.controller.replay_write(Lba(lba), entry(lba)));
    let mut writer = PageWriter::default();
    let mut pages: Vec<Page> = writer.of_volume(&volume.controller, BLOCKS).collect();
    pages.extend(writer.rest());
    assert!(writer.rest().is_none(), "nothing is written twice");
    let kinds: Vec<Kind> = pages.iter().map(|page| page.kind).collect();
    assert_eq!(kinds, [Kind::Meta, Kind::Packed, Kind::Packed]);

    let again = Arc::new(ground.volume());
    for Page { kind, volume, first, bytes } in &pages {
        let summary = Entry::new(*kind, *volume, *first, 1, crc32c(&bytes[..]));
        take_in(&ground.layout, &summary, &bytes[..], std::slice::from_ref(&again)).expect("it was just written");
    }
    let all = |of: &VolumeState| {
        let mut all = Vec::new();
        of.controller.for_each_mapped(|lba, entry| all.push((lba, entry)));
        all
    };
    assert_eq!(all(&again), all(&volume));
    assert_eq!(all(&again).len(), 512 + 188 + 176 + 1);
}
