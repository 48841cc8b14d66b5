//! What a modelled SSD is made of.

use cygnus_types::{BLOCK, Nanos};
use serde::{Deserialize, Serialize};

use crate::burst::Bursts;
use crate::slow::SlowPhases;
use crate::units;

/// The construction of a drive. All sizes in bytes, all rates in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdConfig {
    /// Name in messages and tables.
    pub name: String,
    /// Capacity seen by the host; a multiple of 4096.
    #[serde(with = "units::size")]
    pub capacity: u64,
    /// Flash beyond the capacity, as a fraction of it (over-provisioning).
    pub spare: f64,
    /// How the drive is connected to the host.
    pub host: Host,
    /// Firmware time that each command occupies the controller for.
    #[serde(with = "units::time")]
    pub controller: Nanos,
    /// The write cache, and what a power cut leaves of it.
    pub cache: Cache,
    /// Channels, dies and blocks, and how long they take.
    pub flash: Flash,
    /// Garbage collection.
    pub gc: Gc,
    /// Suspension of programs and erases for reads, if the flash can do it.
    pub suspend: Option<Suspend>,
    /// The single-level-cell buffer, if there is one.
    pub slc: Option<Slc>,
    /// How logical pages find their flash pages.
    #[serde(default)]
    pub mapping: Mapping,
    /// The map's place, if not all of it is always in memory.
    #[serde(default)]
    pub map: Option<MapCache>,
    /// Placement handles, each with erase blocks of its own; at least 1.
    #[serde(default = "one")]
    pub handles: u16,
    /// Out-of-band bytes that the host can have programmed with each 4 KiB page, besides those of the drive's own.
    #[serde(default)]
    pub oob: u16,
    /// The engine that computes parity inside the drive, if the host can use it.
    #[serde(default)]
    pub xor: Option<XorEngine>,
    /// Whether trims change nothing: to the drive everything stays live that was ever written.
    #[serde(default)]
    pub ignores_trims: bool,
    /// Hours in which it is slower than its peers, if it has such.
    #[serde(default)]
    pub slow: Option<SlowPhases>,
}

/// An engine that combines blocks inside the drive, one command at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XorEngine {
    /// Rate at which it takes operands in.
    #[serde(with = "units::size")]
    pub rate: u64,
    /// Time of each command besides.
    #[serde(with = "units::time")]
    pub latency: Nanos,
    /// Memory for operands and results; commands that find none wait.
    #[serde(with = "units::size")]
    pub buffer: u64,
}

fn one() -> u16 {
    1
}

/// The translation from logical pages to flash pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mapping {
    /// Any page anywhere.
    #[default]
    Page,
    /// Each page at a fixed place of its block, overwrites in log blocks that are merged with it (BAST).
    Block(BlockLayout),
    /// The host's business: sequential zones.
    Zoned(ZoneLayout),
}

/// Block mapping. The watermarks of [`Gc`] have no meaning with it; its `wear_spread` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockLayout {
    /// Log blocks of each die. They come out of the spare, with one more that merges go to.
    pub log_blocks: u32,
}

/// Host-managed zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneLayout {
    /// Dies that a zone is striped over; it consists of one block of each. Divides the number of dies.
    pub dies: u32,
    /// Zones that can be open at a time.
    pub open: u32,
}

/// A map kept in flash, with part of it in memory. An entry takes 4 bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapCache {
    /// What is fetched and written back at a time; a multiple of 4096.
    #[serde(with = "units::size")]
    pub page: u64,
    /// Most of the map that is in memory.
    #[serde(with = "units::size")]
    pub resident: u64,
    /// Most of it that may be newer than its copy in flash.
    #[serde(with = "units::size")]
    pub dirty: u64,
    /// Time to fetch a map page.
    #[serde(with = "units::time")]
    pub t_fetch: Nanos,
    /// Time to write one back.
    #[serde(with = "units::time")]
    pub t_write: Nanos,
    /// Fetches and write-backs under way at a time.
    pub parallel: u32,
}

/// How a drive is connected to the host: queue depth, rates, latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Commands the drive takes at a time; further ones wait outside.
    pub queue_depth: u32,
    /// Bytes per second that the link carries to the host.
    #[serde(with = "units::size")]
    pub read_rate: u64,
    /// Bytes per second that the link carries to the drive.
    #[serde(with = "units::size")]
    pub write_rate: u64,
    /// Whether reads and writes share the link (SATA) or have one each (PCIe).
    pub shared: bool,
    /// Fixed time of a command's way in and out.
    #[serde(with = "units::time")]
    pub latency: Nanos,
}

/// The write cache. A write is complete when it is in here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Room for written data not yet programmed.
    #[serde(with = "units::size")]
    pub bytes: u64,
    /// Whether it survives a power cut, which makes a flush free.
    pub protected: bool,
}

/// The flash and its channels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Channels, each of which carries one transfer at a time.
    pub channels: u32,
    /// Dies that share a channel.
    pub dies_per_channel: u32,
    /// Planes that a die programs, senses and erases together.
    pub planes: u32,
    /// Size of a flash page of one plane; a multiple of 4096.
    pub page: u32,
    /// Flash pages of one plane that one program operation writes: 1, or the bits per cell for one-shot programming.
    pub pages_per_program: u32,
    /// Flash pages per block of one plane; a multiple of `pages_per_program`.
    pub pages_per_block: u32,
    /// Sense time.
    #[serde(with = "units::time")]
    pub t_read: Nanos,
    /// Program time of one unit (all planes, all pages of a program).
    #[serde(with = "units::time")]
    pub t_program: Nanos,
    /// Time that erasing a block of all planes takes.
    #[serde(with = "units::time")]
    pub t_erase: Nanos,
    /// Bytes per second that a channel carries.
    #[serde(with = "units::size")]
    pub channel_rate: u64,
}

/// How a victim is chosen among a die's closed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimPolicy {
    /// The block with the fewest valid pages.
    Greedy,
    /// The block with the greatest `age * (1 - u) / 2u`, u being its valid share.
    CostBenefit,
}

/// Garbage collection. Watermarks are free blocks per die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gc {
    /// Choice of victims.
    pub policy: VictimPolicy,
    /// At or below this the die collects and writes nothing for the host; at least 1.
    pub reserve: u32,
    /// Below this collection runs in step with host writes.
    pub low: u32,
    /// An idle die collects up to this.
    pub high: u32,
    /// Whether relocated (cold) pages go to other blocks than the host's (hot) ones.
    pub separate: bool,
    /// Static wear-levelling: move cold data when erase counts within a die differ by more than this.
    pub wear_spread: Option<u32>,
    /// Whether victims are collected as a whole, while their die does nothing else, rather than in step with host writes.
    #[serde(default)]
    pub bursts: Option<Bursts>,
}

/// Suspension of a running program or erase by a read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// Time added to the suspended operation, each time.
    #[serde(with = "units::time")]
    pub overhead: Nanos,
    /// Largest number of suspensions per operation, so that the operation ends under any load.
    pub limit: u32,
}

/// Which of a die's full SLC blocks is folded first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// The one filled first.
    Fifo,
    /// The one with the fewest valid pages.
    Greedy,
    /// ScalaAFA's (section 5.5): the one with the highest score, which is its invalid pages less its transient ones. So copies that
    /// will soon be invalid stay, and go to normal cells only where every other block has more to move. Without such copies the same
    /// as greedy.
    SpareTransient,
}

/// When SLC blocks are folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Folding {
    /// While the die has nothing else to do. What finds no room in the buffer goes to normal cells at once.
    #[default]
    WhenIdle,
    /// When all of a die's SLC blocks are full, one block each time. What the host writes waits for it, so that all of it goes
    /// through the buffer.
    WhenFull,
}

/// The SLC buffer: blocks programmed one page per cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slc {
    /// Most data it holds.
    #[serde(with = "units::size")]
    pub bytes: u64,
    /// Whether it has blocks of its own besides capacity and spare; otherwise it borrows free blocks while there are
    /// plenty, and shrinks as the drive fills.
    pub reserved: bool,
    /// Sense time.
    #[serde(with = "units::time")]
    pub t_read: Nanos,
    /// Program time of one flash page on all planes.
    #[serde(with = "units::time")]
    pub t_program: Nanos,
    /// What is folded first.
    pub eviction: Eviction,
    /// When pages are folded into normal cells.
    #[serde(default)]
    pub folding: Folding,
}

/// Why a drive cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value must be at least one.
    #[error("drive {drive}: {what} is zero; give at least 1")]
    Zero {
        /// The drive.
        drive: String,
        /// The field.
        what: &'static str,
    },
    /// A size is not made of whole parts.
    #[error("drive {drive}: {what} is {value}, which is not a multiple of {unit}; round it")]
    NotMultiple {
        /// The drive.
        drive: String,
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What it must be a multiple of.
        unit: u64,
    },
    /// The collector could not work.
    #[error(
        "drive {drive}: {blocks} blocks per die leave {spare} beyond the capacity, but open blocks, log blocks and the \
         high watermark need {needed}; give more spare, smaller blocks, lower watermarks or fewer log blocks"
    )]
    TooLittleSpare {
        /// The drive.
        drive: String,
        /// Blocks per die.
        blocks: u32,
        /// Of them beyond the capacity.
        spare: u32,
        /// Needed beyond the capacity.
        needed: u32,
    },
    /// Watermarks out of order.
    #[error("drive {drive}: watermarks must satisfy 1 <= reserve <= low <= high, but are {reserve}, {low}, {high}")]
    Watermarks {
        /// The drive.
        drive: String,
        /// Reserve.
        reserve: u32,
        /// Low.
        low: u32,
        /// High.
        high: u32,
    },
    /// The model's page numbers are 31 bits wide and its dies 16.
    #[error("drive {drive}: {what} is beyond what is modelled ({limit}); make it smaller")]
    TooLarge {
        /// The drive.
        drive: String,
        /// The field.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Options that exclude one another.
    #[error("drive {drive}: {what}; {remedy}")]
    Contradiction {
        /// The drive.
        drive: String,
        /// What does not go together.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Slow phases that cannot be drawn.
    #[error("drive {drive}: slow phases with {what} of {value} make no sense; give {remedy}")]
    SlowPhases {
        /// The drive.
        drive: String,
        /// The field.
        what: &'static str,
        /// As given.
        value: String,
        /// What to give.
        remedy: &'static str,
    },
    /// The spare fraction is no usable number.
    #[error("drive {drive}: a spare of {spare} makes no sense; give a fraction of the capacity such as 0.07")]
    Spare {
        /// The drive.
        drive: String,
        /// As given.
        spare: String,
    },
}

/// The shape that follows from a configuration, in 4 KiB pages.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Logical pages.
    pub(crate) logical: u32,
    pub(crate) dies: u32,
    pub(crate) blocks_per_die: u32,
    pub(crate) pages_per_block: u32,
    /// Pages that one sense of all planes delivers.
    pub(crate) row: u32,
    /// Pages of a program.
    pub(crate) unit: u32,
    /// Pages of a program in SLC mode, and pages of a block in that mode.
    pub(crate) slc_unit: u32,
    pub(crate) slc_pages_per_block: u32,
    /// Most SLC blocks per die, and how many of them are set aside.
    pub(crate) slc_blocks: u32,
    pub(crate) slc_reserved: u32,
    pub(crate) cache_slots: u32,
    /// Streams of host data that have blocks of their own.
    pub(crate) streams: u32,
    /// Pages per zone; 0 without zones.
    pub(crate) zone: u32,
}

impl SsdConfig {
    /// The same drive with fewer blocks per die: capacity, SLC buffer and map cache are divided by `divisor` (rounded down
    /// to whole pages), everything that makes speed stays. Steady-state behaviour depends on ratios, so that it can be
    /// measured on the small one.
    pub fn scaled_down(&self, divisor: f64) -> SsdConfig {
        let scaled = |bytes: u64| (bytes as f64 / divisor) as u64 / BLOCK as u64 * BLOCK as u64;
        let mut small = self.clone();
        small.capacity = scaled(self.capacity);
        if let Some(slc) = &mut small.slc {
            slc.bytes = scaled(slc.bytes);
        }
        if let Some(map) = &mut small.map {
            (map.resident, map.dirty) = (scaled(map.resident).max(map.page), scaled(map.dirty).max(map.page));
        }
        small
    }

    /// The drive's flash alone: what moves data to it and from it, and how long that takes, is somebody else's business. Each
    /// transfer takes the least time there is.
    pub fn bare(mut self) -> SsdConfig {
        self.flash.channel_rate = u64::MAX;
        (self.host.read_rate, self.host.write_rate, self.host.latency) = (u64::MAX, u64::MAX, Nanos::ZERO);
        self
    }

    /// Bytes of the write cache of a drive of this make that is that many times smaller: as many times fewer, but no fewer than two programs
    /// of each die, which keep all of them busy. A whole cache would take so large a part of what a small drive is written that it seemed
    /// faster than its flash.
    pub fn cache_when_smaller(&self, times: f64) -> u64 {
        let dies = u64::from(self.flash.channels) * u64::from(self.flash.dies_per_channel);
        let least = 2 * dies * self.unit_bytes();
        let scaled = (self.cache.bytes as f64 / times) as u64 / BLOCK as u64 * BLOCK as u64;
        scaled.max(least).min(self.cache.bytes)
    }

    /// Bytes that one program operation of a die writes.
    pub fn unit_bytes(&self) -> u64 {
        let flash = &self.flash;
        u64::from(flash.planes) * u64::from(flash.page) * u64::from(flash.pages_per_program)
    }

    fn require(&self, value: u64, what: &'static str) -> Result<(), ConfigError> {
        if value == 0 { Err(ConfigError::Zero { drive: self.name.clone(), what }) } else { Ok(()) }
    }

    fn multiple(&self, value: u64, unit: u64, what: &'static str) -> Result<(), ConfigError> {
        self.require(value, what)?;
        if value.is_multiple_of(unit) {
            return Ok(());
        }
        Err(ConfigError::NotMultiple { drive: self.name.clone(), what, value, unit })
    }

    fn at_most(&self, value: u64, limit: u64, what: &'static str) -> Result<(), ConfigError> {
        if value <= limit { Ok(()) } else { Err(ConfigError::TooLarge { drive: self.name.clone(), what, limit }) }
    }

    /// Checks the configuration without building anything.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.shape().map(|_| ())
    }

    pub(crate) fn shape(&self) -> Result<Shape, ConfigError> {
        let (flash, gc) = (&self.flash, &self.gc);
        let block = BLOCK as u64;
        self.multiple(self.capacity, block, "capacity")?;
        self.multiple(u64::from(flash.page), block, "flash page")?;
        self.require(u64::from(flash.pages_per_program), "pages per program")?;
        self.multiple(u64::from(flash.pages_per_block), u64::from(flash.pages_per_program), "pages per block")?;
        for (value, what) in [
            (u64::from(flash.channels), "channels"),
            (u64::from(flash.dies_per_channel), "dies per channel"),
            (u64::from(flash.planes), "planes"),
            (flash.channel_rate, "channel rate"),
            (flash.t_read.0, "tR"),
            (flash.t_program.0, "tPROG"),
            (flash.t_erase.0, "tBERS"),
            (u64::from(self.host.queue_depth), "queue depth"),
            (u64::from(self.handles), "placement handles"),
            (self.host.read_rate, "link read rate"),
            (self.host.write_rate, "link write rate"),
            (self.cache.bytes / block, "write cache in pages of 4096 bytes"),
        ] {
            self.require(value, what)?;
        }
        if gc.reserve < 1 || gc.low < gc.reserve || gc.high < gc.low {
            let (reserve, low, high) = (gc.reserve, gc.low, gc.high);
            return Err(ConfigError::Watermarks { drive: self.name.clone(), reserve, low, high });
        }
        if !(self.spare.is_finite() && (0.0..100.0).contains(&self.spare)) {
            return Err(ConfigError::Spare { drive: self.name.clone(), spare: self.spare.to_string() });
        }
        self.check_map()?;
        self.check_xor()?;
        self.check_bursts()?;
        self.slow.as_ref().map_or(Ok(()), |slow| slow.check(&self.name))?;
        self.at_most(self.capacity / block, 1 << 31, "capacity in pages of 4096 bytes")?;
        self.at_most(self.cache.bytes / block, 1 << 30, "write cache in pages of 4096 bytes")?;
        let dies = u64::from(flash.channels) * u64::from(flash.dies_per_channel);
        self.at_most(dies, 1 << 12, "number of dies")?;
        let row = u64::from(flash.planes) * (u64::from(flash.page) / block);
        let pages_per_block = row * u64::from(flash.pages_per_block);
        self.at_most(pages_per_block, u64::from(u16::MAX), "4 KiB pages per block of all planes")?;
        self.blocks(dies, row, pages_per_block)
    }

    fn check_map(&self) -> Result<(), ConfigError> {
        let Some(map) = &self.map else { return Ok(()) };
        self.multiple(map.page, BLOCK as u64, "map page")?;
        self.at_most(map.page, 1 << 24, "map page in bytes")?;
        self.require(map.resident / map.page, "resident map in map pages")?;
        self.require(map.dirty / map.page, "dirty map in map pages")?;
        self.require(map.t_fetch.0, "time to fetch a map page")?;
        self.require(map.t_write.0, "time to write a map page")?;
        self.require(u64::from(map.parallel), "map fetches at a time")?;
        let is_paged = self.mapping == Mapping::Page;
        self.contradiction(!is_paged, "only a page-mapped drive has a map to be cached", "leave one out")
    }

    /// The zones, if the drive has any.
    pub(crate) fn zone_layout(&self) -> Option<ZoneLayout> {
        match self.mapping {
            Mapping::Zoned(layout) => Some(layout),
            Mapping::Page | Mapping::Block(_) => None,
        }
    }

    /// Blocks of a die that are neither data nor free for anything: open ones, and what the collector needs.
    fn blocks_needed(&self) -> Result<u32, ConfigError> {
        match self.mapping {
            // One being erased.
            Mapping::Zoned(_) => Ok(1),
            Mapping::Block(BlockLayout { log_blocks }) => {
                self.require(u64::from(log_blocks), "log blocks")?;
                self.at_most(u64::from(log_blocks), 1 << 16, "log blocks")?;
                self.contradiction(self.slc.is_some(), "block mapping has no SLC buffer", "leave one out")?;
                self.contradiction(self.handles > 1, "block mapping has no placement handles", "leave one out")?;
                Ok(log_blocks + 1)
            }
            // The open blocks, and the block that the next victim's pages go to.
            Mapping::Page => Ok(self.gc.high.saturating_add(u32::from(self.handles) + 2)),
        }
    }

    fn check_xor(&self) -> Result<(), ConfigError> {
        let Some(xor) = &self.xor else { return Ok(()) };
        self.require(xor.rate, "rate of the XOR engine")?;
        self.require(xor.buffer / BLOCK as u64 / 2, "XOR buffer in pairs of pages of 4096 bytes")?;
        let is_zoned = self.zone_layout().is_some();
        self.contradiction(is_zoned, "zones cannot be converted in place, they are only appended to", "leave one out")
    }

    fn check_bursts(&self) -> Result<(), ConfigError> {
        let Some(bursts) = &self.gc.bursts else { return Ok(()) };
        self.require(bursts.idle.0, "idle time before collection")?;
        let is_paged = self.mapping == Mapping::Page;
        self.contradiction(!is_paged, "only a page-mapped drive collects in bursts", "leave one out")
    }

    fn contradiction(&self, if_so: bool, what: &'static str, remedy: &'static str) -> Result<(), ConfigError> {
        if if_so { Err(ConfigError::Contradiction { drive: self.name.clone(), what, remedy }) } else { Ok(()) }
    }

    /// Pages per zone.
    fn zone_pages(&self, dies: u64, unit: u64, pages_per_block: u64) -> Result<u64, ConfigError> {
        let Some(layout) = self.zone_layout() else { return Ok(0) };
        self.multiple(dies, u64::from(layout.dies), "number of dies, by those of a zone,")?;
        self.require(u64::from(layout.open), "open zones")?;
        self.contradiction(self.slc.is_some(), "zones have no SLC buffer", "leave one out")?;
        self.contradiction(self.handles > 1, "zones have no placement handles", "leave one out")?;
        self.contradiction(!self.cache.protected, "zones need a protected write cache", "set protected")?;
        let most_waiting = u64::from(layout.open + 1) * unit * BLOCK as u64;
        let what = "the write cache does not hold a unit of each open zone";
        self.contradiction(self.cache.bytes < most_waiting, what, "enlarge it or have fewer zones open")?;
        Ok(pages_per_block * u64::from(layout.dies))
    }

    fn blocks(&self, dies: u64, row: u64, pages_per_block: u64) -> Result<Shape, ConfigError> {
        let unit = row * u64::from(self.flash.pages_per_program);
        let zone = self.zone_pages(dies, unit, pages_per_block)?;
        let pages = self.capacity / BLOCK as u64;
        // Whole zones.
        let logical = pages - pages % zone.max(1);
        self.require(logical, "capacity in whole zones")?;
        let per_die = |pages: u64| pages.div_ceil(dies * pages_per_block);
        let data_blocks = per_die((logical as f64 * (1.0 + self.spare)).round() as u64);
        let slc_pages_per_block = pages_per_block / u64::from(self.flash.pages_per_program);
        let slc_blocks = self.slc.as_ref().map_or(0, |slc| slc.bytes / BLOCK as u64 / (dies * slc_pages_per_block));
        if let Some(slc) = &self.slc {
            self.require(slc_blocks, "SLC buffer in whole blocks per die")?;
            self.require(slc.t_program.0, "SLC tPROG")?;
            self.require(slc.t_read.0, "SLC tR")?;
            let borrows = slc.folding == Folding::WhenFull && !slc.reserved;
            let what = "an SLC buffer that borrows blocks is never full, and this one is to be folded when it is";
            self.contradiction(borrows, what, "set reserved, or fold it when idle")?;
        }
        let slc_reserved = self.slc.as_ref().map_or(0, |slc| if slc.reserved { slc_blocks } else { 0 });
        let blocks_per_die = data_blocks + slc_reserved;
        self.at_most(blocks_per_die * dies * pages_per_block, (1 << 31) - 2, "flash in pages of 4096 bytes")?;
        let needed = self.blocks_needed()?;
        let spare = data_blocks.saturating_sub(per_die(logical)) as u32;
        if spare < needed {
            let blocks = data_blocks as u32;
            return Err(ConfigError::TooLittleSpare { drive: self.name.clone(), blocks, spare, needed });
        }
        Ok(Shape {
            logical: logical as u32,
            dies: dies as u32,
            blocks_per_die: blocks_per_die as u32,
            pages_per_block: pages_per_block as u32,
            row: row as u32,
            unit: unit as u32,
            slc_unit: row as u32,
            slc_pages_per_block: slc_pages_per_block as u32,
            slc_blocks: slc_blocks as u32,
            slc_reserved: slc_reserved as u32,
            cache_slots: (self.cache.bytes / BLOCK as u64) as u32,
            streams: if self.mapping == Mapping::Page { u32::from(self.handles) } else { 0 },
            zone: zone as u32,
        })
    }
}
