//! NBD's words into those of volumes, and back. No other file of the server knows them: the sessions ask what a request wants,
//! and say what became of it.

use std::ops::Range;

use cygnus_nbd::{
    self as nbd, Catalogue, Command, Errno, ExportInfo, Next, Parsed, ReplyEncoder, ServerHandshake, wire,
};
use cygnus_types::Acknowledged;
use cygnus_volume::{BlockVolume, Extent, Kind, VolumeError};

use crate::exports::{Export, Exports};

pub use cygnus_nbd::Malformed;
pub(crate) use cygnus_nbd::peek_offset;

/// Bytes of a request without its data.
pub(crate) const REQUEST_BYTES: usize = wire::REQUEST_BYTES;
/// The longest read that is answered.
pub(crate) const LONGEST_READ: u32 = wire::MAX_PAYLOAD;
/// Room for the header of data that is read.
pub(crate) const DATA_HEADER: usize = wire::DATA_CHUNK_BYTES;
/// Room for the reply to what has no data and no trouble.
pub(crate) const DONE_BYTES: usize = wire::SIMPLE_REPLY_BYTES;
/// Room for any reply without data or extents.
pub(crate) const REPLY_BYTES: usize = ReplyEncoder::MAX_BYTES;
/// Most extents that an answer may have.
pub(crate) const MOST_EXTENTS: usize = wire::MAX_EXTENTS;

/// Bytes of an answer with this many extents.
pub(crate) const fn extents_bytes(count: usize) -> usize {
    wire::CHUNK_HEADER_BYTES + 4 + 8 * count
}

/// A request as it came.
#[derive(Clone, Copy)]
pub(crate) struct Request(nbd::Request);

impl Request {
    /// What is asked; none for what is no request to a volume, which [`Agreed::check`] refuses.
    #[inline]
    pub(crate) fn kind(&self) -> Option<Kind> {
        match self.0.command {
            Command::Read => Some(Kind::Read),
            Command::Write => Some(Kind::Write),
            Command::Flush => Some(Kind::Flush),
            Command::Trim => Some(Kind::Trim),
            Command::WriteZeroes => Some(Kind::WriteZeroes),
            Command::BlockStatus => Some(Kind::Extents),
            Command::Cache => Some(Kind::Prefetch),
            Command::Disconnect | Command::Unknown(_) => None,
        }
    }

    /// The first byte.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.0.offset
    }

    /// Bytes.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.0.length
    }

    /// The byte behind the last one, once it has been checked.
    #[inline]
    pub(crate) fn end(&self) -> u64 {
        self.0.offset + u64::from(self.0.length)
    }

    /// What it changes is to be durable when it is answered.
    #[inline]
    pub(crate) fn fua(&self) -> bool {
        self.0.fua()
    }

    /// Zeros are to have space of their own.
    pub(crate) fn no_hole(&self) -> bool {
        self.0.has(wire::CMD_FLAG_NO_HOLE)
    }

    /// Zeros are to be faster than a write, or not at all.
    pub(crate) fn must_be_fast(&self) -> bool {
        self.0.has(wire::CMD_FLAG_FAST_ZERO)
    }

    /// One extent is all that is wanted.
    pub(crate) fn wants_one_extent(&self) -> bool {
        self.0.has(wire::CMD_FLAG_REQ_ONE)
    }

    /// The request apart from how it is to be answered.
    pub(crate) fn neutral(&self) -> Option<cygnus_volume::Request> {
        let (offset, len, fua) = (self.offset(), self.len(), self.fua());
        self.kind().map(|kind| cygnus_volume::Request { kind, offset, len, fua })
    }
}

/// What stands at the front of what was received.
pub(crate) enum Arrived {
    /// A request that is complete.
    Request {
        request: Request,
        /// Where its data is.
        payload: Range<usize>,
        /// Bytes of all of it.
        consumed: usize,
    },
    /// The client takes its leave.
    Goodbye,
    /// Bytes that the message takes in all.
    NeedMore(usize),
    /// It is no NBD.
    Bad(Malformed),
}

/// Takes what was received apart.
#[inline]
pub(crate) fn arrived(input: &[u8]) -> Arrived {
    match nbd::parse_request(input) {
        Parsed::Request { request, .. } if request.command == Command::Disconnect => Arrived::Goodbye,
        Parsed::Request { request, payload, consumed } => {
            Arrived::Request { request: Request(request), payload, consumed }
        }
        Parsed::NeedMore(bytes) => Arrived::NeedMore(bytes),
        Parsed::Bad(reason) => Arrived::Bad(reason),
    }
}

/// The request at the front whose data has not come yet.
pub(crate) fn begun(input: &[u8]) -> Option<Request> {
    nbd::peek_request(input).map(Request)
}

/// Why a request is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It makes no sense.
    Refused(nbd::Refusal),
    /// The volume could not do it.
    Volume(VolumeError),
    /// It was to be fast, and would not be.
    NotFast,
    /// Between the check and now, the volume was made smaller.
    Shrunk,
}

impl From<VolumeError> for Fault {
    fn from(error: VolumeError) -> Self {
        match error {
            VolumeError::OutOfRange => Fault::Shrunk,
            error => Fault::Volume(error),
        }
    }
}

impl Fault {
    fn errno(self) -> Errno {
        match self {
            Fault::Refused(refusal) => refusal.errno,
            Fault::NotFast => Errno::NotSup,
            Fault::Shrunk | Fault::Volume(VolumeError::OutOfRange) => Errno::Inval,
            Fault::Volume(VolumeError::Io { .. } | VolumeError::Suspended | VolumeError::Lost) => Errno::Io,
            Fault::Volume(VolumeError::NoSpace | VolumeError::MapMemory) => Errno::NoSpc,
            Fault::Volume(VolumeError::ReadOnly) => Errno::Perm,
            Fault::Volume(VolumeError::Gone) => Errno::Shutdown,
        }
    }

    fn message(self) -> String {
        match self {
            Fault::Refused(refusal) => refusal.reason.into(),
            Fault::NotFast => "zeros without a hole are written, which is not fast".into(),
            Fault::Shrunk => "past the end of the export".into(),
            Fault::Volume(error) => error.to_string(),
        }
    }

    /// The first bad byte, if one is known. At the edge of a request that is not aligned, a bad block may begin before the
    /// request does.
    fn offset(self, request: &Request) -> Option<u64> {
        match self {
            Fault::Volume(error) => {
                error.offset().map(|at| at.clamp(request.offset(), request.end().saturating_sub(1)))
            }
            _ => None,
        }
    }
}

/// What the negotiation came to: how requests are judged and answered.
pub(crate) struct Agreed {
    session: nbd::Session,
    replies: ReplyEncoder,
}

impl Agreed {
    fn new(session: nbd::Session) -> Self {
        Self { replies: ReplyEncoder::new(session.structured), session }
    }

    /// Judges a request to a volume of this size.
    #[inline]
    pub(crate) fn check(&self, request: &Request, size: u64) -> Result<(), Fault> {
        request.0.check(&self.session, size).map_err(Fault::Refused)
    }

    /// Whether the answer to a read may come in several pieces, with an error between them if need be.
    pub(crate) fn may_be_split(&self, request: &Request) -> bool {
        self.session.structured && !request.0.has(wire::CMD_FLAG_DF)
    }

    /// The reply to what is done; returns its bytes.
    #[inline]
    pub(crate) fn done(&self, out: &mut [u8; DONE_BYTES], request: &Request) -> usize {
        self.replies.done(out, request.0.cookie)
    }

    /// What stands before all the data of a read; returns its bytes.
    #[inline]
    pub(crate) fn data(&self, out: &mut [u8; DATA_HEADER], request: &Request) -> usize {
        self.replies.read_header(out, request.0.cookie, request.0.offset, request.0.length)
    }

    /// What stands before a piece of the data; returns its bytes.
    pub(crate) fn piece(&self, out: &mut [u8; DATA_HEADER], request: &Request, at: u64, len: u32, last: bool) -> usize {
        self.replies.read_part(out, request.0.cookie, at, len, last)
    }

    /// The reply to a read of nothing but zeros, if there is one without data; returns its bytes.
    pub(crate) fn zeros(&self, out: &mut [u8; REPLY_BYTES], request: &Request) -> Option<usize> {
        self.replies.read_hole(out, request.0.cookie, request.0.offset, request.0.length)
    }

    /// The reply to who asked what is mapped; at least one extent, and none longer than was asked for.
    pub(crate) fn extents(&self, request: &Request, extents: &[Extent]) -> Vec<u8> {
        let one = |extent: &Extent| nbd::Extent { length: extent.len as u32, hole: !extent.mapped };
        let extents: Vec<nbd::Extent> = extents.iter().map(one).collect();
        let mut out = Vec::with_capacity(extents_bytes(extents.len()));
        self.replies.block_status(&mut out, request.0.cookie, &extents);
        out
    }

    /// The reply to what has failed; returns its bytes.
    #[cold]
    pub(crate) fn fault(&self, out: &mut [u8; REPLY_BYTES], request: &Request, fault: Fault) -> usize {
        self.replies.error(out, request.0.cookie, fault.errno(), &fault.message(), fault.offset(request))
    }
}

/// What a client is told of a volume. One that answers what is durable has no cache that anybody need flush, and does not offer
/// to: a Linux client then takes it for write-through, and sends none. FUA says nothing new there, and is taken as before, so
/// that who insists on it need not do without. A FLUSH that comes all the same is answered.
fn flags(volume: &impl BlockVolume) -> u16 {
    match volume.acknowledged() {
        Acknowledged::Durable => wire::EXPORT_WRITABLE & !wire::EXPORT_SEND_FLUSH,
        Acknowledged::Memory | Acknowledged::Written => wire::EXPORT_WRITABLE,
    }
}

/// The exports as the negotiation sees them. Keeps what it opened last: the export the client then enters.
struct Opener<'a, E: Exports> {
    exports: &'a E,
    opened: Option<Export<E::Volume>>,
}

impl<E: Exports> Catalogue for Opener<'_, E> {
    fn list(&mut self) -> Vec<(String, String)> {
        self.exports.list()
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        self.opened = self.exports.open(name);
        self.opened.as_ref().map(|export| ExportInfo {
            name: export.name.clone(),
            description: export.description.clone(),
            size: export.volume.size(),
            page: export.volume.page(),
            flags: flags(&export.volume),
        })
    }
}

/// A negotiation under way.
pub(crate) struct Negotiation<'a, E: Exports> {
    handshake: ServerHandshake,
    catalogue: Opener<'a, E>,
}

/// How far a negotiation has come.
pub(crate) enum Stage<V> {
    /// There may be more to take from what was received.
    Again,
    /// Notes how many bytes the message at the front takes in all.
    NeedMore(usize),
    /// The client has entered an export.
    Entered(Agreed, Export<V>),
    /// The client takes its leave.
    Goodbye,
}

impl<'a, E: Exports> Negotiation<'a, E> {
    /// Begins one; `out` gets the server's first words.
    pub(crate) fn new(exports: &'a E, out: &mut Vec<u8>) -> Self {
        Self { handshake: ServerHandshake::new(out), catalogue: Opener { exports, opened: None } }
    }

    /// Takes a message from the front of `input`, if it is complete; returns the bytes taken.
    pub(crate) fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Stage<E::Volume>), Malformed> {
        let progress = self.handshake.step(input, &mut self.catalogue, out)?;
        let stage = match progress.next {
            Next::Again => Stage::Again,
            Next::NeedMore(message) => Stage::NeedMore(message),
            Next::Close => Stage::Goodbye,
            Next::Transmission(session) => {
                let export = self.catalogue.opened.take().expect("the handshake has found the export it enters");
                Stage::Entered(Agreed::new(session), export)
            }
        };
        Ok((progress.consumed, stage))
    }
}
