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
const CLOUDPHYSICS: &str =
    "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33899,12,0,0\n1,33899,28,6656,40409911\n";
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
        (CLOUDPHYSICS, Format::Cloudphysics, record(33_898_000_000_000, Write, 42932745 * 512, 512, 0)),
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
        (b"0,8,4096,W,0.5\n0,16,512,R,0.6\nx\nx\nx\n", "t.csv: line 3: "),
        (b"x\n0,8,4096,W,0.5\nx\n", "line 1: \"x\" is no request in any format known"),
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
fn a_mark_of_the_byte_order_costs_no_request() {
    for text in [MSR, SYSTOR, &SPC[..SPC.find('\n').unwrap()]] {
        assert_eq!(read(format!("\u{feff}{text}")), read(text));
    }
}

#[test]
fn a_file_without_a_request_is_told_from_one_with_too_few() {
    let options = ReadOptions { columns: Some("time=0,op=1,offset=2".parse().unwrap()), ..ReadOptions::default() };
    let message = read_with("1,R,x\n2,R,y\n", options).1.unwrap().to_string();
    assert!(message.starts_with("t.csv: line 1: offset: \"x\""), "{message}");
    assert!(message.contains("none of its lines is one of the requests of these columns"), "{message}");
}

#[test]
fn a_format_may_be_named() {
    let named = ReadOptions { format: Some(Format::Spc), skip: Skip::All, ..ReadOptions::default() };
    assert!(matches!(read_with(MSR, named).1, Some(TraceError::OnlyBadLines { .. })));
    assert!("vmdk".parse::<Format>().unwrap_err().to_string().contains("msr, fiu"));
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

#[test]
fn a_clock_of_seconds_is_written_as_it_is_read() {
    let trace = "1538323201,0,8,1,1\n1538323200,8,8,1,1\n1538323200,16,8,1,1\n1538323200,24,8,0,2\n";
    let reader = TraceReader::new(Path::new("t.csv"), trace.as_bytes(), ReadOptions::default()).unwrap();
    let tick = reader.tick();
    let mut writer = MsrWriter::new(Vec::new(), "t");
    Spread::new(Reorder::new(reader), tick).for_each(|record| writer.write(&record.unwrap()).unwrap());
    let millis = |record: &Record| record.at.0 / 1_000_000 - 1_538_323_200_000;
    let times: Vec<u64> = read(writer.finish().unwrap()).0.iter().map(millis).collect();
    assert_eq!(times, [0, 333, 666, 1000]);
}

#[test]
fn lines_may_end_with_a_carriage_return_alone() {
    for text in [MSR, SYSTOR, FIU, CLOUDPHYSICS] {
        assert_eq!(read(text.replace('\n', "\r")), read(text));
        assert_eq!(read(text.replace('\n', "\r\n")), read(text));
    }
    let columns = || ReadOptions { columns: Some("time=0,op=1,offset=2".parse().unwrap()), ..ReadOptions::default() };
    let (records, failed, skipped, _) = read_with("time,op,offset\r1,R,0\r2,x,0\r3,W,4096", columns());
    assert!(failed.is_none() && records.len() == 2);
    assert_eq!((skipped.count, skipped.first[0].line), (1, 3));
}

#[test]
fn cells_in_quotes_may_hold_commas() {
    let quoted = "128166372003061629,\"usr, 1\",0,\"Read\",7014609920,\"24576\",41286\n";
    let (records, format) = read(format!("\"Timestamp\",\"Host\"\n{quoted}"));
    assert_eq!((format, records[0]), (Format::Msr, record(12816637200306162900, Kind::Read, 7014609920, 24576, 0)));
}

/// A VSCSI record: command, bytes, sector, microseconds.
fn vscsi(version: u8, (command, len, sector, micros): (u16, u32, u64, u64)) -> Vec<u8> {
    let word = u16::from(version) << 8 | 3;
    let (sn, scatter) = (7_u32.to_le_bytes(), 1_u32.to_le_bytes());
    let [command, word] = [command, word].map(u16::to_le_bytes);
    let [sector, micros, response] = [sector, micros, 5].map(u64::to_le_bytes);
    let len = len.to_le_bytes();
    let head = if version == 1 {
        [&sn[..], &len, &scatter, &command, &word].concat()
    } else {
        [&command[..], &word, &sn, &len, &scatter].concat()
    };
    let tail = if version == 1 { [sector, micros].concat() } else { [sector, micros, response].concat() };
    [head, tail].concat()
}

#[test]
fn vscsi_is_recognised_and_read_in_both_versions() {
    use Kind::{Flush, Read, Write};
    let requests = [(0x2A, 4096, 8, 10), (0x12, 0, 0, 11), (0x88, 512, 1 << 33, 12), (0x35, 0, 0, 13)];
    let expect =
        [record(10_000, Write, 4096, 4096, 0), record(12_000, Read, 1 << 42, 512, 0), record(13_000, Flush, 0, 0, 0)];
    for version in [1, 2] {
        let bytes = requests.map(|request| vscsi(version, request)).concat();
        assert_eq!(read(&bytes), (expect.to_vec(), Format::Vscsi), "version {version}");
        assert_eq!(read(gzip(&bytes)).0, expect);
        let one = vscsi(version, requests[0]);
        assert_eq!(read(&one).0, expect[..1], "a single record tells");
        // Records of another version, of nothing, beyond any disk, and one that is cut short.
        let bad = [
            one.clone(),
            one.clone(),
            vscsi(version, (0x2A, 0, 8, 14)),
            vscsi(version, (0x28, 512, u64::MAX / 512, 15)),
            vscsi(version, (0x28, 512, u64::MAX, 15)),
            vscsi(version, (0x28, 512, 0, u64::MAX)),
            if version == 1 { vscsi(9, requests[0])[..32].to_vec() } else { [&[0, 0, 3, 9][..], &[0; 36]].concat() },
            one[..20].to_vec(),
        ]
        .concat();
        let (records, failed, skipped, _) = read_with(&bad, ReadOptions::default());
        assert!(failed.is_none() && records.len() == 2, "{failed:?} {records:?}");
        let listed: Vec<String> = skipped.first.iter().map(|bad| format!("{}: {}", bad.line, bad.reason)).collect();
        assert_eq!((skipped.count, listed.len()), (6, 5));
        assert_eq!(listed[0], "3: a request of 0 bytes");
        assert!(
            listed[1].contains("beyond any disk") && listed[2].contains("sector") && listed[3].contains("time"),
            "{listed:?}"
        );
        assert!(listed[4].starts_with("7: a record of version"), "{listed:?}");
        assert!(
            failure(&bad, Skip::AtMost(5))
                .starts_with("t.csv: line 3: a request of 0 bytes; 6 lines are no vscsi requests")
        );
    }
    let named = ReadOptions { format: Some(Format::Vscsi), ..ReadOptions::default() };
    assert!(read_with(MSR, named).1.unwrap().to_string().contains("no request in any format known"));
    assert!(failure(vscsi(1, (0x12, 0, 0, 1)), Skip::All).contains("no request in it"));
}

#[test]
fn lengths_that_are_not_there_are_assumed_and_counted() {
    let text = "128166372003061629,usr,0,Read,8192\n128166372016382155,usr,0,Write,4096\n";
    let options = |columns: Option<&str>| ReadOptions {
        columns: columns.map(|text| text.parse().unwrap()),
        ..ReadOptions::default()
    };
    for (columns, format, assumed) in [(None, Format::Msr, 2), (Some("time=0:100ns,op=3,offset=4"), Format::Columns, 2)]
    {
        let mut reader = TraceReader::new(Path::new("t.csv"), text.as_bytes(), options(columns)).unwrap();
        let lens: Vec<u32> = reader.by_ref().map(|record| record.unwrap().len).collect();
        assert_eq!((lens[0], reader.format(), reader.assumed_lengths()), (ASSUMED_LEN, format, assumed));
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
    fn any_bytes_are_vscsi_or_an_error(version in 1_u8..=2, bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        let head = [vscsi(version, (0x2A, 512, 1, 1)), vscsi(version, (0x28, 512, 1, 2))].concat();
        let (records, ..) = read_with([head, bytes].concat(), ReadOptions { skip: Skip::All, ..ReadOptions::default() });
        for record in records {
            prop_assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
        }
    }

    #[test]
    fn any_bytes_are_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        read_with(&bytes, ReadOptions { skip: Skip::All, ..ReadOptions::default() });
    }

    #[test]
    fn near_traces_in_every_format(text in near_trace()) {
        let columns = ["time=0,op=1,offset=2", "time=3:us,op=0:R,offset=1:sectors,size=2:blocks,volume=4"];
        let columns = columns.map(|text| ReadOptions { columns: Some(text.parse().unwrap()), ..ReadOptions::default() });
        let formats = Format::ALL.into_iter().map(Some).chain([None]);
        let formats = formats.map(|format| ReadOptions { format, ..ReadOptions::default() });
        for options in formats.chain(columns) {
            let (records, ..) = read_with(&text, ReadOptions { skip: Skip::All, ..options });
            for record in records {
                prop_assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
            }
        }
    }
}
