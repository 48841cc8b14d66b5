//! The places that are compared, and the scenario of each.

use std::fmt;

use crate::chart::Scheme;
use crate::experiment::Scale;

/// R-groups of SWAN and of the serial array. The others have the same drives.
const GROUPS: u32 = 3;
/// What a drive writes in order, and its size: the 850 PRO of SWAN's evaluation.
const DRIVE_RATE: f64 = 400e6;
const DRIVE_BYTES: f64 = 120e9;
/// What headers of stripes leave.
const HEADERS: f64 = 64.0 / 65.0;
/// Blocks of a modelled drive's die, and pages of each.
const BLOCKS: f64 = 1502.0;
const PAGES: u32 = 256;

/// How often the volume is written over before the clock starts, before measuring begins, and while it goes on: so long that
/// 99.99 % of the fewest reads, in the least full array, leave ten beyond.
const AGING: f64 = 1.0;
const RAMP: f64 = 0.25;
const MEASURED: f64 = 6.5;

/// Who is compared, in the order of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Design {
    Swan,
    LogRaid,
    Serial,
    Raid5,
}

pub(super) const DESIGNS: [Design; 4] = [Design::Swan, Design::LogRaid, Design::Serial, Design::Raid5];

/// How requests come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// As many at once as always, over a network of this share of the front-end's rate, in percent.
    Closed(u32),
    /// At random times; writes at this share of the front-end's rate, in percent.
    Steady(u32),
    /// The same in a quarter of the time, four times as fast.
    Bursts(u32),
}

/// When a write is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// By each design as soon as it does that: logs have a write in memory, RAID-5 on its drives.
    EachAsItDoes,
    /// When drives have it, by all: logs copy small writes first, so that none of them ends a stripe.
    ByDrives,
}

/// One place: what is held, what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Data drives of an R-group, beside one of parity.
    pub data: u32,
    /// Share of the requests that are reads, in percent.
    pub reads: u32,
    /// Live data, in percent of what the array's drives hold without parity.
    pub utilisation: u32,
    pub load: Load,
    pub answers: Answers,
}

impl Design {
    /// As `cygnus create` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Design::Swan => "swan",
            Design::LogRaid => "log-raid",
            Design::Serial => "serial",
            Design::Raid5 => "raid5",
        }
    }

    pub fn scheme(self) -> Scheme {
        match self {
            Design::Swan => Scheme::Swan,
            Design::LogRaid => Scheme::LogRaid,
            Design::Serial => Scheme::Serial,
            Design::Raid5 => Scheme::Raid5,
        }
    }

    /// Whether it can hold so much: a serial array of three groups leaves one empty.
    pub fn holds(self, utilisation: u32) -> bool {
        self != Design::Serial || utilisation < 50
    }

    /// The place at which it is run to know it at this one: RAID-5 answers when its drives have a write, whatever is asked for.
    pub fn run_at(self, place: Place) -> Place {
        match self {
            Design::Raid5 => Place { answers: Answers::EachAsItDoes, ..place },
            Design::Swan | Design::LogRaid | Design::Serial => place,
        }
    }

    fn section(self, data: u32, answers: Answers) -> String {
        let drives = GROUPS * (data + 1);
        let spare = match answers {
            Answers::EachAsItDoes => "over-provision = 5\n",
            Answers::ByDrives => "over-provision = 5\nprotection = \"two-phase\"\n",
        };
        let log = |groups: u32, raid: String| format!("groups = {groups}\nraid = \"{raid}\"\nsegment = \"512KiB\"\n");
        let (one, groups) = (log(1, format!("{}+1", drives - 1)), log(GROUPS, format!("{data}+1")));
        let more = match self {
            Design::Swan | Design::Serial => groups + spare,
            Design::LogRaid => one + spare,
            Design::Raid5 => format!("drives = {drives}\n"),
        };
        format!("[[array]]\npreset = \"{}\"\n{more}", self.name())
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Closed(percent) => write!(f, "closed loop, network {percent} %"),
            Load::Steady(percent) => write!(f, "writes {percent} %"),
            Load::Bursts(percent) => write!(f, "writes {percent} % in bursts"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { data, reads, utilisation, load, answers } = self;
        write!(f, "{data}+1, {utilisation} % full, {reads} % reads, {load}")?;
        match answers {
            Answers::EachAsItDoes => Ok(()),
            Answers::ByDrives => write!(f, ", answered by drives"),
        }
    }
}

impl Place {
    /// Bytes per second that a front-end takes from users.
    pub fn front_end(self) -> f64 {
        f64::from(self.data) * DRIVE_RATE * HEADERS
    }

    /// Bytes per second that are asked for, reads and writes, in an open loop.
    pub fn offered(self) -> Option<f64> {
        let (Load::Steady(percent) | Load::Bursts(percent)) = self.load else { return None };
        Some(self.front_end() * f64::from(percent) / f64::from(100 - self.reads))
    }

    /// A scenario of the one array.
    pub fn scenario(self, scale: Scale, design: Design) -> String {
        let Place { reads, utilisation, .. } = self;
        let ack = match self.answers {
            Answers::EachAsItDoes => "",
            Answers::ByDrives => "ack = \"written\"\n",
        };
        let (rate, network) = match self.load {
            Load::Closed(percent) => {
                let network = self.front_end() * f64::from(percent) / 100.0 / 1e6;
                ("depth = 64\n".to_owned(), format!("[network]\nrate = \"{network:.0}MB\"\nlatency = \"20us\"\n"))
            }
            Load::Steady(_) => (self.rate("\"poisson\""), String::new()),
            Load::Bursts(_) => (self.rate("{ bursts = { on = \"50ms\", off = \"150ms\" } }"), String::new()),
        };
        let once = self.once_over();
        format!(
            "name = \"regimes\"\n{}{}[volume]\nsize = \"{utilisation}% of data\"\n{ack}\
             [aging]\nfill = \"100%\"\noverwrite = {AGING:?}\noverwrite-block = \"16KiB\"\n\
             [[workload.fio]]\nname = \"mixed\"\nblock-size = \"16KiB\"\nread = {reads}\n{rate}{network}\
             [run]\nduration = \"{}\"\nramp = \"{}\"\nsample = \"{}\"\n",
            scale.devices("850-pro", BLOCKS, PAGES),
            design.section(self.data, self.answers),
            scale.seconds(once * (RAMP + MEASURED)),
            scale.seconds(once * RAMP),
            scale.seconds(once / 4.0)
        )
    }

    fn rate(self, arrivals: &str) -> String {
        let offered = self.offered().expect("an open loop has a rate") / 1e6;
        format!("rate = {{ bandwidth = \"{offered:.0}MB\", arrivals = {arrivals} }}\ndepth = 256\n")
    }

    /// How long SWAN's volume takes to be written over at the load's rate, at full size, in seconds.
    fn once_over(self) -> f64 {
        let (Load::Closed(percent) | Load::Steady(percent) | Load::Bursts(percent)) = self.load;
        let volume = f64::from(self.utilisation) / 100.0 * f64::from(GROUPS * self.data) * DRIVE_BYTES;
        volume / (self.front_end() * f64::from(percent.min(100)) / 100.0)
    }
}

pub(super) const UTILISATIONS: [u32; 3] = [45, 60, 75];
/// Writes of an open loop, in percent of the front-end's rate.
pub(super) const WRITES: [u32; 3] = [25, 50, 80];
/// Networks of a closed loop, in percent of the front-end's rate.
pub(super) const NETWORKS: [u32; 3] = [50, 100, 300];

/// A panel of a map: its places row by row.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub title: String,
    pub columns: Vec<String>,
    pub rows: Vec<String>,
    pub places: Vec<Place>,
}

impl Sheet {
    fn new(title: String, percents: [u32; 3], of: impl Fn(u32, u32) -> Place) -> Self {
        let percent = |value: &u32| format!("{value} %");
        // The fullest at the top.
        let rows = || UTILISATIONS.iter().rev();
        Self {
            title,
            columns: percents.iter().map(percent).collect(),
            rows: rows().map(percent).collect(),
            places: rows().flat_map(|&full| percents.map(|percent| of(full, percent))).collect(),
        }
    }
}

/// What is drawn of open loops: the load alone, then each thing changed by itself.
pub(super) fn open() -> Vec<Sheet> {
    let sheet_of = |data: u32, reads: u32, how: &str, load: fn(u32) -> Load, answers: Answers| {
        let title = format!("{GROUPS} x {data}+1, {reads} % reads, {how}");
        Sheet::new(title, WRITES, |utilisation, percent| Place {
            data,
            reads,
            utilisation,
            load: load(percent),
            answers,
        })
    };
    let sheet = |data, reads, how: &str, load| sheet_of(data, reads, how, load, Answers::EachAsItDoes);
    vec![
        sheet(2, 30, "steady", Load::Steady),
        sheet(2, 70, "steady", Load::Steady),
        sheet(2, 30, "in bursts", Load::Bursts),
        sheet(4, 30, "steady", Load::Steady),
        sheet_of(2, 30, "steady, answered by drives", Load::Steady, Answers::ByDrives),
    ]
}

/// What is drawn of the closed loop.
pub(super) fn closed() -> Vec<Sheet> {
    let (data, reads) = (2, 30);
    let title = format!("{GROUPS} x {data}+1, {reads} % reads, closed loop");
    vec![Sheet::new(title, NETWORKS, |utilisation, percent| Place {
        data,
        reads,
        utilisation,
        load: Load::Closed(percent),
        answers: Answers::EachAsItDoes,
    })]
}
