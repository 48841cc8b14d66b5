//! Figure 6: what each drive does under the random writes of Figure 5.

use super::common::{log_raid0_and_swan0, one_group_at_a_time, sampled, settled};
use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::{DeviceSample, DeviceTotals, Outcome, Sample};
use crate::series::{NOTHING, TIME, mean, over_time, rate};

/// See the module's text.
pub struct Fig6;

const DRIVES: usize = 8;
/// Distance of SWAN0's samples in the paper's seconds: a turn of its groups lasts 24, and has to be seen from within.
const WITHIN_A_TURN: f64 = 4.0;
/// What may make more than two drives read at once.
const TWO_GROUPS: &str = "The preset cleans a second group beside the first where one at a time might be late; section 3 has one cleaned at a time.";

impl Experiment for Fig6 {
    fn about(&self) -> About {
        About {
            id: "swan/fig6",
            title: "Random writes, each drive: Log-RAID0 and SWAN0 on eight drives",
            published: "Figure 6 and section 5.2: reads are those of cleaning only. With Log-RAID0 every drive is written \
                        all the time, and read all the time once cleaning has begun. With SWAN0 the two drives of the \
                        front-end are written at close to 400 MB/s each and only those of the group being cleaned read.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let [log, swan] = log_raid0_and_swan0(scale).try_into().expect("these two");
        let swan = sampled(scale, &swan, WITHIN_A_TURN);
        let one = one_group_at_a_time(&swan);
        vec![log, swan, Trial { name: format!("{}, one group at a time", one.name), ..one }]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [log, swan, one] = trials else { unreachable!("as many as were set up") };
        let charts = vec![chart(scale, log, "log-raid0"), chart(scale, swan, "swan0")];
        let note = "A drive counts by what its group was doing at the end of an interval. Intervals in which another group came to be front-end are left out.";
        let mut found = Findings::new(charts, vec![note.into()]);
        let (a, b) = ("(a) Log-RAID0", "(b) SWAN0");
        found.published(a, "drives written at once", at_once(log.outcome, |totals| totals.written_bytes));
        found.published(a, "read before cleaning begins", read_before(log.outcome));
        found.published(a, "drives read at once, once cleaning", at_once(log.outcome, |totals| totals.read_bytes));
        found.published(b, "writes of a front-end drive", front_end_rate(swan.outcome));
        found.published(b, "writes of a front-end drive, what it can do", front_end_rate(swan.outcome));
        let (panel, cause) = (|series| (b, series), &[(1, 2)]);
        let reads = |of: &Trialled| share_of(of.outcome, &["cleaning"], |totals| totals.read_bytes);
        let line = "share of the reads on the group being cleaned";
        found.published(b, line, reads(swan));
        found.supposed(panel(line), TWO_GROUPS, cause, reads(one));
        let writes = |of: &Trialled| share_of(of.outcome, &["cleaning", "front-end"], |totals| totals.written_bytes);
        let line = "share of the writes on the front-end and the group being cleaned";
        found.published(b, line, writes(swan));
        found.supposed(panel(line), TWO_GROUPS, cause, writes(one));
        let read = |of: &Trialled| at_once(of.outcome, |totals| totals.read_bytes);
        let line = "drives that are read at once";
        found.published(b, line, read(swan));
        found.supposed(panel(line), TWO_GROUPS, cause, read(one));
        let lasted = swan.outcome.samples.last().map_or(NOTHING, |sample| scale.papers_seconds(sample.at_ns));
        found.number("SWAN0: a turn as front-end lasts", "s", lasted / (swan.outcome.rotations as f64 + 1.0));
        found
    }
}

/// Drives that read or write at least a tenth of what the busiest one does: the mean of the second half.
fn at_once(outcome: &Outcome, of: fn(&DeviceTotals) -> u64) -> f64 {
    let busy = |sample: &Sample| {
        let most = sample.devices.iter().map(|device| of(&device.totals)).max().unwrap_or(0);
        sample.devices.iter().filter(|device| most > 0 && of(&device.totals) * 10 >= most).count() as f64
    };
    mean(settled(outcome).iter().map(busy))
}

/// What drives read until the first segment is cleaned, in MB/s.
fn read_before(outcome: &Outcome) -> f64 {
    let before = outcome.samples.iter().take_while(|sample| sample.victims[1] == 0);
    mean(before.map(|sample| rate(sample.devices.iter().map(|device| device.totals.read_bytes).sum(), sample.span_ns)))
}

/// Samples in which one group was front-end from beginning to end.
fn whole_turns(outcome: &Outcome) -> impl Iterator<Item = &Sample> {
    settled(outcome).windows(2).filter(|two| two[0].front_end == two[1].front_end).map(|two| &two[1])
}

fn in_front(sample: &Sample) -> impl Iterator<Item = &DeviceSample> {
    sample.devices.iter().filter(|device| Some(device.group) == sample.front_end)
}

/// No number at all where turns are too short to be seen from within.
fn front_end_rate(outcome: &Outcome) -> f64 {
    let of = |sample: &Sample| mean(in_front(sample).map(|device| rate(device.totals.written_bytes, sample.span_ns)));
    let rates: Vec<f64> = whole_turns(outcome).map(of).collect();
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// The share of something that falls on drives whose groups have one of these roles at the end of an interval.
fn share_of(outcome: &Outcome, roles: &[&str], of: fn(&DeviceTotals) -> u64) -> f64 {
    let devices = || whole_turns(outcome).flat_map(|sample| &sample.devices);
    let theirs: u64 = devices().filter(|device| roles.contains(&device.role)).map(|device| of(&device.totals)).sum();
    theirs as f64 / devices().map(|device| of(&device.totals)).sum::<u64>() as f64
}

fn chart(scale: Scale, trialled: &Trialled, name: &str) -> Chart {
    let Trialled { trial, outcome } = trialled;
    let panel = |n: Option<usize>| {
        let of = |bytes: fn(&DeviceTotals) -> u64| {
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
