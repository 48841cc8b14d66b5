//! A client: takes requests from its source, as many at once as the source allows, and counts how long they take.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::Event;
use cygnus_sim::World;
use cygnus_types::{Nanos, zeros};
use cygnus_workload::{Kind, Part, Request, Source};

use crate::cache::PageCache;
use crate::link::{Link, Way};
use crate::store::{RequestError, Role, blank};
use crate::tally::{Key, Tally};
use crate::testbed::{Seat, Testbed};

/// What all clients share.
pub(crate) struct Shared {
    pub world: World,
    pub link: Option<Link>,
    pub cache: Option<Rc<PageCache>>,
    pub per_request: Nanos,
    pub tally: RefCell<Tally>,
    /// Names of sources, each once.
    pub names: RefCell<Vec<String>>,
    /// What the labels of their requests are called, by the number of the name.
    pub jobs: RefCell<BTreeMap<(u16, u16), String>>,
    pub remarks: RefCell<Vec<String>>,
    /// A client was stopped before it had asked for everything.
    cut: Cell<bool>,
    /// When the last request was answered.
    last_answer: Cell<Nanos>,
    /// From the end of the first client's ramp to when the last client ended, by itself or by its own duration.
    asked: Cell<Option<(Nanos, Nanos)>>,
    failure: Cell<Option<RequestError>>,
    /// Workers of all clients that have not ended, by phase.
    running: RefCell<BTreeMap<Option<u16>, usize>>,
    ended: Event,
    pub start: Nanos,
    pub end: Nanos,
    pub measured_from: Nanos,
}

impl Shared {
    pub fn new(bed: &Testbed, ramp: Nanos, duration: Nanos) -> Self {
        let start = bed.home().rt.precise_now();
        Self {
            world: bed.world.clone(),
            link: None,
            cache: None,
            per_request: bed.per_request,
            tally: RefCell::default(),
            names: RefCell::default(),
            jobs: RefCell::default(),
            remarks: RefCell::default(),
            cut: Cell::new(false),
            last_answer: Cell::new(start),
            asked: Cell::new(None),
            failure: Cell::new(None),
            running: RefCell::default(),
            ended: Event::new(),
            start,
            end: start + duration,
            measured_from: start + ramp,
        }
    }

    /// Waits for all clients to end.
    ///
    /// # Errors
    /// The failure of a request.
    pub async fn all_ended(&self) -> Result<(), RequestError> {
        while !self.running.borrow().is_empty() {
            self.ended.wait().await;
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Waits for all clients of earlier phases to end.
    async fn turn_of(&self, phase: u16) {
        while self.running.borrow().keys().flatten().any(|&earlier| earlier < phase) {
            self.ended.wait().await;
        }
    }

    fn worker_began(&self, phase: Option<u16>) {
        *self.running.borrow_mut().entry(phase).or_default() += 1;
    }

    fn worker_ended(&self, phase: Option<u16>) {
        let mut running = self.running.borrow_mut();
        let of_phase = running.get_mut(&phase).expect("it began");
        *of_phase -= 1;
        if *of_phase == 0 {
            running.remove(&phase);
        }
        self.ended.notify();
    }

    /// Time from the start to the last answer, if every client came to the end of its requests.
    pub fn makespan(&self) -> Option<Nanos> {
        (!self.cut.get()).then(|| self.last_answer.get().since(self.start))
    }

    /// What was measured: from the end of the ramp, the clients' own ones too, until the run or all its clients ended.
    pub fn measured(&self) -> (Nanos, Nanos) {
        let (from, until) = self.asked.get().unwrap_or((self.measured_from, self.end));
        (from, until.min(self.end).max(from))
    }

    /// A client that is measured from then on asks for something until then.
    fn asks(&self, from: Nanos, until: Nanos) {
        let (first, last) = self.asked.get().unwrap_or((from, until));
        self.asked.set(Some((first.min(from), last.max(until))));
    }

    /// Says what whoever reads the numbers must know; once, if clients of one name have the same to say.
    fn remark(&self, remark: String) {
        let mut remarks = self.remarks.borrow_mut();
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    fn number(&self, name: &str) -> u16 {
        let mut names = self.names.borrow_mut();
        let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        u16::try_from(at).expect("a workload has fewer than 65536 sources")
    }
}

/// When a request was to begin, and when it did. In an open loop it may have to wait until the depth has room for it, in a closed one for the
/// core that serves it. Latency counts from when it was due, but what is done in a time is what began in it. Else a client that lags would be
/// told to be slower than it is, by all that was due within the ramp and done after it.
struct Issued {
    due: Nanos,
    begun: Nanos,
}

/// One client.
struct Client {
    shared: Rc<Shared>,
    seat: Rc<Seat>,
    /// Number of the source's name.
    name: u16,
    phase: Option<u16>,
    source: RefCell<Box<dyn Source>>,
    /// Taken from the source before its time, and announced.
    ahead: Cell<Option<Request>>,
    outstanding: Cell<u32>,
    /// A flush waits for what was issued before it, or is being carried out: nothing is issued.
    barrier: Cell<bool>,
    /// When the operation under way began.
    operation: Cell<Option<Nanos>>,
    /// It has asked for parts of blocks of an array that knows whole ones only.
    parts_of_blocks: Cell<bool>,
    /// Its rate was not kept, by more than a hundredth of its time.
    is_behind: Cell<bool>,
    changed: Event,
    start: Nanos,
    end: Nanos,
    measured_from: Nanos,
}

/// Starts a client's workers, on the core that serves it.
pub(crate) fn start(shared: &Rc<Shared>, seat: &Rc<Seat>, mut source: Box<dyn Source>) {
    let (depth, schedule) = (source.depth(), source.schedule());
    let start = shared.start + schedule.delay;
    let end = schedule.duration.map_or(shared.end, |span| shared.end.min(start + span));
    let name = shared.number(source.name());
    shared.jobs.borrow_mut().extend(source.jobs().into_iter().map(|(job, called)| ((name, job), called)));
    shared.remarks.borrow_mut().extend_from_slice(source.remarks());
    let client = Rc::new(Client {
        shared: shared.clone(),
        seat: seat.clone(),
        name,
        phase: source.phase(),
        ahead: Cell::new(source.next()),
        source: RefCell::new(source),
        outstanding: Cell::new(0),
        barrier: Cell::new(false),
        operation: Cell::new(None),
        parts_of_blocks: Cell::new(false),
        is_behind: Cell::new(false),
        changed: Event::new(),
        start,
        end,
        measured_from: shared.measured_from.max(start + schedule.ramp),
    });
    for _ in 0..depth {
        shared.worker_began(client.phase);
        seat.rt.spawn(client.clone().work());
    }
}

impl Client {
    async fn work(self: Rc<Self>) {
        if let Some(phase) = self.phase {
            self.shared.turn_of(phase).await;
        }
        if self.start > self.shared.start {
            self.seat.rt.sleep_until(self.start).await;
        }
        // When its last answer came, if the core has worked since.
        let mut free = None;
        while let Some(request) = self.take(&mut free).await {
            let Issued { due: issued, begun } = self.issue(&request, free).await;
            if begun >= self.end {
                // Whoever waits for it, or behind it, must not wait for ever: a flush may have waited past the end itself.
                self.finish(&request);
                self.was_cut();
                break;
            }
            let role = (request.kind == Kind::Read).then(|| self.seat.store.role_at(request.offset)).flatten();
            let result = self.carry_out(&request).await;
            self.finish(&request);
            match result {
                Ok(()) => self.count(&request, issued, begun >= self.measured_from, role),
                Err(error) => {
                    self.shared.failure.set(Some(error));
                    break;
                }
            }
            let answered = self.seat.rt.precise_now();
            free = (answered > begun).then_some(answered);
            if self.seat.rt.now() <= begun {
                // Nobody was waited for: others must get their turn, and time pass.
                self.seat.rt.yield_now().await;
            }
        }
        self.shared.worker_ended(self.phase);
    }

    fn note_parts_of_blocks(&self) {
        if !self.parts_of_blocks.replace(true) {
            let name = self.called();
            let remark = format!(
                "{name}: asks for parts of blocks, for which this array reads and writes the whole blocks of 4 KiB"
            );
            self.shared.remark(remark);
        }
    }

    async fn send(&self, way: Way, payload: u64) {
        if let Some(link) = &self.shared.link {
            link.send(&self.seat.rt, way, payload).await;
        }
    }

    async fn carry_out(&self, request: &Request) -> Result<(), RequestError> {
        let Seat { reactor, rt, store } = &*self.seat;
        let (offset, len) = store.covering(request.offset, request.len);
        if (offset, len) != (request.offset, request.len) {
            self.note_parts_of_blocks();
        }
        let carries = |kind, payload| if request.kind == kind { payload } else { 0 };
        self.send(Way::ToArray, carries(Kind::Write, u64::from(request.len))).await;
        self.shared.world.charge(*reactor, self.shared.per_request);
        match request.kind {
            Kind::Read => store.read(offset, rt.alloc(len as usize).full()).await?,
            Kind::Write => self.write(offset, len).await?,
            Kind::Flush => self.flush().await?,
            Kind::Trim => store.trim(request.offset, u64::from(request.len)).await?,
            Kind::WriteZeroes => store.write_zeroes(offset, u64::from(len)).await?,
        }
        if request.fua {
            self.flush().await?;
        }
        self.send(Way::ToClient, carries(Kind::Read, u64::from(request.len))).await;
        Ok(())
    }

    async fn write(&self, offset: u64, len: u32) -> Result<(), RequestError> {
        let Seat { rt, store, .. } = &*self.seat;
        if let Some(cache) = &self.shared.cache {
            return cache.write(offset, len).await;
        }
        let terms = store.terms(offset);
        if !zeros::of_len(len as usize).is_some_and(|data| store.try_write(offset, data)) {
            store.write(offset, blank(rt, len as usize)).await?;
        }
        match terms {
            Some(terms) => store.answerable(offset, terms).await,
            None => Ok(()),
        }
    }

    async fn flush(&self) -> Result<(), RequestError> {
        match &self.shared.cache {
            Some(cache) => cache.flush(&self.seat.store).await,
            None => self.seat.store.flush().await,
        }
    }

    async fn until(&self, ready: impl Fn() -> bool) {
        while !ready() {
            let changed = self.changed.wait();
            if !ready() {
                changed.await;
            }
        }
    }

    /// Time ended it before it had asked for everything.
    fn was_cut(&self) {
        self.shared.cut.set(true);
        self.shared.asks(self.measured_from, self.end);
        let arrival = self.ahead.get().and_then(|next| next.arrival);
        let behind = arrival.map_or(Nanos::ZERO, |arrival| self.end.since(self.start + arrival));
        if behind.0 > self.end.since(self.start).0 / 100 && !self.is_behind.replace(true) {
            let name = self.called();
            self.shared.remark(format!(
                "{name}: the rate was not kept: the next request was {behind} late in the end, with {} under way at once, so latencies say how long \
                 the run was",
                self.source.borrow().depth()
            ));
        }
    }

    fn called(&self) -> String {
        self.shared.names.borrow()[usize::from(self.name)].clone()
    }

    /// The next request, once no barrier stands before it; where one does, the request was not issued when its worker was free.
    async fn take(&self, free: &mut Option<Nanos>) -> Option<Request> {
        if self.barrier.get() {
            *free = None;
            self.until(|| !self.barrier.get()).await;
        }
        if self.seat.rt.now() >= self.end {
            self.was_cut();
            return None;
        }
        let request = self.next()?;
        if request.kind == Kind::Flush {
            self.barrier.set(true);
            *free = None;
            self.until(|| self.outstanding.get() == 0).await;
        }
        self.outstanding.set(self.outstanding.get() + 1);
        Some(request)
    }

    /// The request that was announced; announces the one after it. That only spares the simulation a wait for memory.
    fn next(&self) -> Option<Request> {
        let request = self.ahead.take()?;
        let ahead = self.source.borrow_mut().next();
        if let Some(ahead) = &ahead {
            self.seat.store.announce(ahead.offset);
        }
        self.ahead.set(ahead);
        Some(request)
    }

    /// Waits for the request's arrival; says when it was due and when it began. In a closed loop a request follows its worker's last
    /// answer at once, and what it waits for the core that serves it is part of its latency.
    async fn issue(&self, request: &Request, free: Option<Nanos>) -> Issued {
        let now = self.seat.rt.precise_now();
        let Some(arrival) = request.arrival else { return Issued { due: free.unwrap_or(now), begun: now } };
        let due = self.start + arrival;
        if due < self.end {
            self.seat.rt.sleep_until(due).await;
        }
        Issued { due, begun: due.max(now) }
    }

    fn finish(&self, request: &Request) {
        self.outstanding.set(self.outstanding.get() - 1);
        if request.kind == Kind::Flush {
            self.barrier.set(false);
        }
        if self.changed.has_waiters() {
            self.changed.notify();
        }
    }

    fn count(&self, request: &Request, issued: Nanos, measured: bool, role: Option<Role>) {
        let now = self.seat.rt.precise_now();
        // Requests for blocks that nobody wrote keep no device busy.
        self.shared.world.gets_on();
        let latency = now.since(issued);
        self.shared.last_answer.set(self.shared.last_answer.get().max(now));
        self.shared.asks(self.measured_from, now);
        let mut tally = self.shared.tally.borrow_mut();
        let key = Key { client: self.name, job: request.job, kind: request.kind };
        let bytes = u64::from(request.len);
        tally.count(key, bytes, latency, measured);
        if let Some(role) = role.filter(|_| measured) {
            tally.count_read(request.job, role, bytes, latency);
        }
        if let Some(part) = self.source.borrow().part(request.job) {
            let began = self.operation.get().map_or(issued, |began| began.min(issued));
            self.operation.set((part == Part::Inner).then_some(began));
            if part == Part::Last && began >= self.measured_from {
                tally.count_operation(self.name, began, now);
            }
        }
    }
}
