//! `cygnus bench`: what the measuring crates find, as tables.

mod cores;
mod failures;
mod peers;

use crate::args::bench::{BenchArgs, BenchCommand, EngineBenchArgs, NbdBenchArgs, RecoveryBenchArgs, SimBenchArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_bench::{
    EngineOptions, EngineReport, Figure, Row, SimOptions, SimReport, Stages, run_engine, run_recovery, run_sim,
    run_stages,
};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_format::{GeometryError, MAX_WIDTH};
use cygnus_target::loadgen::{LoadOptions, LoadReport, run as run_load};
use cygnus_types::{Nanos, counted};
use serde::Serialize;

/// Carries out `cygnus bench`.
pub fn run(args: &BenchArgs, output: Output) -> Result<Exit, Failure> {
    match &args.what {
        BenchCommand::Engine(args) => engine(args, output).map(Exit::from),
        BenchCommand::Cores(args) => cores::run(args, output).map(Exit::from),
        BenchCommand::Peers(args) => peers::run(args, output).map(Exit::from),
        BenchCommand::Recovery(args) => recovery(args, output).map(Exit::from),
        BenchCommand::Failures(args) => failures::run(args, output).map(Exit::from),
        BenchCommand::Sim(args) => sim(args, output).map(Exit::from),
        BenchCommand::Nbd(args) => nbd(args, output),
    }
}

fn engine(args: &EngineBenchArgs, output: Output) -> Result<(), Failure> {
    let width = u16::from(args.raid.data) + u16::from(args.raid.parity);
    if width > MAX_WIDTH.into() {
        return Err(Failure::Usage(format!("--raid {}: {}", args.raid, GeometryError::TooWide(width))));
    }
    let options = EngineOptions {
        data: args.raid.data,
        parity: args.raid.parity,
        device: args.device_size.0,
        depth: args.depth.into(),
        pin: !args.no_pin,
        ..EngineOptions::default()
    };
    if args.stages {
        return stages(&options, output);
    }
    let report = run_engine(&options, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of)?;
    output.answer(&report, |paint| engine_text(&report, paint))
}

/// What `bench engine --stages` answers.
#[derive(Debug, Serialize)]
struct StagesReport {
    operations: Vec<Stages>,
}

fn stages(options: &EngineOptions, output: Output) -> Result<(), Failure> {
    let operations = run_stages(options, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of)?;
    let report = StagesReport { operations };
    output.answer(&report, |paint| report.operations.iter().map(|operation| stages_text(operation, paint)).collect())
}

fn stages_text(operation: &Stages, paint: Paint) -> String {
    let mut table = Table::new(&[("PART", Align::Left), ("TIME", Align::Right), ("UNCERTAIN", Align::Right)]);
    for stage in &operation.stages {
        table.row(vec![
            (Tone::Normal, stage.name.to_string()),
            (Tone::Normal, format!("{:.1} ns", stage.ns)),
            (Tone::Faint, format!("{:.1} ns", stage.uncertain_ns)),
        ]);
    }
    let sum: f64 = operation.stages.iter().map(|stage| stage.ns).sum();
    let what = operation.operation;
    format!(
        "{}sum of the parts of a {what}: {sum:.1} ns, the whole: {:.1} ns\n",
        table.render(paint),
        operation.total_ns
    )
}

fn engine_text(report: &EngineReport, paint: Paint) -> String {
    let heading = |text: &str| paint.tone(Tone::Heading, text);
    format!(
        "{}\n{}\n{}\n{}\nWrite amplification by cleaning {:.2}, in theory {:.2}\n",
        heading(&format!("The floor of this machine ({})", report.instruction_set)),
        rows(&report.floor, paint),
        heading(&format!("The engine, one reactor ({})", report.shape)),
        rows(&report.engine, paint),
        report.cleaning_amplification,
        report.theoretical_amplification,
    )
}

fn rows(rows: &[Row], paint: Paint) -> String {
    let mut table = Table::new(&[
        ("WHAT", Align::Left),
        ("TIME", Align::Right),
        ("PER SECOND", Align::Right),
        ("RATE", Align::Right),
        ("BESIDE", Align::Left),
    ]);
    for row in rows {
        let beside = row.beside.as_ref().map_or(String::new(), |(what, times)| format!("{times:.2} times {what}"));
        table.row(vec![
            (Tone::Normal, row.name.clone()),
            (Tone::Normal, format!("{:.1} ns", row.ns)),
            (Tone::Normal, show::count(row.per_second as u64)),
            (Tone::Normal, show::rate(row.bytes_per_second)),
            (Tone::Faint, beside),
        ]);
    }
    table.render(paint)
}

/// What `bench recovery` answers.
#[derive(Debug, Serialize)]
struct RecoveryFigures {
    figures: Vec<Figure>,
}

fn recovery(args: &RecoveryBenchArgs, output: Output) -> Result<(), Failure> {
    let figures =
        run_recovery(args.device_size.0, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of)?;
    let report = RecoveryFigures { figures };
    output.answer(&report, |paint| {
        let mut table = Table::new(&[("WHAT", Align::Left), ("HOW MUCH", Align::Right)]);
        for row in &report.figures {
            table.row(vec![(Tone::Normal, row.name.clone()), (Tone::Normal, format!("{:.3} {}", row.value, row.unit))]);
        }
        table.render(paint)
    })
}

fn sim(args: &SimBenchArgs, output: Output) -> Result<(), Failure> {
    let options = SimOptions { drive: args.drive.clone(), scale: args.scale, duration: args.duration.0.into() };
    let report = run_sim(&options, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of)?;
    output.answer(&report, |paint| sim_text(&report, paint))
}

fn sim_text(report: &SimReport, paint: Paint) -> String {
    let columns = ["REQUESTS", "PROCESSOR", "PER CPU SECOND", "LIMIT", "TIMES MQSIM"];
    let heads = [&[("SIMULATED", Align::Left)][..], &columns.map(|name| (name, Align::Right))].concat();
    let mut table = Table::new(&[&heads[..], &[("THE LIMIT IS", Align::Left)]].concat());
    for row in &report.rows {
        let limit = if row.limit.is_empty() { String::new() } else { show::count(row.limit_per_cpu_second as u64) };
        let cells = [
            row.name.clone(),
            show::count(row.requests),
            format!("{:.2} s", row.cpu_seconds),
            show::count(row.per_cpu_second as u64),
            limit,
            format!("{:.1}", row.per_cpu_second / row.mqsim_per_cpu_second),
            row.limit.clone(),
        ];
        table.row(cells.map(|text| (Tone::Normal, text)).into());
    }
    format!(
        "{}\n{}Write amplification: cleaning {:.2}, drives {:.2}\n\
         Memory per TB of drives: {:.2} GiB, of it translation {:.2} GiB, headers and maps on the drives {:.2} GiB\n\
         MQSim was measured another time, on one drive: random writes without collection, random reads\n",
        paint.tone(Tone::Heading, &report.shape),
        table.render(paint),
        report.cleaning_amplification,
        report.drive_amplification,
        report.resident_gib_per_tb,
        report.translation_gib_per_tb,
        report.contents_gib_per_tb,
    )
}

/// What `bench nbd` answers.
#[derive(Debug, Serialize)]
struct NbdReport {
    connections: u16,
    depth: u16,
    request_bytes: u64,
    read_percent: u8,
    servers: Vec<NbdRow>,
}

#[derive(Debug, Serialize)]
struct NbdRow {
    uri: String,
    iops: f64,
    bytes_per_second: f64,
    errors: u64,
    p50_us: f64,
    p99_us: f64,
    p99_9_us: f64,
    max_us: f64,
    client_ns: f64,
}

fn nbd(args: &NbdBenchArgs, output: Output) -> Result<Exit, Failure> {
    let block = u32::try_from(args.size.0.0).map_err(|_| Failure::Usage("--size is at most 32MiB".into()))?;
    let mut servers = Vec::new();
    for uri in &args.uris {
        output.remark(&format!("loading {uri} ..."));
        let options = LoadOptions {
            connections: args.connections.into(),
            depth: args.depth.into(),
            block,
            read_percent: args.workload.read_percent(),
            span: args.span.map(|span| span.0.0),
            warmup: args.warmup.0,
            duration: args.time.0,
            seed: args.seed,
            ..LoadOptions::new(uri.clone())
        };
        servers.push(nbd_row(uri.to_string(), &run_load(&options).map_err(Failure::of)?));
    }
    let report = NbdReport {
        connections: args.connections,
        depth: args.depth,
        request_bytes: args.size.0.0,
        read_percent: args.workload.read_percent(),
        servers,
    };
    output.answer(&report, |paint| report.text(paint))?;
    let errors = report.servers.iter().map(|server| server.errors).sum::<u64>();
    let complaint = format!("{} answered with an error", counted(errors, "request was").or("requests were"));
    Ok(output.verdict(errors == 0, &complaint))
}

fn nbd_row(uri: String, report: &LoadReport) -> NbdRow {
    let at = |quantile| report.latency.quantile(quantile).as_micros_f64();
    NbdRow {
        uri,
        iops: report.iops(),
        bytes_per_second: report.bytes_per_second(),
        errors: report.errors,
        p50_us: at(0.5),
        p99_us: at(0.99),
        p99_9_us: at(0.999),
        max_us: report.latency.max().as_micros_f64(),
        client_ns: report.client_ns(),
    }
}

impl NbdReport {
    fn text(&self, paint: Paint) -> String {
        let mut table = Table::new(&[
            ("IOPS", Align::Right),
            ("RATE", Align::Right),
            ("P50", Align::Right),
            ("P99", Align::Right),
            ("P99.9", Align::Right),
            ("MAX", Align::Right),
            ("CLIENT CPU", Align::Right),
            ("EXPORT", Align::Left),
        ]);
        let time = |micros: f64| (Tone::Normal, Nanos((micros * 1e3) as u64).to_string());
        for server in &self.servers {
            table.row(vec![
                (Tone::Normal, show::count(server.iops as u64)),
                (Tone::Normal, show::rate(server.bytes_per_second)),
                time(server.p50_us),
                time(server.p99_us),
                time(server.p99_9_us),
                time(server.max_us),
                (Tone::Normal, format!("{:.0} ns", server.client_ns)),
                (Tone::Normal, server.uri.clone()),
            ]);
        }
        format!(
            "{} connections x {} requests of {} bytes, {} % reads\n{}",
            self.connections,
            self.depth,
            self.request_bytes,
            self.read_percent,
            table.render(paint)
        )
    }
}
