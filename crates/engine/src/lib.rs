//! The array engine: volumes on R-groups of devices, log-structured, with spatially separated garbage collection.
//!
//! It knows neither which driver runs it nor which protocol its users speak. A reader who wants to follow a write goes
//! from [`Volume::write`] to `write_path` (admission), `writer` (a lane's stripes) and `stripe` (memory, parity,
//! header); a read goes through `read_path`. `space` grants segments, `cleaner` gives them back, `flush`, `checkpoint`
//! and `commit` make things durable in growing order of weight, and `open` with its steps brings it all back.
//!
//! Rules that hold throughout: state is decided on without awaiting, the I/O is awaited, and what was decided is
//! checked again before it is published; nothing written to a device is ever overwritten inside a segment; a segment is
//! reused only when everything that replaced its contents is durable.

mod admission;
mod array;
mod assemble;
mod atomic;
mod came_back;
mod check;
mod checkpoint;
mod cleaner;
mod columns;
mod commit;
mod create;
mod drain;
mod error;
mod evacuate;
mod flush;
mod grow;
mod grown;
mod guardian;
mod haste;
mod health;
mod home;
mod invariants;
mod job;
mod l2p;
mod lane;
mod load;
mod looks;
mod lost;
mod member;
mod member_state;
mod membership;
mod newest;
mod numbers;
mod open;
mod order;
mod pace;
mod parallel;
mod peers;
pub mod planted;
mod reactor;
mod read_path;
mod rebuild;
mod reconstruct;
mod relocate;
mod replace;
mod replay;
mod residence;
mod restore;
mod retire;
mod room;
mod salvage;
mod scan;
mod scrub;
mod segments;
mod service;
mod shared;
mod slots;
mod space;
mod status;
mod stripe;
mod survey;
mod suspension;
mod tail;
mod throttle;
mod trouble;
mod turn;
mod unflushed;
mod victims;
mod volume;
mod work;
mod write_path;
mod writer;

pub use array::{Array, ArrayHandle, ArrayPeer};
pub use assemble::{Assembly, Found, Returning, assemble_in_place, inspect};
pub use check::{CheckProgress, CheckReport, Finding, FindingKind, Verdict, check};
pub use create::{CreateOptions, create, describe_members, random_uuid, refuse_used, segments_on, wipe, write_first};
pub use error::{ArrayError, GroupError, MemberError, VolumeAdminError, VolumeError};
pub use grow::{Added, AddedGroup};
pub use job::{Job, JobKind, JobState, JobStatus, Jobs};
pub use l2p::{MAX_VOLUME_BLOCKS, MapRule};
pub use member_state::{ArrayHealth, change as change_member, depart};
pub use open::{OpenOptions, RecoveryReport, usable_bytes};
pub use pace::MemberPace;
pub use salvage::{Piece, Salvage};
pub use scrub::{LostBlock, ScrubReport};
pub use shared::Log;
pub use slots::{SlotError, write_superblocks};
pub use status::{ArrayStatus, ErrorCounts, GroupRole, GroupStatus, MemberStatus, SpareStatus, Traffic, VolumeStatus};
pub use survey::{BlockLocation, BlockSummary, SegmentInfo};
pub use suspension::{Awaited, Suspended};
pub use trouble::Trouble;
pub use volume::{Extent, Volume};
pub use work::Work;
