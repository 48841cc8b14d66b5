//! Every format by an excerpt in its style, and what happens to files that are no traces.

use super::*;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::path::Path;

const MSR: &str = "\
128166372003061629,usr,0,Read,7014609920,24576,41286
128166372016382155,usr,0,Write,2657792,512,1963
128166372026382245,usr,1,Write,2658304,4096,1000
";
const FIU: &str = "\
89967404439390 4892 httpd 124893136 8 W 6 0 bc4e0a1d
89967404520510 4892 kjournald helper 2 300 16 R 8 1 0
";
const SPC: &str = "0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041,extra\n";
const SSDSIM: &str = "938513000 4 264719034 16 0\n938828000 3 197570570 8 1\n";
const BLKPARSE: &str = "\
  8,0    1        1     0.000000000  4162  A  WS 2048 + 8 <- (8,1) 0
  8,0    1        2     0.000000100  4162  Q  WS 2048 + 8 [dd]
  8,0    1        3     0.000000900  4162  D  WS 2048 + 8 [dd]
  8,0    1        4     0.002000000  4162  Q   R 4096 + 16 [dd]
  8,0    1        5     0.003000000     0  C  WS 2048 + 8 [0]
  8,0    1        6     0.004000000     0  Q FWS [dd]
  8,0    1        7     0.004000001     0  Q  FN [dd]
  8,0    1        8     0.005000000     0  Q  DS 8192 + 8 [fstrim]
CPU1 (sda):
 Reads Queued:           1,        8KiB
";
const EXTRACT: &str = "\
39949 D read 299008 4096 0.000000000 0 False
0 C read 299008 4096 0.000122793 0.000122793 False
39949 D write 331776 8192 1e-03 7.3902e-05 True
";
const TENCENT: &str = "1538323200,4247200,128,1,1058\n1538323199,13896880,8,0,1063\n";
const ALIBABA: &str = "419,W,8792731648,16384,1577808144360767\n419,R,8792748032,4096,1577808144360800\n";
const SYSTOR: &str = "\
Timestamp,Response,IOType,LUN,Offset,Size
1456095145.133076000,0.000806000,R,0,899056122368,131072
1456095145.126285000,,W,3,4256049987072,122880
";

fn read_with(
    text: impl AsRef<[u8]>,
    options: ReadOptions,
) -> (Vec<Record>, Option<TraceError>, Skipped, Option<Format>) {
    let mut reader = match TraceReader::new(Path::new("t.csv"), text.as_ref(), options) {
        Ok(reader) => reader,
        Err(error) => return (Vec::new(), Some(error), Skipped::default(), None),
    };
    let (mut records, mut failure) = (Vec::new(), None);
    for record in reader.by_ref() {
        match record {
            Ok(record) => records.push(record),
            Err(error) => failure = Some(error),
        }
    }
    (records, failure, reader.skipped().clone(), Some(reader.format()))
}

fn read(text: impl AsRef<[u8]>) -> (Vec<Record>, Format) {
    let (records, failure, skipped, format) = read_with(text, ReadOptions::default());
    assert!(failure.is_none() && skipped.count == 0, "{failure:?} {skipped:?}");
    (records, format.unwrap())
}

fn failure(text: impl AsRef<[u8]>, skip: Skip) -> String {
    read_with(text, ReadOptions { skip, ..ReadOptions::default() }).1.expect("no failure").to_string()
}

fn record(at: u64, kind: Kind, offset: u64, len: u32, volume: u32) -> Record {
    Record { at: Nanos(at), kind, offset, len, volume, fua: false }
}

#[test]
fn each_format_is_recognised_and_read() {
    use Kind::{Flush, Read, Trim, Write};
    let cases = [
        (MSR, Format::Msr, record(12816637200306162900, Read, 7014609920, 24576, 0)),
        (FIU, Format::Fiu, record(89967404439390, Write, 124893136 * 512, 4096, 6 << 16)),
        (SPC, Format::Spc, record(551706000, Write, 20941264 * 512, 8192, 0)),
        (SSDSIM, Format::Ssdsim, record(938513000, Write, 264719034 * 512, 8192, 4)),
        (BLKPARSE, Format::Blkparse, record(100, Write, 2048 * 512, 4096, 8 << 16)),
        (EXTRACT, Format::Blkparse, record(0, Read, 299008, 4096, 0)),
        (TENCENT, Format::Tencent, record(1_538_323_200_000_000_000, Write, 4247200 * 512, 65536, 1058)),
        (ALIBABA, Format::Alibaba, record(1577808144360767000, Write, 8792731648, 16384, 419)),
        (SYSTOR, Format::Systor, record(1456095145133076000, Read, 899056122368, 131072, 0)),
    ];
    for (text, format, first) in cases {
        let (records, found) = read(text);
        assert_eq!((found, records[0]), (format, first), "{text}");
    }
    assert_eq!(read(FIU).0[1], record(89967404520510, Read, 300 * 512, 8192, 8 << 16 | 1));
    assert_eq!(read(EXTRACT).0[1], record(1_000_000, Write, 331776, 8192, 0));
    let kinds: Vec<Kind> = read(BLKPARSE).0.iter().map(|record| record.kind).collect();
    assert_eq!(kinds, [Write, Read, Flush, Flush, Trim]);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn compressed_files_are_read_alike() {
    let mut bzip2 = Vec::new();
    bzip2::read::BzEncoder::new(MSR.as_bytes(), bzip2::Compression::best()).read_to_end(&mut bzip2).unwrap();
    assert_eq!(read(gzip(MSR.as_bytes())), read(MSR));
    assert_eq!(read(bzip2), read(MSR));
}

#[test]
fn truncated_and_foreign_files_are_refused_by_name_and_line() {
    let long = MSR.repeat(20_000);
    let compressed = gzip(long.as_bytes());
    for cut in [20, compressed.len() / 2, compressed.len() - 1] {
        let message = failure(&compressed[..cut], Skip::All);
        assert!(message.starts_with("t.csv: line ") && message.contains("truncated or damaged"), "{message}");
    }
    let mut damaged = compressed.clone();
    damaged[compressed.len() / 2..][..64].fill(0xA5);
    assert!(failure(&damaged, Skip::All).contains("line "));
    for (bytes, part) in [
        (&b"\xFD7zXZ\0\0"[..], "decompress it first"),
        (b"", "no request"),
        (b"\n# nothing\n", "no request"),
        (b"<html>\n<body>\n", "line 1: \"<html>\" is no request in any format known"),
        (&[0xFF; 5000], "is it a block trace"),
        (b"Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", "no request in any format"),
    ] {
        let message = failure(bytes, Skip::All);
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn bad_lines_are_counted_listed_and_limited() {
    let text =
        format!("{MSR}128166372026382245,usr,1,Wr\n128,usr,x,Read,0,512,1\n128,usr,0,Read,0,0,1\n\u{fffd}\n{MSR}");
    let (records, failed, skipped, _) = read_with(&text, ReadOptions::default());
    assert!(failed.is_none());
    assert_eq!((records.len(), skipped.count), (6, 4));
    let listed: Vec<String> = skipped.first.iter().map(|bad| format!("{}: {}", bad.line, bad.reason)).collect();
    assert_eq!(
        listed,
        [
            "4: 4 columns, 6 are needed",
            "5: disk: \"x\" is not a number that fits",
            "6: a request of 0 bytes",
            "7: 1 columns, 6 are needed",
        ]
    );
    let message = failure(&text, Skip::AtMost(3));
    assert!(
        message.starts_with("t.csv: line 4: 4 columns") && message.contains("4 lines are no msr requests"),
        "{message}"
    );
    assert!(failure(&text, Skip::AtMost(0)).contains("1 lines"));
}

#[test]
fn a_format_may_be_named() {
    let named = ReadOptions { format: Some(Format::Spc), skip: Skip::All };
    assert!(matches!(read_with(MSR, named).1, Some(TraceError::TooManyBadLines { .. })));
    assert!("vscsi".parse::<Format>().unwrap_err().contains("msr, fiu"));
    assert!(Format::ALL.into_iter().all(|format| format.name().parse() == Ok(format)));
}

#[test]
fn what_is_written_is_read_again() {
    for text in [MSR, BLKPARSE, SYSTOR] {
        let (mut records, _) = read(text);
        let mut writer = MsrWriter::new(Vec::new(), "a,b");
        records.iter().for_each(|record| writer.write(record).unwrap());
        records.iter_mut().for_each(|record| record.at = Nanos(record.at.0 / 100 * 100));
        assert_eq!(read(writer.finish().unwrap()), (records, Format::Msr));
    }
}

/// Lines that are almost requests: columns of numbers, letters and names, joined as one of the formats does.
fn near_trace() -> impl Strategy<Value = String> {
    let column = prop_oneof![
        "[0-9]{1,22}",
        "[0-9]{1,12}\\.[0-9]{0,12}",
        "8,[0-9]{1,6}",
        prop::sample::select(vec!["R", "W", "Read", "Write", "Q", "D", "C", "FWS", "+", "-", "", "usr", "1e400", "é"])
            .prop_map(String::from),
    ];
    let line = (prop::collection::vec(column, 0..12), prop::sample::select(vec![",", " ", "\t"]));
    prop::collection::vec(line.prop_map(|(columns, join)| columns.join(join)), 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        read_with(&bytes, ReadOptions { skip: Skip::All, ..ReadOptions::default() });
    }

    #[test]
    fn near_traces_in_every_format(text in near_trace()) {
        for format in Format::ALL.into_iter().map(Some).chain([None]) {
            let (records, ..) = read_with(&text, ReadOptions { format, skip: Skip::All });
            for record in records {
                prop_assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
            }
        }
    }
}
