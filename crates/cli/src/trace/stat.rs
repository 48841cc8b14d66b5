//! `cygnus trace stat`

use super::{InOrder, SkippedLines, assumed, open, spread};
use crate::args::trace::StatArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Bar, Counts};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_types::{ByteSize, Nanos};
use cygnus_workload::recording::{Damage, Header};
use cygnus_workload::stat::{Collector, GapStat, Reuse, Stat};
use serde::Serialize;
use std::path::Path;

/// What is known of a trace.
#[derive(Debug, Serialize)]
struct Described<'a> {
    file: &'a Path,
    format: &'static str,
    skipped: SkippedLines,
    /// Requests whose lengths the file does not tell.
    #[serde(skip_serializing_if = "is_zero")]
    assumed_lengths: u64,
    /// Requests found behind a later one; they are described in the order of arrival.
    out_of_order: u64,
    /// Seconds of the clock's step over which requests of one time were spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_over_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Recorded>,
    #[serde(flatten)]
    stat: Stat,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What a recording says of itself, and what is missing in it.
#[derive(Debug, Serialize)]
struct Recorded {
    volume: String,
    volume_bytes: u64,
    /// Requests that the server could not write down in time.
    lost_requests: u64,
    damaged_places: u64,
    damaged_bytes: u64,
    /// Bytes at the end that are no whole frame.
    torn_bytes: u64,
}

impl From<(&Header, Damage)> for Recorded {
    fn from((header, damage): (&Header, Damage)) -> Self {
        Self {
            volume: header.volume.clone(),
            volume_bytes: header.size,
            lost_requests: damage.lost,
            damaged_places: damage.places,
            damaged_bytes: damage.bytes,
            torn_bytes: damage.torn,
        }
    }
}

impl Recorded {
    /// Sentences.
    fn text(&self) -> String {
        let mut text = format!("Recorded   {} of {}\n", self.volume, size(self.volume_bytes));
        if self.lost_requests > 0 {
            let lost = show::count(self.lost_requests);
            text.push_str(&format!("{lost} requests are missing: the file could not be written so fast\n"));
        }
        if self.damaged_places > 0 {
            text.push_str(&format!("{} bytes in {} places are damaged\n", self.damaged_bytes, self.damaged_places));
        }
        if self.torn_bytes > 0 {
            text.push_str(&format!("The recording was not ended in order: {} bytes are no frame\n", self.torn_bytes));
        }
        text
    }
}

pub(super) fn run(args: &StatArgs, output: Output) -> Result<(), Failure> {
    let reader = open(&args.file, &args.read)?;
    let mut bar = Bar::new(output, Counts::Bytes, Some(reader.progress().1));
    let mut records = InOrder::of(reader);
    let mut collector = Collector::new();
    while let Some(record) = records.next()? {
        collector.add(&record);
        bar.tick(|_| records.reader().progress().0);
    }
    drop(bar);
    let described = Described {
        file: &args.file,
        format: records.reader().format().name(),
        skipped: (&records.reader().skipped()).into(),
        assumed_lengths: records.reader().assumed_lengths(),
        out_of_order: records.out_of_order(),
        spread_over_seconds: records.step_seconds(),
        recording: records.reader().recording().map(Recorded::from),
        stat: collector.finish(),
    };
    output.answer(&described, |paint| described.text(paint))
}

/// Which of the busiest regions are summed up for people.
const BUSIEST: [usize; 4] = [1, 4, 8, 16];

fn cell(text: impl Into<String>) -> (Tone, String) {
    (Tone::Normal, text.into())
}

fn size(bytes: u64) -> String {
    ByteSize(bytes).to_string()
}

fn micros(us: f64) -> String {
    Nanos((us * 1e3) as u64).to_string()
}

impl Described<'_> {
    fn text(&self, paint: Paint) -> String {
        let stat = &self.stat;
        let volumes = if stat.volumes == 1 { "volume" } else { "volumes" };
        let mut text = format!(
            "{}: {}, {} requests in {} on {} {volumes}\n\n{}\n{}\n",
            self.file.display(),
            self.format,
            show::count(stat.requests),
            Nanos((stat.duration_seconds * 1e9) as u64),
            stat.volumes,
            kinds(stat).render(paint),
            sizes(stat).render(paint),
        );
        for (heading, line) in self.lines() {
            text.push_str(&format!("{} {line}\n", paint.tone(Tone::Heading, &format!("{heading:<10}"))));
        }
        if self.out_of_order > 0 && self.recording.is_none() {
            text.push_str(&format!(
                "{} requests stand behind later ones in the file\n",
                show::count(self.out_of_order)
            ));
        }
        text.push_str(&self.recording.as_ref().map_or(String::new(), Recorded::text));
        text.push_str(&spread(self.spread_over_seconds));
        text + &assumed(self.assumed_lengths) + &self.skipped.text()
    }

    fn lines(&self) -> [(&'static str, String); 6] {
        let stat = &self.stat;
        let footprint = stat.footprint;
        let hot = stat.hot.iter().map(|hot| format!("{:.1} % on {} %", hot.accesses_percent, hot.blocks_percent));
        let busiest = BUSIEST.iter().filter(|_| !stat.regions_percent.is_empty()).map(|&count| {
            let percent: f64 = stat.regions_percent.iter().take(count).sum();
            format!("{percent:.1} % on {count}/64")
        });
        [
            (
                "Footprint",
                format!(
                    "{} of {}; read {}, written {}",
                    size(footprint.touched_bytes),
                    size(footprint.extent_bytes),
                    size(footprint.read_bytes),
                    size(footprint.written_bytes)
                ),
            ),
            ("Hot", joined(hot, " of the touched blocks")),
            ("Busiest", joined(busiest, " of the space")),
            ("Again", again(stat.reuse)),
            ("Arrivals", arrivals(stat)),
            ("Gaps", stat.gaps.map_or("-".into(), gaps)),
        ]
    }
}

/// Parts one after the other, and what they are of; a dash of none.
fn joined(parts: impl Iterator<Item = String>, of: &str) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "-".into() } else { parts.join(", ") + of }
}

/// Without what there is no access of.
fn again(reuse: Reuse) -> String {
    let parts = [
        (reuse.accessed_before_percent, "accesses to blocks accessed before"),
        (reuse.overwritten_percent, "writes overwrite"),
        (reuse.read_after_write_percent, "reads read what was written"),
    ];
    joined(parts.into_iter().filter_map(|(percent, of)| Some(format!("{:.1} % of {of}", percent?))), "")
}

/// The mean rate is of the time between the requests, so it is more than there are in the busiest second if all come within less.
fn arrivals(stat: &Stat) -> String {
    let average = match (stat.mean_iops, stat.mean_bytes_per_second) {
        (Some(requests), Some(bytes)) => {
            format!("{}/s and {} on average", show::count(requests.round() as u64), show::rate(bytes))
        }
        _ if stat.requests > 1 => "all at once".to_owned(),
        _ => return "-".to_owned(),
    };
    format!("{average}, {} in the busiest second", show::count(stat.peak_iops))
}

fn gaps(gaps: GapStat) -> String {
    format!(
        "{} on average, {} median, {} p99, {} longest, variation {}",
        micros(gaps.mean_us),
        micros(gaps.p50_us),
        micros(gaps.p99_us),
        micros(gaps.max_us),
        gaps.variation.map_or("-".into(), |variation| format!("{variation:.2}"))
    )
}

fn kinds(stat: &Stat) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        ("KIND", Align::Left),
        right("REQUESTS"),
        right("SHARE"),
        right("BYTES"),
        right("MEAN SIZE"),
        right("RANDOM"),
    ]);
    for kind in &stat.kinds {
        table.row(vec![
            cell(kind.kind.name()),
            cell(show::count(kind.requests)),
            cell(format!("{:.1} %", kind.percent)),
            cell(size(kind.bytes)),
            cell(kind.mean_bytes.map_or("-".into(), |bytes| format!("{:.1} KiB", bytes / 1024.0))),
            cell(kind.random_percent.map_or("-".into(), |percent| format!("{percent:.1} %"))),
        ]);
    }
    table
}

fn sizes(stat: &Stat) -> Table {
    let mut table = Table::new(&[("UP TO", Align::Right), ("READS", Align::Right), ("WRITES", Align::Right)]);
    for bucket in &stat.sizes {
        let counts = [size(bucket.up_to_bytes), show::count(bucket.reads), show::count(bucket.writes)];
        table.row(counts.map(cell).into());
    }
    table
}
