//! What a server may take of the machine's memory: one account, with named parts.
//!
//! * `program`: the program itself, with what it knows of segments, members and connections.
//! * `buffers`: stripes that are being filled, in kept memory too, and what is being read, moved or rebuilt. The engine bounds
//!   it by itself.
//! * `network`: what clients' requests and replies take. Each connection has some of it to itself; requests beyond that go on
//!   with less, or wait.
//! * `map`: where each block of the volumes is. Blocks that were never written are refused beyond it. An array that updates in
//!   place has none.
//!
//! Recovery has the network's part, and what the maps leave of theirs: no client is served yet.

use crate::ServeError;
use cygnus_control::status::{MemoryPartStatus, MemoryStatus};
use cygnus_engine::{ArrayError, MapRule};
use cygnus_runtime::MemoryPart;
use cygnus_target::{Door, ServerConfig};
use cygnus_types::{ByteSize, counted};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: u64 = 1 << 20;
/// Buffers of one reactor: its arena, and stripes and moved blocks beyond that.
const BUFFERS: u64 = 64 * MIB;
/// What is set aside for the program itself.
const PROGRAM: u64 = 48 * MIB;
/// The network's part: an eighth of all within these bounds.
const NETWORK: std::ops::RangeInclusive<u64> = 256 * MIB..=1024 * MIB;
/// The least part of the maps that makes sense: that of 8 GiB.
const LEAST_MAP: u64 = 16 * MIB;
/// What is told to people is rounded up to this.
const STEP: u64 = 16 * MIB;
/// Places that there are at least.
const LEAST_PLACES: u64 = 64;
/// Descriptors that are not for connections: members, sockets, the state.
const OTHER_DESCRIPTORS: u64 = 512;

/// Bytes of each part that depends on how much there is in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Split {
    network: u64,
    /// None for an array without maps.
    map: Option<u64>,
}

impl Split {
    /// The bytes that remain of `all` for these parts, divided.
    fn of(all: u64, remain: u64, has_map: bool) -> Self {
        let usual = (all / 8).clamp(*NETWORK.start(), *NETWORK.end());
        if !has_map {
            return Self { network: remain.clamp(least_network(), *NETWORK.end()), map: None };
        }
        let network = usual.min(remain / 2).max(least_network());
        Self { network, map: Some(remain.saturating_sub(network).max(LEAST_MAP)) }
    }
}

fn least_network() -> u64 {
    ServerConfig::LEAST_MEMORY as u64 + LEAST_PLACES * ServerConfig::RESERVE as u64
}

/// What keeps clients out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewPlaces {
    /// How many places there are.
    pub places: u64,
    /// How many were asked for, if anybody asked.
    pub asked: Option<u32>,
    /// Files that this process may open, if it is for those.
    pub files: Option<u64>,
}

impl fmt::Display for FewPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no more than {} can be served at a time", counted(self.places, "client"))?;
        if let Some(asked) = self.asked {
            write!(f, ", and not {asked} (--max-connections)")?;
        }
        match self.files {
            Some(files) => write!(
                f,
                ": this process may open {files} files, of which {OTHER_DESCRIPTORS} are kept for members and the like: raise that limit \
                 (ulimit -Hn, or LimitNOFILE= in a systemd unit)"
            ),
            None => f.write_str(": there is no memory for more: give it more with --memory"),
        }
    }
}

/// See the module's text.
pub struct Memory {
    /// What all parts together may take.
    all: u64,
    split: Split,
    /// What connections share of the network's part.
    pub shared: Arc<MemoryPart>,
    /// The connections' places.
    pub door: Arc<Door>,
    /// Why there are fewer places than were asked for, or few at all.
    pub few_places: Option<FewPlaces>,
    /// By reactor, the bytes of its buffers.
    buffers: Vec<AtomicU64>,
}

impl Memory {
    /// The parts of a server with this many reactors.
    pub fn plan(
        asked: Option<ByteSize>,
        places: Option<u32>,
        reactors: usize,
        has_map: bool,
    ) -> Result<Self, ServeError> {
        Self::on(Machine::here(), descriptors(), asked.map(|size| size.0), places, reactors, has_map)
    }

    fn on(
        machine: Machine,
        descriptors: u64,
        asked: Option<u64>,
        places: Option<u32>,
        reactors: usize,
        has_map: bool,
    ) -> Result<Self, ServeError> {
        let fixed = PROGRAM + reactors as u64 * BUFFERS;
        let least = fixed + least_network() + if has_map { LEAST_MAP } else { 0 };
        if let Some(asked) = asked.filter(|&asked| asked < least) {
            return Err(ServeError::TooLittleMemory { asked: ByteSize(asked), reactors, least: ByteSize(least) });
        }
        let all = asked.unwrap_or(machine.usual()).max(least);
        let split = Split::of(all, all - fixed, has_map);
        let (reserve, least_shared) = (ServerConfig::RESERVE as u64, ServerConfig::LEAST_MEMORY as u64);
        let wanted = places.map_or(ServerConfig::CONNECTIONS as u64, u64::from);
        let room = (split.network / 2).min(split.network - least_shared) / reserve;
        let asked = places;
        let places = wanted.min(room).min(descriptors.saturating_sub(OTHER_DESCRIPTORS)).max(1);
        let is_few = places < asked.map_or(LEAST_PLACES, u64::from);
        let few_places = is_few.then(|| FewPlaces { places, asked, files: (places < room).then_some(descriptors) });
        Ok(Self {
            all: fixed + split.network + split.map.unwrap_or(0),
            split,
            shared: Arc::new(MemoryPart::new((split.network - places * reserve) as usize)),
            door: Door::new(places as usize),
            few_places,
            buffers: (0..reactors).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// What the volumes' maps may take, and recovery.
    pub fn map_rule(&self) -> MapRule {
        let limit = ByteSize(self.split.map.unwrap_or(0));
        MapRule { limit, recovery: ByteSize(self.split.network), ..MapRule::default() }
    }

    /// Why an array is not opened; if that is for lack of memory, with what `--memory` would have to be.
    pub fn explain(&self, error: ArrayError) -> ServeError {
        let ArrayError::Memory { needed, limit, .. } = error else { return error.into() };
        let fixed = self.fixed();
        let wanted = self.split.map.unwrap_or(0) + needed.0.saturating_sub(limit.0);
        let enough = |all: &u64| Split::of(*all, all - fixed, true).map.is_some_and(|map| map >= wanted);
        let all = (self.all.div_ceil(STEP)..).map(|steps| steps * STEP).find(enough).expect("there are larger ones");
        let (needed, has) = (format!("{}MiB", all / MIB), ByteSize(self.all));
        ServeError::ArrayTooLarge { error: Box::new(error), needed, has }
    }

    fn fixed(&self) -> u64 {
        PROGRAM + self.buffers.len() as u64 * BUFFERS
    }

    /// A reactor's buffers take so much now.
    pub fn note_buffers(&self, reactor: usize, bytes: usize) {
        self.buffers[reactor].store(bytes as u64, Ordering::Relaxed);
    }

    /// How the parts stand; the maps take `map` bytes, and stripes in kept memory `kept`.
    pub fn status(&self, map: ByteSize, kept: ByteSize) -> MemoryStatus {
        let part =
            |name: &str, used_bytes, limit_bytes| MemoryPartStatus { name: name.into(), used_bytes, limit_bytes };
        let (connections, _) = self.door.usage();
        let shared = self.shared.usage().used as u64;
        let pools: u64 = self.buffers.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        let own = Resident::here().outside_files_in_memory();
        let mut parts = vec![
            part("program", own.saturating_sub(pools + map.0), PROGRAM),
            part("buffers", (pools + kept.0).saturating_sub(shared), self.buffers.len() as u64 * BUFFERS),
            part("network", shared + connections as u64 * ServerConfig::RESERVE as u64, self.split.network),
        ];
        parts.extend(self.split.map.map(|limit| part("map", map.0, limit)));
        MemoryStatus { resident_bytes: own + kept.0, limit_bytes: self.all, parts }
    }
}

/// What memory there is.
#[derive(Clone, Copy, Debug)]
struct Machine {
    bytes: u64,
    /// It is a control group's that holds this process, and less than the machine has.
    is_group: bool,
}

impl Machine {
    fn here() -> Self {
        let all = std::fs::read_to_string("/proc/meminfo")
            .ok()
            .and_then(|text| field(&text, "MemTotal:"))
            .unwrap_or(u64::MAX);
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("").to_owned();
        let limits = std::path::Path::new(&path).ancestors().filter_map(|group| {
            let limit = std::path::Path::new("/sys/fs/cgroup").join(group).join("memory.max");
            std::fs::read_to_string(limit).ok()?.trim().parse().ok()
        });
        let bytes = limits.fold(all, u64::min);
        Self { bytes, is_group: bytes < all }
    }

    /// What a server takes at most unless told otherwise. Half of a machine, on which other programs run, and its page cache
    /// is of use to them; three quarters of a control group, which is made for this one.
    fn usual(self) -> u64 {
        if self.is_group { self.bytes / 4 * 3 } else { self.bytes / 2 }
    }
}

/// The bytes that a line such as `MemTotal:  24603456 kB` tells, as Linux writes them for the machine and for a process.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// What of this process is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Resident {
    /// All of it.
    bytes: u64,
    /// Of these, pages of files that lie in memory, which is to say of kept memory. They say little about it: its pages are
    /// set aside whether or not the process has touched them since it mapped them.
    of_files_in_memory: u64,
}

impl Resident {
    fn here() -> Self {
        let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self { bytes: field(&text, "VmRSS:").unwrap_or(0), of_files_in_memory: field(&text, "RssShmem:").unwrap_or(0) }
    }

    fn outside_files_in_memory(self) -> u64 {
        self.bytes.saturating_sub(self.of_files_in_memory)
    }
}

/// Takes as many descriptors as the system allows this process to have, and says how many.
fn descriptors() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills the struct it is given.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return 1024;
    }
    let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: the call only reads the struct.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
        raised.rlim_cur
    } else {
        limit.rlim_cur
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn plan(machine: u64, asked: Option<u64>, places: Option<u32>) -> Result<Memory, ServeError> {
        Memory::on(Machine { bytes: machine, is_group: false }, 20_000, asked, places, 2, true)
    }

    fn limit_of(memory: &Memory, name: &str) -> u64 {
        memory
            .status(ByteSize(0), ByteSize(0))
            .parts
            .iter()
            .find(|part| part.name == name)
            .map_or(0, |part| part.limit_bytes)
    }

    #[test]
    fn parts_fit_the_machine() {
        for machine in [GIB, 4 * GIB, 24 * GIB, 1024 * GIB] {
            let memory = plan(machine, None, None).unwrap();
            let status = memory.status(ByteSize(0), ByteSize(0));
            assert_eq!(status.limit_bytes, machine / 2);
            assert_eq!(status.parts.iter().map(|part| part.limit_bytes).sum::<u64>(), status.limit_bytes);
            let reserved = memory.door.usage().1 as u64 * ServerConfig::RESERVE as u64;
            assert_eq!(memory.shared.limit() as u64 + reserved, limit_of(&memory, "network"));
            assert!(memory.shared.limit() >= ServerConfig::LEAST_MEMORY);
        }
        let group = Machine { bytes: 4 * GIB, is_group: true };
        let of_group = Memory::on(group, 20_000, None, None, 2, true).unwrap();
        assert_eq!(of_group.status(ByteSize(0), ByteSize(0)).limit_bytes, 3 * GIB);
    }

    #[test]
    fn too_few_places_are_told_with_what_they_are_few_for() {
        let few = |files, places| {
            let machine = Machine { bytes: 24 * GIB, is_group: false };
            let memory = Memory::on(machine, files, None, places, 2, true).unwrap();
            memory.few_places.map(|few| few.to_string())
        };
        assert_eq!((few(20_000, None), few(20_000, Some(100)), few(600, Some(88))), (None, None, None));
        let told = few(530, None).unwrap();
        assert!(told.starts_with("no more than 18 clients can be"), "{told}");
        let told = few(530, Some(100)).unwrap();
        assert!(
            told.contains("no more than 18 clients") && told.contains("not 100") && told.contains("530 files"),
            "{told}"
        );
        let told = few(2_000_000, Some(1_000_000)).unwrap();
        assert!(told.contains("--memory"), "{told}");
    }

    #[test]
    fn kept_memory_counts_as_buffers() {
        let memory = plan(24 * GIB, None, None).unwrap();
        let used = |kept| {
            let status = memory.status(ByteSize(0), ByteSize(kept));
            status.parts.iter().find(|part| part.name == "buffers").map(|part| part.used_bytes)
        };
        assert_eq!((used(0), used(5 * MIB)), (Some(0), Some(5 * MIB)));
    }

    /// Kept memory that the process has not touched takes room, and no more of the program is in memory for it.
    #[test]
    fn kept_memory_is_no_part_of_the_program() {
        let memory = plan(24 * GIB, None, None).unwrap();
        let program = |status: &MemoryStatus| status.parts[0].used_bytes;
        let (without, with) = (memory.status(ByteSize(0), ByteSize(0)), memory.status(ByteSize(0), ByteSize(GIB)));
        assert!(program(&without) > MIB && program(&with) > program(&without) / 2, "{without:?} {with:?}");
        let parts = |status: &MemoryStatus| status.parts.iter().map(|part| part.used_bytes).sum::<u64>();
        assert_eq!((parts(&without), parts(&with)), (without.resident_bytes, with.resident_bytes));
    }

    #[test]
    fn what_was_asked_is_kept() {
        for asked in [18 * GIB / 64, GIB, 100 * GIB] {
            let memory = plan(24 * GIB, Some(asked), None).unwrap();
            assert_eq!(memory.status(ByteSize(0), ByteSize(0)).limit_bytes, asked);
            assert!(limit_of(&memory, "map") >= LEAST_MAP);
        }
        match plan(24 * GIB, Some(64 << 20), None) {
            Err(error @ ServeError::TooLittleMemory { .. }) => {
                assert!(error.to_string().contains("takes 280 MiB at least"), "{error}");
            }
            _ => panic!("that is too little"),
        }
    }

    #[test]
    fn what_is_asked_for_in_words_is_enough() {
        let machine = Machine { bytes: 24 * GIB, is_group: false };
        for (all, needed) in [(300 * MIB, 100 * MIB), (300 * MIB, 5 * GIB), (3 * GIB, 3 * GIB), (20 * GIB, 64 * GIB)] {
            let memory = plan(24 * GIB, Some(all), None).unwrap();
            let limit = memory.map_rule().limit;
            let words = memory.explain(ArrayError::Memory { what: "", needed: ByteSize(needed), limit }).to_string();
            let more = words.split("--memory ").last().unwrap().split(" at least").next().unwrap();
            let more: ByteSize = more.parse().unwrap();
            let enough = Memory::on(machine, 20_000, Some(more.0), None, 2, true).unwrap();
            assert!(enough.map_rule().limit.0 >= needed, "{words}");
        }
    }

    #[test]
    fn without_a_map_the_network_has_more() {
        let machine = Machine { bytes: 24 * GIB, is_group: false };
        let memory = Memory::on(machine, 20_000, Some(GIB), None, 1, false).unwrap();
        assert_eq!((limit_of(&memory, "map"), limit_of(&memory, "network")), (0, GIB - PROGRAM - BUFFERS));
    }

    #[test]
    fn places_have_memory_and_descriptors() {
        let on =
            |descriptors| Memory::on(Machine { bytes: 24 * GIB, is_group: false }, descriptors, None, None, 1, true);
        assert_eq!(plan(24 * GIB, None, None).unwrap().door.usage().1, 2048);
        assert_eq!(plan(24 * GIB, None, Some(10)).unwrap().door.usage().1, 10);
        assert_eq!(plan(GIB, None, None).unwrap().door.usage().1, 672);
        assert_eq!(on(1024).unwrap().door.usage().1, 512);
    }

    #[test]
    fn the_machine_tells_what_it_has() {
        assert_eq!(field("MemTotal:       24603456 kB\nMemFree: 1 kB\n", "MemTotal:"), Some(24_603_456 * 1024));
        assert!((64 << 20..1 << 50).contains(&Machine::here().bytes));
        assert!(Resident::here().outside_files_in_memory() > 1 << 20);
    }
}
