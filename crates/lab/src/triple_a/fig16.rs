//! Figure 16: data that is read anew for its migration, beside data that rides on the client's read.

use super::common::{
    Case, DIVISOR, Load, Look, Results, SEEDS, SYNTHESISED, WHOLE, Who, Workload, latency, ratio, scaled, with_cause,
};
use crate::chart::{Axis, Chart, Line, Panel};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::outcome::Outcome;
use crate::series::mean;

/// See the module's text.
pub struct Fig16;

/// The traces of Table 1 that read and have hot clusters: all of their requests read, and of prn's 97.1 %.
const READ_TRACES: [&str; 3] = ["prn", "g-eigen", "l-eigen"];

/// The arrays, in the order of the figure's parts a, b and c. Part d is the array of part c, over all of its requests.
const ARRAYS: [Who; 3] = [Who::Stays, Who::MovesNaively, Who::Moves];

const NOTES: [&str; 2] = [
    "Which read traces the figure shows, the paper does not say: those of Table 1 that read and have hot clusters, here. Measured from the 10th to \
     the 150th millisecond, which is while data moves and after: the paper's parts b and c are of the requests that migrations hold up, ours are of all.",
    "Both ways to migrate take the same decisions by the same thresholds and budget; at most 65 reads for migrations are under way at once, which is our \
     bound and not the paper's.",
];

fn case(trace: &str, who: Who) -> Case {
    Case::new(who, Load::Table(Workload::called(trace)), WHOLE)
}

fn cases() -> Vec<Case> {
    READ_TRACES.into_iter().flat_map(|trace| ARRAYS.map(|who| case(trace, who))).collect()
}

/// The mean over the traces of one array's latency by another's.
fn beside(look: &Look, one: Who, other: Who) -> f64 {
    let of = |trace, who| latency(look(&case(trace, who)));
    mean(READ_TRACES.into_iter().map(|trace| ratio(of(trace, one), of(trace, other))))
}

impl Experiment for Fig16 {
    fn about(&self) -> About {
        About {
            id: "triple-a/fig16",
            title: "Latency while data moves: read anew for it, or on the client's read",
            published: "Figure 16 and section 6.5: naive migration, whose reads go to the hot clusters too, makes latency longer than shadow cloning does; \
                        Triple-A improves on the non-autonomic array. The plots are series of single requests, and the text gives no figure.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        with_cause(&cases(), scale)
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let panel = |trace: &str| {
            let line = |who: Who| Line::new(who.name(), who.scheme(), series(results.of(&case(trace, who))));
            let (x, y) = (Axis::linear("time (ms)"), Axis::linear("latency of reads (us)"));
            Panel::lines(x, y, ARRAYS.map(line).into()).titled(trace)
        };
        let chart =
            Chart::grid("series", self.about().title, 1, (900.0, 200.0), READ_TRACES.into_iter().map(panel).collect());
        let notes = [SYNTHESISED, NOTES[0], NOTES[1]].map(str::to_owned).into();
        let mut found = Findings::new(vec![chart], notes);
        for (line, one, other) in [
            (("naive migration", "latency, by shadow cloning's"), Who::MovesNaively, Who::Moves),
            (("Triple-A", "latency, by the non-autonomic array's"), Who::Moves, Who::Stays),
        ] {
            results.line(&mut found, line, &cases(), |look| beside(look, one, other));
        }
        for trace in READ_TRACES {
            for who in ARRAYS {
                let outcome = results.of(&case(trace, who));
                found.number(format!("{trace}, {}: latency", who.name()), "us", latency(outcome));
                let Some(moves) = outcome.moves.filter(|_| who != Who::Stays) else { continue };
                let moved = moves.migrated + moves.reshaped + moves.expelled;
                found.number(format!("{trace}, {}: moved", who.name()), "blocks", moved as f64);
                found.number(format!("{trace}, {}: read for it", who.name()), "blocks", moves.read_to_move as f64);
            }
        }
        found
    }
}

/// Mean latency of reads in microseconds, over the time in milliseconds.
fn series(outcome: &Outcome) -> Vec<(f64, f64)> {
    let read = outcome.samples.iter().filter(|sample| sample.reads[0] > 0);
    read.map(|sample| (sample.at_ns as f64 / 1e6, sample.reads[2] as f64 / 1e3)).collect()
}
