//! Figure 16: what drives program in normal cells when their SLC buffers spare copies.

use super::common::{SEEDS, drives, engine_cores, log, sent};
use super::traces::{TRACES, preset};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::DeviceTotals;
use cygnus_workload::synth::Preset;

/// See the module's text.
pub struct Fig16;

/// How much smaller drives and traces are: a whole trace is written, and the buffer filled several times over.
const DIVISOR: f64 = 32.0;
/// The buffer of the paper's drive (section 6.5), in bytes.
const BUFFER: f64 = 4e9;
/// Traces of which the text prints a number.
const PRINTED: [&str; 4] = ["proxy0", "prn", "src2", "webmail"];
/// What is supposed to leave the buffer nothing to spare.
const CONVERTED: &str = "A stripe is converted as it ends, and its copies are forgotten before the buffer has to choose; ScalaAFA converts when it is idle or \
    short of space for copies. With parity from the host copies stay until their place is written anew.";
const NOTES: [&str; 4] = [
    "Which load Figure 16 had is not said but for its traces: a closed loop of 32 is assumed, as in section 6.3, over 256 MiB that were written once. As many \
     requests as in Table 2, by the divisor; the traces are synthesised as for Figures 12 and 13.",
    "Both sides have the same array on drives that fold their buffer when it is full, one block of a die each time, and let nothing pass it by. Without \
     the tag a block's score is its invalid pages, so Scala-WR is eviction \"greedy\", and ours \"spare-transient\".",
    "The space for copies is as large as the buffer on each drive: section 5.1 says that the buffers determine it.",
    "Counted after the volume was written once, to the end of the trace: what a buffer holds then is not moved any more.",
];

/// Whether drives heed the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    /// The paper's Scala-WR.
    Ignored,
    Heeded,
}

/// A trace, and how it is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    trace: &'static str,
    tag: Tag,
    /// Whether the host computes parity: copies are not forgotten by a conversion.
    host: bool,
}

fn cases() -> Vec<Case> {
    let both = |trace, host| [Tag::Ignored, Tag::Heeded].map(|tag| Case { trace, tag, host });
    let judged = TRACES.iter().flat_map(|&trace| both(trace, false));
    judged.chain(PRINTED.iter().flat_map(|&trace| both(trace, true))).collect()
}

impl Case {
    fn name(self) -> String {
        let who = if self.tag == Tag::Heeded { "ours" } else { "Scala-WR" };
        format!("{who} {}{}", self.trace, if self.host { ", host converts" } else { "" })
    }

    fn trial(self, scale: Scale) -> Trial {
        let (eviction, scheme) = match self.tag {
            Tag::Ignored => ("greedy", Scheme::LogRaid),
            Tag::Heeded => ("spare-transient", Scheme::Swan),
        };
        let area = (BUFFER / scale.divisor()) as u64 >> 12 << 2;
        let protection = if self.host { "two-phase" } else { "offload" };
        let requests = Preset::find(&preset(self.trace)).expect("it is one").requests.expect("Table 2 has them") as f64
            / scale.divisor();
        let text = format!(
            "name = \"scala-afa-slc\"\n{}override.ssd.slc = {{ eviction = \"{eviction}\", folding = \"when-full\" }}\n\
             {}protection = \"{protection}\"\ntransient = \"{area}KiB\"\n\
             [volume]\nsize = \"256MiB\"\nack = \"written\"\n[aging]\nfill = \"100%\"\n\
             [workload.synth]\npreset = \"{}\"\ndepth = 32\nrequests = {}\n{}\
             [run]\nduration = \"20s\"\nsample = \"1s\"\n",
            drives(scale),
            log("scala-afa", 4, 1),
            preset(self.trace),
            requests as u64,
            engine_cores(1),
        );
        Trial::new(&self.name(), scheme, text)
    }
}

struct Results<'a>(&'a [Trialled<'a>]);

impl Results<'_> {
    fn place(&self, case: Case) -> usize {
        let name = case.name();
        let at = self.0.iter().position(|trialled| trialled.trial.name == name);
        at.unwrap_or_else(|| panic!("{name} was not set up"))
    }

    /// Pages of all drives, in thousands.
    fn pages(&self, case: Case, of: fn(&DeviceTotals) -> u64) -> f64 {
        self.0[self.place(case)].outcome.devices.iter().map(of).sum::<u64>() as f64 / 1e3
    }

    /// Programmed in normal cells.
    fn normal(&self, case: Case) -> f64 {
        self.pages(case, DeviceTotals::pages_normal)
    }

    /// With the tag beside without it.
    fn ratio(&self, trace: &'static str, host: bool) -> f64 {
        let of = |tag| self.normal(Case { trace, tag, host });
        of(Tag::Heeded) / of(Tag::Ignored)
    }

    /// What the tag spares, in percent.
    fn spared(&self, trace: &'static str, host: bool) -> f64 {
        100.0 * (1.0 - self.ratio(trace, host))
    }
}

impl Experiment for Fig16 {
    fn about(&self) -> About {
        About {
            id: "scala-afa/fig16",
            title: "Pages programmed in normal cells, with and without the transient tag",
            published: "Figure 16 and section 6.5, 4+1, SLC buffers of 4 GB: beside Scala-WR, which does not tag copies, ScalaAFA has fewer writes on MLC \
                        blocks in all workloads, 38.6, 12.2, 37.7 and 28.4 % fewer in proxy0, prn, src2 and webmail.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        cases().into_iter().map(|case| case.trial(scale)).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let heights = |tag| TRACES.iter().map(|&trace| results.normal(Case { trace, tag, host: false })).collect();
        let series = vec![
            Bars::new("Scala-WR", Scheme::LogRaid, heights(Tag::Ignored)),
            Bars::new("ours", Scheme::Swan, heights(Tag::Heeded)),
        ];
        let panel = Panel::bars(Axis::linear("thousands of pages"), TRACES.map(str::to_owned).into(), series);
        let chart = Chart::single("normal-cells", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        for trace in PRINTED {
            found.published("fewer by", trace, results.spared(trace, false));
            let tried = [Tag::Ignored, Tag::Heeded].map(|tag| {
                let at = |host| results.place(Case { trace, tag, host });
                (at(false), at(true))
            });
            found.supposed(("fewer by", trace), CONVERTED, &tried, results.spared(trace, true));
        }
        for trace in TRACES {
            found.published("fewer in all workloads", format!("{trace}: ours / Scala-WR"), results.ratio(trace, false));
        }
        for case in cases() {
            let outcome = &trials[results.place(case)];
            found.number(format!("{}: in normal cells", case.name()), "thousand pages", results.normal(case));
            let slc = results.pages(case, |device| device.pages_slc);
            found.number(format!("{}: in SLC buffers", case.name()), "thousand pages", slc);
            found.number(format!("{}: sent to drives", case.name()), "", sent(outcome));
        }
        found
    }
}
