//! What a reactor does with the messages of the others.

use std::rc::Rc;

use cygnus_runtime::Message;
use cygnus_types::{BLOCK, ReactorId};

use crate::clean::{helpers, moves};
use crate::peers::{Answer, Envelope, ToHome, ToOwner};
use crate::reactor::Reactor;
use crate::write::filling;
use crate::write::grant::Room;
use crate::write::lane::Lane;
use crate::write::replicate::Replicator;

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
            ToHome::Grant { ticket, lane, to } => {
                let grant = self.grant_here(lane, to, from).await;
                // Without an answer the asker waits; it only comes to that when the array closes.
                if grant.is_some() || lane.is_granted_at_once() {
                    self.answer(from, ticket, Answer::Granted(grant));
                }
            }
            ToHome::MembersChanged => self.home().members_changed.notify(),
            ToHome::FastIsFull => self.home().fast_is_full.notify(),
            ToHome::GivesBack(grant) => self.give_back(grant),
            ToHome::Flush { ticket } => {
                let result = self.flush_for_clients().await;
                self.answer(from, ticket, Answer::Flushed(result));
            }
        }
    }

    fn answer_as_owner(self: &Rc<Self>, from: ReactorId, question: ToOwner) {
        match question {
            ToOwner::Blocks { ticket, seg, column, row, count } => {
                let blocks = Lane::OF_DATA.iter().find_map(|&lane| {
                    let writer = self.writer(lane).borrow();
                    let mut blocks = Vec::with_capacity(count as usize * BLOCK);
                    for row in row..row + count {
                        blocks.extend_from_slice(writer.block(seg, column, row)?);
                    }
                    Some(blocks.into_boxed_slice())
                });
                self.answer(from, ticket, Answer::Blocks(blocks));
            }
            ToOwner::Fence { ticket } => self.answer(from, ticket, Answer::Done),
            ToOwner::EndLooks { ticket } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    reactor.looks.end().await;
                    reactor.answer(from, ticket, Answer::Done);
                });
            }
            ToOwner::End { ticket, patience } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    filling::until_ended(&reactor, patience).await;
                    reactor.answer(from, ticket, Answer::Done);
                });
            }
            ToOwner::Settle { ticket, round, closes } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    Replicator::of(&reactor).settle_for(round, closes).await;
                    if closes {
                        // What moves out of victims too, which are not given back before that is durable.
                        reactor.drain(Lane::OF_HELPERS).await;
                    }
                    reactor.answer(from, ticket, Answer::Done);
                });
            }
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
            ToOwner::InFlight { ticket, dev } => {
                self.answer(from, ticket, Answer::Count(self.rt.changes_in_flight(dev)))
            }
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
            ToOwner::Empty { ticket, seg } => {
                let reactor = self.clone();
                self.rt.spawn(async move {
                    let through = helpers::empty(&reactor, seg).await;
                    reactor.answer(from, ticket, Answer::Emptied(through));
                });
            }
            ToOwner::EndRelocation => self.writer(Lane::Beside).borrow_mut().close_segments(self),
            ToOwner::EndMoves => moves::end_segments(self),
            ToOwner::EndSegments { ticket } => {
                self.end_segments();
                let reactor = self.clone();
                self.rt.spawn(async move {
                    reactor.drain(&Lane::ALL).await;
                    reactor.answer(from, ticket, Answer::Done);
                });
            }
        }
    }
}
