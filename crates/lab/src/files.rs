//! An outcome as files: numbers for programs, one table to a file.

use std::fmt::Write;

use crate::outcome::{DeviceSample, Outcome, Sample, milli, per_second};
use crate::scenario::Scenario;

/// Version of the files' form; rises when a column is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// Bytes of the pages and blocks that are counted.
const PAGE: u64 = 4096;

const SUMMARY: &str = "summary.json";
const PERCENTILES_FILE: &str = "percentiles.csv";
const LATENCY: &str = "latency.csv";
const TIME_SERIES_FILE: &str = "timeseries.csv";
const DEVICES_FILE: &str = "devices.csv";
const CLUSTERS_FILE: &str = "clusters.csv";
const CLUSTERS_PICTURE: &str = "clusters.svg";
const SCENARIO: &str = "scenario.toml";

/// Names of all files that [`result_files`] may have.
pub const RESULT_FILES: [&str; 8] =
    [SUMMARY, PERCENTILES_FILE, LATENCY, TIME_SERIES_FILE, DEVICES_FILE, CLUSTERS_FILE, CLUSTERS_PICTURE, SCENARIO];

/// Names of those that it has of a scenario.
pub(crate) fn result_names(scenario: &Scenario) -> Vec<&'static str> {
    let has_clusters = scenario.network.is_some();
    RESULT_FILES
        .into_iter()
        .filter(|&name| has_clusters || ![CLUSTERS_FILE, CLUSTERS_PICTURE].contains(&name))
        .collect()
}

/// `summary.json`, `percentiles.csv`, `latency.csv`, `timeseries.csv`, `devices.csv`, `clusters.csv` and `clusters.svg` if there is a
/// fabric, and `scenario.toml` (the scenario itself): each file's name and text.
pub fn result_files(scenario: &Scenario, outcome: &Outcome) -> Vec<(String, String)> {
    let text = |name| match name {
        SUMMARY => summary(outcome),
        PERCENTILES_FILE => percentiles(outcome),
        LATENCY => latency(outcome),
        TIME_SERIES_FILE => time_series(outcome),
        DEVICES_FILE => devices(outcome),
        CLUSTERS_FILE => clusters(outcome),
        CLUSTERS_PICTURE => picture(scenario, outcome),
        _ => scenario.text.clone(),
    };
    result_names(scenario).into_iter().map(|name| (name.to_owned(), text(name))).collect()
}

#[derive(serde::Serialize)]
struct Versioned<'a> {
    schema: u32,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

fn summary(outcome: &Outcome) -> String {
    serde_json::to_string_pretty(&Versioned { schema: SCHEMA, outcome }).expect("outcomes are plain structs") + "\n"
}

/// A cell of comma-separated values: on one line, and in quotes if it has to be.
pub(crate) fn cell(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// The cells of a row of such, as [`cell`] wrote them.
pub(crate) fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            other => cell.push(other),
        }
    }
    cells.push(cell);
    cells
}

/// A number of thousandths, with its point.
pub(crate) fn fixed(milli: u64) -> String {
    format!("{}.{:03}", milli / 1000, milli % 1000)
}

/// A quotient with three decimals; nothing if there is nothing to divide by.
fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 { String::new() } else { fixed(milli(part, whole)) }
}

/// Nanoseconds in the unit that `per` of them make, with three decimals.
pub(crate) fn in_unit(ns: u64, per: u64) -> String {
    fixed(milli(ns, per))
}

/// The fabric, with the load of its clusters.
fn picture(scenario: &Scenario, outcome: &Outcome) -> String {
    let loads: Vec<f64> = outcome.clusters.iter().map(|row| row.bus_milli as f64 / 1000.0).collect();
    scenario.network.as_ref().map_or_else(String::new, |network| network.topology.to_svg(Some(&loads)))
}

const CLUSTERS: &str =
    "cluster,requests,mean_us,link_us,storage_us,root_us,switch_us,endpoint_us,module_us,bus_percent\n";

/// One row for each cluster of the fabric.
fn clusters(outcome: &Outcome) -> String {
    let mut out = String::from(CLUSTERS);
    for row in &outcome.clusters {
        let waits =
            [row.mean_ns, row.link_ns, row.storage_ns, row.root_ns, row.switch_ns, row.endpoint_ns, row.module_ns];
        let waits = waits.map(|ns| ns.map_or(String::new(), |ns| in_unit(ns, 1000))).join(",");
        writeln!(out, "{},{},{waits},{}", cell(&row.cluster), row.requests, fixed(row.bus_milli * 100))
            .expect("strings take text");
    }
    out
}

const PERCENTILES: &str =
    "client,job,job_name,kind,count,bytes,mean_us,p50_us,p99_us,p99.9_us,p99.99_us,p99.999_us,max_us\n";

/// One row for each histogram.
fn percentiles(outcome: &Outcome) -> String {
    let mut out = String::from(PERCENTILES);
    for row in &outcome.latency {
        let (client, job, name, kind) = (cell(&row.client), row.job, cell(&row.job_name), row.kind);
        let times = [row.mean_ns, row.p50_ns, row.p99_ns, row.p999_ns, row.p9999_ns, row.p99999_ns, row.max_ns];
        let times = times.map(|ns| in_unit(ns, 1000)).join(",");
        writeln!(out, "{client},{job},{name},{kind},{},{},{times}", row.count, row.bytes).expect("strings take text");
    }
    out
}

/// One row for each bucket of the histogram that is not empty.
fn latency(outcome: &Outcome) -> String {
    let mut out = String::from("client,job,job_name,kind,latency_us,count,percentile\n");
    for row in &outcome.latency {
        let mut seen = 0;
        for (bound, count) in &row.buckets {
            seen += count;
            // Rounded down at the sixth decimal: only the last row says 100.
            let percentile = u128::from(seen) * 100_000_000 / u128::from(row.count.max(1));
            let (whole, fraction) = (percentile / 1_000_000, percentile % 1_000_000);
            let (client, job, kind) = (cell(&row.client), row.job, row.kind);
            let name = cell(&row.job_name);
            let bound = in_unit(bound.0.min(row.max_ns), 1000);
            writeln!(out, "{client},{job},{name},{kind},{bound},{count},{whole}.{fraction:06}")
                .expect("strings take text");
        }
    }
    out
}

const TIME_SERIES: &str = "time_s,read_iops,read_mb_s,read_mean_us,read_p99_us,write_iops,write_mb_s,write_mean_us,\
    write_p99_us,cleaning_read_mb_s,cleaning_write_mb_s,\
    cleaning_amplification,write_amplification,free_segments,front_end_group,cleaning_group,pressure_ns,\
    cpu_percent,link_in_mb_s,link_in_percent,link_out_mb_s,link_out_percent\n";

fn megabytes(bytes: u64, span_ns: u64) -> String {
    fixed(per_second(bytes, span_ns) / 1000)
}

/// Part of the time, in percent.
fn percent(part_ns: u64, span_ns: u64) -> String {
    fixed(milli(part_ns, span_ns) * 100)
}

fn users(out: &mut String, [requests, bytes, mean, p99]: [u64; 4], span: u64) {
    // Of no requests there is no latency.
    let [mean, p99] = [mean, p99].map(|ns| if requests == 0 { String::new() } else { in_unit(ns, 1000) });
    write!(out, ",{},{},{mean},{p99}", per_second(requests, span), megabytes(bytes, span)).expect("strings take text");
}

fn time_series(outcome: &Outcome) -> String {
    let mut out = String::from(TIME_SERIES);
    for sample in &outcome.samples {
        time_series_row(&mut out, sample);
    }
    out
}

fn time_series_row(out: &mut String, sample: &Sample) {
    let span = sample.span_ns;
    out.push_str(&in_unit(sample.at_ns, 1_000_000_000));
    users(out, sample.reads, span);
    users(out, sample.writes, span);
    let number = |group: Option<u64>| group.map_or(String::new(), |group| group.to_string());
    let written = sample.devices.iter().map(|device| device.totals.written_bytes).sum();
    let mut cells = vec![
        megabytes(sample.cleaning_read_bytes, span),
        megabytes(sample.moved_blocks * PAGE, span),
        ratio(sample.user_blocks + sample.moved_blocks, sample.user_blocks),
        ratio(written, sample.user_blocks * PAGE),
        sample.free_segments.to_string(),
        number(sample.front_end),
        number(sample.cleaning),
        sample.pressure_ns.to_string(),
        percent(sample.cpu_ns, span),
    ];
    for way in 0..2 {
        cells.push(megabytes(sample.link_bytes[way], span));
        cells.push(percent(sample.link_ns[way], span));
    }
    writeln!(out, ",{}", cells.join(",")).expect("strings take text");
}

const DEVICES: &str = "time_s,device,group,role,read_mb_s,write_mb_s,busy_percent,queue_depth,flash_write_mb_s,\
    collection_mb_s,write_amplification,erases,least_erased,most_erased\n";

fn devices(outcome: &Outcome) -> String {
    let mut out = String::from(DEVICES);
    for sample in &outcome.samples {
        let (at, span) = (in_unit(sample.at_ns, 1_000_000_000), sample.span_ns);
        for (n, device) in sample.devices.iter().enumerate() {
            let cells = device_cells(device, span);
            writeln!(out, "{at},{n},{}", cells.join(",")).expect("strings take text");
        }
    }
    out
}

fn device_cells(device: &DeviceSample, span: u64) -> [String; 12] {
    let DeviceSample { totals, group, role, wear } = device;
    let flash = |pages: u64| megabytes(pages * PAGE, span);
    [
        group.to_string(),
        (*role).into(),
        megabytes(totals.read_bytes, span),
        megabytes(totals.written_bytes, span),
        percent(totals.busy_ns, span),
        fixed(milli(totals.in_flight_ns, span)),
        flash(totals.pages_programmed),
        flash(totals.pages_collected),
        ratio(totals.pages_programmed * PAGE, totals.written_bytes),
        totals.erases.to_string(),
        wear.0.to_string(),
        wear.1.to_string(),
    ]
}
