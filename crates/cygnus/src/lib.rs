//! An array of SSDs, or of files, in a program of one's own, without a server: R-groups of k + m devices, cleaning out of the
//! way of writes, recovery, and volumes that are read and written by calls.
//!
//! ```
//! use std::sync::Arc;
//! use cygnus::{Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, block_on, create, create_file};
//!
//! struct Silent;
//! impl Log for Silent {
//!     fn line(&self, _: &str) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("cygnus-doc-{}", std::process::id()));
//! # std::fs::create_dir(&folder)?;
//! let paths: Vec<_> = (0..3).map(|n| folder.join(format!("d{n}"))).collect();
//! for path in &paths {
//!     create_file(path, 64 << 20)?;
//! }
//! let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
//! block_on(&Config { devices, ..Config::default() }, async |reactor| -> Result<(), Box<dyn std::error::Error>> {
//!     let (rt, devices) = (reactor.rt, reactor.devices);
//!     create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?; // one R-group of 2+1
//!     let array = Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Silent))).await?;
//!     array.create_volume("vol0", ByteSize(16 << 20), 0).await?;
//!     let volume = array.volume("vol0").expect("it was just made");
//!
//!     let mut block = rt.alloc(4096);
//!     block.write(0, b"swans");
//!     volume.write(4096, block.full()).await?;
//!     volume.flush().await?; // survives the loss of power and of any one device from now on
//!
//!     let read = volume.read(4096, rt.alloc(4096).full()).await?;
//!     assert_eq!(&read.bytes()[..5], b"swans");
//!     drop(volume);
//!     Ok(array.close().await?)
//! })??;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! A server that is killed leaves acknowledged writes in a file in memory. A program that opens an array which `cygnus serve` has served names the file in
//! [`OpenOptions::left_with`] (`KeptAt::new(Path::new(KeptAt::USUAL), uuid)`), or these writes are lost; as [`OpenOptions::keeper`] it has its own
//! outlast it too.
//!
//! An array is open until [`Array::close`] has ended, also when its handles are dropped; it is not opened a second time on that reactor before. When
//! [`block_on`] returns, what it ran has ended: handles that were taken out of it must not be used in another one, where they wait for ever.
//!
//! A reactor is one thread; what it runs may hold a [`Volume`] and need not be [`Send`]. [`reactors`] says how several serve one array.
//!
//! `cargo run -p cygnus --example embed` is the same as above in a program; the example `media` makes a pool on flash and disks, with volumes that are mapped
//! in several ways and one that moves between the media. The crate `cygnus-kv` keeps keys and values in a volume.
//!
//! | to | see |
//! |---|---|
//! | make an array of a certain shape, with policies of its own | [`CreateOptions`], [`policy`] |
//! | make a volume with a coarser map, or bound to a medium | [`VolumeOptions`], [`Paging`], [`Constraint`] |
//! | ask how an array is | [`Array::status`], [`status`] |
//! | check one that is stopped | [`check`] |
//! | try devices with zones without having any | [`zoned`] |
//!
//! # What stays as it is
//!
//! Versions follow [Semantic Versioning](https://semver.org): what this crate names, and what its types say in their documentation, changes
//! only with the major version, before 1.0 with the minor one. Three things may grow in any version:
//!
//! * Options ([`CreateOptions`], [`OpenOptions`], [`VolumeOptions`], [`Config`], [`policy::MapRule`], [`policy::HybridRule`]) may get more fields. Make them with `new` or
//!   `default()`, and name what is to be different: `VolumeOptions { paging, ..VolumeOptions::default() }`.
//! * Statuses and reports may get more fields.
//! * Errors, and other enums that a program only reads, may get more variants: end a `match` on them with `_`.
//!
//! The crates behind this one (`cygnus-engine` and so on) may change with any version: a program that names them pins them. So may a method, a field or a variant of which this
//! crate does not name the types, as [`policy::Autonomics::By`]. The format on devices has a version of its own, and arrays of older versions are opened or
//! refused, never misread.

pub use cygnus_engine::{
    Added, AddedGroup, Array, ArrayError, ArrayHealth, ArrayStatus, CreateOptions, Extent, GroupError, Log,
    MemberError, OpenOptions, RecoveryReport, ScrubReport, Volume, VolumeAdminError, VolumeError, VolumeOptions,
    VolumeStatus, Volumes, Work, create,
};
pub use cygnus_format::Raid;
pub use cygnus_policy::Preset;
pub use cygnus_runtime::{Buf, BufSlice, DeviceInfo, DeviceIx, IoError, Keeper, KeptFile, Runtime};
pub use cygnus_types::{
    Acknowledged, ByteSize, Constraint, GroupId, Lba, Medium, MemberIx, Nanos, Paging, PagingError, SegmentId, Tiers,
    Uuid, VolumeId,
};
pub use cygnus_uring::{
    Access, Config, Device, Io, KeptAt, OpenError, Pinning, Reactor, StartError, allocate_file, block_on, create_file,
};
pub use cygnus_volume::{BlockVolume, Terms, VolumeSet};

/// What an array can be told to do in one way or another, where a [`Preset`](crate::Preset) has its own choice otherwise.
///
/// Given when an array is made, and recorded on its devices: [`Victim`](policy::Victim), [`Streams`](policy::Streams), [`ParityPlacement`](policy::ParityPlacement),
/// [`UntilFull`](policy::UntilFull). Given with each opening: [`MapRule`](policy::MapRule), [`HybridRule`](policy::HybridRule), [`Autonomics`](policy::Autonomics),
/// [`Link`](policy::Link).
///
/// ```
/// use cygnus::policy::{Streams, Victim};
/// use cygnus::{CreateOptions, Preset};
///
/// let one_group_of_4_and_2 = CreateOptions::new("tank", Preset::LogRaid, 1, 4, 2);
/// let options = CreateOptions { victim: Some(Victim::CostBenefit), streams: Some(Streams::ByHeat), ..one_group_of_4_and_2 };
/// assert_eq!(options.victim, Some("cost-benefit".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod policy {
    pub use cygnus_engine::{Autonomics, Link, LinkError, MapRule};
    pub use cygnus_policy::{
        HybridRule, PageTimes, ParityPlacement, Streams, UnknownPreset, UnknownStreams, UnknownUntilFull,
        UnknownVictim, UntilFull, Victim,
    };
    pub use cygnus_types::{OneTier, ParseAcknowledgedError, ParseMediumError, ParseSizeError, ParseUuidError};
}

/// What an [`ArrayStatus`](crate::ArrayStatus) and other answers of an array are made of. A program reads these and makes none of them.
pub mod status {
    pub use cygnus_engine::{
        AutonomicsStatus, Awaited, BlockLocation, BlockSummary, ClusterStatus, ErrorCounts, GroupRole, GroupStatus,
        JobKind, JobState, JobStatus, KeptStatus, LinkedMember, LostBlock, MediumStatus, MemberPace, MemberStatus,
        Readmitted, SegmentInfo, SpareStatus, Suspended, Traffic, Trouble, VolumeAfter,
    };
    pub use cygnus_format::{GroupState, MemberErrors, MemberState, Protection};
    pub use cygnus_policy::{DecisionCounts, Lag, Migration, OutcomeCounts, Suspicion};
    pub use cygnus_runtime::{Capabilities, DeviceClass, Resets, ZoneCounts, Zones};
}

/// Checking an array that no program has open: everything on its devices against everything else, without writing a byte.
///
/// [`check`](check::check) reads all that is in use. What it finds is a list of [`Finding`](check::Finding)s, each with a weight: information, something that an opening or a scrub
/// mends, or a loss.
pub mod check {
    pub use cygnus_engine::{CheckProgress, CheckReport, Finding, FindingKind, Verdict, check};
}

/// Several threads that serve one array.
///
/// [`spawn_reactors`](reactors::spawn_reactors) starts them. The one that opens the array is its home, and says in
/// [`OpenOptions::reactors`](crate::OpenOptions::reactors) how many there are. It sends each of the others an [`ArrayHandle`](reactors::ArrayHandle), from which that one
/// makes its [`ArrayPeer`](reactors::ArrayPeer). From then on each reactor gives all messages that it receives
/// ([`Runtime::recv_msg`](crate::Runtime::recv_msg)) to `handle_message` of its array or peer, which gives back those that are the program's own; as long as one does not,
/// the others may wait for it. The home closes the array when the others serve nothing more, and they go on handling messages until it has. `tests/pool.rs` of this crate does all that.
pub mod reactors {
    pub use cygnus_engine::{ArrayHandle, ArrayPeer};
    pub use cygnus_runtime::Message;
    pub use cygnus_types::ReactorId;
    pub use cygnus_uring::{Mailer, Reactors, spawn_reactors};
}

/// Files that stand for devices with zones, and refuse what such a device would refuse: to try an array on zones without having any.
///
/// [`create_zoned_file`](zoned::create_zoned_file) makes one; [`Device::open`](crate::Device::open) takes its path with `zoned:` before it.
pub mod zoned {
    pub use cygnus_uring::{NewZones, create_zoned_file};
}
