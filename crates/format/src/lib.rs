//! Every byte Cygnus puts on a disk, and nothing else: no I/O, no policy, no state.
//!
//! | on disk | here |
//! |---|---|
//! | where things lie on a member, inside a segment, inside a stripe | [`geometry`], [`layout`] |
//! | who the array is, its members, volumes and checkpoint roots | [`superblock`], [`array_state`] |
//! | what a stripe holds, and what protects it | [`stripe`], [`entry`], [`protection`] |
//! | the dumped map | [`checkpoint`] |
//! | what protects an open stripe | [`backup`] |
//! | what a crash of an array in place may have left unfinished | [`intent`] |
//! | what a killed server leaves, in memory | [`kept`] |
//! | what other software left on a disk | [`probe`] |
//!
//! Rules that every structure obeys:
//! - little endian, no alignment needed, every byte covered by a CRC32C, padding included;
//! - decoding yields an *unverified* type whose only use is `verify()`: nothing can act on bytes whose checksum nobody
//!   looked at;
//! - no bytes whatsoever make a decoder panic, loop or allocate more than the input's size (times a small constant);
//! - encoders assert what their callers promise, since a caller that breaks the promise is a bug, not bad input.
//!
//! `docs/format.md` shows the same bytes as pictures; its tables are generated from the definitions here.

#[macro_use]
mod disk_struct;

pub mod array_state;
pub mod backup;
pub mod checkpoint;
pub mod checksum;
pub mod constants;
pub mod entry;
pub mod geometry;
pub mod header_parts;
pub mod intent;
pub mod kept;
pub mod layout;
pub mod newest;
pub mod packed;
pub mod probe;
pub mod protection;
pub mod raid;
mod raw_superblock;
pub mod slots;
pub mod standing;
pub mod stripe;
pub mod superblock;

#[cfg(test)]
mod doc_check;

pub use array_state::{
    ArrayState, CONVERTS_INSIDE, CheckpointRoot, DESCRIBED_BESIDE, GroupDesc, GroupState, Holdings, InPlace,
    InvalidState, Losses, MemberDesc, MemberErrors, MemberState, PARITY_BUFFER, PolicyValue, RAID_ON, RootSegment,
    RootUse, SpareDesc, VolumeDesc, valid_name,
};
pub use backup::{BACKUP_MAGIC, BESIDE_BLOCK, Backup, BackupError, Holds, MOST_RECORDS};
pub use checkpoint::{MapEntry, MapPage, MapPageError, UnverifiedMapPage};
pub use checksum::crc32c;
pub use constants::*;
pub use entry::{Discard, Entry, Kind};
pub use geometry::{Geometry, GeometryError, Role, Rotation};
pub use header_parts::HeaderParts;
pub use intent::{INTENT_OFFSET, INTENT_REGIONS, IntentBlock, IntentError, UnverifiedIntent};
pub use kept::{KEPT_NUMBERS, KeptError, KeptHeader, KeptShape, KeptStripe};
pub use layout::{Extent, Layout, LayoutError, Place, allocate};
pub use newest::newest;
pub use packed::{PackedError, PackedPage, checkpoint_pages};
pub use probe::{Probe, probe, probe_with_tail};
pub use protection::{PROTECTION_PAGE_FRAMES, Protection, ProtectionPage, UnknownProtection};
pub use raid::{ParseRaidError, Raid, Raids};
pub use slots::{SlotCopy, Slots, copies_for, empty_slot};
pub use standing::Standing;
pub use stripe::{OpenStripe, Stream, StripeCommon, StripeError, StripeHeader, Summary, UnverifiedStripe};
pub use superblock::{Superblock, SuperblockError, UnverifiedSuperblock};
