//! The demo without a terminal: one line every few seconds, and the summary.

use super::snapshot::{Latency, Snapshot, Summary};
use cygnus_control::show;
use cygnus_control::status::GroupRole;
use cygnus_types::{ByteSize, Nanos};
use std::time::Duration;

/// A time as people read it: `850 us`.
pub fn time(duration: Duration) -> String {
    Nanos::from(duration).to_string()
}

fn letter(role: GroupRole) -> char {
    match role {
        GroupRole::FrontEnd => 'F',
        GroupRole::BackEnd => 'b',
        GroupRole::Cleaning => 'C',
        GroupRole::Retiring => 'R',
    }
}

/// What the letters of [`line()`] mean.
pub const LEGEND: &str = "R-groups as role:free segments, F front-end, b back-end, C cleaning";

/// One moment as one line.
pub fn line(snapshot: &Snapshot) -> String {
    let groups: Vec<String> =
        snapshot.groups.iter().map(|group| format!("{}:{}", letter(group.role), group.free)).collect();
    let sum = |pick: fn(&super::snapshot::DeviceView) -> f64| snapshot.devices.iter().map(pick).sum::<f64>();
    let Latency { p50, p99, p999, max } = snapshot.client.latency;
    format!(
        "{:>5.1}s {:<21} {:>3.0}%  [{}]  client {}/s {} p50 {} p99 {} p99.9 {} max {}  devices write {} clean-read {}{}",
        snapshot.elapsed.as_secs_f64(),
        snapshot.phase.title(),
        snapshot.progress * 100.0,
        groups.join(" "),
        show::count(snapshot.client.iops as u64),
        show::rate(snapshot.client.bytes_per_second),
        time(p50),
        time(p99),
        time(p999),
        time(max),
        show::rate(sum(|device| device.rates.written)),
        show::rate(sum(|device| device.rates.cleaning_read)),
        snapshot.write_amplification.map_or(String::new(), |amplification| format!("  WA {amplification:.2}")),
    )
}

/// The end, as a paragraph.
pub fn summary(summary: &Summary) -> String {
    let last = &summary.last;
    let seconds = summary.write_time.as_secs_f64().max(1e-9);
    let Latency { p50, p99, p999, max } = summary.write_latency;
    let verdict = match summary.wrong_blocks {
        0 => format!("all {} blocks are what was written", show::count(summary.verified_bytes >> 12)),
        wrong => format!("{} of {} blocks are WRONG", show::count(wrong), show::count(summary.verified_bytes >> 12)),
    };
    let mut text = format!(
        "\
Written      {written} in {took:.1} s ({rate}), {times:.1} times the array's capacity of {capacity}{cut}
Latency      p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}
R-groups     {rotations} rotations of the front-end; cleaning moved {cleaned}",
        written = ByteSize(summary.written_bytes),
        took = seconds,
        rate = show::rate(summary.written_bytes as f64 / seconds),
        times = summary.written_bytes as f64 / summary.capacity_bytes.max(1) as f64,
        capacity = ByteSize(summary.capacity_bytes),
        cut = if summary.cut_short { " (ended before the plan was done)" } else { "" },
        p50 = time(p50),
        p99 = time(p99),
        p999 = time(p999),
        max = time(max),
        rotations = last.rotations,
        cleaned = ByteSize(last.cleaned_bytes),
    );
    if let Some(amplification) = last.write_amplification {
        text.push_str(&format!(", write amplification {amplification:.2}"));
    }
    text.push_str(&format!("\nVerified     {verdict}\n"));
    text
}
