//! Outcomes as tables for people.

use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_lab::Outcome;
use cygnus_types::Nanos;

/// Arrays beside one another, then latencies, then what else must be known.
pub(super) fn text(outcomes: &[Outcome], paint: Paint) -> String {
    let (arrays, latencies) = (arrays(outcomes, paint), latencies(outcomes, paint));
    format!("{arrays}\n{latencies}{}{}", clusters(outcomes, paint), remarks(outcomes))
}

/// Clusters that have the longest waits are shown; all are in the files.
const CLUSTERS: usize = 8;

/// Where modules are behind a fabric: what their requests waited for.
fn clusters(outcomes: &[Outcome], paint: Paint) -> String {
    if outcomes.iter().all(|outcome| outcome.clusters.is_empty()) {
        return String::new();
    }
    let columns = ["REQUESTS", "MEAN", "LINK", "STORAGE", "ROOT", "SWITCH", "ENDPOINT", "MODULE", "BUS"];
    let heads = [&["ARRAY", "CLUSTER"].map(|name| (name, Align::Left))[..], &columns.map(|name| (name, Align::Right))];
    let mut table = Table::new(&heads.concat());
    for outcome in outcomes {
        let mut rows: Vec<_> = outcome.clusters.iter().collect();
        rows.sort_by_key(|row| {
            std::cmp::Reverse((row.link_ns.zip(row.storage_ns).map(|(link, storage)| link + storage), row.requests))
        });
        for row in rows.into_iter().take(CLUSTERS) {
            let waits =
                [row.mean_ns, row.link_ns, row.storage_ns, row.root_ns, row.switch_ns, row.endpoint_ns, row.module_ns];
            let names = [outcome.array.clone(), row.cluster.clone(), show::count(row.requests)];
            let waits = waits.map(|ns| ns.map_or("-".into(), |ns| Nanos(ns).to_string()));
            let cells = names.into_iter().chain(waits).chain([percent(row.bus_milli)]);
            table.row(cells.map(|text| (Tone::Normal, text)).collect());
        }
    }
    format!("\n{}", table.render(paint))
}

fn remarks(outcomes: &[Outcome]) -> String {
    let makespan = |outcome: &Outcome| {
        let span = Nanos(outcome.makespan_ns?);
        Some(format!("{}: every request was answered {span} after the start (makespan)\n", outcome.array))
    };
    let mut text: String = outcomes.iter().filter_map(makespan).collect();
    // All arrays have the same clients, of which the same is told.
    let mut told: Vec<&String> = Vec::new();
    for remark in outcomes.iter().flat_map(|outcome| &outcome.remarks) {
        if !told.contains(&remark) {
            told.push(remark);
            text.push_str(&format!("{remark}\n"));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Thousandths with two decimals; a quotient of nothing is none.
fn hundredths(milli: Option<u64>) -> String {
    milli.map_or("-".into(), |milli| format!("{:.2}", milli as f64 / 1000.0))
}

/// Of no time there is no rate.
fn rate(per_second: Option<u64>) -> String {
    per_second.map_or("-".into(), |bytes| show::rate(bytes as f64))
}

fn percent(milli: u64) -> String {
    format!("{:.1} %", milli as f64 / 10.0)
}

fn share(milli: Option<u64>) -> String {
    milli.map_or("-".into(), percent)
}

fn arrays(outcomes: &[Outcome], paint: Paint) -> String {
    let columns =
        ["DRIVES", "READ", "WRITTEN", "VARIATION", "CLEANING WA", "ARRAY WA", "DRIVE WA", "VICTIMS VALID", "CORE"];
    let heads = [&[("ARRAY", Align::Left)][..], &columns.map(|name| (name, Align::Right))].concat();
    let mut table = Table::new(&heads);
    for outcome in outcomes {
        let cells = [
            outcome.array.clone(),
            format!("{} {}", outcome.drives, outcome.drive),
            rate(outcome.read_bytes_per_second),
            rate(outcome.write_bytes_per_second),
            share(outcome.throughput_variation_milli),
            hundredths(outcome.cleaning_amplification_milli),
            hundredths(outcome.array_write_amplification_milli),
            hundredths(outcome.drive_write_amplification_milli),
            share(outcome.victim_valid_milli),
            percent(outcome.cpu_milli),
        ];
        table.row(cells.map(|text| (Tone::Normal, text)).into());
    }
    table.render(paint)
}

fn latencies(outcomes: &[Outcome], paint: Paint) -> String {
    let columns = ["PER SECOND", "MEAN", "P50", "P99", "P99.9", "P99.99", "MAX"];
    let jobs = outcomes.iter().flat_map(|outcome| &outcome.latency).any(|row| row.job_name != row.client);
    let names: &[_] = if jobs { &["ARRAY", "CLIENT", "JOB", "KIND"] } else { &["ARRAY", "CLIENT", "KIND"] };
    let heads =
        [&names.iter().map(|name| (*name, Align::Left)).collect::<Vec<_>>()[..], &columns.map(|n| (n, Align::Right))];
    let mut table = Table::new(&heads.concat());
    for outcome in outcomes {
        for row in &outcome.latency {
            let rate = (u128::from(row.count) * 1_000_000_000).checked_div(u128::from(outcome.measured_ns));
            let times = [row.mean_ns, row.p50_ns, row.p99_ns, row.p999_ns, row.p9999_ns, row.max_ns];
            let job = jobs.then(|| row.job_name.clone());
            let names = [Some(outcome.array.clone()), Some(row.client.clone()), job, Some(row.kind.into())];
            let rate = rate.map_or("-".into(), |rate| show::count(rate as u64));
            let cells = names.into_iter().flatten().chain([rate]).chain(times.map(|ns| Nanos(ns).to_string()));
            table.row(cells.map(|text| (Tone::Normal, text)).collect());
        }
    }
    table.render(paint)
}
