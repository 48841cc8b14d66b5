//! Figure 4: random writes over time to a shingled disk as it is and below SALSA.

use cygnus_ssd::{ModelConfig, Preset, Recording, Shingles};

use super::common::{RAW, SALSA, SEEDS, disk, mib_per_second, raw, salsa_on_disk};
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::percent;
use crate::outcome::{Outcome, Sample};
use crate::series::{NOTHING, TIME, over_time};

/// See the module's text.
pub struct Fig4;

/// Seconds that the figure shows of the disk as it is.
const RAW_SECONDS: u64 = 12_000;
/// The paper's seconds after which SALSA cleans in any of its trials here, and seconds of cleaning after that: an array gives
/// its clients a whole segment at a time, and they are as long as in the paper, so this many are needed for a mean.
const UNTIL: f64 = 12_800.0;
const CLEANING: f64 = 6000.0;
/// The paper's seconds after which SALSA's rate fell.
const FELL: f64 = 3000.0;
/// MiB/s below which a disk's persistent cache is full: a tenth of what it began with.
const FULL: f64 = 8.0;
/// Seconds over which the chart takes means, of the disk as it is before it is full and of what comes then.
const BEFORE: u64 = 20;
const AFTER: u64 = 100;

/// Bytes of a zone of the disk that is host-managed.
const ZONE: u64 = 2 << 20;

const RAW_PANEL: &str = "the disk as it is";
const UNTIL_PANEL: &str = "SALSA, until it cleans";
const STEADY: (&str, &str) = (RAW_PANEL, "its cache full");
const CLEANING_LINE: (&str, &str) = ("SALSA, while it cleans", "rate");
const WHOLE_BANDS: &str = "Of a disk that was formatted the model rewrites only what was written of a band; here it was written in full before.";
const LESS_FREE: &str = "Less of the space is free when writes begin than the 10 % of the paper: checkpoints, open and reserved segments take 3 %. \
    Here the volume is that much smaller.";
const HOST_MANAGED: &str = "The figure's caption has a host-managed disk, and section 5.1.2 a drive-managed one. Here the same disk, of the same size, leaves \
    its zones to the array.";
const CONTRADICTION: &str = "The figure's caption has a host-managed disk; section 5.1.2 has a drive-managed one, and only such a one can be written \
    as it is. Sections 2.3 and 5.1.2 have less than 200 KiB/s, and 200 KiB/s.";
const NOTES: [&str; 5] = [
    "What the disk as it is takes at first was fitted to this figure (docs/devices.md): it is shown and not judged. What it takes once its cache is full \
     was not fitted, but was known when the model was made, and holds of a disk that was written in full.",
    "\"The raw results are after the first write on the device\" is read so: the disk was formatted, and the first write is the first one that it ever takes.",
    "\"After the whole device was randomly written once\" is read so: each place once, which leaves the 10 % that SALSA keeps free; 160 MiB/s for 3000 s and \
     100 MiB/s for as long are 10 % of 8 TB. Here it was written in order, which makes no difference to what random writes leave in segments.",
    "The disk as it is has its full size. The one below SALSA is smaller, with bands, buffer and segments of full size; so what comes before cleaning is that \
     much shorter, and its times are the paper's. Cleaning takes 6000 s here as there.",
    "SALSA maps 64 KiB on such disks, this engine 4 KiB: its checkpoints are larger. Its cleaning begins when 2 % of the segments are free; the paper's \
     watermarks are not published.",
];

impl Experiment for Fig4 {
    fn about(&self) -> About {
        About {
            id: "salsa/fig4",
            title: "Random writes of 64 KiB over time to a shingled disk as it is and below SALSA",
            published: "Figure 4 and section 5.1.2: 64 KiB at depth 1 to a drive-managed Archive HDD of 8 TB. As it is close to 80 MiB/s, and \
                        200 KiB/s after about 5 minutes. Below SALSA, with 10 % kept free, roughly 160 MiB/s, after about 3000 s 100 MiB/s, and \
                        roughly 5 MiB/s once it cleans.",
            divisor: 16.0,
            seeds: SEEDS,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let written = "precondition = \"sequential\"\n";
        vec![
            Trial::new("raw", RAW, on_raw("")),
            Trial::new("raw, written in full before", Scheme::Serial, on_raw(written)),
            Trial::new("SALSA", SALSA, below_salsa(scale, "", 90)),
            Trial::new("SALSA, 3 % more free", Scheme::Serial, below_salsa(scale, "", 87)),
            Trial::new("SALSA, host-managed", Scheme::Serial, below_salsa(scale, &host_managed(scale), 90)),
        ]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [raw, full, log, freer, zoned] = trials else { unreachable!("as many as were set up") };
        let mut found =
            Findings::new(vec![chart(self.about().title, scale, raw, log)], NOTES.map(str::to_owned).into());
        let lasts = until_full(raw.outcome);
        found.published(RAW_PANEL, "its cache lasts", seconds(lasts));
        found.published(STEADY.0, STEADY.1, steady(raw.outcome) * 1024.0);
        found.supposed(STEADY, WHOLE_BANDS, &[(0, 1)], steady(full.outcome) * 1024.0);
        let [ours, freed, managed] = [log, freer, zoned].map(|of| Phases::of(scale, of.outcome));
        found.published(UNTIL_PANEL, "at first", ours.first);
        found.supposed((UNTIL_PANEL, "at first"), HOST_MANAGED, &[(2, 4)], managed.first);
        found.published(UNTIL_PANEL, "then", ours.then);
        found.published("SALSA falls before it cleans", "then / at first", ours.then / ours.first);
        found.published(CLEANING_LINE.0, CLEANING_LINE.1, ours.cleaning);
        found.supposed(CLEANING_LINE, LESS_FREE, &[(2, 3)], freed.cleaning);
        found.supposed(CLEANING_LINE, HOST_MANAGED, &[(2, 4)], managed.cleaning);
        found.published("faster with SALSA", "cleaning / raw, its cache full", ours.cleaning / steady(raw.outcome));
        found.number("raw: until its cache is full, fitted", "MiB/s", mean_rate(lasts));
        found.number("raw, written in full before: its cache full", "KiB/s", steady(full.outcome) * 1024.0);
        for (phases, of) in [(ours, log), (freed, freer), (managed, zoned)] {
            let (name, outcome) = (&of.trial.name, of.outcome);
            found.number(format!("{name}: cleaning begins, as in the paper"), "s", phases.began);
            found.number(format!("{name}: valid in victims"), "%", percent(outcome.victim_valid_milli));
            found.number(format!("{name}: rate of what cleaning moves"), "MiB/s", moved(scale, outcome));
            let longest = outcome.latency.iter().map(|row| row.max_ns).max().unwrap_or(0);
            found.number(format!("{name}: longest write"), "s", longest as f64 / 1e9);
        }
        found
    }
}

/// The workload on hardware of which this much is used.
fn scenario(hardware: &str, volume: &str, duration: f64, sample: u32) -> String {
    format!(
        "name = \"random\"\n{hardware}[volume]\nsize = \"{volume} of data\"\n[[workload.fio]]\nname = \"writes\"\n\
         block-size = \"64KiB\"\n[run]\nduration = \"{duration}s\"\nsample = \"{sample}s\"\n"
    )
}

/// The disk as it is, which went through this before.
fn on_raw(before: &str) -> String {
    scenario(&(disk(Scale::FULL) + before + &raw()), "100%", RAW_SECONDS as f64, 1)
}

/// That the disk leaves zones to its host, a hundredth of them conventional. It has as many bytes as the one with bands; so zones are as
/// large as what divides these: smaller than those of real disks, and parts of segments all the same.
fn host_managed(scale: Scale) -> String {
    let ModelConfig::Disk(disk) = Preset::SeagateSmr.config() else { unreachable!("the preset is a disk") };
    let Recording::DriveManaged(Shingles { band, .. }) = disk.recording else { unreachable!("it has bands") };
    let bytes = (disk.capacity as f64 / scale.divisor()) as u64 / band * band;
    format!(
        "override.disk = {{ capacity = \"{}B\", recording = {{ host-managed = {{ zone = \"{ZONE}B\", conventional = {}, open = 0 }} }} }}\n",
        (bytes as f64 * scale.divisor()).ceil() as u64,
        bytes / ZONE / 100
    )
}

/// SALSA with a volume of this part of the disk, of which this is different, all written.
fn below_salsa(scale: Scale, different: &str, percent: u32) -> String {
    let hardware = disk(scale) + different + &salsa_on_disk() + "[aging]\nfill = \"100%\"\n";
    scenario(&hardware, &format!("{percent}%"), UNTIL / scale.divisor() + CLEANING, 2)
}

fn written(sample: &Sample) -> f64 {
    mib_per_second(sample.writes[1], sample.span_ns)
}

/// Writes of several samples in MiB/s; no number of none.
fn mean_rate(samples: &[Sample]) -> f64 {
    let sum = |of: fn(&Sample) -> u64| samples.iter().map(of).sum::<u64>();
    mib_per_second(sum(|sample| sample.writes[1]), sum(|sample| sample.span_ns))
}

/// Length of some samples.
fn seconds(samples: &[Sample]) -> f64 {
    samples.iter().map(|sample| sample.span_ns).sum::<u64>() as f64 / 1e9
}

/// What a disk did before its persistent cache was full.
fn until_full(outcome: &Outcome) -> &[Sample] {
    let samples = &outcome.samples;
    &samples[..samples.iter().position(|sample| written(sample) < FULL).unwrap_or(samples.len())]
}

/// Writes in MiB/s in the second half, when the persistent cache has long been full.
fn steady(outcome: &Outcome) -> f64 {
    mean_rate(&outcome.samples[outcome.samples.len() / 2..])
}

/// What an array did before it cleaned.
fn until_cleaning(outcome: &Outcome) -> &[Sample] {
    let samples = &outcome.samples;
    &samples[..samples.iter().position(|sample| sample.victims[1] > 0).unwrap_or(samples.len())]
}

/// What an array did once its clients live on what cleaning frees.
fn cleaning(scale: Scale, outcome: &Outcome) -> &[Sample] {
    let begins = |sample: &Sample| scale.papers_seconds(sample.at_ns) > UNTIL;
    let samples = &outcome.samples;
    &samples[samples.iter().position(begins).unwrap_or(samples.len())..]
}

/// SALSA's writes in MiB/s.
#[derive(Clone, Copy)]
struct Phases {
    /// For as long as the paper's were fast.
    first: f64,
    /// From then on, until cleaning begins; no number if it has begun before.
    then: f64,
    /// Once clients live on what cleaning frees.
    cleaning: f64,
    /// When cleaning begins, in the paper's seconds.
    began: f64,
}

impl Phases {
    fn of(scale: Scale, outcome: &Outcome) -> Self {
        let before = until_cleaning(outcome);
        let fell = before.iter().position(|sample| scale.papers_seconds(sample.at_ns) > FELL).unwrap_or(before.len());
        let (first, then) = before.split_at(fell);
        Self {
            first: mean_rate(first),
            then: mean_rate(then),
            cleaning: mean_rate(cleaning(scale, outcome)),
            began: before.last().map_or(NOTHING, |sample| scale.papers_seconds(sample.at_ns)),
        }
    }
}

/// What cleaning moves while clients live on it, in MiB/s.
fn moved(scale: Scale, outcome: &Outcome) -> f64 {
    let samples = cleaning(scale, outcome);
    let blocks: u64 = samples.iter().map(|sample| sample.moved_blocks).sum();
    mib_per_second(blocks * 4096, samples.iter().map(|sample| sample.span_ns).sum())
}

fn chart(title: &str, scale: Scale, raw: &Trialled, log: &Trialled) -> Chart {
    let level = |at, label: &str| Mark::Level { at, label: label.into() };
    let moment = |at, label: &str| Mark::Moment { at, label: label.into() };
    let mut until = over_time(scale, log.outcome, written);
    until.truncate(until_cleaning(log.outcome).len());
    let end = until.last().map_or(0.0, |point| point.0);
    let as_it_is = means(&raw.outcome.samples, BEFORE).into_iter().take_while(|point| point.0 <= end);
    let before = Panel::lines(
        Axis::linear(TIME),
        Axis::logarithmic("writes (MiB/s)").between(0.1, 1000.0),
        vec![Line::new("raw", RAW, as_it_is.collect()), Line::new("SALSA", SALSA, until)],
    );
    let published = vec![
        level(160.0, ""),
        level(100.0, ""),
        level(0.2, ""),
        moment(300.0, "published: raw falls to 0.2"),
        moment(FELL, "SALSA from 160 to 100"),
    ];
    let full = &raw.outcome.samples[until_full(raw.outcome).len()..];
    let of_salsa = means(cleaning(scale, log.outcome), AFTER);
    let after = Panel::lines(
        Axis::linear("time since then (s)").between(0.0, CLEANING),
        Axis::linear("writes (MiB/s), means of 100 s").between(0.0, 12.0),
        vec![Line::new("raw", RAW, means(full, AFTER)), Line::new("SALSA", SALSA, of_salsa)],
    );
    let panels = vec![
        before.marked(published).titled("until SALSA cleans"),
        after.marked(vec![level(5.0, "published, SALSA: 5")]).titled("SALSA cleans, raw's cache is full"),
    ];
    Chart::grid("writes", title, 2, (420.0, 260.0), panels)
}

/// Means over this many seconds, by time since the first sample.
fn means(samples: &[Sample], seconds: u64) -> Vec<(f64, f64)> {
    let Some(first) = samples.first() else { return Vec::new() };
    let start = first.at_ns - first.span_ns;
    let span = |sample: &Sample| (sample.at_ns - start).saturating_sub(1) / (seconds * 1_000_000_000);
    let together = samples.chunk_by(|a, b| span(a) == span(b));
    together.map(|of| ((of[of.len() - 1].at_ns - start) as f64 / 1e9, mean_rate(of))).collect()
}
