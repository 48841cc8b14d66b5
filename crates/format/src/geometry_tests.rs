use super::*;
use crate::constants::MAX_HEADER_BLOCKS;

fn small(data: u8, parity: u8, chunk_blocks: u32, stripe_rows: u32) -> Geometry {
    Geometry { data, parity, chunk_blocks, stripe_rows, segment_blocks: 256, transient_blocks: 0, lead_blocks: 0 }
}

/// A 4+1 group as most arrays have it.
fn usual() -> Geometry {
    Geometry {
        data: 4,
        parity: 1,
        chunk_blocks: 16,
        stripe_rows: 64,
        segment_blocks: 4096,
        transient_blocks: 0,
        lead_blocks: 0,
    }
}

#[test]
fn slots_and_places_are_a_bijection_in_filling_order() {
    for data in 1..=5 {
        for chunk in 1..=5 {
            for rows in 0..=13 {
                let g = small(data, 0, chunk, chunk * 3);
                let mut seen = std::collections::BTreeSet::new();
                for slot in 0..g.slots(rows) {
                    let (column, row) = g.slot_place(slot, rows);
                    assert!(column < data && row < rows, "{g:?} rows {rows} slot {slot} -> {column}, {row}");
                    assert!(seen.insert((column, row)));
                    assert_eq!(g.slot_at(column, row, rows), slot);
                }
                assert_eq!(seen.len(), usize::from(data) * rows as usize);
            }
        }
    }
}

#[test]
fn chunks_fill_column_after_column() {
    // The picture at the top of the file.
    let g = small(2, 1, 2, 6);
    let places: Vec<_> = (0..10).map(|slot| g.slot_place(slot, 5)).collect();
    assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3), (0, 4), (1, 4)]);
}

#[test]
fn closing_covers_the_used_slots_and_no_more() {
    for data in 1..=4 {
        for chunk in 1..=4 {
            for rows in 1..=9 {
                let g = small(data, 0, chunk, chunk * 3);
                let mut needed = 0;
                assert_eq!(g.closing_rows(0, rows), 0);
                for used in 1..=g.slots(rows) {
                    needed = needed.max(g.slot_place(used - 1, rows).1 + 1);
                    assert_eq!(g.closing_rows(used, rows), needed, "{g:?} rows {rows} used {used}");
                }
                assert_eq!(needed, rows);
            }
        }
    }
}

#[test]
fn every_column_has_one_role() {
    for data in 1..=5 {
        for parity in 0..=MAX_PARITY {
            for parity_start in 0..data + parity {
                let r = small(data, parity, 1, 1).rotation(parity_start);
                let mut columns = 0_u32;
                for d in 0..data {
                    assert_eq!(r.role(r.data_column(d)), Role::Data(d));
                    columns |= 1 << r.data_column(d);
                }
                for p in 0..parity {
                    assert_eq!(r.role(r.parity_column(p)), Role::Parity(p));
                    columns |= 1 << r.parity_column(p);
                }
                assert_eq!(columns.count_ones(), u32::from(data + parity));
            }
        }
    }
}

#[test]
fn headers_hold_what_they_promise() {
    for (parity, rows) in [(1, 48), (2, 32), (3, 32)] {
        let g = Geometry { parity, ..usual() };
        assert_eq!(g.header_blocks(rows), 1, "one header block for the usual stripe of parity {parity}");
    }
    for (data, parity) in (1..=3).flat_map(|data| (0..=MAX_PARITY).map(move |parity| (data, parity))) {
        let g = Geometry { data, parity, ..usual() };
        for rows in 0..=MAX_STRIPE_ROWS {
            let blocks = g.header_blocks(rows);
            assert!((1..=MAX_HEADER_BLOCKS).contains(&blocks));
            assert!(g.discard_capacity(blocks, rows) >= g.min_discards());
            let bytes = STRIPE_FIXED
                + usize::from(g.header_tables()) * rows as usize * ENTRY_BYTES
                + g.discard_capacity(blocks, rows) * ENTRY_BYTES;
            assert!(bytes * g.header_copies() as usize <= blocks as usize * BLOCK);
        }
    }
}

#[test]
fn full_rows_are_the_most_that_fit() {
    for parity in 0..=MAX_PARITY {
        let g = Geometry {
            data: 2,
            parity,
            chunk_blocks: 8,
            stripe_rows: 128,
            segment_blocks: 300,
            transient_blocks: 0,
            lead_blocks: 0,
        };
        g.validate().unwrap();
        for start_row in 0..=g.segment_blocks + 2 {
            let fits = |rows: u32| start_row + g.header_blocks(rows) + rows <= g.segment_blocks;
            let best = (1..=g.stripe_rows).filter(|&rows| fits(rows)).max().unwrap_or(0);
            assert_eq!(g.full_rows_at(start_row), best, "parity {parity}, row {start_row}");
        }
    }
}

#[test]
fn rows_become_device_offsets() {
    let g = usual();
    assert_eq!(g.device_offset(0, 0), DATA_START);
    assert_eq!(g.device_offset(2, 3), DATA_START + 2 * g.segment_bytes() + 3 * 4096);
    assert_eq!(g.segments_on(DATA_START), 0);
    assert_eq!(g.segments_on(0), 0);
    assert_eq!(g.segments_on(DATA_START + 2 * g.segment_bytes() - 1), 1);
}

#[test]
fn each_bad_field_is_named() {
    let error = |change: fn(&mut Geometry)| {
        let mut g = usual();
        change(&mut g);
        g.validate().unwrap_err()
    };
    usual().validate().unwrap();
    assert_eq!(error(|g| g.data = 0), GeometryError::NoData);
    assert_eq!(error(|g| g.parity = MAX_PARITY + 1), GeometryError::TooMuchParity(MAX_PARITY + 1));
    assert_eq!(error(|g| g.data = 255), GeometryError::TooWide(256));
    assert_eq!(error(|g| g.chunk_blocks = 0), GeometryError::NoChunk);
    assert_eq!(error(|g| g.stripe_rows = 0), GeometryError::StripeNotChunks { rows: 0, chunk: 16 });
    assert_eq!(error(|g| g.chunk_blocks = 48), GeometryError::StripeNotChunks { rows: 64, chunk: 48 });
    assert_eq!(error(|g| g.stripe_rows = 2048), GeometryError::StripeTooTall(2048));
    assert_eq!(error(|g| g.segment_blocks = 64), GeometryError::SegmentTooSmall { blocks: 64, needed: 66 });
    assert_eq!(error(|g| g.segment_blocks = 1 << 25), GeometryError::SegmentTooLarge(1 << 25));
}

proptest::proptest! {
    #[test]
    fn a_run_lies_on_one_column_and_begins_as_soon_as_it_can(
        data in 1..=5_u8, chunk in 1..=8_u32, rows in 0..40_u32, from in 0..60_u32, len in 1..=8_u32,
    ) {
        let g = small(data, 0, chunk, chunk * 3);
        let is_run = |slot: u32| {
            let (column, row) = g.slot_place(slot, rows);
            slot + len <= g.slots(rows) && (0..len).all(|n| g.slot_place(slot + n, rows) == (column, row + n))
        };
        let first = (from..g.slots(rows)).find(|&slot| is_run(slot));
        proptest::prop_assert_eq!(g.run_from(from, len, rows), first);
    }

    /// Pages and blocks in any order, each block where a slot was left out, if there is one.
    #[test]
    fn a_segment_holds_as_much_of_pages_as_it_promises(
        data in 1..=5_u8, page in 1..=4_u32, chunks in 1..=3_u32, stripes in 1..=6_u32, odd: u64,
    ) {
        let (page, chunk) = (1 << page, 16);
        let mut g = small(data, 1, chunk, chunk * chunks);
        g.segment_blocks = (g.header_blocks(g.stripe_rows) + g.stripe_rows) * stripes + (odd % 20) as u32;
        let (mut row, mut held, mut rng) = (0, 0, odd | 1);
        while g.full_rows_at(row) > 0 {
            let rows = g.full_rows_at(row);
            let (mut used, mut left_out) = (0, 0);
            loop {
                rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let is_page = rng >> 33 & 3 > 0;
                if !is_page && left_out > 0 {
                    (left_out, held) = (left_out - 1, held + 1);
                } else if let Some(at) = g.run_from(used, if is_page { page } else { 1 }, rows) {
                    let len = if is_page { page } else { 1 };
                    left_out += at - used;
                    (used, held) = (at + len, held + len);
                } else {
                    break;
                }
            }
            row += g.header_blocks(rows) + rows;
        }
        proptest::prop_assert!(held >= g.capacity_of_pages(page), "{} of {}", held, g.capacity_of_pages(page));
        proptest::prop_assert!(g.capacity_of_pages(page) <= g.capacity());
    }
}
