//! Every number of the NBD protocol, and the limits this implementation puts on its peers.
//!
//! All integers on the wire are big-endian.

/// First half of the server's greeting: "NBDMAGIC".
pub const GREETING_MAGIC: u64 = 0x4e42_444d_4147_4943;
/// Second half of the greeting, and the head of every option: "IHAVEOPT".
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Head of every reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// Head of every transmission request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// Head of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Head of a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of the greeting: two magics and the handshake flags.
pub const GREETING_BYTES: usize = 18;
/// Bytes of the client's flags, its first message.
pub const CLIENT_FLAGS_BYTES: usize = 4;
/// Bytes of an option before its data.
pub const OPTION_HEADER_BYTES: usize = 16;
/// Bytes of an option reply before its data.
pub const OPTION_REPLY_HEADER_BYTES: usize = 20;
/// Bytes of the answer to `EXPORT_NAME` before its padding: size and flags.
pub const EXPORT_NAME_REPLY_BYTES: usize = 10;
/// Zero bytes after the answer to `EXPORT_NAME`, unless both sides said `NO_ZEROES`.
pub const EXPORT_NAME_PADDING: usize = 124;
/// Bytes of a request before its payload.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of a simple reply before its payload.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// Bytes of a structured chunk before its payload.
pub const CHUNK_HEADER_BYTES: usize = 20;
/// Bytes before the data in an `OFFSET_DATA` chunk: chunk header and offset.
pub const DATA_CHUNK_BYTES: usize = CHUNK_HEADER_BYTES + 8;

/// Handshake flag (both sides): the fixed newstyle negotiation.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Handshake flag (both sides): no padding after the answer to `EXPORT_NAME`.
pub const FLAG_NO_ZEROES: u16 = 1 << 1;

/// Option: choose the export, end the negotiation (no error can be told).
pub const OPT_EXPORT_NAME: u32 = 1;
/// Option: the client leaves.
pub const OPT_ABORT: u32 = 2;
/// Option: name the exports.
pub const OPT_LIST: u32 = 3;
/// Option: switch to TLS.
pub const OPT_STARTTLS: u32 = 5;
/// Option: describe an export.
pub const OPT_INFO: u32 = 6;
/// Option: describe an export and begin transmission.
pub const OPT_GO: u32 = 7;
/// Option: use structured replies.
pub const OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: name the metadata contexts of an export.
pub const OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: select metadata contexts.
pub const OPT_SET_META_CONTEXT: u32 = 10;
/// Option: use extended headers (not offered).
pub const OPT_EXTENDED_HEADERS: u32 = 11;

/// Option reply: done.
pub const REP_ACK: u32 = 1;
/// Option reply: one export.
pub const REP_SERVER: u32 = 2;
/// Option reply: one piece of information about an export.
pub const REP_INFO: u32 = 3;
/// Option reply: one metadata context.
pub const REP_META_CONTEXT: u32 = 4;
/// Set in every option reply that is an error.
pub const REP_ERROR_BIT: u32 = 1 << 31;
/// Option error: unknown option.
pub const REP_ERR_UNSUP: u32 = REP_ERROR_BIT | 1;
/// Option error: the data does not make sense.
pub const REP_ERR_INVALID: u32 = REP_ERROR_BIT | 3;
/// Option error: no such export.
pub const REP_ERR_UNKNOWN: u32 = REP_ERROR_BIT | 6;
/// Option error: the data is longer than the server takes.
pub const REP_ERR_TOO_BIG: u32 = REP_ERROR_BIT | 9;

/// Information: size and flags.
pub const INFO_EXPORT: u16 = 0;
/// Information: the canonical name.
pub const INFO_NAME: u16 = 1;
/// Information: a line for humans.
pub const INFO_DESCRIPTION: u16 = 2;
/// Information: block size constraints.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// Export flag: the other flags mean something.
pub const EXPORT_HAS_FLAGS: u16 = 1 << 0;
/// Export flag: no writes.
pub const EXPORT_READ_ONLY: u16 = 1 << 1;
/// Export flag: FLUSH works.
pub const EXPORT_SEND_FLUSH: u16 = 1 << 2;
/// Export flag: FUA works.
pub const EXPORT_SEND_FUA: u16 = 1 << 3;
/// Export flag: a spinning disk.
pub const EXPORT_ROTATIONAL: u16 = 1 << 4;
/// Export flag: TRIM works.
pub const EXPORT_SEND_TRIM: u16 = 1 << 5;
/// Export flag: WRITE_ZEROES works.
pub const EXPORT_SEND_WRITE_ZEROES: u16 = 1 << 6;
/// Export flag: DF works on reads.
pub const EXPORT_SEND_DF: u16 = 1 << 7;
/// Export flag: a flush on one connection covers the writes of all.
pub const EXPORT_CAN_MULTI_CONN: u16 = 1 << 8;
/// Export flag: CACHE works.
pub const EXPORT_SEND_CACHE: u16 = 1 << 10;
/// Export flag: FAST_ZERO works.
pub const EXPORT_SEND_FAST_ZERO: u16 = 1 << 11;

/// Flags of an ordinary writable export; `SEND_DF` is added when structured replies were agreed.
pub const EXPORT_WRITABLE: u16 = EXPORT_HAS_FLAGS
    | EXPORT_SEND_FLUSH
    | EXPORT_SEND_FUA
    | EXPORT_SEND_TRIM
    | EXPORT_SEND_WRITE_ZEROES
    | EXPORT_CAN_MULTI_CONN
    | EXPORT_SEND_CACHE
    | EXPORT_SEND_FAST_ZERO;

/// Command flag: durable before the reply.
pub const CMD_FLAG_FUA: u16 = 1 << 0;
/// Command flag (WRITE_ZEROES): keep the range allocated.
pub const CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Command flag (READ): answer in one chunk.
pub const CMD_FLAG_DF: u16 = 1 << 2;
/// Command flag (BLOCK_STATUS): one extent is enough.
pub const CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Command flag (WRITE_ZEROES): fail at once rather than be slow.
pub const CMD_FLAG_FAST_ZERO: u16 = 1 << 4;

/// Chunk flag: the last chunk of its reply.
pub const CHUNK_DONE: u16 = 1 << 0;
/// Chunk type: nothing.
pub const CHUNK_NONE: u16 = 0;
/// Chunk type: offset and data.
pub const CHUNK_OFFSET_DATA: u16 = 1;
/// Chunk type: offset and length of zeros.
pub const CHUNK_OFFSET_HOLE: u16 = 2;
/// Chunk type: extents of one metadata context.
pub const CHUNK_BLOCK_STATUS: u16 = 5;
/// Chunk type: error and message.
pub const CHUNK_ERROR: u16 = (1 << 15) | 1;
/// Chunk type: error, message and offset.
pub const CHUNK_ERROR_OFFSET: u16 = (1 << 15) | 2;

/// `base:allocation` status: nothing is allocated here.
pub const STATE_HOLE: u32 = 1 << 0;
/// `base:allocation` status: reads as zeros.
pub const STATE_ZERO: u32 = 1 << 1;

/// The one metadata context offered.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// The id we give it.
pub const BASE_ALLOCATION_ID: u32 = 1;

/// The port IANA gave to NBD.
pub const DEFAULT_PORT: u16 = 10809;

/// Longest name or description, in bytes: the protocol's own limit for strings.
pub const MAX_STRING: usize = 4096;
/// Longest data of an option that is read at all, in bytes: room for an export name and a dozen
/// context queries of full length. Longer ones are skipped unread.
pub const MAX_OPTION: usize = 64 << 10;
/// An option longer than this ends the connection: no honest client sends that.
pub const MAX_SKIPPED_OPTION: usize = 32 << 20;
/// Most options in one negotiation, so that no client negotiates forever.
pub const MAX_OPTIONS: u32 = 1024;
/// Options more for each export that a client was told of: `nbdinfo --list` asks two to four things about each of them.
pub const MAX_OPTIONS_FOR_EACH_LISTED: u32 = 8;
/// Most data in one READ or WRITE, in bytes. Requests without data may be longer.
pub const MAX_PAYLOAD: u32 = 32 << 20;
/// Most extents in one answer to BLOCK_STATUS.
pub const MAX_EXTENTS: usize = 4096;
/// Smallest request in bytes.
pub const MIN_BLOCK: u32 = 1;
/// Best request alignment in bytes.
pub const PREFERRED_BLOCK: u32 = 4096;

const _: () = assert!(MAX_OPTION >= 2 * MAX_STRING && MAX_OPTION < MAX_SKIPPED_OPTION);
const _: () = assert!(PREFERRED_BLOCK.is_multiple_of(MIN_BLOCK) && MAX_PAYLOAD.is_multiple_of(PREFERRED_BLOCK));

/// The big-endian u16 at `at`. Panics if `bytes` ends before it: check the length first.
#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The big-endian u32 at `at`. Panics if `bytes` ends before it.
#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The big-endian u64 at `at`. Panics if `bytes` ends before it.
#[inline(always)]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
