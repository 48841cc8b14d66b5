//! One seed: an array made, tormented, cut off, opened again and verified, several times over.

use std::fmt;
use std::rc::Rc;
use std::task::Poll;

use cygnus_runtime::{Halt, Rng};
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, Nanos};

use crate::array::{Array, VolumeHandle};
use crate::campaign::Plant;
use crate::client::{Client, Shared};
use crate::plan::Plan;
use crate::story;

/// After so much virtual time a request that has no answer is lost. Generous: the slowest honest one takes milliseconds.
pub(crate) const PATIENCE: Nanos = Nanos::secs(20);

/// What seeds have gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Changing requests (writes, write-zeroes, trims).
    pub writes: u64,
    /// Reads.
    pub reads: u64,
    /// Blocks compared with what the oracle allows.
    pub blocks_checked: u64,
    /// Power cuts.
    pub power_cuts: u64,
    /// Processes killed with the power on.
    pub kills: u64,
    /// Clean stops.
    pub clean_stops: u64,
    /// Power cuts while the array was being opened or closed.
    pub cuts_in_transit: u64,
    /// Members removed, or dead while the array ran.
    pub members_lost: u64,
    /// Blocks of devices damaged silently or made unreadable.
    pub blocks_damaged: u64,
    /// Volumes made, deleted or resized after the start.
    pub administered: u64,
    /// Submissions and completions of device operations.
    pub device_steps: u64,
    /// Segments cleaned.
    pub victims: u64,
    /// Times that another group became the front end.
    pub rotations: u64,
    /// Checkpoints taken.
    pub checkpoints: u64,
    /// Blocks rebuilt from the other columns.
    pub reconstructed: u64,
    /// Requests that were refused for lack of space.
    pub refused: u64,
}

impl Tally {
    /// Adds another run's figures.
    pub fn add(&mut self, other: &Tally) {
        self.writes += other.writes;
        self.reads += other.reads;
        self.blocks_checked += other.blocks_checked;
        self.power_cuts += other.power_cuts;
        self.kills += other.kills;
        self.clean_stops += other.clean_stops;
        self.cuts_in_transit += other.cuts_in_transit;
        self.members_lost += other.members_lost;
        self.blocks_damaged += other.blocks_damaged;
        self.administered += other.administered;
        self.device_steps += other.device_steps;
        self.victims += other.victims;
        self.rotations += other.rotations;
        self.checkpoints += other.checkpoints;
        self.reconstructed += other.reconstructed;
        self.refused += other.refused;
    }
}

/// How a cycle ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The power is cut when the clients are done, if not at a planned step before.
    PowerCut,
    /// The process is killed; the devices keep their caches.
    Kill,
    /// The array is closed.
    Clean,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    /// Some of its blocks were spoiled.
    Damaged,
    Gone,
}

struct Member {
    disk: DiskId,
    health: Health,
}

/// A volume as the run knows it.
#[derive(Clone, Debug)]
struct Volume {
    name: String,
    /// The oracle's number.
    number: u32,
    size: u64,
}

/// A change of a volume under way: after a power cut it has happened or not.
#[derive(Clone, Debug)]
enum Admin {
    Create(Volume),
    Delete(Volume),
    Resize(Volume, u64),
}

impl fmt::Display for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Admin::Create(volume) => write!(f, "making {} of {} bytes", volume.name, volume.size),
            Admin::Delete(volume) => write!(f, "deleting {}", volume.name),
            Admin::Resize(volume, size) => write!(f, "resizing {} from {} to {size} bytes", volume.name, volume.size),
        }
    }
}

struct Run {
    rng: Rng,
    plan: Plan,
    world: World,
    members: Vec<Member>,
    shared: Rc<Shared>,
    volumes: Vec<Volume>,
    volumes_made: u32,
    /// The change of a volume that was under way when the power went.
    unsettled: Option<Admin>,
    tally: Tally,
}

/// A cluster with the array open on it.
struct Session {
    cluster: Cluster,
    array: Array,
}

/// Either the power went, or something is wrong.
enum Trouble {
    PowerCut,
    Failure(String),
}

/// Runs one seed; the error tells the whole story.
pub(crate) fn run_seed(seed: u64, plant: Plant) -> Result<Tally, String> {
    story::begin();
    let mut rng = Rng::new(seed);
    let plan = Plan::random(&mut rng);
    story::tell(format!("seed {seed}: {plan}"));
    let mut run = Run::new(plan, rng, plant);
    run.all_cycles().map_err(|text| format!("{}\nFAILED: {text}", story::so_far()))?;
    run.tally.device_steps = run.world.steps();
    let oracle = run.shared.oracle.borrow();
    run.tally.writes = oracle.writes;
    run.tally.reads = oracle.reads;
    run.tally.blocks_checked = oracle.blocks_checked;
    run.tally.refused = run.shared.refused.get();
    Ok(run.tally)
}

impl Run {
    fn new(plan: Plan, mut rng: Rng, plant: Plant) -> Self {
        let world = World::new(rng.next_u64());
        let members = (0..plan.members())
            .map(|n| {
                let disk = world.add_disk(DiskConfig::new(format!("d{n}"), plan.device_bytes()));
                world.ignore_flushes(disk, plant == Plant::FlushesIgnored);
                Member { disk, health: Health::Fine }
            })
            .collect();
        let (shared, volumes) = (Rc::new(Shared::default()), Vec::new());
        Self { rng, plan, world, members, shared, volumes, volumes_made: 0, unsettled: None, tally: Tally::default() }
    }

    fn all_cycles(&mut self) -> Result<(), String> {
        self.make_array()?;
        for cycle in 0..self.plan.cycles {
            story::tell(format!("{} cycle {cycle}", self.world.now()));
            self.cycle(cycle)?;
        }
        // A last look, with nothing going on.
        let session = self.open()?;
        self.verify(&session)?;
        self.finish(session, Ending::Clean)
    }

    fn cluster(&self, disks: &[DiskId]) -> Cluster {
        Cluster::new(&self.world, self.plan.reactors, disks)
    }

    fn make_array(&mut self) -> Result<(), String> {
        let disks: Vec<DiskId> = self.members.iter().map(|m| m.disk).collect();
        let cluster = self.cluster(&disks);
        let (rt, infos, plan) = (cluster.reactor(0).clone(), self.world.infos(&disks), self.plan.clone());
        let made = cluster.run(async move { crate::array::create(&rt, &infos, &plan).await });
        made.map_err(|halt| format!("making the array: {halt}"))??;
        drop(cluster);
        let session = self.open()?;
        let usable = session.array.usable();
        for share in self.plan.volumes.clone() {
            let size = (usable * share / 256 / BLOCK as u64).max(1) * BLOCK as u64;
            let volume = self.new_volume(size);
            self.administer(&session, Admin::Create(volume)).map_err(|trouble| match trouble {
                Trouble::PowerCut => "the power went unplanned".to_owned(),
                Trouble::Failure(text) => text,
            })?;
        }
        self.finish(session, Ending::Clean)
    }

    fn new_volume(&mut self, size: u64) -> Volume {
        // Names come again, so that a new volume could be taken for an old one.
        let name = format!("v{}", self.volumes_made % 3);
        self.volumes_made += 1;
        Volume { name, number: u32::MAX, size }
    }

    fn cycle(&mut self, cycle: u32) -> Result<(), String> {
        self.trouble_members();
        let session = self.open()?;
        self.verify(&session)?;
        let ending = [Ending::PowerCut, Ending::PowerCut, Ending::Kill, Ending::Clean][self.rng.below(4) as usize];
        let cut_planned = ending == Ending::PowerCut && self.rng.chance(7, 8);
        if cut_planned {
            self.plan_power_cut();
        }
        match self.administer_now_and_then(&session).and_then(|()| self.torment(&session, ending, cycle)) {
            Ok(()) => self.finish(session, ending),
            Err(Trouble::PowerCut) => {
                self.after_power_cut(session, "power cut");
                Ok(())
            }
            Err(Trouble::Failure(text)) => Err(text),
        }
    }

    /// Plans a power cut that is as likely to come within the first few steps as within the last thousands.
    fn plan_power_cut(&mut self) {
        let magnitude = self.rng.below(14);
        let steps = (1 << magnitude) + self.rng.below(1 << magnitude);
        self.world.cut_power_after(Some(steps));
    }

    /// A time from microseconds to tens of milliseconds.
    fn some_time(&mut self) -> Nanos {
        let magnitude = 10 + self.rng.below(16);
        Nanos(self.rng.below(1 << magnitude))
    }

    /// Lets clients loose on every volume until they are done or time is up.
    fn torment(&mut self, session: &Session, ending: Ending, cycle: u32) -> Result<(), Trouble> {
        let volumes = self.volumes.clone();
        for (n, volume) in volumes.iter().enumerate() {
            for client in 0..self.plan.clients {
                let reactor = (n + client as usize) % usize::from(self.plan.reactors);
                let client = self.client(session, volume, reactor).map_err(Trouble::Failure)?;
                self.shared.spawn(session.cluster.reactor(reactor), client.work(self.plan.requests));
            }
        }
        self.trouble_running_members(session);
        let shared = self.shared.clone();
        let rt = session.cluster.reactor(0).clone();
        let kill_after = (ending == Ending::Kill).then(|| self.some_time());
        let waited = self.wait(session, async move {
            match kill_after {
                Some(span) => rt.sleep(span).await,
                None => shared.wait().await,
            }
        });
        story::tell(format!("{} clients of cycle {cycle} stopped", self.world.now()));
        let traffic = session.array.traffic();
        self.tally.victims += traffic.victims;
        self.tally.rotations += traffic.rotations;
        self.tally.checkpoints += traffic.checkpoints;
        self.tally.reconstructed += traffic.reconstructed;
        waited
    }

    fn client(&mut self, session: &Session, volume: &Volume, reactor: usize) -> Result<Client<VolumeHandle>, String> {
        Ok(Client {
            rt: session.cluster.reactor(reactor).clone(),
            target: session.array.volume(reactor, &volume.name)?,
            shared: self.shared.clone(),
            volume: volume.number,
            size: volume.size,
            habits: self.plan.habits.clone(),
            rng: self.rng.fork(),
        })
    }

    /// Runs the cluster until `main` is done; a client's complaint, a stall or a long silence is a failure.
    fn wait<T: 'static>(&self, session: &Session, main: impl Future<Output = T> + 'static) -> Result<T, Trouble> {
        let result = run_with_patience(&session.cluster, main);
        if let Some(text) = self.shared.failure.borrow().clone() {
            return Err(Trouble::Failure(text));
        }
        if matches!(result, Ok(None) | Err(Halt::Stalled)) {
            story::tell(format!("{} {}", self.world.now(), session.array.describe()));
        }
        match result {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(Trouble::Failure(format!("no end after {PATIENCE}: a request was never answered"))),
            Err(Halt::PowerCut) => Err(Trouble::PowerCut),
            Err(Halt::Stalled) => Err(Trouble::Failure("a stall: requests wait and nothing will ever happen".into())),
        }
    }

    fn open(&mut self) -> Result<Session, String> {
        let mut disks: Vec<DiskId> = self.members.iter().filter(|m| m.health != Health::Gone).map(|m| m.disk).collect();
        if self.rng.chance(1, 4) {
            // Members that were missing come back stale, and must not be believed.
            disks = self.members.iter().map(|m| m.disk).collect();
        }
        // Their order means nothing.
        for n in (1..disks.len()).rev() {
            disks.swap(n, self.rng.below(n as u64 + 1) as usize);
        }
        let mut cuts = if self.rng.chance(1, 4) { 1 + self.rng.below(3) } else { 0 };
        loop {
            if cuts > 0 {
                self.plan_power_cut();
            }
            let cluster = self.cluster(&disks);
            let opened = Array::open(&cluster, &self.world.infos(&disks), usize::from(self.plan.reactors));
            self.world.cut_power_after(None);
            match opened {
                Ok(Ok(array)) => {
                    let session = Session { cluster, array };
                    if self.world.is_powered() {
                        self.settle_volumes(&session)?;
                        return Ok(session);
                    }
                    self.after_power_cut(session, "power cut just after opening");
                }
                Ok(Err(text)) => return Err(format!("the array cannot be opened: {text}")),
                Err(Halt::Stalled) => return Err("a stall while opening the array".into()),
                Err(Halt::PowerCut) => {
                    story::tell(format!("{} power cut while opening", self.world.now()));
                    drop(cluster);
                    self.tally.cuts_in_transit += 1;
                    self.world.restore_power();
                }
            }
            cuts = cuts.saturating_sub(1);
        }
    }

    /// Finds out which volumes there are, and checks that no other change happened than the one that was under way.
    fn settle_volumes(&mut self, session: &Session) -> Result<(), String> {
        let mut found = session.array.volumes();
        found.sort();
        let mut known: Vec<(String, u64)> = self.volumes.iter().map(|v| (v.name.clone(), v.size)).collect();
        known.sort();
        if let Some(admin) = self.unsettled.take() {
            let happened = found != known;
            story::tell(format!("{admin} was under way: it {}", if happened { "happened" } else { "did not happen" }));
            if happened {
                self.settle(&admin);
                known = self.volumes.iter().map(|v| (v.name.clone(), v.size)).collect();
                known.sort();
            }
        }
        if found == known { Ok(()) } else { Err(format!("volumes are {found:?} and should be {known:?}")) }
    }

    fn verify(&mut self, session: &Session) -> Result<(), String> {
        for volume in self.volumes.clone() {
            let client = self.client(session, &volume, 0)?;
            self.shared.spawn(session.cluster.reactor(0), client.verify());
        }
        let shared = self.shared.clone();
        match self.wait(session, async move { shared.wait().await }) {
            Ok(()) => Ok(()),
            Err(Trouble::Failure(text)) => Err(text),
            Err(Trouble::PowerCut) => Err("the power went unplanned".into()),
        }
    }

    fn finish(&mut self, session: Session, ending: Ending) -> Result<(), String> {
        match ending {
            Ending::PowerCut => {
                self.world.cut_power();
                self.after_power_cut(session, "power cut");
            }
            Ending::Kill => {
                story::tell(format!("{} process killed", self.world.now()));
                self.tally.kills += 1;
                drop(session);
                self.shared.power_was_cut(self.world.now(), "process killed");
                if self.rng.chance(1, 2) {
                    self.world.cut_power();
                    self.world.restore_power();
                }
            }
            Ending::Clean => return self.close(session),
        }
        Ok(())
    }

    fn close(&mut self, session: Session) -> Result<(), String> {
        if self.rng.chance(1, 4) {
            self.plan_power_cut();
        }
        let since = self.shared.oracle.borrow_mut().begin_flush();
        let closing = session.array.close();
        let closed = self.wait(&session, closing);
        self.world.cut_power_after(None);
        match closed {
            Ok(result) => {
                result.map_err(|text| format!("closing the array: {text}"))?;
                story::tell(format!("{} closed", self.world.now()));
                self.tally.clean_stops += 1;
                let now = self.world.now();
                for volume in &self.volumes {
                    self.shared.oracle.borrow_mut().end_flush(volume.number, since, now);
                }
                drop(session);
                // Closed means durable: nothing may be left in the devices' caches that matters.
                self.world.cut_power();
                self.shared.power_was_cut(now, "closed, then power cut");
                self.world.restore_power();
                Ok(())
            }
            Err(Trouble::PowerCut) => {
                self.tally.cuts_in_transit += 1;
                self.after_power_cut(session, "power cut while closing");
                Ok(())
            }
            Err(Trouble::Failure(text)) => Err(format!("while closing: {text}")),
        }
    }

    fn after_power_cut(&mut self, session: Session, what: &str) {
        story::tell(format!("{} {what}", self.world.now()));
        self.tally.power_cuts += 1;
        self.shared.power_was_cut(self.world.now(), what);
        drop(session);
        self.world.restore_power();
    }

    /// Members of the group that are not fine: each uses up one parity column.
    fn spent(&self, group: usize) -> usize {
        let width = usize::from(self.plan.geometry.width());
        let members = &self.members[group * width..(group + 1) * width];
        members.iter().filter(|m| m.health != Health::Fine).count()
    }

    /// Before an opening: members disappear, or are found to be damaged, never more than the parity covers.
    fn trouble_members(&mut self) {
        if !self.plan.loses_members || self.rng.chance(1, 2) {
            return;
        }
        for n in 0..self.members.len() {
            if !self.rng.chance(1, 4) || !self.may_spoil(n) {
                continue;
            }
            if self.rng.chance(1, 2) {
                self.lose_member(n, "is gone");
            } else {
                self.damage_member(n);
            }
        }
    }

    /// Whether member `n` may be lost or damaged: it is spoiled already, or its group has parity to spare.
    fn may_spoil(&self, n: usize) -> bool {
        let group = n / usize::from(self.plan.geometry.width());
        let member = &self.members[n];
        match member.health {
            Health::Gone => false,
            Health::Damaged => true,
            Health::Fine => self.spent(group) < usize::from(self.plan.geometry.parity),
        }
    }

    fn lose_member(&mut self, n: usize, how: &str) {
        story::tell(format!("{} d{n} {how}", self.world.now()));
        self.members[n].health = Health::Gone;
        self.tally.members_lost += 1;
    }

    /// Spoils some blocks of the data area.
    fn damage_member(&mut self, n: usize) {
        let disk = self.members[n].disk;
        let start = cygnus_format::DATA_START;
        let blocks = (self.plan.device_bytes() - start) / BLOCK as u64;
        let count = 1 + self.rng.below(20);
        story::tell(format!("{} d{n}: {count} blocks spoiled", self.world.now()));
        for _ in 0..count {
            let at = start + self.rng.below(blocks) * BLOCK as u64;
            if self.rng.chance(1, 3) {
                self.world.fail_reads(disk, at..at + BLOCK as u64);
            } else {
                self.world.flip_bit(disk, at + self.rng.below(BLOCK as u64), self.rng.below(8) as u8);
            }
        }
        self.members[n].health = Health::Damaged;
        self.tally.blocks_damaged += count;
    }

    /// While clients are at work: a member dies, or is slow.
    fn trouble_running_members(&mut self, session: &Session) {
        let n = self.rng.below(self.members.len() as u64) as usize;
        self.world.slow_down(self.members[n].disk, if self.rng.chance(1, 8) { 20 } else { 1 });
        if self.plan.loses_members && self.rng.chance(1, 4) && self.may_spoil(n) {
            self.lose_member(n, "will die");
            let (world, disk, rt) = (self.world.clone(), self.members[n].disk, session.cluster.reactor(0).clone());
            let after = self.some_time();
            session.cluster.reactor(0).spawn(async move {
                rt.sleep(after).await;
                story::tell(format!("{} a device died", rt.now()));
                world.kill(disk);
            });
        }
    }

    fn administer_now_and_then(&mut self, session: &Session) -> Result<(), Trouble> {
        if !self.plan.administers || self.rng.chance(1, 3) {
            return Ok(());
        }
        let usable = session.array.usable();
        let size = (1 + self.rng.below(usable / BLOCK as u64 / 3)) * BLOCK as u64;
        let victim = (!self.volumes.is_empty()).then(|| self.rng.below(self.volumes.len() as u64) as usize);
        let admin = match (self.rng.below(3), victim) {
            (0, Some(n)) if self.volumes.len() > 1 => Admin::Delete(self.volumes[n].clone()),
            (1, Some(n)) => Admin::Resize(self.volumes[n].clone(), size),
            _ => {
                let volume = self.new_volume(size);
                if self.volumes.iter().any(|v| v.name == volume.name) {
                    return Ok(());
                }
                Admin::Create(volume)
            }
        };
        // More may now be promised than there is.
        self.plan.habits.may_fill = true;
        self.tally.administered += 1;
        self.administer(session, admin)
    }

    fn administer(&mut self, session: &Session, admin: Admin) -> Result<(), Trouble> {
        story::tell(format!("{} {admin}", self.world.now()));
        let change = match &admin {
            Admin::Create(volume) => session.array.create_volume(&volume.name, volume.size),
            Admin::Delete(volume) => session.array.delete_volume(&volume.name),
            Admin::Resize(volume, size) => {
                self.shared.oracle.borrow_mut().will_resize(volume.number, *size);
                session.array.resize_volume(&volume.name, *size)
            }
        };
        self.unsettled = Some(admin.clone());
        let result = self.wait(session, change)?;
        result.map_err(|why| Trouble::Failure(format!("{admin}: {why}")))?;
        self.unsettled = None;
        self.settle(&admin);
        Ok(())
    }

    /// The change has happened.
    fn settle(&mut self, admin: &Admin) {
        let mut oracle = self.shared.oracle.borrow_mut();
        match admin {
            Admin::Create(volume) => {
                let number = oracle.create(volume.size);
                self.volumes.push(Volume { number, ..volume.clone() });
            }
            Admin::Delete(volume) => {
                oracle.delete(volume.number);
                self.volumes.retain(|v| v.number != volume.number);
            }
            Admin::Resize(volume, size) => {
                oracle.resize(volume.number, *size);
                let known = self.volumes.iter_mut().find(|v| v.number == volume.number);
                known.expect("only existing volumes are resized").size = *size;
            }
        }
    }
}

/// Runs the cluster until `main` is done; `None` if that takes longer than anything may.
pub(crate) fn run_with_patience<T: 'static>(
    cluster: &Cluster,
    main: impl Future<Output = T> + 'static,
) -> Result<Option<T>, Halt> {
    let mut main = Box::pin(main);
    let mut limit = Box::pin(cluster.reactor(0).sleep(PATIENCE));
    cluster.run(std::future::poll_fn(move |cx| {
        if let Poll::Ready(value) = main.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        limit.as_mut().poll(cx).map(|()| None)
    }))
}
