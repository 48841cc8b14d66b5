//! What the reactors of one array say to each other. Messages only: no reactor touches what another one owns.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use cygnus_runtime::{DeviceIx, OneshotReceiver, OneshotSender, Runtime, oneshot};
use cygnus_types::{GroupId, Nanos, ReactorId};

use crate::clean::through::Through;
use crate::fault::Fault;
use crate::space::segments::SegIx;
use crate::write::grant::Grant;
use crate::write::lane::Lane;
use crate::write::unflushed::Unflushed;

/// A question for the home reactor.
pub(crate) enum ToHome {
    /// Space for a lane, in that group if one is named.
    Grant { ticket: u64, lane: Lane, to: Option<GroupId> },
    /// Make everything acknowledged so far durable.
    Flush { ticket: u64 },
    /// Something has become of a member that should be looked at. Needs no answer.
    MembersChanged,
    /// Something hot has found no room on flash. Needs no answer.
    FastIsFull,
    /// A segment that was granted and is of no use. Needs no answer.
    GivesBack(Grant),
}

/// A question for a reactor about what it holds in memory.
pub(crate) enum ToOwner {
    /// Blocks of a column, one behind the other in one stripe, that may not be on the devices yet.
    Blocks { ticket: u64, seg: SegIx, column: u8, row: u32, count: u32 },
    /// Nothing but an answer: whatever this reactor does from then on, it has seen what the asker had changed before.
    Fence { ticket: u64 },
    /// Answered when all looks have ended that are under way: see [`crate::space::looks`].
    EndLooks { ticket: u64 },
    /// Have on the devices what clients have written, for this round of flush: in closed stripes only, or in copies too.
    Settle { ticket: u64, round: u64, closes: bool },
    /// Have on the devices all that is in stripes of data by now: see [`crate::write::filling`].
    End { ticket: u64, patience: Nanos },
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
    /// Empty a victim: see [`crate::clean::helpers`].
    Empty { ticket: u64, seg: SegIx },
    /// End the segment that is filled with what moves out of victims. Needs no answer.
    EndRelocation,
    /// End the segments that are filled with what moves out of the way of contention. Needs no answer.
    EndMoves,
    /// End the segments that lie in a group, and give back those granted there and not begun.
    LeaveGroup { ticket: u64, group: GroupId },
}

/// The answer to a question.
pub(crate) enum Answer {
    /// `None`: there is none for a lane that does not wait.
    Granted(Option<Grant>),
    Flushed(Result<(), Fault>),
    /// `None`: they are on the devices.
    Blocks(Option<Box<[u8]>>),
    GivenBack(Vec<Grant>),
    Unflushed(Vec<Unflushed>),
    Count(usize),
    Emptied(Through),
    Done,
}

impl Answer {
    pub(crate) fn grant(self) -> Option<Grant> {
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

    pub(crate) fn flushed(self) -> Result<(), Fault> {
        let Self::Flushed(result) = self else { unreachable!("a flush was asked for") };
        result
    }
}

pub(crate) enum Envelope {
    ToHome(ReactorId, ToHome),
    ToOwner(ReactorId, ToOwner),
    Answer(u64, Answer),
}

/// Questions of this reactor that wait for their answer.
pub(crate) struct Peers {
    reactors: Cell<usize>,
    next_ticket: Cell<u64>,
    pub waiting: RefCell<BTreeMap<u64, OneshotSender<Answer>>>,
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

    /// Reactors besides this one.
    pub(crate) fn others(&self) -> usize {
        self.reactors.get().saturating_sub(1)
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

    /// Asks every other reactor the same now; the answers are waited for.
    pub(crate) fn ask_each(&self, rt: &Runtime, question: impl Fn(u64) -> ToOwner) -> Vec<OneshotReceiver<Answer>> {
        let others = (0..self.reactors.get()).filter(|&r| r != rt.id().index());
        others.map(|whom| self.ask(rt, ReactorId(whom as u16), &question)).collect()
    }

    pub(crate) async fn answers_of_others(&self, rt: &Runtime, question: impl Fn(u64) -> ToOwner) -> Vec<Answer> {
        let answers = self.ask_each(rt, question);
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

/// The reactor that grants space, cleans, checkpoints and keeps the superblocks.
pub(crate) const HOME: usize = 0;
