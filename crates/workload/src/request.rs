//! One request of a client, and where requests come from.

use cygnus_types::Nanos;
use std::ops::Range;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Makes durable what this source wrote before. A barrier within the source, as fsync is: it is issued when all
    /// requests before it are answered, and the next one after its own answer.
    Flush,
    /// Says that the range is no longer needed.
    Trim,
    /// Writes zeros without carrying them.
    WriteZeroes,
}

impl Kind {
    /// Whether the request names a range of the volume; a flush does not.
    pub fn has_range(self) -> bool {
        self != Kind::Flush
    }
}

/// Longest read, in bytes, that an application waits for; longer reads are read-ahead, merges, backups.
pub const SHORT_READ: u32 = 64 << 10;

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether it reads, writes, discards or flushes.
    pub kind: Kind,
    /// First byte; 0 for a flush.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
    /// Open loop: issued at this time since the source's start, or as soon after it as the depth allows. `None` is the
    /// closed loop: issued as soon as the depth allows.
    pub arrival: Option<Nanos>,
    /// A write that is durable when it is answered.
    pub fua: bool,
    /// Which of the workload's activities asked for it; a label for reports. Sources say what theirs mean.
    pub job: u16,
}

impl Request {
    /// A request of the closed loop, without FUA.
    pub fn new(kind: Kind, offset: u64, len: u32, job: u16) -> Request {
        Request { kind, offset, len, arrival: None, fua: false, job }
    }

    /// A flush of everything that `job` has written.
    pub fn flush(job: u16) -> Request {
        Request::new(Kind::Flush, 0, 0, job)
    }

    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// What the runner must time, since sources know no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// How long after the run's start the client starts, from where all its other times count.
    pub delay: Nanos,
    /// Requests of this long from the start are issued and not measured.
    pub ramp: Nanos,
    /// No request is issued this long after the start or later, if there is such a limit; `ramp` is part of it.
    pub duration: Option<Nanos>,
}

/// What a request is to its operation. Operations of a client follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// One of its requests, which is not the last one.
    Inner,
    /// It ends with this one's answer.
    Last,
}

/// The most requests that a workload's clients may have under way at once. Each takes memory and is looked at in turn, so what is
/// far more than any machine has open is a mistake.
pub(crate) const MOST_AT_ONCE: u32 = 1 << 16;

/// A client: an endless or finite stream of requests, in the order in which they are issued.
///
/// Every request lies within [`Source::footprint`], is a multiple of 512 bytes long and so aligned; requests other than
/// flushes are not empty. Arrivals never go backwards.
pub trait Source {
    /// The next request; `None` when there will be no more.
    fn next(&mut self) -> Option<Request>;

    /// How many requests may be outstanding at once, at least 1.
    fn depth(&self) -> u32;

    /// The bytes of the volume it touches.
    fn footprint(&self) -> Range<u64>;

    /// What the runner must time.
    fn schedule(&self) -> Schedule {
        Schedule::default()
    }

    /// Where clients come in phases: it begins once all of smaller numbers have ended. `None`: it waits for nobody, and nobody for it.
    fn phase(&self) -> Option<u16> {
        None
    }

    /// The part that requests of that label have in operations of the application, each of which is several requests; `None`
    /// where they belong to none.
    fn part(&self, _job: u16) -> Option<Part> {
        None
    }

    /// How many operations of the application the requests so far come from, where that is more than a request each or
    /// less; `None` where requests are all that there is.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// A name for reports.
    fn name(&self) -> &str;

    /// What its requests' labels are called in reports; those that are not there by the source's own name.
    fn jobs(&self) -> Vec<(u16, String)> {
        Vec::new()
    }

    /// What whoever reads results must know of how its requests were made.
    fn remarks(&self) -> &[String] {
        &[]
    }
}
