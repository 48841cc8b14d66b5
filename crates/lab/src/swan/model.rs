//! Section 3.5: how many groups it takes, and why the paper's own example contradicts its equation.

use cygnus_policy::planner::{DeviceFigures, terms};

use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Change, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Model;

const CONTRADICTION: &str = "Section 3.5 prints N = 1.89 and concludes that two R-groups do; its own equation gives 3.05 for that \
    example (3.08 with u rounded to 0.33), so four. 1.89 is the sum without the first term, (Te/Tw)/(1-u) = 1.19. For drives \
    that erase many blocks at a time, as all do, that term is near zero: a 256-page block of each of twelve dies is erased in \
    4 ms and takes 250 ms to write.";

/// The paper's example: 4 ms to erase, 15.6 and 19.5 us to read and write a page of 4 KiB, 256 of them in a segment.
fn papers_device(erase_seconds: f64) -> DeviceFigures {
    DeviceFigures {
        write_rate: 4096.0 / 19.5e-6,
        read_rate: 4096.0 / 15.6e-6,
        erase_seconds,
        segment: 256.0 * 4096.0,
        capacity: 120e9,
    }
}

impl Experiment for Model {
    fn about(&self) -> About {
        About {
            id: "swan/model",
            title: "The fewest R-groups that keep cleaning out of the way of writes",
            published: "Section 3.5: N >= (Te/Tw)/(1-u) + (Tr/Tw + 1)u/(1-u) + 1. Its example, 60 % utilisation, u = 0.33, \
                        Te = 4 ms, tr = 15.6 us, tw = 19.5 us, B = 256, is printed as N = 1.89.",
            divisor: 1.0,
            seeds: 1,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(CONTRADICTION)
    }

    fn setup(&self, _: Scale) -> Vec<Trial> {
        Vec::new()
    }

    fn findings(&self, _: Scale, _: &[Trialled]) -> Findings {
        let curve = |erase: f64| -> Vec<(f64, f64)> {
            let at = |percent: u32| f64::from(percent) / 100.0;
            (5..=95).map(|p| (f64::from(p), terms(&papers_device(erase), at(p), 1.0).minimum())).collect()
        };
        let example = terms(&papers_device(4e-3), 0.6, 1.0);
        let lines = vec![
            Line::new("the equation", Scheme::Swan, curve(4e-3)),
            Line::new("without its term for erasing", Scheme::Model, curve(0.0)),
        ];
        let marks = vec![Mark::Level { at: 1.89, label: "printed for 60 %: 1.89".into() }];
        let panel = Panel::lines(
            Axis::linear("utilisation (%)").between(0.0, 100.0),
            Axis::linear("R-groups needed (N)").between(0.0, 12.0),
            lines,
        );
        let chart = Chart::single("groups", self.about().title, panel.marked(marks));
        let mut found = Findings::new(vec![chart], vec![CONTRADICTION.into()]);
        found.published("valid share", "u at 60 % utilisation", example.valid_share);
        let groups = ("groups", "N at 60 % utilisation");
        found.published(groups.0, groups.1, example.minimum());
        let term = Change { key: "(Te/Tw)/(1-u)".into(), from: "a term of the sum".into(), to: "left out".into() };
        found.supposed_of(groups, "The printed sum leaves out the equation's first term.", term, example.moves + 1.0);
        found
    }
}
