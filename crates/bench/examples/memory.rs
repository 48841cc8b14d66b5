//! What each kind of volume takes of memory for each TiB of data, at two sizes, beside what arithmetic says.
//!
//! Kinds: mapped by blocks of 4 KiB; by pages of 16 and of 64 KiB; by pages of 64 KiB of which one block in 64 has an entry of its own
//! (dual mapping); and hybrid, by blocks of 4 KiB on two media. The devices keep nothing but superblocks, so an array of any size fits,
//! and each block of the volume is written once. Each size of each kind is a process of its own, so what one has taken of memory does
//! not hide what the next one takes.
//!
//! *Accounted* is what the engine says that its maps take. *Resident* is how much more of the process is in memory when the volume is
//! full than when the process began, without buffers of stripes; from the smaller to the larger array it grows by all that depends on the
//! size: maps, tables of segments, temperatures. Shown is that growth.
//!
//! `cargo run --release -p cygnus-bench --example memory`; takes other sizes in GiB: `-- 16 64`.

use std::error::Error;
use std::process::Command;
use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, Log, OpenOptions, Volume, VolumeOptions, create};
use cygnus_format::DATA_START;
use cygnus_policy::{Preset, Streams};
use cygnus_types::{BLOCK, ByteSize, Constraint, Medium, Paging, Tiers};
use cygnus_uring::{Config, Device, Reactor, block_on};

/// Data and parity columns of a group.
const SHAPE: (u8, u8) = (4, 1);
/// Sizes of the volumes in GiB, if no others are given.
const SIZES: [u64; 2] = [8, 32];
/// Bytes of one write.
const PIECE: u64 = 1 << 20;
/// Of so many blocks of a volume with dual mapping one has an entry of its own.
const FINE_ONE_IN: u64 = 64;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const MIB: f64 = (1u64 << 20) as f64;

/// A kind of volume.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    page: u64,
    is_dual: bool,
    is_hybrid: bool,
}

const KINDS: [Kind; 5] = [
    Kind { name: "blocks of 4 KiB", page: 4 << 10, is_dual: false, is_hybrid: false },
    Kind { name: "pages of 16 KiB", page: 16 << 10, is_dual: false, is_hybrid: false },
    Kind { name: "pages of 64 KiB", page: 64 << 10, is_dual: false, is_hybrid: false },
    Kind { name: "dual: pages of 64 KiB, one block in 64 by itself", page: 64 << 10, is_dual: true, is_hybrid: false },
    Kind { name: "hybrid, blocks of 4 KiB", page: 4 << 10, is_dual: false, is_hybrid: true },
];

impl Kind {
    /// Bytes for each TiB: 8 for each page; for blocks with entries of their own a table for each GiB, with slots of 16 bytes whose
    /// number is a power of two and of which three quarters are used at most; 4 for each MiB of a hybrid volume.
    fn arithmetic(self) -> u64 {
        let pages = TIB / self.page * 8;
        let in_a_gib = GIB / BLOCK as u64 / FINE_ONE_IN;
        let table = (in_a_gib * 4 / 3).next_power_of_two() * 16;
        let temperatures = TIB / (1 << 20) * 4;
        pages + if self.is_dual { TIB / GIB * table } else { 0 } + if self.is_hybrid { temperatures } else { 0 }
    }

    fn volume(self, size: u64) -> Result<VolumeOptions, Box<dyn Error>> {
        let fine = if self.is_dual { size / FINE_ONE_IN } else { 0 };
        let constraint = if self.is_hybrid { Constraint::Hybrid(Tiers::FLASH_AND_DISK) } else { Constraint::None };
        let paging = Paging::of_sizes(ByteSize(self.page), ByteSize(fine))?;
        Ok(VolumeOptions { constraint, paging, ..VolumeOptions::default() })
    }

    /// One group, or for a hybrid volume one on flash and one on disks. Clients' writes share segments: what heat of writes takes of memory
    /// is no part of a volume's kind.
    fn array(self) -> CreateOptions {
        let (k, m) = SHAPE;
        match self.is_hybrid {
            false => CreateOptions::new("bench", Preset::LogRaid, 1, k, m),
            true => CreateOptions {
                media: vec![Medium::Flash, Medium::Disk],
                streams: Some(Streams::Together),
                ..CreateOptions::new("bench", Preset::Salsa, 2, k, m)
            },
        }
    }

    /// Devices that keep only superblocks: with room for the volume and the space that arrays hold back, and before these on flash for a
    /// quarter of it.
    fn devices(self, size: u64) -> std::io::Result<Vec<Device>> {
        let (k, m) = SHAPE;
        let column = size / u64::from(k) / 5 * 7;
        let groups = if self.is_hybrid { vec![column / 4, column] } else { vec![column] };
        let columns = groups.into_iter().flat_map(|column| std::iter::repeat_n(column, usize::from(k + m)));
        columns.enumerate().map(|(n, column)| Device::null(&format!("null{n}"), column, DATA_START)).collect()
    }
}

struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

/// Bytes that the engine accounts for, and by which the process has grown.
struct Taken {
    accounted: u64,
    resident: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<u64> = std::env::args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    match args[..] {
        [kind, size, _as_child] => {
            let Taken { accounted, resident } = measure(KINDS[kind as usize], size * GIB)?;
            println!("{accounted} {resident}");
            Ok(())
        }
        [small, large] => compare([small, large]),
        _ => compare(SIZES),
    }
}

/// A line for each kind, in MiB for each TiB of data.
fn compare(sizes: [u64; 2]) -> Result<(), Box<dyn Error>> {
    println!("MiB for each TiB of data, measured with {} and {} GiB", sizes[0], sizes[1]);
    println!("{:50} {:>10} {:>21} {:>9}", "", "arithmetic", "accounted", "resident");
    for (n, kind) in KINDS.into_iter().enumerate() {
        let [small, large] = [in_a_child(n, sizes[0])?, in_a_child(n, sizes[1])?];
        let for_a_tib = |bytes: u64, gib: u64| bytes as f64 / gib as f64 * 1024.0 / MIB;
        let accounted = [(&small, sizes[0]), (&large, sizes[1])].map(|(taken, gib)| for_a_tib(taken.accounted, gib));
        let grown = for_a_tib(large.resident.saturating_sub(small.resident), sizes[1] - sizes[0]);
        let arithmetic = kind.arithmetic() as f64 / MIB;
        println!("{:50} {arithmetic:10.0} {:10.1} {:10.1} {grown:9.0}", kind.name, accounted[0], accounted[1]);
    }
    Ok(())
}

fn in_a_child(kind: usize, gib: u64) -> Result<Taken, Box<dyn Error>> {
    let args = [kind as u64, gib, 0].map(|number| number.to_string());
    let output = Command::new(std::env::current_exe()?).args(args).output()?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    match numbers[..] {
        [accounted, resident] => Ok(Taken { accounted, resident }),
        _ => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}

fn measure(kind: Kind, size: u64) -> Result<Taken, Box<dyn Error>> {
    let before = resident()?;
    let config = Config { devices: kind.devices(size)?, ..Config::default() };
    let (accounted, now) = block_on(&config, async |reactor| fill(&reactor, kind, size).await)??;
    Ok(Taken { accounted, resident: now.saturating_sub(before) })
}

/// Fills a volume of that kind: what the engine accounts for then, and what of the process is in memory.
async fn fill(reactor: &Reactor, kind: Kind, size: u64) -> Result<(u64, u64), Box<dyn Error>> {
    create(&reactor.rt, &reactor.devices, &CreateOptions { force: true, ..kind.array() }).await?;
    let array = Array::open(&reactor.rt, &reactor.devices, &OpenOptions::new(Arc::new(Silent))).await?;
    let volume = array.create_volume_with("v", ByteSize(size), kind.volume(size)?, 0).await?;
    write(reactor, &volume, 0..size, PIECE, PIECE as usize).await?;
    if kind.is_dual {
        write(reactor, &volume, 0..size, FINE_ONE_IN * BLOCK as u64, BLOCK).await?;
        let own = array.status().volumes[0].own_entries;
        assert_eq!(own, size / BLOCK as u64 / FINE_ONE_IN, "as many blocks have entries of their own as may have");
    }
    volume.flush().await?;
    Ok((array.map_bytes().0, resident()? - reactor.rt.buffer_bytes() as u64))
}

/// Writes zeros of a length at each step of a range.
async fn write(
    reactor: &Reactor,
    volume: &Volume,
    range: std::ops::Range<u64>,
    step: u64,
    len: usize,
) -> Result<(), Box<dyn Error>> {
    let piece = reactor.rt.alloc(len).full();
    piece.zero(0..len);
    for at in range.step_by(step as usize) {
        volume.write(at, piece.clone()).await?;
    }
    Ok(())
}

/// Bytes of this process that are in memory.
fn resident() -> std::io::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    Ok(pages * BLOCK as u64)
}
