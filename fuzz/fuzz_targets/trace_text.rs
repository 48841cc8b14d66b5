//! Any file as a block trace: it is refused, or its requests make sense and survive being written and read again.
#![no_main]

use cygnus_types::Nanos;
use cygnus_workload::trace::{Format, MsrWriter, ReadOptions, Record, Skip, TraceReader};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

const COLUMNS: &str = "time=3:us,op=0:R,offset=1:sectors,size=2,volume=4";

fn read(bytes: &[u8], format: Option<Format>) -> Vec<Record> {
    read_with(bytes, ReadOptions { format, skip: Skip::All, ..ReadOptions::default() })
}

fn read_with(bytes: &[u8], options: ReadOptions) -> Vec<Record> {
    match TraceReader::new(Path::new("trace"), bytes, options) {
        Ok(reader) => reader.map_while(Result::ok).collect(),
        Err(error) => {
            assert!(error.to_string().starts_with("trace: "), "{error}");
            Vec::new()
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, file)) = input.split_first() else { return };
    // Two more than there are formats: none named, so that it is found out; and columns.
    let choice = usize::from(choice) % (Format::ALL.len() + 2);
    let records = match choice > Format::ALL.len() {
        true => {
            let columns = Some(COLUMNS.parse().expect("it is of the right form"));
            read_with(file, ReadOptions { columns, skip: Skip::All, ..ReadOptions::default() })
        }
        false => read(file, Format::ALL.get(choice).copied()),
    };
    let mut writer = MsrWriter::new(Vec::new(), "fuzz");
    for record in &records {
        assert!(record.end() < 1 << 63 && (record.len > 0) == record.kind.has_range());
        writer.write(record).unwrap();
    }
    let clock = |record: &Record| Record { at: Nanos(record.at.0 / 100 * 100), ..*record };
    let again = read(&writer.finish().unwrap(), Some(Format::Msr));
    assert_eq!(again, records.iter().map(clock).collect::<Vec<_>>());
});
