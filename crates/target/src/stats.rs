//! What a server counts, for status commands.

use std::cell::{Cell, RefCell};

use cygnus_runtime::Peer;
use cygnus_types::Nanos;
use cygnus_volume::Kind;

use crate::Histogram;
use crate::event::EndReason;

/// Kinds of requests that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpClass {
    /// Requests for data.
    Read,
    /// Requests that bring data.
    Write,
    /// Requests to make durable what was answered.
    Flush,
    /// Trims, and zeros that are not carried.
    Discard,
    /// Everything else.
    Other,
}

impl OpClass {
    /// All of them, in the order in which [`ServerStats::ops`] has them.
    pub const ALL: [OpClass; 5] = [OpClass::Read, OpClass::Write, OpClass::Flush, OpClass::Discard, OpClass::Other];

    pub(crate) fn of(kind: Option<Kind>) -> OpClass {
        match kind {
            Some(Kind::Read) => OpClass::Read,
            Some(Kind::Write) => OpClass::Write,
            Some(Kind::Flush) => OpClass::Flush,
            Some(Kind::Trim | Kind::WriteZeroes) => OpClass::Discard,
            Some(Kind::Extents | Kind::Prefetch) | None => OpClass::Other,
        }
    }
}

/// What was done of one class.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    /// Requests answered, failed ones included.
    pub ops: u64,
    /// Bytes they concerned, failed ones excluded.
    pub bytes: u64,
    /// Requests answered with an error.
    pub errors: u64,
    /// Time from parsing the request to queueing its reply.
    pub latency: Histogram,
}

/// A server's counters since it started. Add those of several reactors with [`ServerStats::merge`].
#[derive(Clone, Debug, Default)]
pub struct ServerStats {
    /// Connections open now, negotiating ones included.
    pub connections: u64,
    /// Connections accepted so far.
    pub accepted: u64,
    /// Connections closed because what they sent was not NBD.
    pub malformed: u64,
    /// Connections that were not let in.
    pub refused: u64,
    /// Connections closed because their clients kept us waiting, or to make room for others.
    pub cut: u64,
    /// By class, in the order of [`OpClass::ALL`].
    pub ops: [OpStats; OpClass::ALL.len()],
}

impl ServerStats {
    /// The counters of one class.
    pub fn of(&self, class: OpClass) -> &OpStats {
        &self.ops[class as usize]
    }

    /// Adds another reactor's counters.
    pub fn merge(&mut self, other: &ServerStats) {
        self.connections += other.connections;
        self.accepted += other.accepted;
        self.malformed += other.malformed;
        self.refused += other.refused;
        self.cut += other.cut;
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.ops += theirs.ops;
            mine.bytes += theirs.bytes;
            mine.errors += theirs.errors;
            mine.latency.merge(&theirs.latency);
        }
    }
}

/// A connection that is open now, and what it has asked for.
#[derive(Clone, Debug)]
pub struct SessionStats {
    /// Number of the connection, counted from 1.
    pub id: u64,
    /// Address of the listener that accepted it.
    pub listener: String,
    /// Host or user at the other end.
    pub peer: Peer,
    /// The export it uses; None during the negotiation.
    pub export: Option<String>,
    /// When it was accepted.
    pub since: Nanos,
    /// Requests answered, by class in the order of [`OpClass::ALL`].
    pub ops: [u64; OpClass::ALL.len()],
    /// Bytes that successful reads returned.
    pub read_bytes: u64,
    /// Bytes that successful writes brought.
    pub written_bytes: u64,
}

/// The living counters of a server, shared by its sessions.
#[derive(Default)]
pub(crate) struct Totals(RefCell<ServerStats>);

impl Totals {
    pub(crate) fn snapshot(&self) -> ServerStats {
        self.0.borrow().clone()
    }

    pub(crate) fn opened(&self) -> u64 {
        let stats = &mut *self.0.borrow_mut();
        stats.connections += 1;
        stats.accepted += 1;
        stats.accepted
    }

    pub(crate) fn refused(&self) {
        self.0.borrow_mut().refused += 1;
    }

    pub(crate) fn closed(&self, reason: &EndReason) {
        let stats = &mut *self.0.borrow_mut();
        stats.connections -= 1;
        stats.malformed += u64::from(matches!(reason, EndReason::Malformed(_)));
        stats.cut += u64::from(reason.is_cut());
    }

    #[inline]
    pub(crate) fn answered(&self, class: OpClass, bytes: u64, failed: bool, took: Nanos) {
        let stats = &mut self.0.borrow_mut().ops[class as usize];
        stats.ops += 1;
        stats.bytes += if failed { 0 } else { bytes };
        stats.errors += u64::from(failed);
        stats.latency.record(took);
    }
}

/// The living counters of one session.
#[derive(Default)]
pub(crate) struct SessionCounters {
    ops: [Cell<u64>; OpClass::ALL.len()],
    bytes: [Cell<u64>; OpClass::ALL.len()],
}

impl SessionCounters {
    #[inline]
    pub(crate) fn answered(&self, class: OpClass, bytes: u64, failed: bool) {
        let (ops, sum) = (&self.ops[class as usize], &self.bytes[class as usize]);
        ops.set(ops.get() + 1);
        sum.set(sum.get() + if failed { 0 } else { bytes });
    }

    pub(crate) fn ops(&self) -> [u64; OpClass::ALL.len()] {
        std::array::from_fn(|class| self.ops[class].get())
    }

    pub(crate) fn bytes(&self, class: OpClass) -> u64 {
        self.bytes[class as usize].get()
    }
}
