//! What a server tells its log, and how often.
//!
//! Strangers cause trouble as often as they like. Of one kind of trouble with one peer the log gets a line at once, and
//! then a count every ten seconds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use cygnus_runtime::{IoError, Peer, Runtime};
use cygnus_types::Nanos;

use crate::door::Refusal;
use crate::nbd::Malformed;

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The client said goodbye (ABORT or DISC).
    Goodbye,
    /// The client closed the connection without a word.
    Hangup,
    /// What the client sent is not NBD, or beyond all limits.
    Malformed(Malformed),
    /// A read or write of the connection failed.
    Broken(IoError),
    /// The negotiation took too long.
    TooSlow,
    /// The client did not take its replies for this time.
    NotReading(Nanos),
    /// A request that had begun did not arrive in time.
    Unfinished,
    /// The client asked nothing for this time.
    Idle(Nanos),
    /// There is no memory for what it sent in the negotiation.
    NoMemory,
    /// It was negotiating while others found no place.
    MadeRoom,
    /// Part of a reply was sent already, and its rest cannot be read. The words say why.
    BrokenReply(String),
    /// The volume that the session served was deleted.
    VolumeGone,
    /// The server is being stopped.
    Stopped,
}

impl EndReason {
    /// A name for the sort of trouble that the client made, if any.
    fn trouble(&self) -> Option<&'static str> {
        match self {
            EndReason::Malformed(_) => Some("malformed input"),
            EndReason::TooSlow => Some("negotiations that took too long"),
            EndReason::NotReading(_) => Some("replies that were not taken"),
            EndReason::Unfinished => Some("requests that did not arrive in time"),
            EndReason::Idle(_) => Some("idle connections"),
            EndReason::NoMemory => Some("negotiations ended for lack of memory"),
            EndReason::MadeRoom => Some("negotiations ended to make room"),
            EndReason::Goodbye
            | EndReason::Hangup
            | EndReason::Broken(_)
            | EndReason::BrokenReply(_)
            | EndReason::VolumeGone
            | EndReason::Stopped => None,
        }
    }

    /// Whether it was we who had waited long enough.
    pub(crate) fn is_cut(&self) -> bool {
        self.trouble().is_some() && !matches!(self, EndReason::Malformed(_))
    }

    /// Whether the client cannot expect answers to what it has asked.
    pub(crate) fn is_abrupt(&self) -> bool {
        matches!(self, EndReason::NotReading(_) | EndReason::Broken(_) | EndReason::BrokenReply(_))
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::Goodbye => f.write_str("client disconnected"),
            EndReason::Hangup => f.write_str("client closed the connection without disconnecting"),
            EndReason::Malformed(reason) => write!(f, "closed by us: {reason}"),
            EndReason::Broken(error) => write!(f, "connection broke: {error}"),
            EndReason::TooSlow => f.write_str("closed by us: the negotiation took too long"),
            EndReason::NotReading(span) => {
                write!(f, "closed by us: the client did not take its replies for {span}")
            }
            EndReason::Unfinished => {
                f.write_str("closed by us: a request that had begun did not arrive in time (--stalled-after)")
            }
            EndReason::Idle(span) => write!(f, "closed by us: nothing was asked for {span} (--idle-after)"),
            EndReason::NoMemory => f.write_str("closed by us: the network's part of the memory is used up (--memory)"),
            EndReason::MadeRoom => f.write_str("closed by us: it was still negotiating, and others found no place"),
            EndReason::BrokenReply(why) => {
                write!(f, "closed by us: of a long read, part was sent, and the rest cannot be read: {why}")
            }
            EndReason::VolumeGone => f.write_str("closed by us: the volume is gone"),
            EndReason::Stopped => f.write_str("closed by us: the server is stopping"),
        }
    }
}

/// What a server tells its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A client has chosen an export.
    Opened {
        /// Number of the connection, counted from 1.
        id: u64,
        /// Host or user at the other end.
        peer: Peer,
        /// The export's name.
        export: String,
    },
    /// A connection has ended.
    Closed {
        /// Number of the connection.
        id: u64,
        /// Host or user at the other end.
        peer: Peer,
        /// The export's name, if the negotiation got that far.
        export: Option<String>,
        /// Why it has ended.
        reason: EndReason,
    },
    /// A connection was closed as soon as it had come.
    Refused {
        /// Host or user that connected.
        peer: Peer,
        /// Why it was not let in.
        refusal: Refusal,
    },
    /// A listener cannot accept right now; it tries again.
    AcceptFailed {
        /// The listener's address.
        listener: String,
        /// What the driver said.
        error: IoError,
    },
    /// Trouble of a kind that was told a moment ago has come again; told once for all repetitions.
    Again {
        /// Host or user that makes the trouble.
        peer: Peer,
        /// Kind of trouble, in words.
        what: &'static str,
        /// How often, since it was told last.
        times: u64,
    },
}

impl SessionEvent {
    /// A peer that makes trouble, and a name for it. What has none is part of a server's ordinary life.
    pub fn trouble(&self) -> Option<(Peer, &'static str)> {
        match self {
            SessionEvent::Opened { .. } => None,
            SessionEvent::Closed { peer, reason, .. } => Some((*peer, reason.trouble()?)),
            SessionEvent::Refused { peer, .. } => Some((*peer, "connections refused")),
            SessionEvent::AcceptFailed { .. } => Some((Peer::Unknown, "connections that could not be accepted")),
            SessionEvent::Again { peer, what, .. } => Some((*peer, what)),
        }
    }
}

impl fmt::Display for SessionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionEvent::Opened { id, peer, export } => {
                write!(f, "nbd connection {id} of {peer}: export {export:?} opened")
            }
            SessionEvent::Closed { id, peer, export: Some(export), reason } => {
                write!(f, "nbd connection {id} of {peer} (export {export:?}): {reason}")
            }
            SessionEvent::Closed { id, peer, export: None, reason } => {
                write!(f, "nbd connection {id} of {peer} (negotiating): {reason}")
            }
            SessionEvent::Refused { peer, refusal } => write!(f, "nbd connection of {peer} refused: {refusal}"),
            SessionEvent::AcceptFailed { listener, error } => {
                write!(f, "nbd listener {listener}: accept failed: {error}")
            }
            SessionEvent::Again { peer, what, times } => write!(f, "nbd, {peer}: {what}: {times} times more"),
        }
    }
}

/// How long trouble of one kind with one peer is only counted after it was told.
const QUIET: Nanos = Nanos::secs(10);
/// Most sorts of trouble that are counted apart; peers beyond that count as one.
const SORTS: usize = 256;

/// The way to the log.
pub(crate) struct Journal {
    rt: Runtime,
    log: Box<dyn Fn(SessionEvent)>,
    /// How often each sort of trouble was not told since it was last told.
    untold: RefCell<BTreeMap<(Peer, &'static str), u64>>,
}

impl Journal {
    pub(crate) fn new(rt: &Runtime, log: impl Fn(SessionEvent) + 'static) -> Rc<Self> {
        Rc::new(Self { rt: rt.clone(), log: Box::new(log), untold: RefCell::default() })
    }

    /// Tells an event, or counts it.
    pub(crate) fn tell(self: &Rc<Self>, event: SessionEvent) {
        if let Some((peer, what)) = event.trouble() {
            let mut untold = self.untold.borrow_mut();
            let sort = (peer.household(), what);
            let is_known = untold.contains_key(&sort) || untold.len() < SORTS;
            let sort = if is_known { sort } else { (Peer::Unknown, "trouble with many others") };
            if let Some(times) = untold.get_mut(&sort) {
                *times += 1;
                return;
            }
            untold.insert(sort, 0);
            let journal = self.clone();
            self.rt.spawn(async move { journal.count_up(sort).await });
        }
        (self.log)(event);
    }

    /// Tells what has come together, until nothing more comes.
    async fn count_up(&self, sort: (Peer, &'static str)) {
        loop {
            self.rt.sleep(QUIET).await;
            let times = self.untold.borrow_mut().insert(sort, 0).unwrap_or(0);
            if times == 0 {
                self.untold.borrow_mut().remove(&sort);
                return;
            }
            let (peer, what) = sort;
            (self.log)(SessionEvent::Again { peer, what, times });
        }
    }
}
