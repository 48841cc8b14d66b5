//! What a seed decides before anything runs: the array's shape, the volumes, and how the clients behave.

use std::fmt;

use cygnus_format::{DATA_START, Geometry};
use cygnus_policy::{ParityPlacement, Preset};
use cygnus_runtime::Rng;

use crate::client::Habits;

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) preset: Preset,
    pub(crate) groups: u16,
    pub(crate) geometry: Geometry,
    pub(crate) placement: Option<ParityPlacement>,
    pub(crate) over_provision_permille: u16,
    /// Segments of each group.
    pub(crate) segments: u32,
    pub(crate) reactors: u16,
    /// Sizes of the volumes made at the start, as 256ths of what the array can hold.
    pub(crate) volumes: Vec<u64>,
    /// Power cycles, crashes and clean stops.
    pub(crate) cycles: u32,
    /// Clients of each volume.
    pub(crate) clients: u64,
    /// Requests each client makes between two of them, if nothing stops it.
    pub(crate) requests: u64,
    pub(crate) habits: Habits,
    /// Whether volumes are made, deleted and resized now and then.
    pub(crate) administers: bool,
    /// Whether members disappear at a reopening now and then.
    pub(crate) loses_members: bool,
}

impl Plan {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let preset = if rng.chance(2, 3) { Preset::Swan } else { Preset::LogRaid };
        let groups = if preset == Preset::Swan { [2, 2, 2, 3, 4][rng.below(5) as usize] } else { 1 };
        let geometry = random_geometry(rng);
        // Tiny devices, so that groups rotate and segments are cleaned within a few hundred requests.
        // A single group must have room for everything that several would share: open segments, checkpoints, reserves.
        let segments = if groups == 1 { 24 } else { 16 } + rng.below(14) as u32;
        let shares = [[40, 0, 0], [120, 0, 0], [200, 0, 0], [250, 0, 0], [80, 80, 0], [60, 60, 120], [300, 0, 0]];
        let volumes: Vec<u64> = shares[rng.below(7) as usize].into_iter().filter(|&share| share > 0).collect();
        let may_fill = volumes.iter().sum::<u64>() > 256;
        let habits = Habits { may_fill, ..Habits::random(rng) };
        Self {
            preset,
            groups,
            geometry,
            placement: rng.chance(1, 4).then_some(ParityPlacement::Fixed),
            over_provision_permille: [50, 200, 400][rng.below(3) as usize],
            segments,
            reactors: if rng.chance(1, 4) { 2 } else { 1 },
            volumes,
            cycles: 2 + rng.below(4) as u32,
            clients: 1 + rng.below(3),
            requests: [20, 40, 80, 160][rng.below(4) as usize].min(1600 / habits.max_blocks),
            habits,
            administers: rng.chance(1, 4),
            loses_members: geometry.parity > 0 && rng.chance(1, 2),
        }
    }

    /// Bytes of each member device.
    pub(crate) fn device_bytes(&self) -> u64 {
        DATA_START + u64::from(self.segments) * self.geometry.segment_bytes()
    }

    /// Member devices in all.
    pub(crate) fn members(&self) -> usize {
        usize::from(self.groups) * usize::from(self.geometry.width())
    }
}

fn random_geometry(rng: &mut Rng) -> Geometry {
    let parity = rng.below(3) as u8;
    let data = [1, 2, 2, 3, 4, 6][rng.below(6) as usize];
    let chunk_blocks = [1, 2, 4][rng.below(3) as usize];
    let stripe_rows = chunk_blocks * [1, 2, 4, 8][rng.below(4) as usize];
    let rough = Geometry { data, parity, chunk_blocks, stripe_rows, segment_blocks: 1 << 16 };
    let stripe = rough.header_blocks(stripe_rows) + stripe_rows;
    // From one stripe to several, and not always a whole number of them.
    let segment_blocks = (stripe * (1 + rng.below(4) as u32)).max(8) + rng.below(4) as u32;
    Geometry { segment_blocks, ..rough }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Geometry { data, parity, chunk_blocks, stripe_rows, segment_blocks } = self.geometry;
        write!(
            f,
            "{} with {} groups of {data}+{parity}, chunk {chunk_blocks}, stripe {stripe_rows} rows, {} segments of \
             {segment_blocks} rows ({} KiB per device), {} reactors; volumes of {:?}/256 of the space; {} cycles of {} \
             requests by {} clients per volume; {:?}{}{}",
            self.preset.name(),
            self.groups,
            self.segments,
            self.device_bytes() / 1024,
            self.reactors,
            self.volumes,
            self.cycles,
            self.requests,
            self.clients,
            self.habits,
            if self.administers { "; volumes come and go" } else { "" },
            if self.loses_members { "; members disappear" } else { "" },
        )
    }
}
