//! Figure 6: ten clients send a file each over 10 GbE, to a file system on RAID-0 and on the serial array.

use super::common::{RAID0, SERIAL, bytes, devices, drives_written_at_once, stored};
use crate::Sample;
use crate::chart::{Axis, Chart, Line, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};
use crate::series::{TIME, least, mean, most, over_time, variation};

/// See the module's text.
pub struct Fig6;

/// Threads, each with a file (section 3.1).
const CLIENTS: u32 = 10;
const FILE: f64 = 10e9;
/// Pieces in which a client's kernel sends a file, and how many it has on the way.
const PIECE: &str = "256KiB";
const DEPTH: u32 = 4;
/// "Very close to the practical peak bandwidth" of the network is what RAID-0 got (section 3.2): this is an input here, not
/// a result. The wire could carry 1250 MB/s.
const PRACTICAL: f64 = 900.0;
/// Seconds until all files are there, at that rate, and a little less, so that no interval sees the end.
const SECONDS: f64 = 100e9 / (PRACTICAL * 1e6) * 0.97;
const SAMPLE: f64 = 1.0;
/// Memory of the storage server, whose Ext4 has it for a cache (section 3.1).
const MEMORY: f64 = 64e9;

impl Experiment for Fig6 {
    fn about(&self) -> About {
        About {
            id: "serial/fig6",
            title: "Ten files of 10 GB over 10 GbE: RAID-0 and the serial array on four drives",
            published: "Figure 6 and section 3.2: ten threads send 10 GB each over 10 GbE. RAID-0 takes 900 MB/s on average, \
                        swinging between its peak and nothing, as requests are processed in bulks; the serial array 890 \
                        MB/s, much steadier, with one of the four drives at work.",
            divisor: 4.0,
            seeds: 6,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let file = bytes(scale, FILE);
        let jobs: String = (0..CLIENTS)
            .map(|n| {
                format!(
                    "[[workload.fio]]\nname = \"file{n}\"\npattern = \"sequential\"\nblock-size = \"{PIECE}\"\n\
                     depth = {DEPTH}\noffset = {}\nsize = {file}\n",
                    u64::from(n) * file
                )
            })
            .collect();
        let cache = format!("[cache]\nmemory = {}\n", bytes(scale, MEMORY));
        let scenario = |array: &str, cache: &str| {
            format!(
                "name = \"files\"\n{}{array}[volume]\nsize = \"50% of usable\"\n{jobs}{cache}\
                 [network]\nrate = {}\nlatency = \"50us\"\n[run]\nduration = \"{}\"\nsample = \"{}\"\n",
                devices(scale),
                PRACTICAL * 1e6,
                scale.seconds(SECONDS),
                scale.seconds(SAMPLE)
            )
        };
        vec![
            Trial::new("RAID-0", Scheme::Raid0, scenario(RAID0, &cache)),
            Trial::new("serial", Scheme::Serial, scenario(SERIAL, &cache)),
            Trial::new("RAID-0 without the cache", Scheme::Raid0, scenario(RAID0, "")),
        ]
    }

    fn findings(&self, scale: Scale, trials: &[Trialled]) -> Findings {
        let [raid, serial, direct] = trials else { unreachable!("as many as were set up") };
        let line = |trialled: &Trialled| {
            Line::new(&trialled.trial.name, trialled.trial.scheme, over_time(scale, trialled.outcome, stored))
        };
        let panel = Panel::lines(
            Axis::linear(TIME),
            Axis::linear("writes (MB/s)").between(0.0, 4000.0),
            vec![line(raid), line(serial)],
        );
        let marks = vec![Mark::Level { at: 890.0, label: "published: serial 890, RAID-0 900 on average".into() }];
        let rates = |trialled: &Trialled| whole_bulks(&trialled.outcome.samples).iter().map(stored).collect::<Vec<_>>();
        let (of_raid, of_serial, of_direct) = (rates(raid), rates(serial), rates(direct));
        let at_once = |trialled: &Trialled| drives_written_at_once(trialled.outcome);
        let chart = Chart::single("throughput", self.about().title, panel.marked(marks));
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        let (least, most) = (least(of_raid.iter().copied()), most(of_raid.iter().copied()));
        found.published("RAID-0", "lowest of an interval", least);
        found.published("RAID-0", "drives written at once", at_once(raid));
        found.published("serial", "rate", mean(&of_serial));
        found.published("serial", "rate, what one drive can do", mean(&of_serial));
        found.published("serial", "drives written at once", at_once(serial));
        found.published("order", "rate: serial / RAID-0", mean(&of_serial) / mean(&of_raid));
        found.published("order", "variation: serial / RAID-0", variation(&of_serial) / variation(&of_raid));
        found.number("RAID-0, mean (the link is given)", "MB/s", mean(&of_raid));
        found.number("RAID-0, most", "MB/s", most);
        found.number("RAID-0, coefficient of variation", "%", variation(&of_raid));
        found.number("serial, coefficient of variation", "%", variation(&of_serial));
        found.number("RAID-0 without the cache, coefficient of variation", "%", variation(&of_direct));
        found
    }
}

const NOTES: [&str; 2] = [
    "The link carries what the paper calls the practical peak of its 10 GbE, 900 MB/s. Not run: with the wire's 1250 MB/s we expect \
     RAID-0 to take these, and the serial array what its front-end drive takes.",
    "The files arrive in the cache of a file system, which Linux writes back once a tenth of the memory is dirty: four drives soon \
     have written it and wait for the next tenth, one drive never catches up with the network. How much Linux writes at a time \
     depends on more than is modelled. Averages are of whole bulks.",
];

/// From the first interval in which something is stored to the last one in which that begins anew: the mean of a part of
/// a bulk would be anything. All from the first one on, if it never pauses.
fn whole_bulks(samples: &[Sample]) -> &[Sample] {
    let begins = |n: &usize| stored(&samples[*n]) > 0.0 && (*n == 0 || stored(&samples[n - 1]) == 0.0);
    let mut begins = (0..samples.len()).filter(begins);
    let first = begins.next().unwrap_or(0);
    match begins.next_back() {
        Some(last) => &samples[first..last],
        // Without the first interval, in which everything begins.
        None => &samples[(first + 1).min(samples.len())..],
    }
}
