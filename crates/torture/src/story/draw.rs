//! Drawing a story from a seed.

use cygnus_format::{DATA_START, Geometry, MAX_PARITY, Protection};
use cygnus_policy::{ParityPlacement, Preset, Rules, Streams, Victim};
use cygnus_runtime::Rng;
use cygnus_types::{BLOCK, Nanos};

use super::shapes::{geometry_of, pick};
use super::spans::{some_steps, some_time};
use super::{Admin, Cycle, Drives, Ending, Harm, Manner, Request, RequestKind, Ruin, Script, Shape, Story, Tier, What};

const B: u64 = BLOCK as u64;

/// How the clients of a run behave.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// Of 256 requests, how many are reads, flushes, trims, write-zeroes (the rest are writes).
    pub(crate) reads: u64,
    flushes: u64,
    trims: u64,
    zeroes: u64,
    /// Of 256 writes, how many are FUA; of 256 requests, how many are not aligned to 4 KiB.
    fua: u64,
    unaligned: u64,
    /// Longest request in blocks.
    max_blocks: u64,
    /// Longest pause between requests (zero: none).
    pause: Nanos,
    /// Of 256 requests, how many go to the first few blocks of the volume, where clients meet.
    hot: u64,
}

impl Habits {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let mut one_of = |choices: &[u64]| pick(rng, choices);
        Self {
            reads: one_of(&[0, 40, 100]),
            flushes: one_of(&[0, 3, 12, 40]),
            trims: one_of(&[0, 0, 6, 25]),
            zeroes: one_of(&[0, 0, 6, 20]),
            fua: one_of(&[0, 0, 10, 60]),
            unaligned: one_of(&[0, 0, 20, 120]),
            max_blocks: one_of(&[1, 4, 16, 64]),
            pause: Nanos::micros(one_of(&[0, 0, 50, 1000])),
            hot: one_of(&[0, 20, 120]),
        }
    }

    /// Small writes, and few other requests.
    pub(super) fn of_small_writes(rng: &mut Rng) -> Self {
        Self { reads: 10, max_blocks: pick(rng, &[1, 2, 4]), hot: 0, pause: Nanos::ZERO, ..Self::random(rng) }
    }

    /// A few blocks at a time, and flushes: what is copied rather than closed.
    fn flush_often(&mut self) {
        self.flushes = 60;
        self.max_blocks = self.max_blocks.min(4);
    }

    /// A request to a volume of so many blocks.
    pub(crate) fn request(&self, rng: &mut Rng, blocks: u64) -> Request {
        let dice = rng.below(256);
        let pause = if self.pause > Nanos::ZERO { Nanos(rng.below(self.pause.0)) } else { Nanos::ZERO };
        let kind = match dice {
            n if n < self.flushes => RequestKind::Flush,
            n if n < self.flushes + self.reads => RequestKind::Read,
            n if n < self.flushes + self.reads + self.trims => RequestKind::Trim,
            n if n < self.flushes + self.reads + self.trims + self.zeroes => RequestKind::Zero,
            _ => RequestKind::Write,
        };
        if kind == RequestKind::Flush {
            return Request { kind, offset: 0, len: 0, fua: false, pause };
        }
        let (offset, len) = self.place(rng, blocks);
        let fua = matches!(kind, RequestKind::Write | RequestKind::Zero) && rng.chance(self.fua, 256);
        Request { kind, offset, len, fua, pause }
    }

    fn place(&self, rng: &mut Rng, blocks: u64) -> (u64, u64) {
        let span = if rng.chance(self.hot, 256) { blocks.min(8) } else { blocks };
        let first = rng.below(span);
        let count = 1 + rng.below(self.max_blocks.min(blocks - first));
        let (mut start, mut end) = (first * B, (first + count) * B);
        if rng.chance(self.unaligned, 256) {
            // Sectors mostly, bytes sometimes.
            let unit = if rng.chance(3, 4) { 512 } else { 1 };
            start += rng.below(B / unit) * unit;
            end -= rng.below((end - start).min(B) / unit) * unit;
        }
        (start, end - start)
    }
}

/// Tells the draw of processes that are killed from those of other things.
const KEEPS: u64 = 0x6b65_6570;
/// One story in so many is of an array in which segments are not protected alike.
const DIFFER_ONE_IN: u64 = 4;
/// One array in so many of those that can keeps hot writes, or volumes, apart.
const STREAMS_ONE_IN: u64 = 2;
/// Segments of each group and reactor that streams of volumes' own take.
const SEGMENTS_OF_VOLUMES: u32 = 14;
/// One story in so many is of an array whose cleaning goes by a rule of its own.
const RULED_ONE_IN: u64 = 2;
/// One story in so many is of an array whose groups are emptied as a whole.
const SERIAL_ONE_IN: u64 = 4;

impl Shape {
    /// Apart from the rest, so that the other seeds stay what they were.
    fn of_seed(seed: u64, rng: &mut Rng) -> Self {
        let mut apart = Rng::new(seed ^ 0x7365_7269);
        if apart.chance(1, SERIAL_ONE_IN) { Self::serial(&mut apart) } else { Self::random(rng) }
    }

    /// Segments of clients have more parity than the others, now and then, if there are columns for it. Apart from the rest
    /// too.
    fn differ(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ 0x6469_6666);
        let (least, most) = (self.geometry.parity + 1, MAX_PARITY.min(self.geometry.width() - 1));
        if least > most || !rng.chance(1, DIFFER_ONE_IN) {
            return;
        }
        let parity = least + rng.below(u64::from(most - least) + 1) as u8;
        let shape = self.geometry.protected_by(Protection::FullStripe { parity });
        if shape.is_some_and(|shape| shape.validate().is_ok()) {
            self.clients_parity = Some(parity);
            // Segments may have become too small to promise anything.
            self.clients_parity = Some(parity).filter(|_| crate::array::usable_blocks(self) > 0);
        }
    }

    /// Cleaning goes by another rule than the preset's, now and then. Apart from the rest too.
    fn be_cleaned_by_rule(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ 0x636c_6561);
        if rng.chance(1, RULED_ONE_IN) {
            let alpha_permille = pick(&mut rng, &[0, 300, 2000]);
            let rules = [
                Victim::Greedy,
                Victim::Oldest,
                Victim::CostBenefit,
                Victim::Generalised { alpha_permille },
                Victim::Choices { among: pick(&mut rng, &[1, 2, 10]) },
            ];
            self.cleaning = Some(Rules { all: Some(pick(&mut rng, &rules)), on: Vec::new() });
        }
    }

    /// Hot writes, or volumes, are kept apart, now and then, where all groups take writes. Apart from the rest too.
    fn keep_writes_apart(&mut self, seed: u64, tier: Tier) {
        let mut rng = Rng::new(seed ^ 0x6865_6174);
        if self.preset != Preset::LogRaid || !tier.has(Tier::Streams, rng.chance(1, STREAMS_ONE_IN)) {
            return;
        }
        let streams = pick(&mut rng, &[Streams::ByHeat, Streams::ByVolume]);
        let apart = self.with_streams(streams);
        // Their segments may leave nothing to promise.
        if crate::array::usable_blocks(&apart) > 0 {
            *self = apart;
        }
    }

    /// The same with writes that share segments in this way, and segments for all streams.
    pub(super) fn with_streams(&self, streams: Streams) -> Self {
        let more = if streams == Streams::ByVolume { SEGMENTS_OF_VOLUMES * u32::from(self.reactors) } else { 0 };
        Self { streams: Some(streams), segments: self.segments + more, ..self.clone() }
    }

    /// Groups of one device mostly, without redundancy or mirrored.
    fn serial(rng: &mut Rng) -> Self {
        let geometry = random_geometry(rng);
        let (data, parity) = pick(rng, &[(1, 0), (1, 0), (1, 1), (1, 1), (1, 1), (1, 2), (2, 1), (2, 0)]);
        Self {
            preset: Preset::Serial,
            groups: pick(rng, &[3, 3, 3, 4, 5]),
            geometry: geometry_of(data, parity, geometry.chunk_blocks, geometry.stripe_rows, rng),
            ..Self::random(rng)
        }
    }

    fn random(rng: &mut Rng) -> Self {
        let preset = if rng.chance(2, 3) { Preset::Swan } else { Preset::LogRaid };
        let groups = if preset == Preset::Swan { pick(rng, &[2, 2, 2, 3, 4]) } else { 1 };
        let geometry = random_geometry(rng);
        // Tiny devices, so that groups rotate and segments are cleaned within a few hundred requests.
        // A single group must have room for everything that several would share: open segments, checkpoints, reserves.
        let segments = if groups == 1 { 24 } else { 16 } + rng.below(14) as u32;
        Self {
            preset,
            groups,
            geometry,
            placement: if rng.chance(1, 4) { ParityPlacement::Fixed } else { preset.policies().parity },
            clients_parity: None,
            cleaning: None,
            streams: None,
            media: Vec::new(),
            disks: None,
            over_provision_permille: pick(rng, &[50, 200, 400]),
            segments,
            reactors: if rng.chance(1, 4) { 2 } else { 1 },
            more: 0,
            spares: 0,
            drives: Drives::Quick,
            converts: 0,
            postponed: 0,
            beside: 0,
            parity_buffer: false,
            zoned: None,
            keeps: false,
            autonomics: None,
            links: Vec::new(),
        }
    }
}

fn random_geometry(rng: &mut Rng) -> Geometry {
    let parity = pick(rng, &[0, 0, 1, 1, 2, 2, 3]);
    let data = pick(rng, &[1, 2, 2, 3, 4, 6]);
    let chunk_blocks = pick(rng, &[1, 2, 4]);
    let stripe_rows = chunk_blocks * pick(rng, &[1, 2, 4, 8]);
    geometry_of(data, parity, chunk_blocks, stripe_rows, rng)
}

/// Which kinds of trouble a story has.
struct Temper {
    /// Members come to harm.
    harms: bool,
    /// Not only lost and spoiled ones: all of the fault model.
    all_harms: bool,
    /// Blocks lose more columns than the parity covers.
    ruins: bool,
    /// Volumes come and go.
    administers: bool,
}

struct Draw {
    rng: Rng,
    shape: Shape,
    temper: Temper,
    habits: Habits,
    /// Blocks that volumes can hold in all.
    usable: u64,
    volumes: Vec<(String, u64)>,
    volumes_made: u32,
    /// Members that use up one parity column each.
    spoiled: Vec<bool>,
    /// Members of which a copy was made in the cycle before.
    saved: Option<usize>,
    /// Clients of each volume, and requests of each client between two stops.
    clients: u64,
    requests: u64,
}

impl Story {
    /// The story of a seed, which may be about anything.
    pub fn random(seed: u64) -> Self {
        Self::about(Tier::All, seed)
    }

    /// The story of a seed among those of a tier.
    pub fn about(tier: Tier, seed: u64) -> Self {
        let tier = tier.of_seed(seed);
        // Not every story can be about it.
        let mut drawn = (0..).map(|n: u64| Self::drawn(tier, seed.wrapping_add(n << 40)));
        drawn.find(|story| story.is_about(tier)).expect("some story is")
    }

    fn is_about(&self, tier: Tier) -> bool {
        match tier {
            Tier::Force => self.cycles.iter().any(|cycle| cycle.force.is_some()),
            Tier::Beyond => self.cycles.iter().any(|cycle| cycle.beyond.is_some()),
            Tier::Copies => self.shape.geometry.transient_blocks > 0,
            Tier::Media | Tier::Hybrid => !self.shape.media.is_empty(),
            Tier::Streams => self.shape.streams.is_some(),
            _ => true,
        }
    }

    fn drawn(tier: Tier, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut shape = Shape::of_seed(seed, &mut rng);
        shape.spread_over_clusters(seed, tier);
        if tier == Tier::Tight {
            shape.over_provision_permille = super::tight::OVER_PROVISION;
        }
        if tier == Tier::All {
            shape.differ(seed);
        }
        shape.has_room_for_pages(seed, tier);
        shape.back_up(seed, tier);
        shape.be_cleaned_by_rule(seed);
        shape.keep_writes_apart(seed, tier);
        shape.is_written_in_order(seed, tier);
        shape.mix(seed, tier);
        shape.differ_by_medium(seed);
        let usable = crate::array::usable_blocks(&shape);
        let (_, parity) = shape.parities();
        let temper = Temper {
            harms: parity > 0 && rng.chance(1, 2),
            all_harms: rng.chance(2, 3),
            ruins: rng.chance(1, 5),
            administers: rng.chance(1, 4),
        };
        let mut habits = Habits::random(&mut rng);
        if tier == Tier::Copies {
            habits.flush_often();
        }
        let clients = 1 + rng.below(3);
        let requests = pick(&mut rng, &[20, 40, 80, 160]).min(1600 / habits.max_blocks);
        let spoiled = vec![false; shape.members()];
        let draw = Draw {
            rng,
            shape,
            temper,
            habits,
            usable,
            volumes: Vec::new(),
            volumes_made: 0,
            spoiled,
            saved: None,
            clients,
            requests,
        };
        let mut story = draw.story();
        story.narrow(tier);
        super::tight::draw(&mut story, seed, tier);
        super::sparse::draw(&mut story, seed, tier);
        super::scrubs::draw(&mut story, seed, tier);
        super::growth::draw(&mut story, seed, tier);
        super::renewal::draw(&mut story, seed, tier);
        super::standby::draw(&mut story, seed, tier);
        super::passing::draw(&mut story, seed, tier);
        super::passing::draw_outages(&mut story, seed, tier);
        super::salvage::draw(&mut story, seed, tier);
        super::rot::draw(&mut story, seed, tier);
        super::absent::draw(&mut story, seed, tier);
        super::force::draw(&mut story, seed, tier);
        super::beyond::draw(&mut story, seed, tier);
        super::ruined::draw(&mut story, seed, tier);
        // Apart from the rest too.
        story.is_killed_at_times(seed);
        super::ack::draw(&mut story, seed);
        super::media::draw(&mut story, seed);
        super::media::draw_hybrid(&mut story, seed, tier);
        super::pages::draw(&mut story, seed, tier);
        super::contention::draw(&mut story, seed, tier);
        story.shape.drives = Drives::draw(seed, tier);
        story
    }
}

/// Cycles that a story about one thing has at most, so that it is soon told.
const CYCLES: usize = 3;

impl Story {
    /// Takes out what stories of a tier are not about, before anything else is drawn.
    fn narrow(&mut self, tier: Tier) {
        if tier == Tier::All {
            return;
        }
        self.cycles.truncate(CYCLES);
        if matches!(tier, Tier::Passing | Tier::Outages | Tier::Copies | Tier::Force | Tier::Beyond | Tier::Contention)
        {
            self.cycles.iter_mut().for_each(Cycle::calm);
        }
        if tier == Tier::Zoned {
            self.spoils_no_blocks();
        }
    }
}

impl Story {
    /// Some processes leave what they had acknowledged, and are killed more often.
    fn is_killed_at_times(&mut self, seed: u64) {
        let mut rng = Rng::new(seed ^ KEEPS);
        self.shape.keeps = rng.chance(1, 3);
        for cycle in self.cycles.iter_mut().filter(|_| self.shape.keeps) {
            if matches!(cycle.ending, Ending::PowerCut(_)) && rng.chance(2, 3) {
                cycle.ending = Ending::Kill(some_time(&mut rng), false);
            }
        }
    }
}

impl Cycle {
    /// Nothing is lost for good.
    fn calm(&mut self) {
        self.ruins.clear();
        self.at_rest.retain(|harm| harm.what.is_harmless());
        self.during.retain(|(_, harm)| harm.what.is_harmless());
    }
}

impl Draw {
    fn story(mut self) -> Story {
        const SHARES: [&[u64]; 7] = [&[40], &[120], &[200], &[250], &[80, 80], &[60, 60, 120], &[300]];
        for share in pick(&mut self.rng, &SHARES) {
            let blocks = (self.usable * share / 256).max(1);
            let name = self.new_name();
            self.volumes.push((name, blocks));
        }
        let volumes = self.volumes.clone();
        let cycles = (0..2 + self.rng.below(4)).map(|_| self.cycle()).collect();
        Story {
            world: self.rng.next_u64(),
            shape: self.shape,
            volumes,
            levels: Vec::new(),
            constraints: Vec::new(),
            pages: Vec::new(),
            cycles,
            salvage: Vec::new(),
        }
    }

    fn new_name(&mut self) -> String {
        // Names come again, so that a new volume could be taken for an old one.
        self.volumes_made += 1;
        format!("v{}", (self.volumes_made - 1) % 3)
    }

    fn cycle(&mut self) -> Cycle {
        let at_rest = self.harms_at_rest();
        let stale = self.rng.chance(1, 4);
        let openings = if self.rng.chance(1, 4) { 1 + self.rng.below(3) } else { 0 };
        let cuts = (0..openings).map(|_| some_steps(&mut self.rng)).collect();
        let ruins = self.ruins();
        let admin = self.admin();
        let during = self.harms_during();
        let ending = match self.rng.below(4) {
            0 | 1 => Ending::PowerCut(self.rng.chance(7, 8).then(|| some_steps(&mut self.rng))),
            2 => Ending::Kill(some_time(&mut self.rng), self.rng.chance(1, 2)),
            _ => Ending::Clean(self.rng.chance(1, 4).then(|| some_steps(&mut self.rng))),
        };
        Cycle { at_rest, stale, cuts, ruins, admin, clients: self.scripts(), during, ending, ..Cycle::default() }
    }

    fn scripts(&mut self) -> Vec<Script> {
        let mut scripts = Vec::new();
        for (n, (volume, blocks)) in self.volumes.clone().into_iter().enumerate() {
            for client in 0..self.clients {
                let reactor = ((n as u64 + client) % u64::from(self.shape.reactors)) as u16;
                let requests = (0..self.requests).map(|_| self.habits.request(&mut self.rng, blocks)).collect();
                scripts.push(Script { volume: volume.clone(), reactor, requests });
            }
        }
        scripts
    }

    /// Whether member `n` may come to harm: it has already, or its group has parity to spare.
    fn may_harm(&self, n: usize) -> bool {
        let set = self.shape.set_of(n);
        let spent = self.spoiled[self.shape.devices_of(set)].iter().filter(|&&spoiled| spoiled).count();
        self.spoiled[n] || spent < self.shape.parity_of(set)
    }

    fn harm(&mut self, member: usize, what: What) -> Harm {
        self.spoiled[member] |= !what.is_harmless();
        Harm { member, what }
    }

    fn harms_at_rest(&mut self) -> Vec<Harm> {
        let mut harms = Vec::new();
        if let Some(member) = self.saved.take()
            && self.may_harm(member)
        {
            harms.push(self.harm(member, What::PutBack));
        }
        if !self.temper.harms || self.rng.chance(1, 2) {
            return harms;
        }
        for n in 0..self.shape.members() {
            if !self.rng.chance(1, 4) || !self.may_harm(n) {
                continue;
            }
            match self.rng.below(if self.temper.all_harms { 6 } else { 4 }) {
                0 | 1 => harms.push(self.harm(n, What::Lost)),
                2 | 3 => self.rot(n, &mut harms),
                4 => {
                    let what = self.misbehaviour();
                    harms.push(self.harm(n, what));
                }
                _ => {
                    harms.push(self.harm(n, What::Saved));
                    self.saved = Some(n);
                }
            }
        }
        harms
    }

    /// Spoils some blocks of a member: data, headers, checkpoints.
    fn rot(&mut self, member: usize, harms: &mut Vec<Harm>) {
        let blocks = (self.shape.device_bytes() - DATA_START) / B;
        for _ in 0..1 + self.rng.below(20) {
            let at = DATA_START + self.rng.below(blocks) * B;
            let what = match self.rng.chance(1, 3) {
                true => What::Unreadable(at),
                false => What::Flip(at + self.rng.below(B), self.rng.below(8) as u8),
            };
            harms.push(self.harm(member, what));
        }
    }

    fn misbehaviour(&mut self) -> What {
        let manner = pick(
            &mut self.rng,
            &[
                Manner::LosesWrites,
                Manner::TearsWrites,
                Manner::MisdirectsWrites,
                Manner::FailsSomeWrites,
                Manner::FlipsBits,
                Manner::CannotRead,
            ],
        );
        What::Misbehaves(manner, pick(&mut self.rng, &[2_000, 20_000, 200_000]))
    }

    /// While clients are at work: a member is slow, dies, or begins to do things wrong.
    fn harms_during(&mut self) -> Vec<(Nanos, Harm)> {
        let mut harms = Vec::new();
        let n = self.rng.below(self.shape.members() as u64) as usize;
        let factor = if self.rng.chance(1, 8) { pick(&mut self.rng, &[20, 100]) } else { 1 };
        harms.push((Nanos::ZERO, self.harm(n, What::Slow(factor))));
        if !self.temper.harms || !self.rng.chance(1, 3) || !self.may_harm(n) {
            return harms;
        }
        let what = match self.rng.below(if self.temper.all_harms { 6 } else { 1 }) {
            0 => What::Lost,
            1 => What::FailsWrites,
            2 => What::Full,
            3 => What::Hangs(Nanos::millis(pick(&mut self.rng, &[1, 100, 2_000, 1_000_000]))),
            _ => self.misbehaviour(),
        };
        let at = some_time(&mut self.rng);
        harms.push((at, self.harm(n, what)));
        harms
    }

    fn ruins(&mut self) -> Vec<Ruin> {
        if !self.temper.ruins || self.rng.chance(1, 2) {
            return Vec::new();
        }
        let columns = usize::from(self.shape.parities().1) + 1;
        (0..1 + self.rng.below(4))
            .map(|_| {
                let n = self.rng.below(self.volumes.len() as u64) as usize;
                let (volume, blocks) = self.volumes[n].clone();
                Ruin { volume, block: self.rng.below(blocks), columns }
            })
            .collect()
    }

    fn admin(&mut self) -> Option<Admin> {
        if !self.temper.administers || self.rng.chance(1, 3) {
            return None;
        }
        let blocks = 1 + self.rng.below((self.usable / 3).max(1));
        let n = self.rng.below(self.volumes.len() as u64) as usize;
        match self.rng.below(3) {
            0 if self.volumes.len() > 1 => Some(Admin::Delete(self.volumes.remove(n).0)),
            1 => {
                self.volumes[n].1 = blocks;
                Some(Admin::Resize(self.volumes[n].0.clone(), blocks))
            }
            _ => {
                let name = self.new_name();
                if self.volumes.iter().any(|(known, _)| *known == name) {
                    return None;
                }
                self.volumes.push((name.clone(), blocks));
                Some(Admin::Create(name, blocks))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_differ_in_some_stories_and_are_alike_in_most() {
        let differ = (0..200).filter(|&seed| Story::random(seed).shape.clients_parity.is_some()).count();
        assert!((15..60).contains(&differ), "{differ} of 200");
    }
}
