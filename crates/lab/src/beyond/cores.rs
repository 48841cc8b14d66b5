//! One to sixteen cores: how far the rate grows with them, and what it is that it then waits for.

use crate::chart::{Axis, Chart, Line, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::ratio;

/// See the module's text.
pub struct Cores;

const CORES: [u32; 6] = [1, 2, 4, 8, 12, 16];
/// A core that works for so large a part of the time has none left: the rest is the time between two messages.
const IS_FULL: f64 = 0.9;
/// Four times what the lab's cores usually cost: so the drives, which take some microseconds for everything, are never what is waited for.
const SLOW: &str = "turn = \"400ns\"\nsubmit = \"1600ns\"\ncomplete = \"800ns\"\ncopy = \"800ns\"\nchecksum = \"240ns\"\n\
                    parity = \"240ns\"\nrequest = \"3200ns\"\n";
/// Bytes of a drive at the paper's size, which no paper has: of a small one.
const DRIVE: f64 = 16.0 * (1 << 30) as f64;

/// What the clients do, and on what.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Reads,
    /// Of a volume so small that all is written to free segments.
    Writes,
    /// Of a volume that has been overwritten until cleaning gives all the room that there is.
    Cleaning,
}

const LOADS: [Load; 3] = [Load::Reads, Load::Writes, Load::Cleaning];

impl Load {
    fn name(self) -> &'static str {
        match self {
            Load::Reads => "reads",
            Load::Writes => "writes, nothing to clean",
            Load::Cleaning => "writes beside cleaning",
        }
    }

    fn scheme(self) -> Scheme {
        match self {
            Load::Reads => Scheme::Raw,
            Load::Writes => Scheme::Raid0,
            Load::Cleaning => Scheme::LogRaid,
        }
    }

    fn scenario(self, scale: Scale, cores: u32) -> String {
        let (volume, overwrite, ms) = match self {
            Load::Cleaning => ("75% of usable", 2.0, 240),
            Load::Reads | Load::Writes => ("40% of usable", 0.0, 30),
        };
        let read = if self == Load::Reads { 100 } else { 0 };
        let mib = DRIVE / scale.divisor() / f64::from(1 << 20);
        format!(
            "name = \"cores\"\n[devices]\npreset = \"null\"\ncapacity = \"{mib:.0}MiB\"\n\
             [[array]]\npreset = \"log-raid\"\nraid = \"8+1\"\nsegment = \"1MiB\"\n\
             [volume]\nsize = \"{volume}\"\n[aging]\nfill = \"100%\"\noverwrite = {overwrite:.1}\n\
             [[workload.fio]]\nname = \"clients\"\nblock-size = \"4KiB\"\nread = {read}\nclients = 48\ndepth = 8\n\
             [cpu]\ncores = {cores}\n{SLOW}[run]\nduration = \"{ms}ms\"\nramp = \"{}ms\"\nsample = \"10ms\"\n",
            ms / 4
        )
    }
}

const NOTES: [&str; 3] = [
    "The drives have no flash and take some microseconds for everything, and each core costs four times what the lab's cores usually cost, so that \
     cores are what a request waits for: the rates are a quarter of real ones. Each core has a reactor with segments of its own. Lines of \
     memory that cores take from one another are not modelled: on real cores the straight lines bend too.",
    "Beside cleaning the first core chooses what is cleaned, and others empty segments too, one core more for each 64 segments of a group. Where \
     these are all at work and the first one has no time left, writers wait for the room that they give. The second panel shows the busiest \
     core's time, and the mean of all.",
    "Clients are dealt out evenly, so on few cores the first one has its share of them beside the cleaning.",
];

impl Experiment for Cores {
    fn about(&self) -> About {
        About {
            id: "beyond/cores",
            title: "One to sixteen cores: random reads and writes of 4 KiB",
            published: "Not published for any of these presets. ScalaAFA's Figure 11 has its rivals' throughput by the number of threads; that \
                        its own grants need no lock is a claim about many cores (sections 4 and 5.2).",
            divisor: 32.0,
            seeds: 5,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let of = |load: Load| {
            let trial = move |cores| {
                let name = format!("{}, {cores} cores", load.name());
                Trial::new(&name, load.scheme(), load.scenario(scale, cores))
            };
            CORES.into_iter().map(trial)
        };
        LOADS.into_iter().flat_map(of).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let of = |load: Load| {
            let first = LOADS.iter().position(|&other| other == load).unwrap_or(0) * CORES.len();
            &trials[first..first + CORES.len()]
        };
        let mut found = Findings::new(vec![chart(self.about().title, &of)], NOTES.map(str::to_owned).into());
        for load in LOADS {
            let of_load = of(load);
            let (one, sixteen) = (rate(&of_load[0]), rate(&of_load[CORES.len() - 1]));
            found.published(load.name(), "16 cores / one core", sixteen / one);
            for (trialled, cores) in of_load.iter().zip(CORES) {
                found.number(format!("{}, {cores} cores", load.name()), "thousand requests per second", rate(trialled));
            }
        }
        let cleaning = of(Load::Cleaning);
        let full = |trialled: &Trialled| busiest(trialled) >= IS_FULL;
        let knee = cleaning.iter().zip(CORES).filter(|(trialled, _)| full(trialled) && mean(trialled) < IS_FULL);
        found.number(
            "fewest cores of which only the first is at work all the time, beside cleaning",
            "",
            knee.map(|(_, cores)| f64::from(cores)).next().unwrap_or(0.0),
        );
        for (trialled, cores) in cleaning.iter().zip(CORES) {
            let moved = ratio(trialled.outcome.cleaning_amplification_milli.map(|milli| milli.saturating_sub(1000)))
                * rate(trialled);
            found.number(format!("beside cleaning, {cores} cores: blocks moved"), "thousand per second", moved);
        }
        found
    }
}

/// Thousands of requests per second.
fn rate(trialled: &Trialled) -> f64 {
    trialled.outcome.rate() / 4096.0 / 1e3
}

/// Share of the time in which the core that works most is at work.
fn busiest(trialled: &Trialled) -> f64 {
    trialled.outcome.busiest_core_milli as f64 / 1e3
}

/// The same, of all cores on average.
fn mean(trialled: &Trialled) -> f64 {
    trialled.outcome.cpu_milli as f64 / 1e3 / trialled.outcome.cores.max(1) as f64
}

fn chart<'t>(title: &str, of: &impl Fn(Load) -> &'t [Trialled<'t>]) -> Chart {
    let line = |name: &str, load: Load, scheme, value: &dyn Fn(&Trialled) -> f64| {
        Line::new(name, scheme, of(load).iter().zip(CORES).map(|(t, cores)| (f64::from(cores), value(t))).collect())
    };
    let rates = LOADS.map(|load| line(load.name(), load, load.scheme(), &rate)).into();
    let share = |value: fn(&Trialled) -> f64| move |trialled: &Trialled| 100.0 * value(trialled);
    let shares = vec![
        line("the busiest core", Load::Cleaning, Scheme::LogRaid, &share(busiest)),
        line("all cores, mean", Load::Cleaning, Scheme::Raw, &share(mean)),
    ];
    let panels = vec![
        Panel::lines(Axis::linear("cores"), Axis::linear("thousand requests per second"), rates),
        Panel::lines(Axis::linear("cores"), Axis::linear("at work beside cleaning, % of the time"), shares),
    ];
    Chart::grid("cores", title, 1, (760.0, 220.0), panels)
}
