//! The NBD protocol, sans-I/O: bytes in, values out, and back again.
//!
//! Nothing here owns a socket, a buffer or a clock. A server feeds what it received to
//! [`ServerHandshake::step`] until a [`Session`] comes out, then to [`parse_request`]; it builds its
//! answers with [`ReplyEncoder`]. A client does the mirror image with [`ClientHandshake`],
//! [`Request::encode`] and [`parse_reply`].
//!
//! Where to look:
//!
//! | file | idea |
//! |---|---|
//! | `wire.rs` | every number of the protocol, and the limits we put on it |
//! | `error.rs` | [`Errno`] (told to the peer) and [`Malformed`] (ends the connection) |
//! | `option.rs` | what an option's data says |
//! | `handshake.rs` | the server's side of the negotiation |
//! | `request.rs` | one transmission request: parse, check, encode |
//! | `reply.rs` | replies as the server writes them |
//! | `client_handshake.rs`, `client_reply.rs` | the client's side |
//! | `uri.rs` | `nbd://` and `nbd+unix://` |
//!
//! Left out on purpose: TLS (its option is answered "unsupported", as any option we do not know),
//! extended headers, and the old style negotiation, which no client of the last decade needs.

mod client_handshake;
mod client_reply;
mod error;
mod handshake;
mod option;
mod reply;
mod request;
mod uri;
pub mod wire;

pub use client_handshake::{ClientHandshake, ClientStep, Goal, Negotiated, RemoteExport};
pub use client_reply::{ExtentIter, Reply, ReplyBody, ReplyParsed, SimpleReply, parse_reply};
pub use error::{Errno, Malformed};
pub use handshake::{Catalogue, ExportInfo, Next, Progress, ServerHandshake, Session};
pub use reply::{Extent, ReplyEncoder};
pub use request::{Command, Parsed, Refusal, Request, parse_request, peek_offset, peek_request};
pub use uri::{Address, NbdUri, UriError};
