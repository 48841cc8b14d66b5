//! Figure 7: what the flash drive and the shingled disk of the video server read and write over time.

use super::common::mib_per_second;
use super::video::{self, READ, SMALL_READS, SMALLER, at, benchmark, hybrid, rate};
use crate::DeviceSample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Sample;
use crate::series::NOTHING;

/// See the module's text.
pub struct Fig7;

/// Places of the drives in the array.
const FLASH: usize = 0;
const DISK: usize = 1;
/// The line about when that is so.
const AFTER: (&str, &str) = ("all active files are on flash", "after");
/// The disk reads less than this share of what is read, in percent, once all active files are on flash.
const MOVED: u64 = 1;
/// MiB/s at the lower end of the chart's axis, where nothing is shown too.
const LEAST: f64 = 0.1;

impl Experiment for Fig7 {
    fn about(&self) -> About {
        About {
            id: "salsa/fig7",
            title: "A video server on SALSA's hybrid controller: the flash drive and the shingled disk",
            published: "Figure 7 and section 5.5: at first all files are on the disk; active ones move to flash as they are read, and after about 200 s \
                        all of them are there: from then on the disk takes the writes and the flash drive serves the reads.",
            divisor: video::DIVISOR,
            seeds: video::SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        vec![hybrid(scale, "SALSA, hybrid", READ), hybrid(scale, "SALSA, hybrid, reads of 64 KiB", SMALLER)]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [of, small] = trials else { unreachable!("as many as were set up") };
        let chart = chart(self.about().title, benchmark(of));
        let mut found = Findings::new(vec![chart], video::NOTES.map(str::to_owned).into());
        let (ours, smaller) = (Course::of(of), Course::of(small));
        found.published(AFTER.0, AFTER.1, ours.moved_after());
        found.supposed(AFTER, SMALL_READS, &[(0, 1)], smaller.moved_after());
        found.published("then", "reads that flash serves", ours.share(FLASH, |device| device.totals.read_bytes));
        found.published("then", "writes that the disk takes", ours.share(DISK, |device| device.totals.written_bytes));
        found.number("reads until then", "MiB/s", mean(ours.moving));
        found.number("reads from then on", "MiB/s", mean(ours.settled));
        found
    }
}

/// The benchmark in two parts.
struct Course<'a> {
    /// While active files move to flash.
    moving: &'a [Sample],
    /// Once they are there.
    settled: &'a [Sample],
}

impl<'a> Course<'a> {
    fn of(trialled: &Trialled<'a>) -> Self {
        let samples = benchmark(trialled);
        let moved = samples.iter().position(is_moved).unwrap_or(samples.len());
        let (moving, settled) = samples.split_at(moved);
        Self { moving, settled }
    }

    /// Seconds until all active files are on flash; no number if they are not until the end.
    fn moved_after(&self) -> f64 {
        self.moving.last().filter(|_| !self.settled.is_empty()).map_or(NOTHING, at)
    }

    /// The part that a drive has of something once they are; no number if there is none of it.
    fn share(&self, drive: usize, of: fn(&DeviceSample) -> u64) -> f64 {
        let sum = |drive: usize| self.settled.iter().map(|sample| of(&sample.devices[drive])).sum::<u64>() as f64;
        sum(drive) / (sum(FLASH) + sum(DISK))
    }
}

/// Whether the disk reads next to nothing of what is read.
fn is_moved(sample: &Sample) -> bool {
    let reads = |drive: usize| sample.devices[drive].totals.read_bytes;
    reads(DISK) * 100 < (reads(FLASH) + reads(DISK)) * MOVED
}

/// Clients' reads in MiB/s; no number of no samples.
fn mean(samples: &[Sample]) -> f64 {
    let sum = |of: fn(&Sample) -> u64| samples.iter().map(of).sum::<u64>();
    mib_per_second(sum(|sample| sample.reads[1]), sum(|sample| sample.span_ns))
}

fn chart(title: &str, samples: &[Sample]) -> Chart {
    let line = |name, scheme, drive: usize, bytes: fn(&DeviceSample) -> u64| {
        let of = |sample: &Sample| (at(sample), rate(bytes(&sample.devices[drive]), sample).max(LEAST));
        Line::new(name, scheme, samples.iter().map(of).collect())
    };
    let panel = |title: &str, drive| {
        let lines = vec![
            line("reads", Scheme::Reads, drive, |device| device.totals.read_bytes),
            line("writes", Scheme::Raw, drive, |device| device.totals.written_bytes),
        ];
        let moved = Mark::Moment { at: 200.0, label: "published: all active files on flash".into() };
        let y = Axis::logarithmic("MiB/s").between(LEAST, 1000.0);
        Panel::lines(Axis::linear("time (s)"), y, lines).titled(title).marked(vec![moved])
    };
    Chart::grid("drives", title, 2, (400.0, 240.0), vec![panel("flash drive", FLASH), panel("shingled disk", DISK)])
}
