use super::*;
use cygnus_types::Nanos;
use proptest::prelude::*;

fn record(at_us: u64, kind: Kind, block: u64, blocks: u32) -> Record {
    Record { at: Nanos::micros(at_us), kind, offset: block << 12, len: blocks << 12, volume: 0, fua: false }
}

fn stat(records: &[Record]) -> Stat {
    let mut collector = Collector::new();
    records.iter().for_each(|record| collector.add(record));
    collector.finish()
}

#[test]
fn mix_sizes_and_randomness() {
    let stat = stat(&[
        record(0, Kind::Write, 0, 1),
        record(10, Kind::Write, 1, 2),
        record(20, Kind::Write, 100, 1),
        record(30, Kind::Read, 3, 1),
        record(40, Kind::Write, 3, 8),
        record(40, Kind::Flush, 0, 0),
    ]);
    let writes = stat.kind(Kind::Write).unwrap();
    assert_eq!((writes.requests, writes.bytes, writes.mean_bytes), (4, 12 << 12, Some(12288.0)));
    assert_eq!(writes.random_percent, Some(50.0), "the second and the last continue an earlier write");
    assert_eq!(stat.kind(Kind::Read).unwrap().random_percent, Some(100.0), "reads continue reads only");
    let flushes = stat.kind(Kind::Flush).unwrap();
    assert_eq!((flushes.requests, flushes.percent), (1, 100.0 / 6.0));
    assert_eq!((flushes.mean_bytes, flushes.random_percent), (None, None), "a flush has no address");
    assert_eq!((stat.requests, stat.duration_seconds), (6, 40e-6));
    let bucket = |up_to_bytes, reads, writes| SizeBucket { up_to_bytes, reads, writes };
    assert_eq!(stat.sizes, [bucket(4096, 1, 2), bucket(8192, 0, 1), bucket(32768, 0, 1)]);
}

#[test]
fn volumes_are_those_of_all_requests() {
    let kinds = [Kind::Read, Kind::WriteZeroes, Kind::Trim, Kind::Flush];
    let on_its_own = |(volume, kind)| {
        let blocks = u32::from(kind != Kind::Flush);
        Record { volume, ..record(0, kind, 0, blocks) }
    };
    let records: Vec<Record> = (0..).zip(kinds).map(on_its_own).collect();
    assert_eq!([stat(&records).volumes, stat(&records[1..2]).volumes], [4, 1]);
}

#[test]
fn heat_and_reuse() {
    // 100 blocks once each, and block 7 another 100 times.
    let mut records: Vec<Record> = (0..100).map(|block| record(0, Kind::Read, block, 1)).collect();
    records.extend((0..100).map(|_| record(0, Kind::Write, 7, 1)));
    let stat = stat(&records);
    assert_eq!(stat.hot[0], HotShare { blocks_percent: 1.0, accesses_percent: 50.5 });
    assert_eq!(stat.hot[2], HotShare { blocks_percent: 20.0, accesses_percent: 60.0 });
    let kib = 1024;
    let footprint =
        Footprint { extent_bytes: 400 * kib, touched_bytes: 400 * kib, read_bytes: 400 * kib, written_bytes: 4 * kib };
    assert_eq!(stat.footprint, footprint);
    assert_eq!(stat.reuse.accessed_before_percent, Some(50.0));
    assert_eq!(stat.reuse.overwritten_percent, Some(99.0));
    assert_eq!(stat.reuse.read_after_write_percent, Some(0.0));
    assert!((stat.regions_percent.iter().sum::<f64>() - 100.0).abs() < 1e-9);
}

#[test]
fn arrivals() {
    let records: Vec<Record> = (0..2001).map(|n| record(n * 1000, Kind::Read, 0, 1)).collect();
    let stat = stat(&records);
    assert_eq!((stat.duration_seconds, stat.peak_iops), (2.0, 1000));
    let gaps = stat.gaps.unwrap();
    assert_eq!((gaps.mean_us, gaps.max_us, gaps.variation), (1000.0, 1000.0, Some(0.0)));
    assert!((gaps.p50_us - 1000.0).abs() < 30.0);
    assert_eq!(self::stat(&[]).requests, 0);
}

#[test]
fn a_mean_rate_is_of_as_many_requests_as_there_are_gaps() {
    let stat = stat(&[record(0, Kind::Read, 0, 7), record(1_000_000, Kind::Read, 0, 2)]);
    assert_eq!((stat.mean_iops, stat.peak_iops, stat.mean_bytes_per_second), (Some(1.0), 1, Some(8192.0)));
}

#[test]
fn of_nothing_there_is_no_share_and_no_gap() {
    let reads = stat(&[record(0, Kind::Read, 0, 1), record(0, Kind::Read, 0, 1)]);
    let reuse = |before, over, after| Reuse {
        accessed_before_percent: before,
        overwritten_percent: over,
        read_after_write_percent: after,
    };
    assert_eq!(reads.reuse, reuse(Some(50.0), None, Some(0.0)), "nothing is written");
    assert_eq!(reads.gaps.map(|gaps| (gaps.mean_us, gaps.variation)), Some((0.0, None)), "at once");
    assert_eq!((reads.mean_iops, reads.mean_bytes_per_second), (None, None));
    let write = stat(&[record(5, Kind::Write, 0, 1)]);
    assert_eq!(write.reuse, reuse(Some(0.0), Some(0.0), None), "nothing is read");
    assert_eq!((write.gaps, write.mean_iops), (None, None), "a single request");
    let flushes = stat(&[record(0, Kind::Flush, 0, 0), record(9, Kind::Flush, 0, 0)]);
    assert_eq!(flushes.reuse, reuse(None, None, None));
    assert!(flushes.hot.is_empty() && flushes.regions_percent.is_empty() && flushes.sizes.is_empty());
}

proptest! {
    #[test]
    fn any_records_have_a_description(
        list in prop::collection::vec((0_u64..5_000_000, 0_u8..5, 0_u64..(1 << 63) - (1 << 20), 1_u32..1 << 20, 0_u32..9), 0..50)
    ) {
        let mut at = Nanos::ZERO;
        let mut collector = Collector::new();
        for &(gap, kind, offset, len, volume) in &list {
            at += Nanos(gap);
            let kind = [Kind::Read, Kind::Write, Kind::Flush, Kind::Trim, Kind::WriteZeroes][usize::from(kind)];
            collector.add(&Record { at, kind, offset, len, volume, fua: false });
        }
        let stat = collector.finish();
        prop_assert_eq!(stat.requests, list.len() as u64);
        prop_assert!(stat.hot.iter().all(|hot| (0.0..=100.0).contains(&hot.accesses_percent)));
        prop_assert!(stat.hot.is_sorted_by(|a, b| a.accesses_percent <= b.accesses_percent));
    }
}
