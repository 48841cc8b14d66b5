//! `cygnus bench cores`: its options checked, and its table.

use crate::args::bench::CoresBenchArgs;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_bench::{CoresRow, EngineOptions, run_cores};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_types::counted;
use serde::Serialize;

/// What `bench cores` answers.
#[derive(Debug, Serialize)]
struct CoresReport {
    rows: Vec<CoresRow>,
}

/// Carries out `cygnus bench cores`.
pub fn run(args: &CoresBenchArgs, output: Output) -> Result<(), Failure> {
    let here = std::thread::available_parallelism().map_err(|error| Failure::Failed(format!("cores: {error}")))?;
    let most = args.cores.map_or(here.get(), usize::from);
    if most > here.get() {
        let has = counted(here.get(), "core");
        return Err(Failure::Usage(format!("--cores {most}: this process may run on {has}: use --cores {here}")));
    }
    let options = EngineOptions {
        data: args.raid.data,
        parity: args.raid.parity,
        device: args.device_size.0,
        depth: args.depth.into(),
        ..EngineOptions::default()
    };
    let rows = run_cores(&options, most, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of)?;
    let report = CoresReport { rows };
    output.answer(&report, |paint| report.text(paint))
}

impl CoresReport {
    fn text(&self, paint: Paint) -> String {
        let mut table = Table::new(&[
            ("4 KIB AT RANDOM", Align::Left),
            ("CORES", Align::Right),
            ("IOPS", Align::Right),
            ("LEAST", Align::Right),
            ("GREATEST", Align::Right),
            ("OF ONE CORE", Align::Right),
        ]);
        let count = |rate: f64| (Tone::Normal, show::count(rate as u64));
        for row in &self.rows {
            table.row(vec![
                (Tone::Normal, row.workload.to_string()),
                (Tone::Normal, row.cores.to_string()),
                count(row.per_second),
                count(row.range.0),
                count(row.range.1),
                (Tone::Normal, format!("{:.2}", row.of_one)),
            ]);
        }
        table.render(paint)
    }
}
