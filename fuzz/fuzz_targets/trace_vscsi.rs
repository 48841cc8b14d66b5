//! VSCSI traces: any records behind two good ones are read to their end, or skipped.
#![no_main]

use cygnus_workload::trace::{Format, ReadOptions, Skip, TraceReader};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// A write of both versions; a file is recognised by its first two records.
fn good(version: u8) -> Vec<u8> {
    let mut record = vec![0; if version == 1 { 32 } else { 40 }];
    let (command, mark, len) = if version == 1 { (12, 15, 4) } else { (0, 3, 8) };
    (record[command], record[mark], record[len + 1]) = (0x2A, version, 2);
    record.repeat(2)
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let file = [good(choice % 2 + 1), rest.to_vec()].concat();
    let options = ReadOptions { skip: Skip::All, ..ReadOptions::default() };
    let reader = TraceReader::new(Path::new("trace"), &file[..], options).expect("two good records tell");
    assert_eq!(reader.format(), Format::Vscsi);
    let mut count = 0;
    for record in reader {
        let record = record.expect("all bad records may be skipped");
        assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
        count += 1;
    }
    assert!(count >= 2);
});
