//! `cygnus trace synth` and `cygnus trace convert`.

use super::{InOrder, SkippedLines, assumed, open, spread};
use crate::args::trace::{ConvertArgs, SynthArgs};
use crate::failure::Failure;
use crate::outfile;
use crate::output::Output;
use crate::progress::{Bar, Counts};
use cygnus_control::show;
use cygnus_types::{ByteSize, Nanos};
use cygnus_workload::synth::{Preset, SynthConfig};
use cygnus_workload::trace::{MOST_END, MsrWriter, Record};
use cygnus_workload::{Arrivals, Rate, Size, WorkloadConfig};
use serde::Serialize;
use std::path::Path;

/// What a written trace is.
#[derive(Debug, Serialize)]
struct Written<'a> {
    file: &'a Path,
    what: String,
    requests: u64,
    /// Requests whose lengths the file that was read does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    assumed_lengths: Option<u64>,
    /// Seconds of the clock's step over which requests of one time were spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_over_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<SkippedLines>,
}

/// `cygnus trace synth`
pub(super) fn synth(args: &SynthArgs, output: Output) -> Result<(), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let preset = Preset::find(&args.name).map_err(|error| usage(&error))?;
    let space = args.space().bytes();
    if space > MOST_END {
        return Err(usage(&format!(
            "{} is beyond any disk, and whoever reads the trace would skip what is there: give a --size of less than {}",
            args.space(),
            ByteSize(MOST_END + 1)
        )));
    }
    let config = SynthConfig {
        requests: Some(args.requests),
        size: Some(Size(space)),
        rate: Some(Rate { iops: Some(args.iops), bandwidth: None, arrivals: Arrivals::Poisson }),
        ..SynthConfig::new(&preset.full_name())
    };
    let workload = WorkloadConfig { synth: Some(config), ..WorkloadConfig::default() };
    let sources = workload.build(space, args.seed).map_err(|error| usage(&error))?;
    outfile::create(&args.out, args.force, |file| {
        let mut bar = Bar::new(output, Counts::Things("requests"), Some(args.requests));
        let mut out = MsrWriter::new(file, &preset.label());
        let failed = |error| Failure::Failed(format!("{}: {error}", args.out.display()));
        for mut source in sources {
            while let Some(request) = source.next() {
                let at = request.arrival.unwrap_or(Nanos::ZERO);
                let (kind, offset, len) = (request.kind, request.offset, request.len);
                out.write(&Record { at, kind, offset, len, volume: 0, fua: false }).map_err(failed)?;
                bar.tick(|requests| requests);
            }
        }
        out.finish().map(drop).map_err(failed)
    })?;
    let written = Written {
        file: &args.out,
        what: preset.label(),
        requests: args.requests,
        assumed_lengths: None,
        spread_over_seconds: None,
        skipped: None,
    };
    output.answer(&written, |_| {
        format!(
            "{}: {}, {} requests\nAssumed, since the table is silent: {}; {} requests/s.\n",
            args.out.display(),
            preset.label(),
            show::count(args.requests),
            preset.table.assumed(),
            args.iops,
        )
    })
}

/// `cygnus trace convert`
pub(super) fn convert(args: &ConvertArgs, output: Output) -> Result<(), Failure> {
    let reader = open(&args.input, &args.read)?;
    let format = reader.format();
    let name = args.input.file_name().unwrap_or_default().to_string_lossy();
    let written = outfile::create(&args.out, args.force, |file| {
        let mut bar = Bar::new(output, Counts::Bytes, Some(reader.progress().1));
        let mut out = MsrWriter::new(file, &name);
        let failed = |error| Failure::Failed(format!("{}: {error}", args.out.display()));
        let mut records = InOrder::of(reader);
        let mut requests = 0;
        while let Some(record) = records.next()? {
            out.write(&record).map_err(failed)?;
            requests += 1;
            bar.tick(|_| records.reader().progress().0);
        }
        out.finish().map_err(failed)?;
        let skipped = Some((&records.reader().skipped()).into());
        let assumed_lengths = Some(records.reader().assumed_lengths()).filter(|count| *count > 0);
        Ok(Written {
            file: &args.out,
            what: format!("{name} ({format}) as MSR CSV"),
            requests,
            assumed_lengths,
            spread_over_seconds: records.step_seconds(),
            skipped,
        })
    })?;
    output.answer(&written, |_| {
        let skipped = written.skipped.as_ref().map_or(String::new(), SkippedLines::text);
        let assumed = assumed(written.assumed_lengths.unwrap_or(0));
        let spread = spread(written.spread_over_seconds);
        format!(
            "{}: {}, {} requests\n{spread}{assumed}{skipped}",
            args.out.display(),
            written.what,
            show::count(written.requests)
        )
    })
}
