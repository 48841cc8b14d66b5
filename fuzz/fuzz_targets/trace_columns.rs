//! What a user says of a trace's columns: it is refused in words, or any line is read by it.
#![no_main]

use cygnus_workload::trace::{Columns, ReadOptions, Skip, TraceReader};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|input: (&str, &[u8])| {
    let (columns, file) = input;
    let columns: Columns = match columns.parse() {
        Ok(columns) => columns,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let options = ReadOptions { columns: Some(columns), skip: Skip::All, ..ReadOptions::default() };
    let Ok(reader) = TraceReader::new(Path::new("trace"), file, options) else { return };
    for record in reader.map_while(Result::ok) {
        assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
    }
});
