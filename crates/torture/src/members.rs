//! The devices of the array under torture, members and spares: what has happened to them, and what may still happen.

use std::rc::Rc;

use cygnus_engine::ArrayStatus;
use cygnus_format::GroupState;
use cygnus_runtime::{IoErrorKind, Rng};
use cygnus_sim::{DiskConfig, DiskId, FaultRates, Saved, World};
use cygnus_ssd::{Model, ModelConfig, Preset, XorEngine};
use cygnus_types::{BLOCK, Nanos};

use crate::coverage;
use crate::journal;
use crate::rot;
use crate::story::{Decay, Drives, Harm, Manner, Part, Shape, What};

/// One device.
struct Member {
    disk: DiskId,
    /// The R-group that it belongs to; a spare, or one that is added, may come to belong to any.
    group: Option<usize>,
    /// Another device has its place for good.
    relieved: bool,
    /// It came to harm, and uses up a parity column of its group.
    spoiled: bool,
    /// It came to harm at any time.
    harmed: bool,
    /// It is a new device, and has come to no harm since.
    renewed: bool,
    /// How it was when it was new.
    blank: Rc<Saved>,
    /// It is not given to the array when that is opened.
    gone: bool,
    /// It went with others of its group, more than its parity covers.
    lost: bool,
    saved: Option<Rc<Saved>>,
    faults: FaultRates,
}

/// See the module's text.
pub(crate) struct Members {
    world: World,
    shape: Shape,
    /// By group: how many members it may lose.
    parity: Vec<usize>,
    /// By number of the device, which is at first that of its place.
    members: Vec<Member>,
}

/// What became of a harm.
pub(crate) enum Done {
    /// Nothing: its group has no parity to spare.
    Refused,
    /// The member is out of service now.
    Lost,
    /// A block is damaged.
    Damaged,
    Other,
}

/// What a member's device is.
pub(crate) fn device(shape: &Shape, n: usize) -> DiskConfig {
    let zones = shape.zones_of(n);
    let (converts, timing) = (shape.member_converts(n) && zones.is_none(), shape.timing(n));
    let oob_bytes = if zones.is_none() { shape.beside_blocks(n) } else { 0 };
    let bytes = match (shape.zoned, &zones) {
        (Some(zoned), Some(zones)) => zoned.device_bytes(zones, shape.device_bytes()),
        _ => shape.device_bytes(),
    };
    DiskConfig { converts, oob_bytes, timing, zones, ..DiskConfig::new(format!("d{n}"), bytes) }
}

/// By group, as long as each is of the set of its number.
fn parities(shape: &Shape) -> Vec<usize> {
    (0..shape.sets()).map(|set| shape.parity_of(set)).collect()
}

impl Members {
    pub(crate) fn new(world: &World, shape: &Shape) -> Self {
        world.watch_faults(coverage::met);
        let member = |n| {
            let config = device(shape, n);
            let disk = match shape.drives {
                Drives::Modelled => {
                    let model = drive_of(shape.device_bytes(), &config);
                    world.add_modelled(config, model)
                }
                Drives::Quick | Drives::Slow => world.add_disk(config),
            };
            let blank = Rc::new(world.save(disk));
            Member {
                disk,
                group: (n < shape.places()).then(|| shape.set_of(n)),
                relieved: false,
                spoiled: false,
                harmed: false,
                renewed: false,
                blank,
                gone: false,
                lost: false,
                saved: None,
                faults: FaultRates::default(),
            }
        };
        let members = (0..shape.devices()).map(member).collect();
        Self { world: world.clone(), shape: shape.clone(), parity: parities(shape), members }
    }

    /// A device that refused a write because it did not go on where its zone does, and how many it refused so.
    pub(crate) fn out_of_order(&self) -> Option<(usize, u64)> {
        let refused = |member: &Member| self.world.stats(member.disk).out_of_order;
        self.members.iter().map(refused).enumerate().find(|&(_, count)| count > 0)
    }

    /// All devices, by number.
    pub(crate) fn disks(&self) -> Vec<DiskId> {
        self.members.iter().map(|m| m.disk).collect()
    }

    /// The devices of a stopped array but for some: those that are not gone, and have not left it.
    pub(crate) fn left_without(&self, lost: &[usize]) -> Vec<DiskId> {
        let numbered = (0..).zip(&self.members).filter(|(n, m)| !m.gone && !m.relieved && !lost.contains(n));
        numbered.map(|(_, m)| m.disk).collect()
    }

    /// The devices that an opening is given, in any order: those that are not gone, or with `stale` all of them.
    pub(crate) fn given(&self, stale: bool, rng: &mut Rng) -> Vec<DiskId> {
        let mut disks: Vec<DiskId> = self.members.iter().filter(|m| stale || !m.gone).map(|m| m.disk).collect();
        if stale {
            disks.iter().for_each(|&disk| self.world.revive(disk));
        }
        for n in (1..disks.len()).rev() {
            disks.swap(n, rng.below(n as u64 + 1) as usize);
        }
        disks
    }

    /// Devices are gone for good, be it more of a group than its parity covers. The others of their groups, whatever was the
    /// matter with them, are here and do what they are told.
    pub(crate) fn go_beyond(&mut self, without: &[usize]) {
        let groups: Vec<Option<usize>> = without.iter().map(|&n| self.members[n].group).collect();
        for n in 0..self.members.len() {
            if without.contains(&n) {
                let member = &mut self.members[n];
                (member.gone, member.lost, member.spoiled, member.harmed) = (true, true, true, true);
            } else if groups.contains(&self.members[n].group) && !self.members[n].lost {
                self.mend(n);
                (self.members[n].gone, self.members[n].spoiled) = (false, false);
            }
        }
    }

    /// Devices that are gone for good.
    pub(crate) fn lost(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|&n| self.members[n].lost).collect()
    }

    /// Devices of a group that have come to harm, spares that may be in it counted.
    fn spent(&self, group: usize) -> usize {
        let counts = |m: &&Member| m.spoiled && !m.relieved && m.group.is_none_or(|of| of == group);
        self.members.iter().filter(counts).count()
    }

    /// Whether any member has come to harm.
    pub(crate) fn any_spoiled(&self) -> bool {
        self.members.iter().any(|m| m.harmed)
    }

    /// The array, having been opened, says which devices are in which places. A new one that lacks nothing is as good as the
    /// others; one whose place another one has does not count any more.
    pub(crate) fn are_placed(&mut self, status: &ArrayStatus) {
        self.parity.resize(self.parity.len().max(status.groups.len()), 0);
        for (group, of) in status.groups.iter().enumerate() {
            self.parity[group] = of.raid.parity.into();
            if of.state == GroupState::Retired {
                continue;
            }
            let places = || status.members.iter().filter(|place| place.group.index() == group);
            let there: Vec<usize> = places().filter(|p| p.is_online()).filter_map(|p| device_of(&p.name)).collect();
            for &n in &there {
                let device = &mut self.members[n];
                (device.group, device.relieved) = (Some(group), false);
                if device.renewed {
                    (device.spoiled, device.renewed) = (false, false);
                }
            }
            if there.len() == places().count() {
                let of_group = (0..).zip(&mut self.members).filter(|(_, device)| device.group == Some(group));
                of_group.for_each(|(n, device)| device.relieved |= !there.contains(&n));
            }
        }
    }

    /// The devices of a set may come to be a group, of any number.
    pub(crate) fn may_be_added(&mut self, set: usize) {
        let devices = self.shape.devices_of(set);
        self.members[devices].iter_mut().for_each(|device| device.group = None);
    }

    /// Whether a device may be made a spare now, and if so, whether by force: one that was relieved, if it has come to no
    /// harm, whatever it holds. What another one holds may be somebody's.
    pub(crate) fn becomes_spare(&mut self, n: usize) -> Option<bool> {
        let device = self.members.get_mut(n)?;
        let relieved = device.relieved;
        if relieved && device.spoiled {
            return None;
        }
        if relieved {
            (device.group, device.relieved) = (None, false);
        }
        Some(relieved)
    }

    /// By device: whether it does what it is told, whatever happened to it before.
    pub(crate) fn reliable(&self) -> Vec<bool> {
        self.members.iter().map(|m| m.faults == FaultRates::default()).collect()
    }

    /// Whether a device may come to harm: it has already, or its group has parity to spare. A story that was made
    /// shorter or written by hand may ask for more.
    fn may_harm(&self, n: usize) -> bool {
        let to_spare = |group: usize| self.spent(group) < self.parity[group];
        let device = &self.members[n];
        device.spoiled || device.relieved || device.group.map_or_else(|| (0..self.parity.len()).all(to_spare), to_spare)
    }

    /// Lets something happen to a member.
    pub(crate) fn harm(&mut self, harm: Harm, running: bool) -> Done {
        let Harm { member: n, what } = harm;
        if let What::Rots(part, decay, nth) = what {
            return self.rot(n, part, decay, nth);
        }
        if !what.is_harmless() && !self.may_harm(n) || what == What::New && running {
            return Done::Refused;
        }
        journal::tell(format!("{} {harm}", self.world.now()));
        let (world, member) = (&self.world, &mut self.members[n]);
        let disk = member.disk;
        if !what.is_harmless() {
            (member.spoiled, member.harmed, member.renewed) = (true, true, what == What::New);
        }
        match what {
            What::Lost => {
                member.gone = true;
                if running {
                    world.kill(disk);
                }
                return Done::Lost;
            }
            What::Unreadable(at) => world.fail_reads(disk, at..at + BLOCK as u64),
            What::Flip(at, bit) => world.flip_bit(disk, at, bit),
            What::Misbehaves(manner, rate) => {
                *rate_of(&mut member.faults, manner) = rate;
                world.set_faults(disk, member.faults.clone());
            }
            What::FailsWrites => world.fail_writes(disk, Some(IoErrorKind::Medium)),
            What::Full => world.fill_up(disk, true),
            What::Hangs(span) => world.hang(disk, Some(span)),
            What::Slow(factor) => world.slow_down(disk, factor),
            What::Saved => member.saved = Some(Rc::new(world.save(disk))),
            What::PutBack => {
                if let Some(saved) = &member.saved {
                    world.put_back(disk, saved);
                }
            }
            What::New | What::Rots(..) => {}
        }
        if what == What::New {
            self.renew(n);
        }
        if matches!(what, What::Unreadable(_) | What::Flip(..)) { Done::Damaged } else { Done::Other }
    }

    /// Lets something on a device rot that is there once more than members may be away: that costs no parity.
    fn rot(&mut self, n: usize, part: Part, how: Decay, nth: u64) -> Done {
        let all: Vec<DiskId> = self.members.iter().filter(|m| !m.gone).map(|m| m.disk).collect();
        let member = &mut self.members[n];
        let place = rot::place_of(&self.world, &all, member.disk, part, nth).filter(|_| !member.gone);
        let Some((disk, at)) = place else { return Done::Refused };
        journal::tell(format!("{} disk {} at byte {at} rots: {part:?} {how:?}", self.world.now(), disk.0));
        rot::decay(&self.world, (disk, at), how, nth);
        member.harmed = true;
        Done::Damaged
    }

    /// Puts a new device into a member's place: one that holds nothing, does what it is told, and is given to the array.
    fn renew(&mut self, n: usize) {
        let member = &mut self.members[n];
        self.world.put_back(member.disk, &member.blank);
        (member.gone, member.saved) = (false, None);
        self.mend(n);
    }

    /// A device does what it is told from now on.
    fn mend(&mut self, n: usize) {
        let (world, member) = (&self.world, &mut self.members[n]);
        let disk = member.disk;
        world.revive(disk);
        world.fail_writes(disk, None);
        world.fill_up(disk, false);
        world.release(disk);
        world.slow_down(disk, 1);
        member.faults = FaultRates::default();
        world.set_faults(disk, FaultRates::default());
    }
}

/// The number of a device by its name.
pub(crate) fn device_of(name: &str) -> Option<usize> {
    name.strip_prefix('d')?.parse().ok()
}

/// A drive with the speed of a SATA drive's flash, and so few and small erase blocks that some megabytes fill it.
fn drive_of(bytes: u64, of: &DiskConfig) -> Model {
    let ModelConfig::Ssd(mut config) = Preset::Samsung850Pro.config() else { unreachable!("it is a drive of flash") };
    config.oob = of.oob_bytes;
    (config.capacity, config.spare) = (bytes.max(16 << 20), 0.5);
    (config.flash.channels, config.flash.dies_per_channel, config.flash.pages_per_block) = (2, 2, 8);
    // Room for the chunks of most bands, not of all.
    config.xor = of.converts.then_some(XorEngine { rate: 1 << 30, latency: Nanos::micros(5), buffer: 64 << 10 });
    Model::new(ModelConfig::Ssd(config)).expect("there is spare flash enough")
}

fn rate_of(faults: &mut FaultRates, manner: Manner) -> &mut u32 {
    match manner {
        Manner::LosesWrites => &mut faults.lost_per_million,
        Manner::TearsWrites => &mut faults.torn_per_million,
        Manner::MisdirectsWrites => &mut faults.misdirected_per_million,
        Manner::FailsSomeWrites => &mut faults.failed_per_million,
        Manner::FlipsBits => &mut faults.flipped_per_million,
        Manner::CannotRead => &mut faults.unreadable_per_million,
    }
}
