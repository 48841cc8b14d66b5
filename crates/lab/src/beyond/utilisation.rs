//! How full an array of groups that take turns may be: where the model says that it must break, and where it does.

use cygnus_policy::planner::valid_share;

use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::series::{NOTHING, least, most};
use crate::swan::common::{drives, log_raid0, swan0, written};

/// See the module's text.
pub struct Utilisation;

/// Live data in percent of what the array has for volumes.
const PERCENTS: [u32; 8] = [50, 55, 60, 65, 70, 80, 90, 95];
/// Groups, and drives of each.
const GROUPS: u32 = 4;
const WIDTH: u32 = 2;
/// Reading a segment takes this much of what writing it takes (section 5: 500 and 400 MB/s).
const READ: f64 = 400.0 / 500.0;
/// Two drives at 400 MB/s, less headers.
const FRONT_END: f64 = 800.0 * 64.0 / 65.0;

impl Experiment for Utilisation {
    fn about(&self) -> About {
        About {
            id: "beyond/utilisation",
            title: "How full the array may be: SWAN0 and Log-RAID0 on eight drives",
            published: "Section 3.5 has the condition under which cleaning keeps up with a front-end that is written without a \
                        pause, and no measurement of it. For four groups it is kept up to a valid share of victims of 62 %, \
                        79 % utilisation, if all back-ends may be cleaned at a time; section 3.4 and 5.2 clean one, for which \
                        the same terms give a valid share of 36 %, 62 % utilisation, however many groups there are.",
            divisor: 64.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let array = |array: String| array.replace("over-provision = 5", "over-provision = 0");
        let of = |percent: u32| {
            let scenario = |text: String| scenario(scale, &array(text), percent);
            [
                Trial::new(&format!("SWAN0, {percent} %"), Scheme::Swan, scenario(swan0(GROUPS, WIDTH))),
                Trial::new(&format!("Log-RAID0, {percent} %"), Scheme::LogRaid, scenario(log_raid0(GROUPS * WIDTH))),
            ]
        };
        PERCENTS.into_iter().flat_map(of).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let measured = |which: usize| -> Vec<(f64, f64)> {
            let of = |trialled: &Trialled| (100.0 * utilisation(trialled.outcome), written(trialled));
            trials.iter().skip(which).step_by(2).map(of).collect()
        };
        let (swan, log) = (measured(0), measured(1));
        let model = |at_once: f64| -> Vec<(f64, f64)> {
            let at = |percent: u32| f64::from(percent) / 2.0;
            (90..=190).map(|p| (at(p), FRONT_END * sustained(at(p) / 100.0, at_once))).collect()
        };
        let (one, all) = (limit(1.0), limit(f64::from(GROUPS - 1)));
        let lines = vec![
            Line::new("SWAN0 4R-2SSD", Scheme::Swan, swan.clone()),
            Line::new("Log-RAID0", Scheme::LogRaid, log.clone()),
            Line::new("SWAN's terms, one group cleaned at a time", Scheme::Model, model(1.0)),
            Line::new("SWAN's terms, all back-ends at a time", Scheme::Paper, model(f64::from(GROUPS - 1))),
        ];
        let marks = vec![
            Mark::Moment { at: 100.0 * one, label: format!("must break: {:.0} %", 100.0 * one) },
            Mark::Moment { at: 100.0 * all, label: format!("{:.0} %", 100.0 * all) },
        ];
        let panel = Panel::lines(
            Axis::linear("live data, % of the drives").between(45.0, 95.0),
            Axis::linear("sustained user writes (MB/s)"),
            lines,
        );
        let below = swan.iter().filter(|(at, _)| *at < 100.0 * one - MARGIN).map(|(_, rate)| rate / FRONT_END);
        let most = most(swan.iter().map(|(_, rate)| *rate));
        let breaks = swan.iter().find(|(_, rate)| *rate < 0.95 * FRONT_END).map_or(100.0, |(at, _)| *at);
        let chart = Chart::single("utilisation", self.about().title, panel.marked(marks));
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let keeps_up = "cleaning keeps up below the limit";
        found.published(keeps_up, "least share of the front-end's rate", least(below));
        found.published(keeps_up, "rate, what two drives can do", most);
        found.published("where it breaks", "first utilisation at which it falls short", breaks);
        let order = "SWAN0 before Log-RAID0";
        let at_sixty = PERCENTS.iter().position(|percent| *percent == 60).map_or(NOTHING, |n| swan[n].1 / log[n].1);
        found.published(order, "at 60 %: SWAN0 / Log-RAID0", at_sixty);
        found.published(order, "fullest: SWAN0 / Log-RAID0", swan[PERCENTS.len() - 1].1 / log[PERCENTS.len() - 1].1);
        found.number("must break, one group cleaned at a time", "%", 100.0 * one);
        found.number("must break, two groups cleaned at a time", "%", 100.0 * limit(2.0));
        found.number("must break, all back-ends at a time", "%", 100.0 * all);
        found.number("SWAN0, fullest", "MB/s", swan.last().map_or(NOTHING, |point| point.1));
        found.number("Log-RAID0, fullest", "MB/s", log.last().map_or(NOTHING, |point| point.1));
        found
    }
}

const NOTES: [&str; 2] = [
    "Beyond the limit for one group at a time a second one is cleaned now and then: the front-end's whole rate goes on for a while, but \
     not to the limit for two, since the second one only gets room to spare.",
    "One log of eight is faster than four groups of two wherever both work: all its drives write. At the limit for all back-ends the \
     terms give both the same rate, since both then have no drive time left.",
];

/// Points of utilisation by which what is measured may be off, as reserves are part of an array's space.
const MARGIN: f64 = 3.0;

fn scenario(scale: Scale, array: &str, percent: u32) -> String {
    format!(
        "name = \"utilisation\"\n{}{array}[volume]\nsize = \"{percent}% of usable\"\n[aging]\nfill = \"100%\"\n\
         overwrite = 1.0\n[[workload.fio]]\nname = \"random-writes\"\nblock-size = \"8KiB\"\ndepth = 64\n\
         [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
        drives(scale),
        scale.seconds(3600.0),
        scale.seconds(1800.0),
        scale.seconds(60.0)
    )
}

/// Share of the drives, without headers, that holds live data.
fn utilisation(outcome: &Outcome) -> f64 {
    outcome.volume_bytes as f64 / (outcome.drives as f64 * outcome.drive_bytes as f64 * 64.0 / 65.0)
}

/// Share of its rate that a front-end sustains when `at_once` groups are cleaned at a time: section 3.5 without erasing.
fn sustained(utilisation: f64, at_once: f64) -> f64 {
    let u = valid_share(utilisation);
    (at_once * (1.0 - u) / (u * (1.0 + READ))).min(1.0)
}

/// The utilisation up to which all of it is sustained: where the valid share is a / (a + 1 + Tr/Tw).
fn limit(at_once: f64) -> f64 {
    let u = at_once / (at_once + 1.0 + READ);
    (u - 1.0) / u.ln()
}
