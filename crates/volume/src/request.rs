use cygnus_types::Nanos;

/// What a client asks of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The bytes of a range.
    Read,
    /// To store bytes.
    Write,
    /// To make durable what was answered before.
    Flush,
    /// To forget a range.
    Trim,
    /// To have a range read as zeros.
    WriteZeroes,
    /// Which parts of a range are mapped.
    Extents,
    /// To have a range at hand for a read that may follow.
    Prefetch,
}

/// A client's request, whatever protocol it came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What is asked.
    pub kind: Kind,
    /// First byte; 0 of a flush.
    pub offset: u64,
    /// Bytes; 0 of a flush.
    pub len: u32,
    /// What it changes is to be durable when it is answered.
    pub fua: bool,
}

/// Sees the requests to a volume as they come, before anything is done about them. It must not take long.
pub trait Tap {
    /// A request was taken in at this time. Its range is within the volume.
    fn request(&self, at: Nanos, request: &Request);
}
