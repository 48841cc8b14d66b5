//! Serving a log-structured array, on any number of reactors.

use crate::ServeError;
use crate::error::RequestError;
use crate::event::ServerEvent;
use crate::home::{Home, tell_peers};
use crate::peer::ToPeer;
use crate::plan::Plan;
use crate::seek::{Seeker, seek};
use crate::served::Served;
use crate::status::{self, Serving, log_structured as told};
use cygnus_control::media::{Media, MediumName};
use cygnus_control::protocol::{Request, Response};
use cygnus_control::stats::Stats;
use cygnus_control::status::{ArrayStatus, VolumeStatus};
use cygnus_engine::{
    Array, ArrayError, Autonomics, JobStatus, MemberError, OpenOptions, VolumeAdminError, VolumeOptions, Volumes,
};
use cygnus_format::GroupState;
use cygnus_host::devices::now_unix;
use cygnus_host::place;
use cygnus_host::state::ArrayRecord;
use cygnus_runtime::{DeviceInfo, Message};
use cygnus_types::{Acknowledged, ByteSize, GroupId, Medium, MemberIx, Nanos, Paging};
use cygnus_uring::Reactor;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// How often to look whether a scrub is due; also how long a server has peace after its start.
const SCRUB_LOOK: Duration = Duration::from_secs(600);

impl Served for Array {
    type Volumes = Volumes;

    async fn open(reactor: &Reactor, plan: &Plan) -> Result<Self, ServeError> {
        let (rt, devices) = (&reactor.rt, &reactor.devices);
        let options = OpenOptions {
            array: Some(plan.array),
            reactors: plan.reactors,
            map: plan.memory.map_rule(),
            left_with: plan.left_with.clone(),
            keeper: plan.keeper.clone(),
            autonomics: if plan.autonomics { Autonomics::On } else { Autonomics::AsPreset },
            links: plan.links.clone(),
            ..OpenOptions::new(plan.log.clone())
        };
        let opened = match plan.by_force {
            true => Array::open_by_force(rt, devices, &options).await,
            false => Array::open(rt, devices, &options).await,
        };
        let array = opened.map_err(|error| plan.memory.explain(error))?;
        if plan.autonomics && array.status().groups.len() == 1 {
            plan.log.tell(&ServerEvent::NowhereToMove { array: &plan.name });
        }
        Ok(array)
    }

    fn start_services(home: &Rc<Home<Self>>) {
        let reactors = home.plan.reactors;
        tell_peers(&home.rt, &home.plan, || ToPeer::Attach(home.array.handle(reactors)));
        let (rt, array, searches) = (home.rt.clone(), home.array.clone(), home.searches.clone());
        home.rt.spawn(seek(Seeker { rt, array, places: home.clone(), searches }));
        if let Some(every) = home.plan.scrub_every {
            home.rt.spawn(scrub_on_schedule(home.clone(), every));
        }
    }

    async fn close(self) -> Result<(), ArrayError> {
        self.close().await
    }

    fn set_suspended_for(&self, span: Nanos) {
        self.set_suspended_for(span);
    }

    fn handle_message(&self, message: Message) -> Option<Message> {
        self.handle_message(message)
    }

    fn volumes(&self) -> Volumes {
        self.volumes()
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
        let constraint = media.constraint(|| self.widest_tiers(name))?;
        let options = VolumeOptions { acknowledged: acknowledged.unwrap_or_default(), constraint, paging };
        self.create_volume_with(name, size, options, now_unix()).await.map(drop)
    }

    async fn set_acknowledged(&self, name: &str, level: Acknowledged) -> Result<(), VolumeAdminError> {
        self.set_acknowledged(name, level).await
    }

    async fn resize_volume(&self, name: &str, size: ByteSize) -> Result<(), VolumeAdminError> {
        self.resize_volume(name, size).await
    }

    async fn delete_volume(&self, name: &str) -> Result<(), VolumeAdminError> {
        self.delete_volume(name).await
    }

    async fn replace(&self, member: MemberIx, device: &DeviceInfo, force: bool) -> Result<u64, MemberError> {
        self.replace(member, device, force).await
    }

    fn jobs(&self) -> Vec<JobStatus> {
        self.jobs()
    }

    fn map_bytes(&self) -> ByteSize {
        self.map_bytes()
    }

    fn kept_bytes(&self) -> ByteSize {
        self.kept_bytes()
    }

    fn online_paths(&self) -> Vec<String> {
        self.status().members.into_iter().filter(|member| member.is_online()).map(|member| member.name).collect()
    }

    fn status(&self, serving: Serving<'_>) -> ArrayStatus {
        told::status(&self.status(), self.recovery(), self.scrub_report(), serving)
    }

    fn stats(&self, at_ns: u64) -> Stats {
        told::stats(&self.status(), at_ns)
    }

    fn member(&self, name: &str, record: &ArrayRecord) -> Result<MemberIx, RequestError> {
        let members = self.status().members;
        if let Ok(number) = name.parse::<u16>() {
            let exists = usize::from(number) < members.len();
            let error = RequestError::NoSuchMember { number, members: members.len() };
            return exists.then_some(MemberIx(number)).ok_or(error);
        }
        let remembered = record.members.iter().find(|member| member.path.as_os_str() == name).map(|m| m.index as u16);
        let present = members.iter().find(|member| member.name == name).map(|member| member.member);
        present.or(remembered.map(MemberIx)).ok_or_else(|| RequestError::NoMember(name.into()))
    }

    fn remembered(&self, record: &ArrayRecord) -> ArrayRecord {
        let status = self.status();
        let mut now = record.clone();
        for member in status.members.iter().filter(|member| place::is_absolute(&member.name)) {
            now.set_member(member.member, member.name.clone().into());
        }
        let groups = &status.groups;
        let is_there = |index: u32| {
            let group = status.members.get(index as usize).map(|member| member.group.index());
            group.is_some_and(|group| groups[group].state != GroupState::Retired)
        };
        now.members.retain(|member| is_there(member.index));
        let present: Vec<PathBuf> = status.spares.iter().flat_map(|spare| &spare.name).map(PathBuf::from).collect();
        match present.len() == status.spares.len() {
            true => now.spares = present,
            // Those that are away may come back where they were.
            false => now.add_spares(&present),
        }
        now
    }

    async fn carry_out(home: &Home<Self>, request: Request) -> Result<Response, RequestError> {
        let array = &home.array;
        match request {
            Request::Drain { member } => home.job_response(array.drain(home.member(&member)?).await?),
            Request::SpareAdd { device, force } => {
                let add = async |devices: &[DeviceInfo]| Ok(array.add_spare(&devices[0], force).await?);
                home.with_devices(&[device], add).await?;
                home.remember_members();
                Ok(Response::Done)
            }
            Request::SpareRemove { spare } => {
                array.remove_spare(&spare).await?;
                home.remember_members();
                Ok(Response::Done)
            }
            Request::GroupAdd { devices, media, force } => home.add_groups(&devices, &media, force).await,
            Request::GroupRetire { group } => home.job_response(array.retire(home.group(&group)?).await?),
            Request::Scrub => home.job_response(array.start_scrub(now_unix())),
            Request::CancelJob { id } if array.cancel_job(id) => home.job_response(id),
            Request::CancelJob { id } => Err(RequestError::NotRunning(id)),
            other => unreachable!("every array does {other:?}"),
        }
    }
}

/// Starts a scrub whenever one is due.
async fn scrub_on_schedule(home: Rc<Home<Array>>, every: Duration) {
    let look = every.min(SCRUB_LOOK);
    loop {
        home.rt.sleep(Nanos(look.as_nanos() as u64)).await;
        let last = Duration::from_secs(home.array.status().last_scrub_unix);
        let now = Duration::from_secs(now_unix());
        if is_due(last, now, every) && !home.is_stopping() {
            home.array.start_scrub(now.as_secs());
        }
    }
}

/// Whether the last scrub is longer ago than the interval. One at a time that has not come yet was told by a clock that was
/// wrong, or this one is; it must not keep the array from being verified until then.
fn is_due(last: Duration, now: Duration, every: Duration) -> bool {
    last > now || now >= last + every
}

impl Home<Array> {
    async fn add_groups(&self, paths: &[String], media: &[MediumName], force: bool) -> Result<Response, RequestError> {
        let media: Vec<Medium> = media.iter().map(|name| name.0).collect();
        let add = async |devices: &[DeviceInfo]| {
            // Should this be cut short, the next start finds them here.
            self.remember_spares(paths);
            let added = self.array.add_groups_on(devices, &media, force).await;
            self.remember_members();
            Ok(added?)
        };
        let growth = status::growth(&self.with_devices(paths, add).await?, &self.array.status());
        Ok(Response::Growth { growth: Box::new(growth) })
    }

    /// An R-group by its number, or by one of its members.
    fn group(&self, name: &str) -> Result<GroupId, RequestError> {
        match name.parse() {
            Ok(number) => Ok(GroupId(number)),
            Err(_) => Ok(self.array.status().members[self.member(name)?.index()].group),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scrub_is_due_after_the_interval_and_when_the_last_one_is_yet_to_come() {
        let day = |day: u64| Duration::from_secs(day * 86_400);
        assert!(is_due(day(0), day(20_000), day(30)), "there was none");
        assert!(!is_due(day(20_000), day(20_000), day(30)));
        assert!(!is_due(day(20_000), day(20_029), day(30)));
        assert!(is_due(day(20_000), day(20_030), day(30)));
        assert!(is_due(day(56_000), day(20_000), day(30)), "a clock was a hundred years ahead");
    }
}
