//! Blocks whose headers have rotted away on every member: whoever empties their segment moves them by the maps.

use std::sync::Arc;

use cygnus_engine::{Array, FindingKind, JobState, OpenOptions};
use cygnus_format::{SUPERBLOCK_AREA, Stream, StripeHeader, Superblock};
use cygnus_sim::{DiskId, World};
use cygnus_types::{BLOCK, GroupId, SegmentId};

use crate::common::*;
use crate::sessions::{Lines, options, session};

/// Makes the first header of segments of a group unreadable on all of its members, `most` segments of those that clients have filled; says
/// how many that were. What a chain of headers leads to is hidden with its first one.
fn hide_segments(world: &World, disks: &[DiskId], group: usize, most: usize) -> usize {
    let mut head = vec![0; SUPERBLOCK_AREA as usize];
    world.peek(disks[0], 0, &mut head);
    let newest = Superblock::newest(&head).unwrap();
    let (geometry, tag) = (newest.state.geometry, newest.array.tag());
    let width = usize::from(geometry.width());
    let members = &disks[group * width..][..width];
    let is_of_clients = |segment: &SegmentId| {
        let mut bytes = vec![0; geometry.header_blocks(geometry.full_rows_at(0)) as usize * BLOCK];
        world.peek(members[0], geometry.device_offset(segment.0, 0), &mut bytes);
        let header = StripeHeader::decode(&bytes).and_then(|header| header.verify(tag));
        let header = header.and_then(|header| header.at(GroupId(group as u16), *segment, 0, 0));
        header.is_ok_and(|header| header.common().stream == Stream::Clients)
    };
    let segments = (0..newest.state.groups[group].segments()).map(SegmentId);
    let hidden: Vec<SegmentId> = segments.filter(is_of_clients).take(most).collect();
    for (segment, &member) in hidden.iter().flat_map(|segment| members.iter().map(move |member| (segment, member))) {
        for copy in 0..u64::from(geometry.header_copies()) {
            let each = u64::from(geometry.header_blocks(geometry.full_rows_at(0))) * BLOCK as u64
                / u64::from(geometry.header_copies());
            world.flip_bit(member, geometry.device_offset(segment.0, 0) + copy * each + 300, 1);
        }
    }
    hidden.len()
}

/// Blocks of which a check says that no header leads to them.
fn hidden_blocks(world: &World, disks: &[DiskId]) -> Vec<u64> {
    session(world, disks, |rt, devices| async move {
        let report = cygnus_engine::check(&rt, &devices, &options(), |_| {}).await.unwrap();
        let hidden = report.findings.iter().filter(|finding| finding.kind == FindingKind::HeaderLost);
        hidden.map(|finding| finding.lba.unwrap().0).collect()
    })
}

#[test]
fn cleaning_moves_them() {
    let world = World::new(1);
    let disks = make(&world, 1, 2, 1, 0);
    filled(&world, &disks);
    assert_eq!(hide_segments(&world, &disks, 0, 2), 2);
    let hidden = hidden_blocks(&world, &disks);
    assert!(hidden.len() > 100, "{}", hidden.len());
    let stays = |at: &u64| at.is_multiple_of(100) && hidden.contains(at);
    session(&world, &disks, |rt, devices| {
        let stays = &stays;
        async move {
            let lines = Arc::new(Lines::default());
            let array = Array::open(&rt, &devices, &OpenOptions::new(lines.clone())).await.unwrap();
            let volume = array.volume("v").unwrap();
            // Most of what is hidden becomes garbage, so that these segments are worth cleaning more than those that are written now.
            for n in 0..12 * BLOCKS {
                let at = if n < BLOCKS { n } else { rt.rng_u64() % BLOCKS };
                if !stays(&at) {
                    put(&rt, &volume, at, at + 5).await;
                }
            }
            verify(&rt, &volume, |at| if stays(&at) { at } else { at + 5 }).await;
            let told = lines.0.lock().unwrap().clone();
            assert!(!told.iter().any(|line| line.contains("stays as it is")), "{told:?}");
            array.close().await.unwrap();
        }
    });
    assert_clean(&world, &disks);
}

#[test]
fn a_group_that_leaves_takes_none_of_them_along() {
    let world = World::new(2);
    let disks = make(&world, 3, 2, 1, 0);
    let group = 1;
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        while array.status().groups[group].live_blocks == 0 {
            fill(&rt, &volume, 0).await;
        }
        array.close().await.unwrap();
    });
    assert!(hide_segments(&world, &disks, group, usize::MAX) > 0);
    assert!(!hidden_blocks(&world, &disks).is_empty());
    session(&world, &disks, |rt, devices| async move {
        let (array, volume) = open(&rt, &devices).await;
        let id = array.retire(GroupId(group as u16)).await.unwrap();
        assert_eq!(ended(&rt, &array, id).await.state, JobState::Done);
        verify(&rt, &volume, |at| at).await;
        array.close().await.unwrap();
    });
    let left: Vec<DiskId> = disks.iter().copied().enumerate().filter(|(n, _)| n / 3 != group).map(|(_, d)| d).collect();
    assert_clean(&world, &left);
}
