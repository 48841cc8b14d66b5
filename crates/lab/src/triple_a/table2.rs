//! Table 2: what the array does while data stays where it is.

use super::common::{
    Case, DIVISOR, EARLY, IN_PLACE, Load, Measure, ONE_AT_A_TIME, Results, Row, SEEDS, SYNTHESISED, WORKLOADS, Who,
    Workload, kiops, latency, link, scaled, storage,
};
use crate::chart::{Axis, Bars, Chart, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Table2;

const NOTE: &str = "Contention is the mean wait of all requests to modules, the log's own writes of whole stripes among them; the paper's is that \
    of clients' requests. Measured from the 10th to the 30th millisecond, while data is where it was written: a log takes what is overwritten \
    elsewhere, so hot clusters do not last.";

/// A column of the table.
struct Column {
    panel: &'static str,
    ours: Measure,
    paper: fn(&Row) -> f64,
}

const COLUMNS: [Column; 4] = [
    Column { panel: "latency", ours: latency, paper: |row| row.latency },
    Column { panel: "IOPS", ours: kiops, paper: |row| row.kiops },
    Column { panel: "link contention", ours: link, paper: |row| row.link },
    Column { panel: "storage contention", ours: storage, paper: |row| row.storage },
];
/// Latency and IOPS: what orders and factors are about.
const MAIN: std::ops::Range<usize> = 0..2;

/// How alike our column is to the paper's.
type Likeness = fn(&[f64], &[f64]) -> f64;

/// As it is judged, and with the supposed causes changed.
#[derive(Clone, Copy)]
enum Variant {
    Judged,
    OneAtATime,
    InPlace,
}

const CAUSES: [(Variant, &str); 2] = [(Variant::OneAtATime, ONE_AT_A_TIME), (Variant::InPlace, IN_PLACE)];

fn case(workload: Workload, variant: Variant) -> Case {
    let of = |who| Case::new(who, Load::Table(workload), EARLY);
    match variant {
        Variant::Judged => of(Who::Stays),
        Variant::OneAtATime => of(Who::Stays).one_at_a_time(),
        Variant::InPlace => of(Who::InPlace).one_at_a_time(),
    }
}

/// The rows of the table.
fn rows() -> impl Iterator<Item = (Workload, Row)> {
    WORKLOADS.into_iter().filter_map(|workload| Some((workload, workload.row?)))
}

impl Experiment for Table2 {
    fn about(&self) -> About {
        About {
            id: "triple-a/table2",
            title: "Latency, IOPS and contention of the array while data stays where it is",
            published: "Table 2: eleven workloads on 4x16 clusters of four modules without autonomics. Where there are no hot clusters (cfs, web) \
                        about 1 ms, elsewhere up to 6.7 ms, most of it contention for links.",
            divisor: DIVISOR,
            seeds: SEEDS,
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        Some(
            "Latency times IOPS is 142 to 300 requests under way in Table 2, where the root complex is said to take 650 to 1000 (section 5.1). The \
             queue stall is the sum of link and storage contention to within a microsecond or two, and cannot be a wait besides them. An SLA of 3.3 us \
             is shorter than any sense of flash. \"400 MHz\" is the rate of ONFi 3.0's transfers, not of its clock, and packets of 4 KiB are larger \
             than the named switch takes.",
        )
    }

    fn scale(&self, asked: Scale) -> Scale {
        scaled(asked)
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let variants = [Variant::Judged, Variant::OneAtATime, Variant::InPlace];
        rows().flat_map(|(workload, _)| variants.map(|variant| case(workload, variant).trial(scale))).collect()
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let results = Results(trials);
        let ours = |variant, column: &Column| -> Vec<f64> {
            rows().map(|(workload, _)| (column.ours)(results.of(&case(workload, variant)))).collect()
        };
        let paper = |column: &Column| -> Vec<f64> { rows().map(|(_, row)| (column.paper)(&row)).collect() };
        let mut found =
            Findings::new(vec![chart(self.about().title, &ours, &paper)], vec![SYNTHESISED.into(), NOTE.into()]);
        let places = |variant| -> Vec<(usize, usize)> {
            let place = |workload, variant| results.place(&case(workload, variant));
            rows().map(|(workload, _)| (place(workload, Variant::Judged), place(workload, variant))).collect()
        };
        for column in &COLUMNS {
            for (n, (workload, _)) in rows().enumerate() {
                let line = (column.panel, workload.name);
                found.published(line.0, line.1, ours(Variant::Judged, column)[n]);
                for (variant, cause) in CAUSES {
                    found.supposed(line, cause, &places(variant)[n..=n], ours(variant, column)[n]);
                }
            }
        }
        for column in &COLUMNS[MAIN] {
            let measures: [(&str, Likeness); 2] = [("order", rank_correlation), ("within a factor of 2", near)];
            for (panel, measure) in measures {
                let of = |variant| measure(&ours(variant, column), &paper(column));
                found.published(panel, column.panel, of(Variant::Judged));
                for (variant, cause) in CAUSES {
                    found.supposed((panel, column.panel), cause, &places(variant), of(variant));
                    found.number(format!("{}, {panel}: {}", column.panel, word(variant)), "", of(variant));
                }
            }
        }
        for (n, (workload, _)) in rows().enumerate() {
            for (variant, _) in CAUSES {
                for (column, unit) in COLUMNS[MAIN].iter().zip(["us", "k/s"]) {
                    let what = format!("{}, {}: {}", workload.name, column.panel, word(variant));
                    found.number(what, unit, ours(variant, column)[n]);
                }
            }
        }
        found
    }
}

fn word(variant: Variant) -> &'static str {
    match variant {
        Variant::Judged => "as it is",
        Variant::OneAtATime => "one command at a time",
        Variant::InPlace => "in place, one command at a time",
    }
}

fn chart(title: &str, ours: &dyn Fn(Variant, &Column) -> Vec<f64>, paper: &dyn Fn(&Column) -> Vec<f64>) -> Chart {
    let panel = |column: &Column| {
        let of = |name, scheme, variant| Bars::new(name, scheme, ours(variant, column));
        let bars = vec![
            Bars::new("published", Scheme::Paper, paper(column)),
            of("ours", Scheme::LogRaid, Variant::Judged),
            of("one command at a time", Scheme::Serial, Variant::OneAtATime),
            of("in place, one command at a time", Scheme::Raid0, Variant::InPlace),
        ];
        let unit = if column.panel == "IOPS" { "thousands a second" } else { "us" };
        let names = rows().map(|(workload, _)| workload.name.into()).collect();
        Panel::bars(Axis::linear(unit), names, bars).titled(column.panel)
    };
    Chart::grid("table2", title, 1, (1000.0, 220.0), COLUMNS.iter().map(panel).collect())
}

/// How many of the pairs are within a factor of 2.
fn near(ours: &[f64], paper: &[f64]) -> f64 {
    ours.iter().zip(paper).filter(|(ours, paper)| **ours <= **paper * 2.0 && **ours * 2.0 >= **paper).count() as f64
}

/// Spearman's.
fn rank_correlation(one: &[f64], other: &[f64]) -> f64 {
    let (one, other) = (ranks(one), ranks(other));
    let middle = (one.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum() };
    product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt()
}

/// The rank of each value, from 1; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let less = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        less as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_compared_and_not_values() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0]), [2.5, 1.0, 2.5]);
        assert_eq!(rank_correlation(&[1.0, 2.0, 9.0], &[5.0, 6.0, 7.0]), 1.0);
        assert_eq!(rank_correlation(&[3.0, 2.0, 1.0], &[5.0, 6.0, 7.0]), -1.0);
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn half_and_double_are_within_a_factor_of_two() {
        assert_eq!(near(&[1.0, 4.0, 0.9, 4.1], &[2.0; 4]), 2.0);
    }
}
