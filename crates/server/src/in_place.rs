//! Serving an array that updates in place, on one reactor.

use crate::ServeError;
use crate::error::RequestError;
use crate::home::Home;
use crate::plan::Plan;
use crate::served::Served;
use crate::status::{Serving, in_place as told, refusal};
use cygnus_control::media::Media;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::stats::Stats;
use cygnus_control::status::{ArrayStatus, VolumeStatus};
use cygnus_engine::{ArrayError, JobStatus, MemberError, VolumeAdminError};
use cygnus_host::devices::now_unix;
use cygnus_host::place;
use cygnus_host::state::ArrayRecord;
use cygnus_inplace::Array;
use cygnus_policy::LatencyRule;
use cygnus_runtime::{DeviceInfo, Message};
use cygnus_types::{Acknowledged, ByteSize, MemberIx, Nanos, Paging};
use cygnus_uring::Reactor;
use std::rc::Rc;

impl Served for Array {
    type Volumes = Self;

    async fn open(reactor: &Reactor, plan: &Plan) -> Result<Self, ServeError> {
        let (rt, devices, log) = (&reactor.rt, &reactor.devices, plan.log.clone());
        rt.set_patience(plan.hung_after.unwrap_or(LatencyRule::default().hung_after));
        let opened = match plan.by_force {
            true => Array::open_by_force(rt, devices, Some(plan.array), log).await,
            false => Array::open(rt, devices, Some(plan.array), log).await,
        };
        Ok(opened?)
    }

    fn start_services(home: &Rc<Home<Self>>) {
        assert_eq!(home.plan.reactors, 1, "an array that updates in place has one reactor");
    }

    async fn close(self) -> Result<(), ArrayError> {
        self.close().await
    }

    fn set_suspended_for(&self, span: Nanos) {
        self.set_suspended_for(span);
    }

    /// It sends none.
    fn handle_message(&self, message: Message) -> Option<Message> {
        Some(message)
    }

    fn volumes(&self) -> Self {
        self.clone()
    }

    fn volume_statuses(&self, connections: &dyn Fn(&str) -> u32) -> Vec<VolumeStatus> {
        told::volumes(&self.status(), connections)
    }

    async fn create_volume(
        &self,
        name: &str,
        size: ByteSize,
        acknowledged: Option<Acknowledged>,
        media: Media,
        paging: Paging,
    ) -> Result<(), VolumeAdminError> {
        if !media.is_any() {
            return Err(VolumeAdminError::NoMedia);
        }
        if paging.is_by_pages() {
            return Err(VolumeAdminError::NoPages);
        }
        acknowledged.map_or(Ok(()), |level| self.check_acknowledged(level))?;
        self.create_volume(name, size, now_unix()).await.map(drop)
    }

    async fn set_acknowledged(&self, name: &str, level: Acknowledged) -> Result<(), VolumeAdminError> {
        self.set_acknowledged(name, level)
    }

    async fn resize_volume(&self, name: &str, size: ByteSize) -> Result<(), VolumeAdminError> {
        self.resize_volume(name, size).await
    }

    async fn delete_volume(&self, name: &str) -> Result<(), VolumeAdminError> {
        self.delete_volume(name).await
    }

    async fn replace(&self, member: MemberIx, device: &DeviceInfo, force: bool) -> Result<u64, MemberError> {
        self.replace_member(member, device, force).await
    }

    fn jobs(&self) -> Vec<JobStatus> {
        self.jobs()
    }

    /// It has no maps.
    fn map_bytes(&self) -> ByteSize {
        ByteSize(0)
    }

    /// A write is answered when the members have it.
    fn kept_bytes(&self) -> ByteSize {
        ByteSize(0)
    }

    /// No thread looks at what stands there.
    fn online_paths(&self) -> Vec<String> {
        Vec::new()
    }

    fn status(&self, serving: Serving<'_>) -> ArrayStatus {
        told::status(&self.status(), &self.report(), serving)
    }

    fn stats(&self, at_ns: u64) -> Stats {
        told::stats(&self.status(), at_ns)
    }

    fn member(&self, name: &str, record: &ArrayRecord) -> Result<MemberIx, RequestError> {
        if let Ok(number) = name.parse() {
            return Ok(MemberIx(number));
        }
        let members = self.status().members;
        let found = members.iter().find(|member| told::path(member, record) == name);
        found.map(|member| member.member).ok_or_else(|| RequestError::NoMember(name.into()))
    }

    fn remembered(&self, record: &ArrayRecord) -> ArrayRecord {
        let mut now = record.clone();
        for member in self.status().members {
            if let Some(path) = member.name.filter(|name| place::is_absolute(name)) {
                now.set_member(member.member, path.into());
            }
        }
        now
    }

    async fn carry_out(home: &Home<Self>, request: Request) -> Result<Response, RequestError> {
        let what = match request {
            Request::Drain { .. } => "drain",
            Request::SpareAdd { .. } | Request::SpareRemove { .. } => "spare",
            Request::GroupAdd { .. } => "add",
            Request::GroupRetire { .. } => "retire",
            Request::Scrub => "scrub",
            Request::CancelJob { .. } => "cancel",
            other => unreachable!("every array does {other:?}"),
        };
        let status = home.array.status();
        Err(RequestError::NotOfThisKind(refusal(&status.name, status.level.name(), what)))
    }
}
