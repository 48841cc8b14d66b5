//! The maps as they were drawn last, for those who plan an array. `cygnus lab run beyond/regimes` draws them anew; its tables go to
//! `published/regimes`.

use serde::Serialize;

use super::place::{NETWORKS, UTILISATIONS, WRITES};
use crate::files::cells;

const READ: &str = include_str!("../../../published/regimes/reads-99.9.csv");
const WRITTEN: &str = include_str!("../../../published/regimes/writes-99.9.csv");

/// What was measured, its unit, in which loop, and the table of its map.
const TABLES: [(&str, &str, Loop, &str); 7] = [
    ("reads and writes", "MB/s", Loop::Closed, include_str!("../../../published/regimes/throughput.csv")),
    ("99.9 % of reads", "us", Loop::Open, READ),
    ("99.9 % of writes", "us", Loop::Open, WRITTEN),
    ("99.99 % of reads", "us", Loop::Open, include_str!("../../../published/regimes/reads-99.99.csv")),
    ("99.99 % of writes", "us", Loop::Open, include_str!("../../../published/regimes/writes-99.99.csv")),
    ("99.9 % of reads where drives answer", "us", Loop::ByDrives, READ),
    ("99.9 % of writes where drives answer", "us", Loop::ByDrives, WRITTEN),
];

/// Cells in front of the numbers: panel, row, column, who leads.
const NAMES: usize = 4;
/// Cells of a number: its median and the ends of its interval.
const EACH: usize = 3;
/// Designs that are compared: their numbers with the larger drives come first.
const DESIGNS: usize = super::place::DESIGNS.len();

#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    Open,
    Closed,
    /// Open, and writes are answered when drives have them.
    ByDrives,
}

/// A place of the maps, and who leads there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Regime {
    /// R-groups, what share of requests are reads, and how full.
    pub place: String,
    /// What was measured there.
    pub measures: Vec<Led>,
}

/// Who leads in something.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Led {
    /// In what, and under which load.
    pub what: String,
    /// Of the numbers.
    pub unit: &'static str,
    /// In words: "swan", "even: swan, log-raid", "undecided: swan, raid5", "nobody".
    pub lead: String,
    /// Designs that keep up, and their medians.
    pub numbers: Vec<(String, f64)>,
}

/// How many times as long as the best tail another one is before it is [`Led::far_behind`].
const FAR: f64 = 2.0;
/// Microseconds up to which no tail is: a drive takes longer for a read, so nobody would notice.
const UNNOTICED: f64 = 100.0;

impl Led {
    /// Whether a design leads alone or is even with the best. A cell that is undecided, since drives of the two sizes say different
    /// things, has no leader.
    pub fn leads(&self, design: &str) -> bool {
        let names = match self.lead.split_once(": ") {
            Some(("even", names)) => names,
            Some(_) => return false,
            None => &self.lead,
        };
        names.split(", ").any(|name| name == design)
    }

    /// Of a latency: the design's own and the best one's, each with its name, if the design's is more than twice as long and not too short to be noticed.
    pub fn far_behind(&self, design: &str) -> Option<[&(String, f64); 2]> {
        if self.unit != "us" {
            return None;
        }
        let own = self.numbers.iter().find(|(name, _)| name == design)?;
        let best = self.numbers.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
        (own.1 > UNNOTICED.max(FAR * best.1)).then_some([own, best])
    }
}

/// The place that is nearest to an array: R-groups of so many data drives and one of parity, live data in percent of what they hold,
/// writes in percent of what the data drives of one group can take.
pub fn nearest_regime(data: u32, utilisation: f64, load: f64) -> Regime {
    let full = nearest(UTILISATIONS, utilisation);
    let wide = if data < 3 { 2 } else { 4 };
    let led = |(what, unit, within, table): (&str, &'static str, Loop, &str)| {
        let (groups, how, load) = match within {
            Loop::Closed => (2, "closed loop", nearest(NETWORKS, load)),
            Loop::Open => (wide, "steady", nearest(WRITES, load)),
            Loop::ByDrives => (2, "steady, answered by drives", nearest(WRITES, load)),
        };
        let panel = format!("3 x {groups}+1, 30 % reads, {how}");
        let mut found = led(table, [panel, format!("{full} %"), format!("{load} %")])?;
        found.what = match within {
            Loop::Closed => format!("{what}, {groups}+1 behind a network of {load} % of the front-end's rate"),
            Loop::Open => format!("{what}, writes at {load} % of that rate"),
            Loop::ByDrives => format!("{what}, 2+1, writes at {load} % of that rate"),
        };
        found.unit = unit;
        Some(found)
    };
    Regime {
        place: format!("3 x {wide}+1, 30 % reads, {full} % full"),
        measures: TABLES.into_iter().filter_map(led).collect(),
    }
}

fn nearest(of: [u32; 3], wanted: f64) -> u32 {
    let distance = |value: &u32| (f64::from(*value) - wanted).abs();
    of.into_iter().min_by(|one, other| distance(one).total_cmp(&distance(other))).expect("there are three")
}

/// The cell of a map that has these names.
fn led(table: &str, names: [String; 3]) -> Option<Led> {
    let header = cells(table.lines().next()?);
    let row = table.lines().skip(1).map(cells).find(|row| row[..3] == names)?;
    let of = |design: usize| NAMES + design * EACH;
    let number = |design: usize| {
        let name = header.get(of(design))?.split(' ').next()?.to_owned();
        Some((name, row.get(of(design))?.parse().ok()?))
    };
    let numbers = (0..DESIGNS).filter_map(number).collect();
    Some(Led { what: String::new(), unit: "", lead: row[3].clone(), numbers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_in_each_map() {
        for (data, utilisation, load) in [(2, 45.0, 10.0), (2, 63.0, 55.0), (8, 99.0, 1000.0)] {
            let regime = nearest_regime(data, utilisation, load);
            assert_eq!(regime.measures.len(), TABLES.len(), "{regime:?}");
            assert!(regime.measures[0].numbers.iter().any(|(name, _)| name == "swan"), "{regime:?}");
        }
        assert_eq!(nearest_regime(2, 63.0, 0.0).place, "3 x 2+1, 30 % reads, 60 % full");
    }

    #[test]
    fn who_leads_is_told_by_name() {
        let led = |lead: &str| Led { what: String::new(), unit: "us", lead: lead.into(), numbers: Vec::new() };
        assert!(led("raid5").leads("raid5") && led("even: swan, raid5").leads("swan"));
        assert!(!led("nobody").leads("swan") && !led("even: log-raid, raid5").leads("raid"));
    }

    #[test]
    fn who_is_undecided_leads_in_nothing() {
        let led = Led { what: String::new(), unit: "us", lead: "undecided: swan, raid5".into(), numbers: Vec::new() };
        assert!(!led.leads("swan") && !led.leads("raid5"));
    }

    #[test]
    fn a_tail_is_far_behind_from_twice_the_best_on() {
        let led = |unit, swan| Led {
            what: String::new(),
            unit,
            lead: "raid5".into(),
            numbers: [("swan", swan), ("log-raid", 2000.0), ("raid5", 1000.0)]
                .map(|(name, of)| (name.into(), of))
                .into(),
        };
        assert_eq!(led("us", 2001.0).far_behind("swan"), Some([&("swan".into(), 2001.0), &("raid5".into(), 1000.0)]));
        assert_eq!(led("us", 2000.0).far_behind("swan"), None);
        let short = Led { numbers: vec![("swan".into(), 99.0), ("raid5".into(), 1.0)], ..led("us", 0.0) };
        assert_eq!(short.far_behind("swan"), None);
        // More of a rate is better.
        assert_eq!(led("MB/s", 9000.0).far_behind("swan"), None);
        assert_eq!(led("us", 9000.0).far_behind("serial"), None);
    }
}
