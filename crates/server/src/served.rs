//! What the server needs of an array, whichever kind it is of.

use crate::ServeError;
use crate::error::RequestError;
use crate::home::Home;
use crate::plan::Plan;
use crate::status::Serving;
use cygnus_control::media::Media;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::stats::Stats;
use cygnus_control::status::{ArrayStatus, VolumeStatus};
use cygnus_engine::{ArrayError, JobStatus, MemberError, VolumeAdminError};
use cygnus_host::state::ArrayRecord;
use cygnus_runtime::{DeviceInfo, Message};
use cygnus_types::{Acknowledged, ByteSize, MemberIx, Nanos, Paging};
use cygnus_uring::Reactor;
use cygnus_volume::VolumeSet;
use std::rc::Rc;

/// An array that is being served, on its home reactor. A clone is another handle to it.
pub trait Served: Clone + 'static {
    /// The set of its volumes, as protocols serve them.
    type Volumes: VolumeSet;

    /// Opens the array, on its home reactor.
    async fn open(reactor: &Reactor, plan: &Plan) -> Result<Self, ServeError>;

    /// Has other reactors take part, and starts what such an array has done beside serving.
    fn start_services(home: &Rc<Home<Self>>);

    /// Closes the array cleanly: flush, checkpoint, superblocks.
    async fn close(self) -> Result<(), ArrayError>;

    /// How long requests wait for members while it is suspended.
    fn set_suspended_for(&self, span: Nanos);

    /// Takes a message if it is the array's own; gives back any other.
    fn handle_message(&self, message: Message) -> Option<Message>;

    /// The volumes, for who serves them.
    fn volumes(&self) -> Self::Volumes;

    /// All volumes as they are told; `connections` tells how many clients one has.
    fn volume_statuses(&self, connections: &dyn Fn(&str) -> u32) -> Vec<VolumeStatus>;

    /// Makes a volume, with a level of acknowledgement or the usual one, on the media on which it may be, mapped by pages or by blocks.
    async fn create_volume(
        &self,
        name: &str,
        size: ByteSize,
        acknowledged: Option<Acknowledged>,
        media: Media,
        paging: Paging,
    ) -> Result<(), VolumeAdminError>;

    /// Changes where a write of a volume is when it is answered.
    async fn set_acknowledged(&self, name: &str, level: Acknowledged) -> Result<(), VolumeAdminError>;

    /// Changes a volume's size.
    async fn resize_volume(&self, name: &str, size: ByteSize) -> Result<(), VolumeAdminError>;

    /// Deletes the volume of this name and all that it holds.
    async fn delete_volume(&self, name: &str) -> Result<(), VolumeAdminError>;

    /// Puts a device into a member's place; returns the number of the job.
    async fn replace(&self, member: MemberIx, device: &DeviceInfo, force: bool) -> Result<u64, MemberError>;

    /// All jobs.
    fn jobs(&self) -> Vec<JobStatus>;

    /// Bytes that the volumes' maps take.
    fn map_bytes(&self) -> ByteSize;

    /// Memory of stripes that outlasts the process, as it is mapped into this one.
    fn kept_bytes(&self) -> ByteSize;

    /// Paths of members that are online.
    fn online_paths(&self) -> Vec<String>;

    /// Everything about it.
    fn status(&self, serving: Serving<'_>) -> ArrayStatus;

    /// The counters for the live view, without those of the clients.
    fn stats(&self, at_ns: u64) -> Stats;

    /// A member by its number, or by where it is or was.
    fn member(&self, name: &str, record: &ArrayRecord) -> Result<MemberIx, RequestError>;

    /// What is to be remembered of it, after `record`.
    fn remembered(&self, record: &ArrayRecord) -> ArrayRecord;

    /// Carries out what not every array does, or refuses it.
    async fn carry_out(home: &Home<Self>, request: Request) -> Result<Response, RequestError>;
}
