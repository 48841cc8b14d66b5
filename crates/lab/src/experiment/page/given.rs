//! Published numbers that no experiment finds, since they go into it, or since it is built otherwise.

use std::fmt::Write;

use crate::chart::escape;

/// Where it stands, what was published, and what is here.
const GIVEN: &[[&str; 3]] = &[
    [
        "SWAN, section 5",
        "850 PRO of 120 GB: reads 500, writes 400 MB/s",
        "the modelled drive is calibrated on them (see the drives)",
    ],
    [
        "SWAN, section 1",
        "140 MB/s of random writes for each drive",
        "its spare flash is fitted to that; swan/fig4a shows it",
    ],
    ["SWAN, section 5", "segments of 1 MiB, requests of 8 KiB, 60 % of each drive aged", "the same"],
    ["SWAN, section 4.1", "map of 5 B for 4 KiB, 0.12 %", "8 B, 0.20 %: the checksum of each block is in its entry"],
    [
        "SWAN, section 4.1",
        "summary of a segment, 0.39 % of 1 MiB",
        "1.5 %, a header block for 64 of data: each stripe is whole by itself, so what is acknowledged survives a crash",
    ],
    [
        "SWAN, Table 3",
        "GB read, updated, inserted: Load 0, 0, 64; A 32, 32, 0; B 60, 3, 0; C 64, 0, 0; D 60, 0, 3; zipfian",
        "the same records and mixes by the scale, for a time instead of an amount",
    ],
    ["SWAN, section 5.4", "NAND that reads in 100 us and writes in 500 us", "the same in swan/fig12"],
    ["SWAN, section 3.5", "Te = 4 ms, tr = 15.6 us, tw = 19.5 us, B = 256", "the same in swan/model"],
    [
        "Serial array, section 1",
        "Intel 750 of 400 GB: reads 2.2 GB/s, writes 900 MB/s",
        "the modelled drive is calibrated on them (see the drives)",
    ],
    [
        "Serial array, section 3.2",
        "10 GbE carries 900 MB/s in practice",
        "the same in serial/fig6: the link is not modelled further",
    ],
    [
        "Serial array, section 3.1",
        "10 files, depth 32; 256 KiB over 1200 GB for 15 minutes, then 64 KiB over 200 GB for 30",
        "one region instead of ten files; 1100 GB in serial/fig7, whose array promises no more",
    ],
    [
        "Serial array, section 2",
        "maps in memory, 0.2 % of the capacity",
        "0.20 %, the map alone: what is where is read from the headers",
    ],
    [
        "Triple-A, section 5.1",
        "4x16 clusters of four modules of 64 GB; 650 to 1000 requests in the root complex",
        "the same network, 825 requests; modules are smaller, and what moves may cost is that of the whole",
    ],
    ["Triple-A, Table 1", "share of reads, randomness, hot clusters", "workloads are synthesised from them"],
    ["Triple-A, Table 2", "latency times IOPS, 142 to 300 requests", "as many are under way"],
];

/// The table.
pub(super) fn table() -> String {
    let mut out = String::from("<table><tr><th>where</th><th>published</th><th>here</th></tr>\n");
    for row in GIVEN {
        let cells: String = row.iter().map(|text| format!("<td>{}</td>", escape(text))).collect();
        writeln!(out, "<tr>{cells}</tr>").expect("strings take text");
    }
    out + "</table>\n"
}
