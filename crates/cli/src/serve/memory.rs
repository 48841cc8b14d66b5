//! What a server may take of the machine's memory: one account, with named parts.
//!
//! * `network`: what clients' requests and replies take. Each connection has some of it to itself; requests beyond that wait.
//! * `buffers`: stripes that are being filled, and what is being read, moved or rebuilt. The engine bounds it by itself.
//!
//! The volumes' map is beside this: it takes what it needs.

use crate::failure::Failure;
use cygnus_control::status::{MemoryPartStatus, MemoryStatus};
use cygnus_runtime::MemoryPart;
use cygnus_target::{Door, ServerConfig};
use cygnus_types::{BLOCK, ByteSize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MIB: u64 = 1 << 20;
/// Buffers of one reactor: its arena, and stripes and moved blocks beyond that.
const BUFFERS: u64 = 64 * MIB;
/// The network's part: a sixteenth of the machine within these bounds.
const NETWORK: std::ops::RangeInclusive<u64> = 256 * MIB..=1024 * MIB;
/// Places that there are at least.
const LEAST_PLACES: u64 = 64;
/// Descriptors that are not for connections: members, sockets, the state.
const OTHER_DESCRIPTORS: u64 = 512;

/// See the module's text.
pub struct Memory {
    network: u64,
    /// What connections share of the network's part.
    pub shared: Arc<MemoryPart>,
    /// The connections' places.
    pub door: Arc<Door>,
    /// By reactor, the bytes of its buffers.
    buffers: Vec<AtomicU64>,
}

impl Memory {
    /// The parts of a server with so many reactors.
    pub fn plan(asked: Option<ByteSize>, places: Option<u32>, reactors: usize) -> Result<Self, Failure> {
        Self::on(machine_bytes(), descriptors(), asked.map(|size| size.0), places, reactors)
    }

    fn on(
        machine: u64,
        descriptors: u64,
        asked: Option<u64>,
        places: Option<u32>,
        reactors: usize,
    ) -> Result<Self, Failure> {
        let (reserve, least_shared) = (ServerConfig::RESERVE as u64, ServerConfig::LEAST_MEMORY as u64);
        let least_network = least_shared + LEAST_PLACES * reserve;
        let usual = (machine / 16).clamp(*NETWORK.start(), *NETWORK.end());
        let network = asked.map_or(usual, |asked| asked.saturating_sub(reactors as u64 * BUFFERS)).max(least_network);
        let least = reactors as u64 * BUFFERS + least_network;
        if let Some(asked) = asked.filter(|&asked| asked < least) {
            return Err(Failure::Usage(format!(
                "--memory {}: a server with {reactors} reactors takes {} at least",
                ByteSize(asked),
                ByteSize(least)
            )));
        }
        let wanted = places.map_or(ServerConfig::CONNECTIONS as u64, u64::from);
        let room = (network / 2).min(network - least_shared) / reserve;
        let places = wanted.min(room).min(descriptors.saturating_sub(OTHER_DESCRIPTORS)).max(1);
        Ok(Self {
            network,
            shared: Arc::new(MemoryPart::new((network - places * reserve) as usize)),
            door: Door::new(places as usize),
            buffers: (0..reactors).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    fn buffers_limit(&self) -> u64 {
        self.buffers.len() as u64 * BUFFERS
    }

    /// A reactor's buffers take so much now.
    pub fn note_buffers(&self, reactor: usize, bytes: usize) {
        self.buffers[reactor].store(bytes as u64, Ordering::Relaxed);
    }

    /// How the parts stand.
    pub fn status(&self) -> MemoryStatus {
        let part =
            |name: &str, used_bytes, limit_bytes| MemoryPartStatus { name: name.into(), used_bytes, limit_bytes };
        let (connections, _) = self.door.usage();
        let shared = self.shared.usage().used as u64;
        let pools: u64 = self.buffers.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum();
        let network = part("network", shared + connections as u64 * ServerConfig::RESERVE as u64, self.network);
        let buffers = part("buffers", pools.saturating_sub(shared), self.buffers_limit());
        let parts = vec![network, buffers];
        MemoryStatus {
            resident_bytes: resident_bytes(),
            limit_bytes: parts.iter().map(|part| part.limit_bytes).sum(),
            parts,
        }
    }
}

/// Memory of the machine, or of the control group that holds this process.
fn machine_bytes() -> u64 {
    let all = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| meminfo(&text)).unwrap_or(u64::MAX);
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or("").to_owned();
    let limits = std::path::Path::new(&path).ancestors().filter_map(|group| {
        let limit = std::path::Path::new("/sys/fs/cgroup").join(group).join("memory.max");
        std::fs::read_to_string(limit).ok()?.trim().parse().ok()
    });
    limits.fold(all, u64::min)
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Bytes of this process that are in memory.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * BLOCK as u64
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

    fn plan(machine: u64, asked: Option<u64>, places: Option<u32>) -> Result<Memory, Failure> {
        Memory::on(machine, 20_000, asked, places, 2)
    }

    #[test]
    fn parts_fit_the_machine() {
        for machine in [GIB, 4 * GIB, 24 * GIB, 1024 * GIB] {
            let memory = plan(machine, None, None).unwrap();
            assert!(memory.status().limit_bytes <= machine / 2, "{machine}");
            let reserved = memory.door.usage().1 as u64 * ServerConfig::RESERVE as u64;
            assert_eq!(memory.shared.limit() as u64 + reserved, memory.network);
            assert!(memory.shared.limit() >= ServerConfig::LEAST_MEMORY);
        }
    }

    #[test]
    fn what_was_asked_is_kept() {
        for asked in [GIB / 4, GIB, 100 * GIB] {
            assert!(plan(24 * GIB, Some(asked), None).unwrap().status().limit_bytes <= asked);
        }
        match plan(24 * GIB, Some(64 << 20), None) {
            Err(Failure::Usage(why)) => assert!(why.contains("takes 216 MiB at least"), "{why}"),
            _ => panic!("that is too little"),
        }
    }

    #[test]
    fn places_have_memory_and_descriptors() {
        assert_eq!(plan(24 * GIB, None, None).unwrap().door.usage().1, 2048);
        assert_eq!(plan(24 * GIB, None, Some(10)).unwrap().door.usage().1, 10);
        assert_eq!(plan(GIB, None, None).unwrap().door.usage().1, 1024);
        assert_eq!(Memory::on(24 * GIB, 1024, None, None, 1).unwrap().door.usage().1, 512);
    }

    #[test]
    fn the_machine_tells_what_it_has() {
        assert_eq!(meminfo("MemTotal:       24603456 kB\nMemFree: 1 kB\n"), Some(24_603_456 * 1024));
        assert!((64 << 20..1 << 50).contains(&machine_bytes()));
        assert!(resident_bytes() > 1 << 20);
    }
}
