//! The drive: its construction, its parts, and what is under way in it. What the parts do with each other stands in files of
//! their own, in layers: [`crate::ssd`], at the top, lets each stage of a command follow the one before.

use std::collections::VecDeque;

use crate::block_map::{BlockMap, Homes};
use crate::burst::Quiet;
use crate::cache::WriteCache;
use crate::clock::Clock;
use crate::config::{BlockLayout, ConfigError, Mapping, SsdConfig};
use crate::counters::Counters;
use crate::die::{Channel, Die};
use crate::ftl::Ftl;
use crate::map_cache::PagedMap;
use crate::transit::Transit;
use crate::xor::Xor;
use crate::zone::Zones;

/// Pages that a command moves over the link before others get a turn.
const LINK_CHUNK: u32 = 8;

/// A modelled SSD. Clone it to keep a snapshot.
#[derive(Clone, Debug)]
pub struct Ssd {
    pub(crate) config: SsdConfig,
    pub(crate) ftl: Ftl,
    /// Host-managed zones, instead of a translation of the drive's own.
    pub(crate) zones: Option<Zones>,
    /// Logical blocks, if the drive is block mapped.
    pub(crate) block_map: Option<BlockMap>,
    /// Where the map itself is, if not all of it is always in memory.
    pub(crate) map: Option<PagedMap>,
    /// What computes parity, if anything does.
    pub(crate) xor: Option<Xor>,
    pub(crate) cache: WriteCache,
    pub(crate) counters: Counters,
    /// How it collects in bursts, if it does.
    pub(crate) quiet: Quiet,
    pub(crate) clock: Clock,
    pub(crate) dies: Vec<Die>,
    pub(crate) channels: Vec<Channel>,
    /// Dies that may be idle; each at most once.
    pub(crate) idle: VecDeque<u32>,
    pub(crate) transits: Vec<Transit>,
    pub(crate) unused: Vec<u32>,
    pub(crate) outstanding: u32,
    /// Pages that a command moves over the link before others get a turn.
    pub(crate) link_chunk: u32,
    /// Beyond the queue depth.
    pub(crate) outside: VecDeque<u32>,
    pub(crate) firmware: VecDeque<u32>,
    pub(crate) links: [VecDeque<u32>; 2],
    /// Writes whose pages arrived but are not all in the cache: transit and pages that arrived.
    pub(crate) admitting: VecDeque<(u32, u32)>,
    /// Flushes, and the cache epoch that each waits for.
    pub(crate) flushes: VecDeque<(u32, u64)>,
}

impl Ssd {
    /// A new, empty drive.
    pub fn new(config: SsdConfig) -> Result<Ssd, ConfigError> {
        let shape = config.shape()?;
        // One per stream, and one for relocated pages.
        let (dies, open_blocks) = (shape.dies, shape.streams + 1);
        Ok(Ssd {
            cache: WriteCache::new(shape.cache_slots, shape.streams),
            zones: config.zone_layout().map(|layout| Zones::new(layout, shape.zone, shape.logical)),
            block_map: match config.mapping {
                Mapping::Block(BlockLayout { log_blocks }) => Some(BlockMap::new(log_blocks, &shape)),
                Mapping::Page | Mapping::Zoned(_) => None,
            },
            map: config.map.clone().map(|map| PagedMap::new(map, shape.logical)),
            xor: config.xor.clone().map(Xor::new),
            ftl: Ftl::new(shape),
            counters: Counters::default(),
            quiet: Quiet::default(),
            clock: Clock::new(config.slow.clone()),
            dies: (0..dies).map(|_| Die::new(open_blocks)).collect(),
            channels: (0..config.flash.channels).map(|_| Channel::default()).collect(),
            idle: (0..dies).collect(),
            transits: Vec::new(),
            unused: Vec::new(),
            outstanding: 0,
            // Into a zone the data must come in order, and into a log block it should.
            link_chunk: if config.mapping == Mapping::Page { LINK_CHUNK } else { u32::MAX },
            outside: VecDeque::new(),
            firmware: VecDeque::new(),
            links: Default::default(),
            admitting: VecDeque::new(),
            flushes: VecDeque::new(),
            config,
        })
    }

    /// How it is made.
    pub fn config(&self) -> &SsdConfig {
        &self.config
    }

    /// Smallest and greatest erase count of any block.
    pub fn wear(&self) -> (u32, u32) {
        let (mut least, mut most) = (u32::MAX, 0);
        for erases in self.ftl.wear() {
            (least, most) = (least.min(erases), most.max(erases));
        }
        (least, most)
    }

    /// Bytes of translation state, allocated lazily by the operating system, and the flash pages they describe.
    pub fn memory(&self) -> (u64, u64) {
        (self.ftl.memory(), self.ftl.pages())
    }

    pub(crate) fn transit_mut(&mut self, at: u32) -> &mut Transit {
        &mut self.transits[at as usize]
    }

    pub(crate) fn block_map(&mut self) -> &mut BlockMap {
        self.block_map.as_mut().expect("only a block-mapped drive takes this way")
    }

    pub(crate) fn homes(&mut self, die: u32) -> &mut Homes {
        &mut self.block_map().dies[die as usize]
    }

    pub(crate) fn zones_mut(&mut self) -> &mut Zones {
        self.zones.as_mut().expect("only a zoned drive takes this way")
    }
}
