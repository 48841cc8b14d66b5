//! The write cache: pages that the host has written and the flash has not.

use std::collections::VecDeque;

/// No logical page: the slot's content was trimmed or its slot is free.
const DEAD: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    lpn: u32,
    stream: u32,
    epoch: u64,
    /// Whether the host says that it will soon be invalid.
    transient: bool,
}

/// Pages that go to the same blocks, oldest first.
#[derive(Clone, Debug, Default)]
struct Stream {
    dirty: VecDeque<u32>,
    /// Of these, not dead.
    live: u32,
}

/// Slots are free, dirty (waiting for a program) or in flight (being programmed).
///
/// Flushes divide time into epochs: a flush closes the current one and is over when no slot of it or an earlier one
/// is in use.
#[derive(Clone, Debug)]
pub(crate) struct WriteCache {
    slots: Vec<Slot>,
    free: Vec<u32>,
    streams: Vec<Stream>,
    closed_streams: Vec<u32>,
    /// Dirty slots of all streams that are not dead.
    live: u32,
    in_flight: u32,
    /// Dirty slots that are dead.
    dead: u32,
    /// Slots in use per epoch, from `first_epoch` on.
    in_use: VecDeque<u32>,
    first_epoch: u64,
}

impl WriteCache {
    pub(crate) fn new(slots: u32, streams: u32) -> Self {
        Self {
            slots: vec![Slot { lpn: DEAD, stream: 0, epoch: 0, transient: false }; slots as usize],
            free: (0..slots).rev().collect(),
            streams: vec![Stream::default(); streams as usize],
            closed_streams: Vec::new(),
            live: 0,
            in_flight: 0,
            dead: 0,
            in_use: VecDeque::from([0]),
            first_epoch: 0,
        }
    }

    fn epoch(&self) -> u64 {
        self.first_epoch + self.in_use.len() as u64 - 1
    }

    /// Puts a page of a stream in, if there is room; gives the slot.
    pub(crate) fn insert(&mut self, lpn: u32, stream: u32, transient: bool) -> Option<u32> {
        let slot = self.free.pop()?;
        self.slots[slot as usize] = Slot { lpn, stream, epoch: self.epoch(), transient };
        *self.in_use.back_mut().expect("there is a current epoch") += 1;
        let queue = &mut self.streams[stream as usize];
        queue.dirty.push_back(slot);
        queue.live += 1;
        self.live += 1;
        Some(slot)
    }

    /// The page in a dirty slot was written again: what the host says of it now counts.
    pub(crate) fn overwrite(&mut self, slot: u32, transient: bool) {
        self.slots[slot as usize].transient = transient;
    }

    /// The page in a dirty slot is no longer wanted. The slot comes free when its turn comes.
    pub(crate) fn kill(&mut self, slot: u32) {
        assert_ne!(self.slots[slot as usize].lpn, DEAD, "a slot dies once");
        self.slots[slot as usize].lpn = DEAD;
        self.streams[self.slots[slot as usize].stream as usize].live -= 1;
        self.live -= 1;
        self.dead += 1;
    }

    /// Takes up to `n` dirty pages of a stream, oldest first, for a program: slot, page, and whether it is transient.
    pub(crate) fn take(&mut self, stream: u32, n: u32, mut put: impl FnMut(u32, u32, bool)) {
        let mut taken = 0;
        while taken < n {
            let Some(slot) = self.streams[stream as usize].dirty.pop_front() else { break };
            let Slot { lpn, transient, .. } = self.slots[slot as usize];
            if lpn == DEAD {
                self.dead -= 1;
                self.give_back(slot);
                continue;
            }
            taken += 1;
            put(slot, lpn, transient);
        }
        self.streams[stream as usize].live -= taken;
        self.live -= taken;
        self.in_flight += taken;
    }

    /// The program of a taken slot is over.
    pub(crate) fn release(&mut self, slot: u32) {
        self.in_flight -= 1;
        self.give_back(slot);
    }

    fn give_back(&mut self, slot: u32) {
        let slot_epoch = self.slots[slot as usize].epoch;
        self.in_use[(slot_epoch - self.first_epoch) as usize] -= 1;
        self.slots[slot as usize].lpn = DEAD;
        self.free.push(slot);
        while self.in_use.len() > 1 && self.in_use[0] == 0 {
            self.in_use.pop_front();
            self.first_epoch += 1;
        }
    }

    /// Slots that hold a page, waiting or being programmed: slot and page.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..).zip(&self.slots).filter(|(_, slot)| slot.lpn != DEAD).map(|(at, slot)| (at, slot.lpn))
    }

    /// Drops dead slots at the heads, so that the heads are pages that wait.
    pub(crate) fn drop_dead(&mut self) {
        if self.dead == 0 {
            return;
        }
        for stream in 0..self.streams.len() {
            while let Some(&slot) = self.streams[stream].dirty.front() {
                if self.slots[slot as usize].lpn != DEAD {
                    break;
                }
                self.streams[stream].dirty.pop_front();
                self.dead -= 1;
                self.give_back(slot);
            }
        }
    }

    /// One more stream, or one closed before.
    pub(crate) fn open_stream(&mut self) -> u32 {
        self.closed_streams.pop().unwrap_or_else(|| {
            self.streams.push(Stream::default());
            self.streams.len() as u32 - 1
        })
    }

    /// A stream without waiting pages is not needed any more.
    pub(crate) fn close_stream(&mut self, stream: u32) {
        assert_eq!(self.streams[stream as usize].live, 0, "a stream closes when its pages are gone");
        self.closed_streams.push(stream);
    }

    /// Pages of a stream waiting for a program.
    pub(crate) fn waiting_in(&self, stream: u32) -> u32 {
        self.streams[stream as usize].live
    }

    /// The stream with the most pages waiting.
    pub(crate) fn fullest(&self) -> u32 {
        if self.streams.len() == 1 {
            return 0;
        }
        let (at, _) =
            self.streams.iter().enumerate().rev().max_by_key(|(_, stream)| stream.live).expect("there is one");
        at as u32
    }

    /// Pages waiting for a program.
    pub(crate) fn waiting(&self) -> u32 {
        self.live
    }

    /// Pages being programmed.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether anything is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Ends the current epoch; its number is what [`WriteCache::is_clean`] takes.
    pub(crate) fn close_epoch(&mut self) -> u64 {
        let epoch = self.epoch();
        self.in_use.push_back(0);
        epoch
    }

    /// Whether everything of an epoch and those before is programmed.
    pub(crate) fn is_clean(&self, epoch: u64) -> bool {
        self.first_epoch > epoch
    }

    /// Whether a stream's oldest waiting page belongs to an epoch or one before.
    pub(crate) fn is_old(&self, stream: u32, epoch: u64) -> bool {
        let stream = &self.streams[stream as usize];
        let oldest = stream.dirty.front().map(|&slot| self.slots[slot as usize].epoch);
        stream.live > 0 && oldest.is_some_and(|oldest| oldest <= epoch)
    }

    /// A stream whose oldest waiting page belongs to an epoch or one before.
    pub(crate) fn oldest_of(&self, epoch: u64) -> Option<u32> {
        (0..self.streams.len() as u32).find(|&stream| self.is_old(stream, epoch))
    }
}
