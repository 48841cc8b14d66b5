//! `cygnus bench failures`, as tables.

use crate::args::bench::FailuresBenchArgs;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_bench::{BenchError, FailureOptions, FailureReport, LEAST_LIVE, run_failures};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_types::{ByteSize, Nanos};

/// Carries out `cygnus bench failures`.
pub fn run(args: &FailuresBenchArgs, output: Output) -> Result<(), Failure> {
    if args.live.0 < LEAST_LIVE {
        return Err(Failure::Usage(format!(
            "--live {}: at least {LEAST_LIVE}, since the volume is filled by such writes",
            args.live.0
        )));
    }
    let options = FailureOptions {
        drive: args.drive.clone(),
        drive_size: args.drive_size.0,
        live: args.live.0,
        depth: args.depth.into(),
        requests: args.requests,
        device: args.device_size.0,
    };
    let report = run_failures(&options, |what| output.remark(&format!("{what} ...")));
    let report = report.map_err(|error| match error {
        BenchError::TooMuch { most, .. } => {
            Failure::Usage(format!("--live: {error}; give --live {} or less, or larger --drive-size", most.0))
        }
        error => Failure::of(error),
    })?;
    output.answer(&report, |paint| text(&report, paint))
}

fn text(report: &FailureReport, paint: Paint) -> String {
    format!(
        "{}\n{}\n{}\n{}\n{}",
        paint.tone(Tone::Heading, &report.shape),
        latencies(report, paint),
        jobs(report, paint),
        paint.tone(Tone::Heading, "This machine, devices in memory"),
        machine(report, paint)
    )
}

fn micros(us: f64) -> (Tone, String) {
    (Tone::Normal, Nanos((us * 1e3) as u64).to_string())
}

fn latencies(report: &FailureReport, paint: Paint) -> String {
    let columns = ["PER SECOND", "MEAN", "P50", "P99", "P99.9", "TIMES HEALTHY"].map(|name| (name, Align::Right));
    let mut table = Table::new(&[&[("REQUESTS", Align::Left)][..], &columns].concat());
    for row in &report.latencies {
        table.row(vec![
            (Tone::Normal, row.name.clone()),
            (Tone::Normal, show::count(row.per_second as u64)),
            micros(row.mean_us),
            micros(row.p50_us),
            micros(row.p99_us),
            micros(row.p99_9_us),
            (Tone::Normal, format!("{:.2}", row.p99_9_times_healthy)),
        ]);
    }
    table.render(paint)
}

fn jobs(report: &FailureReport, paint: Paint) -> String {
    let columns = ["LIVE DATA", "TIME", "RATE", "CLIENTS' P99", "WITHOUT"].map(|name| (name, Align::Right));
    let mut table = Table::new(&[&[("JOB", Align::Left)][..], &columns].concat());
    let optional = |us: Option<f64>| us.map_or((Tone::Faint, "-".into()), micros);
    for row in &report.jobs {
        table.row(vec![
            (Tone::Normal, row.name.clone()),
            (Tone::Normal, ByteSize(row.bytes).to_string()),
            (Tone::Normal, show::span(row.seconds)),
            (Tone::Normal, show::rate(row.bytes_per_second)),
            optional(row.clients_p99_us),
            optional(row.idle_p99_us),
        ]);
    }
    table.render(paint)
}

fn machine(report: &FailureReport, paint: Paint) -> String {
    let columns = [("HOW MUCH", Align::Right), ("TIMES HEALTHY", Align::Right)];
    let mut table = Table::new(&[&[("WHAT", Align::Left)][..], &columns].concat());
    for row in &report.machine {
        let times = row.times_healthy.map_or((Tone::Faint, "-".into()), |times| (Tone::Normal, format!("{times:.2}")));
        table.row(vec![
            (Tone::Normal, row.name.clone()),
            (Tone::Normal, format!("{:.0} {}", row.value, row.unit)),
            times,
        ]);
    }
    table.render(paint)
}
