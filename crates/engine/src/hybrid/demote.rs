//! Blocks of ranges that are not hot leave the faster of their volume's media for the slower one, or when that is full for another one that
//! is slower than the faster one: with cleaning, which moves them anyway, and when so much of the faster one is taken that nothing hot is
//! let in any more, or that volumes bound to it find little (`room`). Then a hand goes round the volumes that have what is hot there, and
//! sends away what it finds cold. Where it has come round and has not found enough, temperatures are halved: what is read least is cold
//! next.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_format::MapEntry;
use cygnus_runtime::either;
use cygnus_types::{BLOCK, Lba, Medium, Nanos, VolumeId};

use crate::clean::of_page::Anew;
use crate::clean::relocate::{Mover, Moving};
use crate::hybrid::temperatures::Temperatures;
use crate::lsa::{Publish, PublishPage};
use crate::planted::{self, Bug};
use crate::reactor::Reactor;
use crate::volume_state::VolumeState;
use crate::write::streams::{below, cools_to};
use crate::write::summed::Summed;
use crate::write::writer::Appended;

/// How often the hand looks whether there is room where what is cold could go, while somebody lacks what that takes.
const LOOK_FOR_ROOM: Nanos = Nanos::secs(1);

/// Sends away what is cold: see the module's text. On the home reactor.
pub(crate) struct Demoter {
    reactor: Rc<Reactor>,
    /// By medium.
    hands: [Hand; Medium::ALL.len()],
}

/// What goes round the volumes that have what is hot on one medium.
#[derive(Default)]
struct Hand {
    at: Cell<(VolumeId, Lba)>,
    /// Until when it rests, since it found little.
    rests_until: Cell<Nanos>,
}

impl Demoter {
    pub(crate) fn of(reactor: &Rc<Reactor>) -> Self {
        Self { reactor: reactor.clone(), hands: Default::default() }
    }

    /// Works until the array ends.
    pub(crate) async fn run(self) {
        if self.reactor.shared.temperatures.is_none() {
            return;
        }
        while !self.reactor.is_ending() {
            let lacks_room = self.reactor.home().fast_is_full.wait();
            let lacking = || Medium::BY_SPEED.into_iter().filter(|&on| self.temperatures().has_lacked_room(on));
            let next = lacking().map(|on| (self.hand(on).rests_until.get(), on)).min_by_key(|&(at, _)| at);
            match next {
                None => lacks_room.await,
                Some((at, _)) if self.reactor.rt.now() < at => {
                    either(lacks_room, self.reactor.rt.sleep_until(at)).await;
                }
                Some((_, on)) => {
                    self.make_room(on).await;
                    self.temperatures().room_was_made(on);
                }
            }
        }
    }

    fn hand(&self, on: Medium) -> &Hand {
        &self.hands[on.index()]
    }

    fn temperatures(&self) -> &Temperatures {
        self.reactor.shared.temperatures.as_ref().expect("nobody is sent away without")
    }

    /// How much of a medium is taken, in 256ths.
    fn taken(&self, on: Medium) -> u64 {
        self.reactor.shared.held.fill(on)
    }

    /// Once round at most.
    async fn make_room(&self, on: Medium) {
        let rule = self.temperatures().rule;
        // It may have been something else that there was no room for at that moment.
        if self.taken(on) < rule.full_from {
            return;
        }
        let volumes = self.volumes_from_the_hand(on);
        // What is cold has nowhere to go. That is no reason to call anything colder, nor to rest longer than until there is room.
        if !volumes.is_empty() && volumes.iter().all(|(volume, _)| below(&self.reactor, volume, on).is_none()) {
            self.hand(on).rests_until.set(self.reactor.rt.now() + LOOK_FOR_ROOM);
            return;
        }
        for (volume, from) in volumes {
            self.hand(on).at.set((volume.id, from));
            if !self.sweep(&volume, (on, from), rule.full_from.saturating_sub(rule.at_a_time)).await {
                return;
            }
        }
        self.temperatures().cool();
        self.hand(on).rests_until.set(self.reactor.rt.now() + rule.cools_after);
    }

    /// The volumes that have what is hot on a medium, each with where to begin: that at which the hand is twice, first behind the hand and
    /// last before it.
    fn volumes_from_the_hand(&self, on: Medium) -> Vec<(Arc<VolumeState>, Lba)> {
        let (hand, at) = self.hand(on).at.get();
        let mut all = self.reactor.shared.volumes();
        all.retain(|volume| volume.constraint.tiers().is_some_and(|tiers| tiers.fast() == on));
        let next = all.partition_point(|volume| volume.id < hand);
        all.rotate_left(next);
        let begin = |volume: Arc<VolumeState>| {
            let from = if volume.id == hand { at } else { Lba(0) };
            (volume, from)
        };
        let again = all.first().filter(|first| first.id == hand && at > Lba(0)).cloned();
        all.into_iter().map(begin).chain(again.map(|volume| (volume, Lba(0)))).collect()
    }

    /// Sends away the cold blocks that a volume has on a medium until no more than `goal` of that is taken; says whether the hand goes on.
    async fn sweep(&self, volume: &VolumeState, (on, from): (Medium, Lba), goal: u64) -> bool {
        let (mut from, mut found) = (from, Vec::new());
        while let Some(next) = volume.controller.next_known(from, Lba(volume.blocks()), &mut found) {
            for (lba, entry) in found.drain(..) {
                if self.is_cold(volume, (lba, entry), on) && !self.send_away(volume, lba, entry).await {
                    return false;
                }
            }
            from = next;
            self.hand(on).at.set((volume.id, from));
            if self.reactor.is_ending() || volume.is_gone() || self.taken(on) <= goal {
                return false;
            }
            self.reactor.rt.yield_now().await;
        }
        true
    }

    /// Whether a block lies on a medium and should leave that.
    fn is_cold(&self, volume: &VolumeState, (lba, entry): (Lba, MapEntry), on: Medium) -> bool {
        let segments = &self.reactor.shared.segments;
        // It may have left with its page.
        entry.is_mapped()
            && volume.controller.is_still(lba, entry)
            && segments.medium(segments.of(entry.pba())) == on
            && cools_to(&self.reactor, volume, lba, on).is_some()
    }

    /// Moves a block to the slower medium, with its page if it is of one; says whether to go on with others.
    async fn send_away(&self, volume: &VolumeState, lba: Lba, entry: MapEntry) -> bool {
        if !volume.paging.is_by_pages() {
            return self.send_block_away(volume, lba).await;
        }
        let (reactor, controller) = (&self.reactor, &volume.controller);
        reactor.throttle(controller.page_blocks() * BLOCK as u64).await;
        let (first, from) = (controller.page_of(lba), reactor.place(entry));
        let (mover, how, is_blind) = (Mover::of(reactor), Moving::mending(), planted::is(Bug::DemotedBlindly));
        let publish_as: fn(&[MapEntry]) -> PublishPage<'_> =
            if is_blind { |_| PublishPage::Always } else { |were| PublishPage::Rehome { were } };
        match mover.write_anew(volume, first, publish_as, from, &how).await {
            Anew::Appended(appended) => appended.is_some_and(|appended| appended != Appended::NoRoom),
            Anew::NotWhole => self.send_block_away(volume, lba).await,
            Anew::Stopped => false,
        }
    }

    /// Moves a block to the slower medium if it can be read and nobody writes it meanwhile; says whether to go on with others.
    async fn send_block_away(&self, volume: &VolumeState, lba: Lba) -> bool {
        let reactor = &self.reactor;
        reactor.throttle(BLOCK as u64).await;
        let data = reactor.rt.alloc(BLOCK).full();
        // What cannot be read stays for scrubs to find.
        let Ok(entry) = reactor.read_block(volume, lba, &data).await else { return !reactor.is_ending() };
        if !entry.is_mapped() {
            return true;
        }
        let publish = if planted::is(Bug::DemotedBlindly) { Publish::Always } else { Publish::Rehome(entry) };
        let from = reactor.place(entry);
        let block = Summed::of(data.bytes());
        let moved = Mover::of(reactor).append_moved(volume, lba, block, publish, from, &Moving::mending()).await;
        moved.is_some_and(|moved| moved != Appended::NoRoom)
    }
}
