//! What is given to devices. Nobody gives anything to a member in trouble until it is decided what becomes of it
//! ([`crate::guardian`]); whoever has something for it waits, and then gives it to it again, or to nobody if it has left service.
//!
//! A write keeps its place (the turn at its stripe, or its range) as long as it waits, so nothing newer can be overtaken by it.

use std::cell::Cell;
use std::rc::Rc;

use cygnus_engine::Trouble;
use cygnus_runtime::{BufSlice, DeviceIo, DeviceIx, DeviceWatch, IoClass, IoError, IoErrorKind, OpFuture, either};
use cygnus_types::{BLOCK, Nanos};

use crate::core::Core;
use crate::device::{Cache, Slot};
use crate::error::RaidError;

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
        if let Some(trouble) = trouble_of(class, error) {
            self.device(slot.device).why.replace(why(class, error));
            self.fail_as(slot, trouble);
        }
    }

    /// A device did not do something.
    #[cold]
    fn note_trouble(&self, ix: DeviceIx, class: IoClass, error: IoError) {
        let in_service = |&device: &usize| !self.is_failed(device) && self.device_ix(device) == ix;
        let Some(at) = (0..self.layout.devices()).find(in_service) else { return };
        let Some(trouble) = trouble_of(class, error) else { return };
        let device = self.device(at);
        if device.cache.get() == Cache::Sound && (trouble.is_away() || class == IoClass::Flush) {
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

    /// Waits until every device in service answers.
    pub(crate) async fn until_they_answer(&self) -> Result<(), RaidError> {
        self.until_they_answer_by(|| Nanos::MAX).await
    }

    /// The same for somebody's request, which may not wait for ever.
    pub(crate) async fn until_they_answer_or_late(&self) -> Result<(), RaidError> {
        self.until_they_answer_by(|| self.care.requests_fail_at()).await
    }

    async fn until_they_answer_by(&self, fail_at: impl Fn() -> Nanos) -> Result<(), RaidError> {
        loop {
            let changed = self.care.changed.wait();
            if self.care.given_up.get() {
                return Err(RaidError::Failed);
            }
            if !self.was_disturbed(self.care.silences()) {
                return Ok(());
            }
            match fail_at() {
                Nanos::MAX => changed.await,
                at if self.rt.now() >= at => return Err(RaidError::Suspended),
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

impl Core {
    /// Starts a read of rows of a stripe on a device.
    pub(crate) fn start_read(&self, device: usize, stripe: u64, row: u32, into: BufSlice) -> OpFuture {
        self.note(device, |traffic| traffic.read += into.len() as u64);
        self.rt.read(self.device_ix(device), self.start + self.layout.offset(stripe, row), into)
    }

    /// Starts a write of rows of a stripe on a device.
    pub(crate) fn start_write(&self, device: usize, stripe: u64, row: u32, data: BufSlice) -> Given {
        self.counters.borrow_mut().device_written += (data.len() / BLOCK) as u64;
        self.note(device, |traffic| traffic.written += data.len() as u64);
        self.give(device, Due::Write { offset: self.start + self.layout.offset(stripe, row), data })
    }

    /// Starts a trim of rows of a stripe on a device.
    pub(crate) fn start_trim(&self, device: usize, stripe: u64, row: u32, len: u64) -> OpFuture {
        self.rt.trim(self.device_ix(device), self.start + self.layout.offset(stripe, row), len)
    }

    /// Waits until devices have taken writes, or have left service.
    pub(crate) async fn ended(&self, writes: Vec<Given>) -> Result<(), RaidError> {
        for write in writes {
            let device = write.slot.device;
            if self.taken(write).await? {
                // Not before: a flush that began earlier does not cover it.
                self.devices[device].note_write();
            }
        }
        self.check_alive()
    }

    /// Takes note of a failed read: a place that cannot be read is no reason to give up the whole device, but is to be
    /// written anew.
    pub(crate) fn read_failed(&self, slot: Slot, stripe: u64, error: IoError) {
        self.note(slot.device, |traffic| traffic.read_errors += 1);
        if !is_of_place(error) {
            self.undone(slot, IoClass::Read, error);
        } else if self.ledger.get().is_some_and(|ledger| ledger.intent().is_some()) {
            self.bad_places.note(stripe, slot.device);
        }
    }
}

impl DeviceWatch for Core {
    fn ended(self: Rc<Self>, io: DeviceIo, _took: Nanos, result: Result<(), IoError>) {
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

/// Whether a read that failed so tells of its place alone, which is to be written anew. Of a file that was shortened nothing can be
/// told: what was written farther behind since has left zeros that nobody knows from data.
pub(crate) fn is_of_place(error: IoError) -> bool {
    error.kind.is_of_range() && error.kind != IoErrorKind::CutShort
}

/// What an error says of the device.
fn trouble_of(class: IoClass, error: IoError) -> Option<Trouble> {
    match error.kind {
        IoErrorKind::CutShort => Some(Trouble::Short),
        kind => Trouble::of_error(class, kind),
    }
}

/// What a device did not do, for people.
fn why(class: IoClass, error: IoError) -> String {
    format!("{} failed: {error}", class.words())
}
