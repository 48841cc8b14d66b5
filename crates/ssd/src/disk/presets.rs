//! Disks fitted to published figures; `docs/devices.md` has the arithmetic.

use cygnus_types::Nanos;

use crate::config::Host;
use crate::disk::config::{DiskConfig, Recording, Seek, Shingles};

const MB: u64 = 1_000_000;

/// A 7200 rpm disk of 4 TB of no particular make.
pub(crate) fn nearline() -> DiskConfig {
    DiskConfig {
        name: "hdd".to_owned(),
        capacity: 4_000_000 * MB / 4096 * 4096,
        host: host(),
        buffer: 128 << 20,
        rpm: 7_200,
        outer_rate: 200 * MB,
        inner_rate: 100 * MB,
        seek: Seek { track: Nanos::micros(600), full: Nanos::micros(15_400), settle: Nanos::micros(500) },
        recording: Recording::Conventional,
    }
}

/// Seagate's 8 TB Archive HDD: 5900 rpm, shingled, drive managed.
pub(crate) fn seagate_archive() -> DiskConfig {
    DiskConfig {
        name: "seagate-smr-8tb".to_owned(),
        capacity: 8_000_000 * MB / 4096 * 4096,
        rpm: 5_900,
        outer_rate: 190 * MB,
        seek: Seek { track: Nanos::micros(1_000), full: Nanos::micros(21_000), settle: Nanos::micros(500) },
        recording: Recording::DriveManaged(Shingles {
            band: 30 << 20,
            persistent_cache: 20_000 * MB,
            entry: Nanos::micros(430),
            idle: Nanos::secs(1),
        }),
        ..nearline()
    }
}

/// SATA at 6 Gbit/s.
fn host() -> Host {
    Host { queue_depth: 32, read_rate: 550 * MB, write_rate: 550 * MB, shared: true, latency: Nanos::micros(50) }
}
