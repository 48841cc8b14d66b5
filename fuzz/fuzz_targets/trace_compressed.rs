//! Damaged compressed traces: whatever the bytes, reading ends, with an error that names the file and the line.
#![no_main]

use cygnus_workload::trace::{ReadOptions, Skip, TraceReader};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const MAGICS: [&[u8]; 2] = [&[0x1F, 0x8B, 8], b"BZh9"];
/// More is a bomb, which reading line by line endures, but not within the fuzzer's time.
const REQUESTS: usize = 10_000;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let file = [MAGICS[usize::from(choice) % 2], rest].concat();
    let options = ReadOptions { skip: Skip::AtMost(100), ..ReadOptions::default() };
    let Ok(reader) = TraceReader::new(Path::new("trace"), &file[..], options) else { return };
    for error in reader.take(REQUESTS).filter_map(Result::err) {
        assert!(error.to_string().starts_with("trace: "), "{error}");
    }
});
