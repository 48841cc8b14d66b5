//! Members in trouble. Nobody gives them anything until it is decided what becomes of them ([`crate::guardian`]); whoever has
//! something for them waits, and then gives it to them again, or to nobody if they have left service.
//!
//! A write keeps its place (the turn at its stripe, or its range) as long as it waits, so nothing newer can be overtaken by it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_engine::{Suspended, Trouble};
use cygnus_runtime::{
    BufSlice, DeviceIo, DeviceIx, DeviceWatch, Event, IoClass, IoError, IoErrorKind, OpFuture, either,
};
use cygnus_types::{GroupId, Nanos};

use crate::error::RaidError;
use crate::raid::{Core, Slot};

/// What everybody knows of members in trouble.
pub(crate) struct Care {
    /// Whether somebody decides what becomes of members in trouble. If not, they leave at once: the baselines of the lab,
    /// and an array that is being opened.
    pub guarded: Cell<bool>,
    /// Notified when something has become of a member.
    pub changed: Event,
    /// How often members have stopped answering, or begun to answer again.
    silences: Cell<u64>,
    /// Since when groups wait for members.
    pub suspended: RefCell<BTreeMap<GroupId, Nanos>>,
    /// For whom.
    pub waits_for: RefCell<Option<Suspended>>,
    /// How long requests wait for members.
    pub requests_wait: Cell<Nanos>,
    /// Nobody is waited for any more: the array is being closed without them.
    pub given_up: Cell<bool>,
}

impl Default for Care {
    fn default() -> Self {
        Self {
            guarded: Cell::new(false),
            changed: Event::new(),
            silences: Cell::new(0),
            suspended: RefCell::default(),
            waits_for: RefCell::new(None),
            requests_wait: Cell::new(Nanos::MAX),
            given_up: Cell::new(false),
        }
    }
}

impl Care {
    /// When requests stop waiting; [`Nanos::MAX`]: they wait for as long as it takes.
    pub(crate) fn requests_fail_at(&self) -> Nanos {
        let since = self.suspended.borrow().values().min().copied();
        since.map_or(Nanos::MAX, |since| since.saturating_add(self.requests_wait.get()))
    }

    pub(crate) fn silences(&self) -> u64 {
        self.silences.get()
    }

    /// A member has stopped answering, or has begun to answer again.
    pub(crate) fn note_silence(&self) {
        self.silences.set(self.silences.get() + 1);
    }
}

/// What a device has of what it took since its last flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cache {
    /// All of it.
    #[default]
    Sound,
    /// Some of it may be lost.
    InDoubt,
    /// The same, and so many others of its group were in doubt at once that nobody else has it for sure.
    NobodyHas,
}

/// Something that a device is to get.
pub(crate) enum Due {
    /// Bytes, at this byte of the device.
    Write {
        offset: u64,
        data: BufSlice,
    },
    Flush,
}

/// Something that was given to a device, or will be when its trouble has passed.
pub(crate) struct Given {
    pub slot: Slot,
    due: Due,
    op: Option<OpFuture>,
}

/// Counts what waits for a device.
struct Owed<'a>(&'a Cell<u32>);

impl<'a> Owed<'a> {
    fn new(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Owed<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Core {
    /// Something that was given to a device came back undone. If somebody decides what becomes of members in trouble, the
    /// trouble was noted when the operation ended: by now it may have passed.
    #[cold]
    pub(crate) fn undone(&self, slot: Slot, class: IoClass, error: IoError) {
        if self.care.guarded.get() {
            return;
        }
        if let Some(trouble) = Trouble::of_error(class, error.kind) {
            self.device(slot.device).why.replace(why(class, error));
            self.fail_as(slot, trouble);
        }
    }

    /// A device did not do something.
    #[cold]
    fn note_trouble(&self, ix: DeviceIx, class: IoClass, error: IoError) {
        let in_service = |&device: &usize| !self.is_failed(device) && self.device_ix(device) == ix;
        let Some(at) = (0..self.layout.devices()).find(in_service) else { return };
        let Some(trouble) = Trouble::of_error(class, error.kind) else { return };
        let device = self.device(at);
        if device.cache.get() == Cache::Sound && (trouble == Trouble::Gone || class == IoClass::Flush) {
            device.cache.set(Cache::InDoubt);
        }
        let before = device.trouble.get();
        if before >= Some(trouble) {
            return;
        }
        if before.is_none() && !device.awaited.get() {
            self.say(&format!("{} does not do its work: {}", device.name.borrow(), why(class, error)));
        }
        if !trouble.is_readable() {
            self.care.note_silence();
        }
        device.trouble.set(Some(trouble));
        device.why.replace(why(class, error));
        self.care.changed.notify();
    }

    /// A device does its work again, as far as is known.
    pub(crate) fn end_trouble(&self, device: usize) {
        if self.device(device).trouble.take().is_some_and(|trouble| !trouble.is_readable()) {
            self.care.note_silence();
        }
        self.care.changed.notify();
    }

    pub(crate) fn say(&self, line: &str) {
        if let Some(ledger) = self.ledger.get() {
            ledger.log.line(line);
        }
    }

    /// Whether the device of this life is in service.
    pub(crate) fn serves(&self, slot: Slot) -> bool {
        self.slot(slot.device).life == slot.life && !self.is_failed(slot.device)
    }

    /// Changes whenever a device falls silent, answers again, or leaves: until then what was read is where it was read to.
    pub(crate) fn unrest(&self) -> u64 {
        self.departures.get() + self.care.silences()
    }

    fn is_silent(&self, device: usize) -> bool {
        self.device(device).trouble.get().is_some_and(|trouble| !trouble.is_readable())
    }

    /// Whether a device's part of a stripe is not to be had from it now.
    pub(crate) fn cannot_read(&self, device: usize, stripe: u64) -> bool {
        self.lacks(device, stripe) || self.is_silent(device)
    }

    /// Whether a column is better waited for than made from the others: its device is only silent, and parity may not fit.
    pub(crate) fn waits_rather(&self, stripe: u64, column: usize) -> bool {
        let device = self.layout.device(stripe, column);
        self.is_stale(stripe) && !self.is_failed(device) && self.is_silent(device)
    }

    /// Whether what was not delivered may only be away: somebody has stopped answering or begun again since there were
    /// `before` silences, or does not answer now. Nothing is to be concluded from such an answer.
    pub(crate) fn was_disturbed(&self, before: u64) -> bool {
        let silent = |device: usize| !self.is_failed(device) && self.is_silent(device);
        self.care.silences() != before || (0..self.layout.devices()).any(silent)
    }

    /// Waits until every device in service answers.
    pub(crate) async fn until_they_answer(&self) -> Result<(), RaidError> {
        loop {
            let changed = self.care.changed.wait();
            if self.care.given_up.get() {
                return Err(RaidError::Failed);
            }
            if !self.was_disturbed(self.care.silences()) {
                return Ok(());
            }
            changed.await;
        }
    }

    /// The same for somebody's request, which may not wait for ever.
    pub(crate) async fn until_they_answer_or_late(&self) -> Result<(), RaidError> {
        loop {
            let changed = self.care.changed.wait();
            if self.care.given_up.get() {
                return Err(RaidError::Failed);
            }
            if !self.was_disturbed(self.care.silences()) {
                return Ok(());
            }
            match self.care.requests_fail_at() {
                at if self.rt.now() >= at => return Err(RaidError::Suspended),
                Nanos::MAX => changed.await,
                at => either(changed, self.rt.sleep_until(at)).await,
            }
        }
    }

    /// Does something that reads, as often as it could not be read because somebody was silent.
    pub(crate) async fn undisturbed<T>(&self, attempt: impl AsyncFn() -> Result<T, RaidError>) -> Result<T, RaidError> {
        loop {
            let silences = self.care.silences();
            match attempt().await {
                Err(RaidError::Unreadable(_)) if self.was_disturbed(silences) => self.until_they_answer().await?,
                other => return other,
            }
        }
    }

    /// Waits until a device can be given something; `false`: it has left service.
    async fn until_it_takes(&self, slot: Slot) -> Result<bool, RaidError> {
        loop {
            let changed = self.care.changed.wait();
            if !self.serves(slot) {
                return Ok(false);
            }
            if self.device(slot.device).trouble.get().is_none() {
                return Ok(true);
            }
            if self.care.given_up.get() {
                return Err(RaidError::Failed);
            }
            changed.await;
        }
    }

    /// Gives something to a device in service; later, if it is in trouble.
    pub(crate) fn give(&self, device: usize, due: Due) -> Given {
        let op = self.device(device).trouble.get().is_none().then(|| self.submit(device, &due));
        Given { slot: self.slot(device), due, op }
    }

    fn submit(&self, device: usize, due: &Due) -> OpFuture {
        let ix = self.device_ix(device);
        match due {
            Due::Write { offset, data } => self.rt.write(ix, *offset, data.clone()),
            Due::Flush => self.rt.flush(ix),
        }
    }

    /// Waits until a device has taken what it was given; `false`: it has left service.
    ///
    /// # Errors
    /// When nobody waits for it any more.
    pub(crate) async fn taken(&self, Given { slot, due, mut op }: Given) -> Result<bool, RaidError> {
        let class = if matches!(due, Due::Flush) { IoClass::Flush } else { IoClass::Write };
        let mut owed = None;
        loop {
            if let Some(op) = op.take() {
                match op.await {
                    Ok(_) => return Ok(self.serves(slot)),
                    Err(error) => {
                        self.note(slot.device, |traffic| traffic.write_errors += 1);
                        self.undone(slot, class, error);
                    }
                }
            }
            owed.get_or_insert_with(|| Owed::new(&self.device(slot.device).owed));
            if !self.until_it_takes(slot).await? {
                return Ok(false);
            }
            op = Some(self.submit(slot.device, &due));
        }
    }
}

impl DeviceWatch for Core {
    fn ended(&self, io: DeviceIo, _took: Nanos, result: Result<(), IoError>) {
        if let Err(error) = result {
            self.note_trouble(io.dev, io.class, error);
        }
    }

    fn hung(&self, io: DeviceIo, _waited: Nanos) {
        self.note_trouble(io.dev, io.class, IoError::new(IoErrorKind::Hung));
    }

    /// Deadlines take care of it.
    fn stalled(&self, _span: Nanos) {}
}

/// What a device did not do, for people.
fn why(class: IoClass, error: IoError) -> String {
    format!("{} failed: {error}", class.words())
}
