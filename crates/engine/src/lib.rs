//! The array engine: volumes on R-groups of devices, log-structured, with spatially separated garbage collection.
//!
//! It knows neither which driver runs it nor which protocol its users speak. `ARCHITECTURE.md` has its rooms from the bottom
//! up, and the files on the way of one write, one read, one cleaning and one recovery: `shared` is what all reactors have
//! together, `home` what the services of the home reactor keep, `reactor` one reactor, which knows no service; the folders
//! hold the services, each a struct over a reactor, and `array` and `volume` are what users call.
//!
//! Rules that hold throughout: state is decided on without awaiting, the I/O is awaited, and what was decided is
//! checked again before it is published; nothing written to a device is ever overwritten inside a segment; a segment is
//! reused only when everything that replaced its contents is durable.

mod array;
mod atomic;
mod autonomics;
mod care;
mod check;
mod clean;
mod counters;
mod durable;
mod ending;
mod error;
mod fault;
mod home;
mod hybrid;
mod inbox;
mod invariants;
mod job;
mod log;
mod lsa;
mod peers;
pub mod planted;
mod reactor;
mod read;
mod recover;
mod resize;
mod served;
mod shared;
mod space;
mod status;
mod survey;
mod volume;
mod volume_state;
mod work;
mod write;

pub use array::{Array, ArrayHandle, ArrayPeer};
pub use autonomics::links::{Link, LinkError};
pub use autonomics::mode::Autonomics;
pub use autonomics::report::{AutonomicsStatus, ClusterStatus, LinkedMember};
pub use care::member_state::{ArrayHealth, change as change_member, depart};
pub use care::places::Returning;
pub use care::report::{LostBlock, ScrubReport};
pub use care::sought::{Disbelief, NotLetIn, Sought};
pub use care::suspension::{Awaited, Suspended};
pub use care::trouble::Trouble;
pub use check::findings::{CheckReport, Finding, FindingKind, Verdict};
pub use check::{CheckProgress, check};
pub use cygnus_volume::Extent;
pub use error::{ArrayError, GroupError, MemberError, Stale, VolumeAdminError, VolumeError};
pub use invariants::Broken;
pub use job::{Job, JobKind, JobState, JobStatus, Jobs};
pub use log::Log;
pub use lsa::{MAX_VOLUME_BLOCKS, MapRule};
pub use read::pace::MemberPace;
pub use recover::assemble::{Assembly, Found, Outsiders, Readmission, assemble_in_place, inspect, is_outdated};
pub use recover::claim::claim_new;
pub use recover::create::{
    CreateOptions, Offer, create, describe_members, offer, random_uuid, refuse_used, segments_on, wipe,
    write_first_on_all,
};
pub use recover::gone::{Readmitted, VolumeAfter};
pub use recover::open::{OpenOptions, RecoveryReport};
pub use recover::salvage::{Piece, Salvage};
pub use recover::slots::{SlotError, write_superblocks};
pub use recover::zones::refuse_in_order;
pub use resize::grow::{Added, AddedGroup};
pub use served::Volumes;
pub use space::role::GroupRole;
pub use space::shortage::Shortage;
pub use space::usable::{policies_of, until_full_of, usable_bytes};
pub use status::{
    ArrayStatus, ErrorCounts, GroupStatus, MediumStatus, MemberStatus, SpareStatus, Traffic, VolumeStatus,
};
pub use survey::{BlockLocation, BlockSummary, SegmentInfo};
pub use volume::Volume;
pub use volume_state::VolumeOptions;
pub use work::Work;
pub use write::kept::KeptStatus;
