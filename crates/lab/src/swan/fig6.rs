//! Figure 6: what each drive does under the random writes of Figure 5.

use super::common::log_raid0_and_swan0;
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Bound, Check, Experiment, Findings, Number, Scale, Trial, Trialled};
use crate::outcome::{Outcome, Sample};
use crate::series::{TIME, mean, over_time, rate};

/// See the module's text.
pub struct Fig6;

const DRIVES: usize = 8;

impl Experiment for Fig6 {
    fn about(&self) -> About {
        About {
            id: "swan/fig6",
            title: "Random writes, each drive: Log-RAID0 and SWAN0 on eight drives",
            published: "Figure 6 and section 5.2: reads are those of cleaning only. With Log-RAID0 every drive is written \
                        all the time, and read all the time once cleaning has begun. With SWAN0 the two drives of the \
                        front-end are written at close to 400 MB/s each and only those of the group being cleaned read.",
            divisor: 32.0,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        log_raid0_and_swan0(scale)
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [log, swan] = trials else { unreachable!("as many as were set up") };
        let at_once = |trialled: &Trialled| drives_read_at_once(trialled.outcome);
        Findings {
            charts: vec![chart(scale, log, "log-raid0"), chart(scale, swan, "swan0")],
            numbers: vec![
                Number::ours("Log-RAID0: drives that read, of 8, mean once cleaning has begun", "", at_once(log)),
                Number::ours("SWAN0: the same", "", at_once(swan)),
                Number::ours("SWAN0: writes of a front-end drive", "MB/s", front_end_rate(swan.outcome)),
            ],
            checks: vec![
                Check::new(
                    "SWAN0: share of cleaning's reads that fall on the front-end",
                    Bound::AtMost(0.05),
                    front_end_reads(swan.outcome),
                ),
                Check::new(
                    "SWAN0: writes of a front-end drive, MB/s",
                    Bound::Between(360.0, 420.0),
                    front_end_rate(swan.outcome),
                ),
                Check::new("Log-RAID0: drives that read once cleaning has begun", Bound::AtLeast(7.5), at_once(log)),
            ],
            notes: vec![
                "An interval of the figure may see two groups being cleaned or written, one after the other.".into(),
            ],
        }
    }
}

/// The second half: cleaning goes on.
fn settled(outcome: &Outcome) -> &[Sample] {
    &outcome.samples[outcome.samples.len() / 2..]
}

/// Drives that read at least a tenth of what the busiest one reads.
fn drives_read_at_once(outcome: &Outcome) -> f64 {
    let reading = |sample: &Sample| {
        let most = sample.devices.iter().map(|device| device.totals.read_bytes).max().unwrap_or(0);
        sample.devices.iter().filter(|device| most > 0 && device.totals.read_bytes * 10 >= most).count() as f64
    };
    mean(settled(outcome).iter().map(reading))
}

/// Samples in which one group was front-end from beginning to end.
fn whole_turns(outcome: &Outcome) -> impl Iterator<Item = &Sample> {
    settled(outcome).windows(2).filter(|two| two[0].front_end == two[1].front_end).map(|two| &two[1])
}

fn in_front(sample: &Sample) -> impl Iterator<Item = &crate::DeviceSample> {
    sample.devices.iter().filter(|device| Some(device.group) == sample.front_end)
}

fn front_end_rate(outcome: &Outcome) -> f64 {
    let of = |sample: &Sample| mean(in_front(sample).map(|device| rate(device.totals.written_bytes, sample.span_ns)));
    mean(whole_turns(outcome).map(of))
}

fn front_end_reads(outcome: &Outcome) -> f64 {
    let sums = whole_turns(outcome).fold((0, 0), |(front, all), sample| {
        let read = |device: &crate::DeviceSample| device.totals.read_bytes;
        (front + in_front(sample).map(read).sum::<u64>(), all + sample.devices.iter().map(read).sum::<u64>())
    });
    sums.0 as f64 / sums.1.max(1) as f64
}

fn chart(scale: Scale, trialled: &Trialled, name: &str) -> Chart {
    let Trialled { trial, outcome } = trialled;
    let panel = |n: Option<usize>| {
        let of = |bytes: fn(&crate::DeviceTotals) -> u64| {
            over_time(scale, outcome, |sample| {
                let drives = sample.devices.iter().enumerate().filter(|(at, _)| n.is_none_or(|n| n == *at));
                rate(drives.map(|(_, device)| bytes(&device.totals)).sum(), sample.span_ns)
            })
        };
        let lines = vec![
            Line::new("writes", trial.scheme, of(|totals| totals.written_bytes)),
            Line::new("reads (cleaning)", Scheme::Reads, of(|totals| totals.read_bytes)),
        ];
        let title = n.map_or_else(|| format!("{}, all drives", trial.name), |n| format!("SSD {}", n + 1));
        let (x, y) = (Axis::linear(TIME), Axis::linear("MB/s"));
        let y = if n.is_some() { y.between(0.0, 500.0) } else { y };
        Panel::lines(x, y, lines).titled(title)
    };
    let panels = (0..DRIVES).map(Some).chain([None]).map(panel).collect();
    let title = format!("{}: writes and cleaning's reads of each drive", trial.name);
    Chart::grid(name, &title, 3, (300.0, 110.0), panels)
}
