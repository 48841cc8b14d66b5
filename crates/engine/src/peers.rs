//! What the reactors of one array say to each other. Messages only: no reactor touches what another one owns.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_runtime::{DeviceIx, Message, OneshotReceiver, OneshotSender, Runtime, oneshot};
use cygnus_types::{BLOCK, GroupId, ReactorId};

use crate::reactor::{HOME, Reactor};
use crate::space::segments::SegIx;
use crate::write::grant::Grant;
use crate::write::lane::Lane;
use crate::write::unflushed::Unflushed;

/// A question for the home reactor.
pub(crate) enum ToHome {
    /// Space for a lane.
    Grant { ticket: u64, lane: Lane },
    /// Make everything acknowledged so far durable.
    Flush { ticket: u64 },
    /// Something has become of a member that should be looked at. Needs no answer.
    MembersChanged,
}

/// A question for a reactor about what it holds in memory.
pub(crate) enum ToOwner {
    /// Blocks of a column, one behind the other in one stripe, that may not be on the devices yet.
    Blocks { ticket: u64, seg: SegIx, column: u8, row: u32, count: u32 },
    /// Groups were added: from this answer on the asker relies on everybody having seen them.
    Grown { ticket: u64 },
    /// Answered when all looks have ended that are under way: see [`crate::map::looks`].
    EndLooks { ticket: u64 },
    /// Send the open user stripe to the devices.
    Drain { ticket: u64 },
    /// Close all open stripes and append nothing until [`ToOwner::Release`].
    Hold { ticket: u64 },
    /// Append again.
    Release,
    /// What writers may be waiting for has perhaps come.
    Wake,
    /// How many operations of a device are on their way?
    InFlight { ticket: u64, dev: DeviceIx },
    /// Open a device anew; answered by how many have done so.
    Reopen { ticket: u64, dev: DeviceIx },
    /// What stripes that were closed before this one has no flush covered yet?
    Unflushed { ticket: u64, below: u64 },
    /// Members are awaited, are back or have left. Needs no answer.
    MembersSettled,
    /// A device hangs: nobody is to wait any more for what it has taken.
    GiveUp { dev: DeviceIx },
    /// End all segments: the array closes, or a member wants to have the next ones from their first stripe on.
    EndSegments { ticket: u64 },
    /// End the segments that lie in a group, and give back those granted there and not begun.
    LeaveGroup { ticket: u64, group: GroupId },
}

/// The answer to a question.
pub(crate) enum Answer {
    Granted(Grant),
    Flushed(Result<(), String>),
    /// `None`: they are on the devices.
    Blocks(Option<Box<[u8]>>),
    GivenBack(Vec<Grant>),
    Unflushed(Vec<Unflushed>),
    Count(usize),
    Done,
}

impl Answer {
    pub(crate) fn grant(self) -> Grant {
        let Self::Granted(grant) = self else { unreachable!("a grant was asked for") };
        grant
    }

    pub(crate) fn blocks(self) -> Option<Box<[u8]>> {
        let Self::Blocks(blocks) = self else { unreachable!("blocks were asked for") };
        blocks
    }

    pub(crate) fn count(self) -> usize {
        let Self::Count(count) = self else { unreachable!("a number was asked for") };
        count
    }

    pub(crate) fn unflushed(self) -> Vec<Unflushed> {
        let Self::Unflushed(stripes) = self else { unreachable!("stripes were asked for") };
        stripes
    }

    fn given_back(self) -> Vec<Grant> {
        let Self::GivenBack(grants) = self else { unreachable!("segments were asked for") };
        grants
    }

    pub(crate) fn flushed(self) -> Result<(), String> {
        let Self::Flushed(result) = self else { unreachable!("a flush was asked for") };
        result
    }
}

enum Envelope {
    ToHome(ReactorId, ToHome),
    ToOwner(ReactorId, ToOwner),
    Answer(u64, Answer),
}

/// Questions of this reactor that wait for their answer.
pub(crate) struct Peers {
    reactors: Cell<usize>,
    next_ticket: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, OneshotSender<Answer>>>,
}

impl Peers {
    pub(crate) fn new(reactors: usize) -> Self {
        Self { reactors: Cell::new(reactors), next_ticket: Cell::new(0), waiting: RefCell::default() }
    }

    /// From now on there are so many reactors. Until an array is open its home reactor is alone: the others, which
    /// attach to what opening made, could not answer yet.
    pub(crate) fn set_reactors(&self, reactors: usize) {
        self.reactors.set(reactors);
    }

    pub(crate) async fn ask_home(&self, rt: &Runtime, question: impl FnOnce(u64) -> ToHome) -> Option<Answer> {
        let me = rt.id();
        self.post(rt, HOME, |ticket| Envelope::ToHome(me, question(ticket))).await
    }

    /// Asks now; the answer is waited for.
    pub(crate) fn ask(
        &self,
        rt: &Runtime,
        whom: ReactorId,
        question: impl FnOnce(u64) -> ToOwner,
    ) -> OneshotReceiver<Answer> {
        let me = rt.id();
        self.post(rt, whom.index(), |ticket| Envelope::ToOwner(me, question(ticket)))
    }

    /// Tells the home reactor something that needs no answer.
    pub(crate) fn tell_home(&self, rt: &Runtime, what: ToHome) {
        rt.send_msg(ReactorId(HOME as u16), Box::new(Envelope::ToHome(rt.id(), what)));
    }

    fn post(&self, rt: &Runtime, whom: usize, envelope: impl FnOnce(u64) -> Envelope) -> OneshotReceiver<Answer> {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket + 1);
        let (sender, receiver) = oneshot();
        self.waiting.borrow_mut().insert(ticket, sender);
        rt.send_msg(ReactorId(whom as u16), Box::new(envelope(ticket)));
        receiver
    }

    /// Asks every other reactor the same and waits for all of them.
    pub(crate) async fn ask_others(&self, rt: &Runtime, question: impl Fn(u64) -> ToOwner) {
        self.answers_of_others(rt, question).await;
    }

    /// Has every other reactor end its segments in a group; returns those that they had not begun.
    pub(crate) async fn ask_others_to_leave(&self, rt: &Runtime, group: GroupId) -> Vec<Grant> {
        let answers = self.answers_of_others(rt, |ticket| ToOwner::LeaveGroup { ticket, group }).await;
        answers.into_iter().flat_map(Answer::given_back).collect()
    }

    pub(crate) async fn answers_of_others(&self, rt: &Runtime, question: impl Fn(u64) -> ToOwner) -> Vec<Answer> {
        let me = rt.id().index();
        let mut answers = Vec::new();
        for whom in (0..self.reactors.get()).filter(|&r| r != me) {
            let id = rt.id();
            answers.push(self.post(rt, whom, |ticket| Envelope::ToOwner(id, question(ticket))));
        }
        let mut given = Vec::with_capacity(answers.len());
        for answer in answers {
            given.extend(answer.await);
        }
        given
    }

    /// Tells every other reactor something that needs no answer.
    pub(crate) fn tell_others(&self, rt: &Runtime, what: impl Fn() -> ToOwner) {
        for whom in (0..self.reactors.get()).filter(|&r| r != rt.id().index()) {
            let envelope = Envelope::ToOwner(rt.id(), what());
            rt.send_msg(ReactorId(whom as u16), Box::new(envelope));
        }
    }
}

impl Reactor {
    /// Handles a message of another reactor. Gives back what is not the engine's.
    pub(crate) fn handle_message(self: &Rc<Self>, message: Message) -> Option<Message> {
        let envelope = match message.downcast::<Envelope>() {
            Ok(envelope) => *envelope,
            Err(foreign) => return Some(foreign),
        };
        match envelope {
            Envelope::Answer(ticket, answer) => {
                if let Some(sender) = self.peers.waiting.borrow_mut().remove(&ticket) {
                    sender.send(answer);
                }
            }
            Envelope::ToHome(from, question) => {
                let reactor = self.clone();
                self.rt.spawn(async move { reactor.answer_as_home(from, question).await });
            }
            Envelope::ToOwner(from, question) => self.answer_as_owner(from, question),
        }
        None
    }

    fn answer(&self, to: ReactorId, ticket: u64, answer: Answer) {
        self.rt.send_msg(to, Box::new(Envelope::Answer(ticket, answer)));
    }

    async fn answer_as_home(self: &Rc<Self>, from: ReactorId, question: ToHome) {
        match question {
            ToHome::Grant { ticket, lane } => {
                // Without an answer the asker waits; it only comes to that when the array closes.
                if let Some(grant) = self.grant_here(lane, from).await {
                    self.answer(from, ticket, Answer::Granted(grant));
                }
            }
            ToHome::MembersChanged => self.home().members_changed.notify(),
            ToHome::Flush { ticket } => {
                let result = self.flush_for_guests().await;
                self.answer(from, ticket, Answer::Flushed(result));
            }
        }
    }

    fn answer_as_owner(self: &Rc<Self>, from: ReactorId, question: ToOwner) {
        match question {
            ToOwner::Blocks { ticket, seg, column, row, count } => {
                let blocks = Lane::OF_DATA.into_iter().find_map(|lane| {
                    let writer = self.writer(lane).borrow();
                    let mut blocks = Vec::with_capacity(count as usize * BLOCK);
                    for row in row..row + count {
                        blocks.extend_from_slice(writer.block(seg, column, row)?);
                    }
                    Some(blocks.into_boxed_slice())
                });
                self.answer(from, ticket, Answer::Blocks(blocks));
            }
            ToOwner::Grown { ticket } => self.answer(from, ticket, Answer::Done),
            ToOwner::EndLooks { ticket } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    reactor.looks.end().await;
                    reactor.answer(from, ticket, Answer::Done);
                });
            }
            ToOwner::Drain { ticket } => self.drain_and_answer(from, ticket, &[Lane::User]),
            ToOwner::Hold { ticket } => {
                self.hold.set(true);
                self.close_stripes();
                self.answer(from, ticket, Answer::Done);
            }
            ToOwner::Release => {
                self.hold.set(false);
                self.progress.notify();
            }
            ToOwner::Wake => self.progress.notify(),
            ToOwner::InFlight { ticket, dev } => self.answer(from, ticket, Answer::Count(self.rt.in_flight(dev))),
            ToOwner::Reopen { ticket, dev } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    let reopened = reactor.rt.reopen(dev).await.is_ok();
                    reactor.answer(from, ticket, Answer::Count(usize::from(reopened)));
                });
            }
            ToOwner::Unflushed { ticket, below } => {
                let stripes = self.unflushed.borrow().before(below);
                self.answer(from, ticket, Answer::Unflushed(stripes));
            }
            ToOwner::MembersSettled => self.members_settled(),
            ToOwner::GiveUp { dev } => self.rt.give_up(dev),
            ToOwner::LeaveGroup { ticket, group } => {
                let grants = self.leave_group(group);
                let reactor = self.clone();
                self.rt.spawn(async move {
                    reactor.drain(&Lane::ALL).await;
                    reactor.answer(from, ticket, Answer::GivenBack(grants));
                });
            }
            ToOwner::EndSegments { ticket } => {
                self.end_segments();
                self.drain_and_answer(from, ticket, &Lane::ALL);
            }
        }
    }

    fn drain_and_answer(self: &Rc<Self>, to: ReactorId, ticket: u64, lanes: &'static [Lane]) {
        let reactor = self.clone();
        self.rt.spawn(async move {
            reactor.drain(lanes).await;
            reactor.answer(to, ticket, Answer::Done);
        });
    }

    /// Ends this reactor's segments in a group; returns those that it had not begun.
    pub(crate) fn leave_group(self: &Rc<Self>, group: GroupId) -> Vec<Grant> {
        Lane::ALL.into_iter().filter_map(|lane| self.writer(lane).borrow_mut().leave(self, group)).collect()
    }

    /// Ends the segments of all lanes of all reactors: what was written before this is in segments that nobody appends
    /// to any more.
    pub(crate) async fn end_all_segments(self: &Rc<Self>) {
        self.peers.ask_others(&self.rt, |ticket| ToOwner::EndSegments { ticket }).await;
        // The checkpoint under way should not need more segments than it counted on.
        while self.home().checkpoints.rounds.is_running() {
            self.home().checkpoints.needed.set(true);
            self.home().checkpoints.rounds.ended().await;
        }
        self.end_segments();
        self.drain(&Lane::ALL).await;
    }

    /// Ends the segments of all lanes of this reactor.
    pub(crate) fn end_segments(self: &Rc<Self>) {
        for lane in Lane::ALL {
            self.writer(lane).borrow_mut().close_segments(self);
        }
    }
}
