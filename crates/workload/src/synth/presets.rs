//! What two papers published about traces that are not to be had here.

/// Where a preset's numbers stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// ScalaAFA (ATC'24), Table 2: counts, mean sizes and volumes of reads and writes.
    ScalaAfa2,
    /// Triple-A (ASPLOS'14), Table 1: mix, randomness, hot clusters.
    TripleA1,
}

impl Table {
    /// The part of a preset's name before the slash.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::ScalaAfa2 => "scala-afa",
            Self::TripleA1 => "triple-a",
        }
    }

    /// As it is cited.
    pub fn citation(self) -> &'static str {
        match self {
            Self::ScalaAfa2 => "ScalaAFA Table 2",
            Self::TripleA1 => "Triple-A Table 1",
        }
    }

    /// What the table does not say and the synthesiser assumes.
    pub fn assumed(self) -> &'static str {
        match self {
            Self::ScalaAfa2 => "80 % random, 80 % of the requests on 13/64 of the space",
            Self::TripleA1 => "4 KiB requests",
        }
    }
}

/// The statistics that a trace is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The trace's name in the paper.
    pub name: &'static str,
    /// Where the numbers stand.
    pub table: Table,
    /// Requests in the original, where the table says.
    pub requests: Option<u64>,
    /// Percent of the requests that are reads.
    pub read_percent: f64,
    /// Mean bytes of a read.
    pub mean_read: f64,
    /// Mean bytes of a write.
    pub mean_write: f64,
    /// Percent of the reads that are random.
    pub random_read_percent: f64,
    /// Percent of the writes that are random.
    pub random_write_percent: f64,
    /// How many sixty-fourths of the address space are hot. Triple-A's default array has 64 clusters.
    pub hot_regions: u64,
    /// Percent of the requests that go to the hot regions.
    pub hot_percent: f64,
    /// Whether the hot regions stand together behind one of four switches (said of websql, section 6.1).
    pub hot_together: bool,
}

/// Requests of this size where a table gives none; a PCIe packet of Triple-A's (section 5.2).
const PAGE: f64 = 4096.0;

/// A line of ScalaAFA's Table 2: thousands of writes and reads, gigabytes written and read. Mean sizes follow from
/// these more exactly than from the rounded ones of the table; its units are powers of 1024, as only they agree.
const fn scala(name: &'static str, kwrites: f64, kreads: f64, gb_written: f64, gb_read: f64) -> Preset {
    const GB: f64 = (1_u64 << 30) as f64;
    Preset {
        name,
        table: Table::ScalaAfa2,
        requests: Some(((kwrites + kreads) * 1000.0) as u64),
        read_percent: kreads * 100.0 / (kwrites + kreads),
        mean_read: gb_read * GB / (kreads * 1000.0),
        mean_write: gb_written * GB / (kwrites * 1000.0),
        random_read_percent: 80.0,
        random_write_percent: 80.0,
        hot_regions: 13,
        hot_percent: 80.0,
        hot_together: false,
    }
}

/// A line of Triple-A's Table 1, in the table's order.
const fn triple(name: &'static str, read: f64, random_read: f64, random_write: f64, hot: u64, on_hot: f64) -> Preset {
    Preset {
        name,
        table: Table::TripleA1,
        requests: None,
        read_percent: read,
        mean_read: PAGE,
        mean_write: PAGE,
        random_read_percent: random_read,
        random_write_percent: random_write,
        hot_regions: hot,
        hot_percent: on_hot,
        hot_together: false,
    }
}

/// All presets, in the tables' order.
pub const PRESETS: [Preset; 19] = [
    scala("proxy0", 12135.4, 383.5, 53.8, 3.1),
    scala("prn", 7753.0, 9066.3, 76.8, 194.5),
    scala("src2", 2201.1, 1171.3, 48.8, 61.2),
    scala("cfs", 1173.0, 3304.1, 14.1, 27.3),
    scala("dap", 475.3, 610.4, 44.1, 36.2),
    scala("webmail", 6381.9, 1413.8, 24.3, 5.4),
    triple("cfs", 76.5, 94.1, 73.8, 0, 0.0),
    triple("fin", 50.2, 90.4, 99.1, 5, 55.7),
    triple("hm", 55.1, 93.3, 99.2, 5, 43.7),
    triple("mds", 25.9, 80.2, 94.8, 4, 54.1),
    triple("msnfs", 52.8, 90.9, 84.9, 4, 28.8),
    triple("prn", 97.1, 94.8, 46.6, 2, 50.9),
    triple("proj", 29.1, 80.7, 8.5, 6, 61.3),
    triple("prxy", 61.1, 97.3, 59.4, 3, 39.3),
    triple("usr", 28.9, 90.3, 96.9, 5, 40.1),
    triple("web", 100.0, 95.0, 0.0, 0, 0.0),
    Preset { hot_together: true, ..triple("websql", 54.3, 73.9, 67.6, 4, 50.6) },
    triple("g-eigen", 100.0, 17.1, 0.0, 6, 70.6),
    triple("l-eigen", 100.0, 17.1, 0.0, 11, 48.1),
];

/// Why a name is no preset's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownPreset {
    /// Nobody has it.
    #[error("\"{0}\" is no synthesiser preset: write one of {all}", all = all_names())]
    Unknown(String),
    /// Two tables have it.
    #[error("\"{name}\" is in two tables: write {}", choices.join(" or "))]
    Ambiguous {
        /// What was written.
        name: String,
        /// What could be meant.
        choices: Vec<String>,
    },
}

fn all_names() -> String {
    PRESETS.iter().map(Preset::full_name).collect::<Vec<_>>().join(", ")
}

impl Preset {
    /// The name that scenarios and the command line use: paper and trace, such as `scala-afa/prn`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.table.prefix(), self.name)
    }

    /// What the requests are called wherever they show up, so that nobody takes them for the original.
    pub fn label(&self) -> String {
        format!("{} (synthesised from {})", self.name, self.table.citation())
    }

    /// The preset of this name, which needs the table's prefix only if two tables have it.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(name: &str) -> Result<&'static Preset, UnknownPreset> {
        let lower = name.to_ascii_lowercase();
        let fits = |preset: &&Preset| preset.name == lower || preset.full_name() == lower;
        let found: Vec<&'static Preset> = PRESETS.iter().filter(fits).collect();
        match found[..] {
            [one] => Ok(one),
            [] => Err(UnknownPreset::Unknown(name.into())),
            _ => {
                let choices = found.iter().map(|preset| preset.full_name()).collect();
                Err(UnknownPreset::Ambiguous { name: name.into(), choices })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        assert_eq!(Preset::find("proxy0").unwrap().label(), "proxy0 (synthesised from ScalaAFA Table 2)");
        assert_eq!(Preset::find("triple-a/prn").unwrap().read_percent, 97.1);
        assert_eq!(Preset::find("DAP").unwrap().full_name(), "scala-afa/dap");
        let ambiguous = Preset::find("prn").unwrap_err().to_string();
        assert!(ambiguous.ends_with("write scala-afa/prn or triple-a/prn"), "{ambiguous}");
        assert!(Preset::find("hm_1").unwrap_err().to_string().contains("triple-a/hm"));
        for preset in &PRESETS {
            assert_eq!(Preset::find(&preset.full_name()), Ok(preset));
        }
    }

    /// The rounded mean sizes that Table 2 prints beside what ours are derived from.
    #[test]
    fn mean_sizes_are_those_that_the_table_prints() {
        let printed = [(4.6, 8.3), (10.4, 22.5), (23.2, 54.8), (12.6, 8.7), (97.2, 62.1), (4.0, 4.0)];
        for (preset, (write, read)) in PRESETS.iter().zip(printed) {
            let near = |got: f64, expect: f64| (got / 1024.0 - expect).abs() <= 0.06 + expect * 0.02;
            assert!(near(preset.mean_write, write) && near(preset.mean_read, read), "{preset:?}");
        }
    }
}
