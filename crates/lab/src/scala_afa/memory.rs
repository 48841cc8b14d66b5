//! Section 5.4: memory for the tables of 6+3 drives of 2 TB.

use super::common::{DIVISOR, drives, log};
use crate::chart::{Axis, Bars, Chart, Mark, Panel, Scheme};
use crate::experiment::{About, Experiment, Findings, Scale, Trial, Trialled};

/// See the module's text.
pub struct Memory;

/// Six drives of 2 TB hold data, in chunks of 64 KiB.
const DATA_DRIVES: f64 = 6.0;
const DATA: f64 = DATA_DRIVES * 2e12;
const CHUNK: f64 = 65_536.0;
/// Section 5.4: 32 bits for each chunk, and a pointer for each stripe. Lists of places for copies are there only while a stripe
/// has copies: 5 bytes for each of three, for as much as the SLC buffers of nine drives of 4 GB hold.
const CHUNK_ENTRY: f64 = 4.0;
const POINTER: f64 = 8.0;
const COPY_LISTS: f64 = 9.0 * 4e9 / (3.0 * DATA_DRIVES * CHUNK) * 3.0 * 5.0;

const NOTES: [&str; 2] = [
    "This array maps blocks of 4 KiB, with 8 bytes each that have 27 bits of the block's checksum too; or pages of 64 KiB with as much, if a volume is made so. \
     The volume that was written is 1 GiB, and memory is in proportion to it.",
    "The paper's map of 64 KiB says nothing of smaller writes.",
];

/// The paper's tables in MB.
fn tables() -> f64 {
    let chunks = DATA / CHUNK;
    (chunks * CHUNK_ENTRY + chunks / DATA_DRIVES * POINTER + COPY_LISTS) / 1e6
}

impl Experiment for Memory {
    fn about(&self) -> About {
        About {
            id: "scala-afa/memory",
            title: "Memory for maps of 6+3 drives of 2 TB",
            published: "Section 5.4: \"about 928 MB (0.005%)\" for the tables of 6+3 drives of 2 TB, with chunks of 64 KiB.",
            divisor: DIVISOR,
            seeds: 1,
        }
    }

    fn setup(&self, scale: Scale) -> Vec<Trial> {
        let text = |page: &str| {
            format!(
                "name = \"scala-afa-memory\"\n{}{}[volume]\nsize = \"1GiB\"\n{page}[aging]\nfill = \"100%\"\n\
                 [[workload.fio]]\nname = \"reads\"\nread = 100\n[run]\nduration = \"1ms\"\nsample = \"1ms\"\n",
                drives(scale),
                log("scala-afa", 6, 3)
            )
        };
        vec![
            Trial::new("6+3", Scheme::Swan, text("")),
            Trial::new("6+3, pages of 64 KiB", Scheme::Swan, text("page = \"64KiB\"\n")),
        ]
    }

    fn findings(&self, _: Scale, trials: &[Trialled]) -> Findings {
        let [by_blocks, by_pages] = trials else { unreachable!("as many as were set up") };
        let each = |array: &Trialled| array.outcome.map_bytes as f64 / array.outcome.volume_bytes as f64;
        let (papers, ours, coarse) = (tables(), each(by_blocks) * DATA / 1e6, each(by_pages) * DATA / 1e6);
        let names = ["section 5.4's tables", "ours, 4 KiB blocks", "ours, 64 KiB pages"];
        let bars = vec![Bars::new("MB", Scheme::Swan, vec![papers, ours, coarse])];
        let panel = Panel::bars(Axis::linear("MB"), names.map(str::to_owned).into(), bars)
            .marked(vec![Mark::Level { at: 928.0, label: "published: 928 MB".into() }]);
        let chart = Chart::single("memory", self.about().title, panel);
        let mut found = Findings::new(vec![chart], NOTES.map(str::to_owned).into());
        found.published("the paper's tables", "as section 5.4 describes them", papers);
        found.published("the paper's tables", "share of the drives", papers / (9.0 * 2e6) * 100.0);
        let map = ("this array's map", "of blocks of 4 KiB");
        found.published(map.0, map.1, ours);
        found.supposed(map, "An entry maps 4 KiB instead of 64.", &[(0, 1)], coarse);
        found.number("map of blocks", "bytes for each KiB", each(by_blocks) * 1024.0);
        found.number("map of pages of 64 KiB", "bytes for each KiB", each(by_pages) * 1024.0);
        found
    }
}
