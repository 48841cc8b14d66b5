//! The server's side of the negotiation: fixed newstyle, one option per step.

use crate::error::Malformed;
use crate::option::{self, InfoRequest, Unfit};
use crate::wire::{self, u32_at, u64_at};

/// An export as the negotiation shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportInfo {
    /// The canonical name; may differ from the one asked for (the default export's is empty).
    pub name: String,
    /// A line for humans; empty when there is none.
    pub description: String,
    /// Size of the export in bytes.
    pub size: u64,
    /// Bytes that requests had best be multiples of: a power of two from 4096 on.
    pub page: u32,
    /// `EXPORT_*` flags without `SEND_DF`, which the handshake adds with structured replies.
    pub flags: u16,
}

/// Where the negotiation looks exports up. Asked anew each time: exports come and go.
pub trait Catalogue {
    /// Name and description of each export.
    fn list(&mut self) -> Vec<(String, String)>;
    /// The export of that name; the empty name asks for the default export.
    fn find(&mut self, name: &str) -> Option<ExportInfo>;
}

/// What was agreed; the transmission phase obeys it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The export chosen, with the flags as told to the client.
    pub export: ExportInfo,
    /// Structured replies were agreed: reads must be answered with them.
    pub structured: bool,
    /// `base:allocation` was selected: BLOCK_STATUS may be asked.
    pub allocation: bool,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that are done with.
    pub consumed: usize,
    /// What to do next, after sending what was appended to the output.
    pub next: Next,
}

/// What the server does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Call again with the rest of the input.
    Again,
    /// Call again when the input holds this many bytes (never above `OPTION_HEADER_BYTES + MAX_OPTION`).
    NeedMore(usize),
    /// Requests follow.
    Transmission(Session),
    /// The client took its leave: send the output, then close.
    Close,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    ClientFlags,
    Option,
    /// The data of a refused option is still coming: this many bytes.
    Skip(usize),
}

/// The server's negotiation with one client.
#[derive(Debug)]
pub struct ServerHandshake {
    stage: Stage,
    no_zeroes: bool,
    structured: bool,
    /// The export for which `base:allocation` was selected last.
    allocation_of: Option<String>,
    options: u32,
    /// Options that it may come to.
    allowed: u32,
}

impl ServerHandshake {
    /// Starts a negotiation; appends the greeting to `out`.
    pub fn new(out: &mut Vec<u8>) -> ServerHandshake {
        out.extend_from_slice(&wire::GREETING_MAGIC.to_be_bytes());
        out.extend_from_slice(&wire::OPTION_MAGIC.to_be_bytes());
        out.extend_from_slice(&(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES).to_be_bytes());
        ServerHandshake {
            stage: Stage::ClientFlags,
            no_zeroes: false,
            structured: false,
            allocation_of: None,
            options: 0,
            allowed: wire::MAX_OPTIONS,
        }
    }

    /// Takes at most one message from the front of `input`; appends the answer to `out`.
    ///
    /// # Errors
    /// [`Malformed`]: close the connection (send nothing more) and log the reason.
    pub fn step(
        &mut self,
        input: &[u8],
        exports: &mut impl Catalogue,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        match self.stage {
            Stage::ClientFlags => self.client_flags(input),
            Stage::Skip(left) => {
                let consumed = left.min(input.len());
                if consumed == left {
                    self.stage = Stage::Option;
                    return Ok(again(consumed));
                }
                self.stage = Stage::Skip(left - consumed);
                Ok(Progress { consumed, next: Next::NeedMore(1) })
            }
            Stage::Option => self.option(input, exports, out),
        }
    }

    fn client_flags(&mut self, input: &[u8]) -> Result<Progress, Malformed> {
        if input.len() < wire::CLIENT_FLAGS_BYTES {
            return Ok(need(wire::CLIENT_FLAGS_BYTES));
        }
        let flags = u32_at(input, 0);
        let known = u32::from(wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES);
        if flags & !known != 0 {
            return Err(Malformed::ClientFlags(flags));
        }
        // A client without FIXED_NEWSTYLE may only send EXPORT_NAME; whatever else it sends is
        // answered as for any client.
        self.no_zeroes = flags & u32::from(wire::FLAG_NO_ZEROES) != 0;
        self.stage = Stage::Option;
        Ok(again(wire::CLIENT_FLAGS_BYTES))
    }

    fn option(&mut self, input: &[u8], exports: &mut impl Catalogue, out: &mut Vec<u8>) -> Result<Progress, Malformed> {
        if input.len() < wire::OPTION_HEADER_BYTES {
            return Ok(need(wire::OPTION_HEADER_BYTES));
        }
        let magic = u64_at(input, 0);
        if magic != wire::OPTION_MAGIC {
            return Err(Malformed::OptionMagic(magic));
        }
        let (option, length) = (u32_at(input, 8), u32_at(input, 12));
        if length as usize > wire::MAX_SKIPPED_OPTION {
            return Err(Malformed::OptionLength { option, length });
        }
        let too_long = length as usize > wire::MAX_OPTION;
        let end = wire::OPTION_HEADER_BYTES + length as usize;
        if !too_long && input.len() < end {
            return Ok(need(end));
        }
        self.options += 1;
        if self.options > self.allowed {
            return Err(Malformed::TooManyOptions(self.allowed));
        }
        if too_long {
            if option == wire::OPT_EXPORT_NAME {
                return Err(Malformed::ExportName(length as usize));
            }
            refuse(out, option, wire::REP_ERR_TOO_BIG, "the option's data is too long");
            self.stage = Stage::Skip(length as usize);
            return Ok(again(wire::OPTION_HEADER_BYTES));
        }
        let data = &input[wire::OPTION_HEADER_BYTES..end];
        let next = self.answer(option, data, exports, out)?;
        Ok(Progress { consumed: end, next })
    }

    fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &mut impl Catalogue,
        out: &mut Vec<u8>,
    ) -> Result<Next, Malformed> {
        match option {
            wire::OPT_EXPORT_NAME => return self.export_name(data, exports, out),
            // The protocol says of GO and INFO that data must follow, of these that none may.
            wire::OPT_LIST | wire::OPT_STRUCTURED_REPLY if !data.is_empty() => {
                refuse(out, option, wire::REP_ERR_INVALID, "this option takes no data");
            }
            wire::OPT_ABORT => {
                option_reply(out, option, wire::REP_ACK, &[]);
                return Ok(Next::Close);
            }
            wire::OPT_LIST => {
                // Whoever has them listed may ask about each.
                let listed = list(exports, out);
                self.allowed = wire::MAX_OPTIONS + wire::MAX_OPTIONS_FOR_EACH_LISTED * listed;
            }
            wire::OPT_STRUCTURED_REPLY => {
                self.structured = true;
                option_reply(out, option, wire::REP_ACK, &[]);
            }
            wire::OPT_INFO | wire::OPT_GO => return Ok(self.info_or_go(option, data, exports, out)),
            wire::OPT_LIST_META_CONTEXT | wire::OPT_SET_META_CONTEXT => self.contexts(option, data, exports, out),
            // TLS would switch the transport here; the caller owns the socket, so it would be a `Next`.
            wire::OPT_STARTTLS => refuse(out, option, wire::REP_ERR_UNSUP, "this server has no TLS"),
            _ => refuse(out, option, wire::REP_ERR_UNSUP, "unknown option"),
        }
        Ok(Next::Again)
    }

    fn export_name(&mut self, data: &[u8], exports: &mut impl Catalogue, out: &mut Vec<u8>) -> Result<Next, Malformed> {
        let name = std::str::from_utf8(data).ok().filter(|name| name.len() <= wire::MAX_STRING);
        let name = name.ok_or(Malformed::ExportName(data.len()))?;
        let export = exports.find(name).ok_or_else(|| Malformed::UnknownExport(name.into()))?;
        let session = self.session(name, export);
        out.extend_from_slice(&session.export.size.to_be_bytes());
        out.extend_from_slice(&session.export.flags.to_be_bytes());
        if !self.no_zeroes {
            out.resize(out.len() + wire::EXPORT_NAME_PADDING, 0);
        }
        Ok(Next::Transmission(session))
    }

    fn info_or_go(&mut self, option: u32, data: &[u8], exports: &mut impl Catalogue, out: &mut Vec<u8>) -> Next {
        let request = match option::info_request(data) {
            Ok(request) => request,
            Err(unfit) => {
                refuse_unfit(out, option, unfit);
                return Next::Again;
            }
        };
        let Some(export) = exports.find(request.name) else {
            refuse(out, option, wire::REP_ERR_UNKNOWN, "no export of this name");
            return Next::Again;
        };
        let session = self.session(request.name, export);
        infos(out, option, &session.export, &request);
        option_reply(out, option, wire::REP_ACK, &[]);
        if option == wire::OPT_GO { Next::Transmission(session) } else { Next::Again }
    }

    fn session(&self, asked: &str, mut export: ExportInfo) -> Session {
        if self.structured {
            export.flags |= wire::EXPORT_SEND_DF;
        }
        // Contexts selected for another export than the one entered do not count.
        let allocation = self.allocation_of.as_deref() == Some(asked);
        Session { export, structured: self.structured, allocation }
    }

    fn contexts(&mut self, option: u32, data: &[u8], exports: &mut impl Catalogue, out: &mut Vec<u8>) {
        let set = option == wire::OPT_SET_META_CONTEXT;
        if set {
            // Each SET replaces the one before, also when it fails.
            self.allocation_of = None;
        }
        if !self.structured {
            return refuse(out, option, wire::REP_ERR_INVALID, "structured replies must be agreed first");
        }
        let request = match option::context_request(data) {
            Ok(request) => request,
            Err(unfit) => return refuse_unfit(out, option, unfit),
        };
        if exports.find(request.name).is_none() {
            return refuse(out, option, wire::REP_ERR_UNKNOWN, "no export of this name");
        }
        // LIST: no query asks for all, "base:" for all of that namespace. SET: only leaf names select.
        let matches = |query: &&str| *query == wire::BASE_ALLOCATION || (!set && *query == "base:");
        let all = !set && request.queries.is_empty();
        if all || request.queries.iter().any(matches) {
            let id = if set { wire::BASE_ALLOCATION_ID } else { 0 };
            option_reply(out, option, wire::REP_META_CONTEXT, &[&id.to_be_bytes(), wire::BASE_ALLOCATION.as_bytes()]);
            if set {
                self.allocation_of = Some(request.name.into());
            }
        }
        option_reply(out, option, wire::REP_ACK, &[]);
    }
}

fn again(consumed: usize) -> Progress {
    Progress { consumed, next: Next::Again }
}

fn need(bytes: usize) -> Progress {
    Progress { consumed: 0, next: Next::NeedMore(bytes) }
}

/// How many there are.
fn list(exports: &mut impl Catalogue, out: &mut Vec<u8>) -> u32 {
    let exports = exports.list();
    for (name, description) in &exports {
        let length = (name.len() as u32).to_be_bytes();
        option_reply(out, wire::OPT_LIST, wire::REP_SERVER, &[&length, name.as_bytes(), description.as_bytes()]);
    }
    option_reply(out, wire::OPT_LIST, wire::REP_ACK, &[]);
    exports.len() as u32
}

fn infos(out: &mut Vec<u8>, option: u32, export: &ExportInfo, request: &InfoRequest) {
    let mut info = |kind: u16, parts: [&[u8]; 3]| {
        option_reply(out, option, wire::REP_INFO, &[&kind.to_be_bytes(), parts[0], parts[1], parts[2]]);
    };
    info(wire::INFO_EXPORT, [&export.size.to_be_bytes(), &export.flags.to_be_bytes(), &[]]);
    if request.wants(wire::INFO_NAME) {
        info(wire::INFO_NAME, [export.name.as_bytes(), &[], &[]]);
    }
    if request.wants(wire::INFO_DESCRIPTION) && !export.description.is_empty() {
        info(wire::INFO_DESCRIPTION, [export.description.as_bytes(), &[], &[]]);
    }
    // Told unasked: a client that does not know our largest payload would be cut off for passing it.
    let blocks = [wire::MIN_BLOCK, export.page, wire::MAX_PAYLOAD].map(u32::to_be_bytes);
    info(wire::INFO_BLOCK_SIZE, [&blocks[0], &blocks[1], &blocks[2]]);
}

fn option_reply(out: &mut Vec<u8>, option: u32, kind: u32, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&wire::OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(length as u32).to_be_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn refuse(out: &mut Vec<u8>, option: u32, error: u32, why: &str) {
    option_reply(out, option, error, &[why.as_bytes()]);
}

fn refuse_unfit(out: &mut Vec<u8>, option: u32, unfit: Unfit) {
    match unfit {
        Unfit::Invalid(why) => refuse(out, option, wire::REP_ERR_INVALID, why),
        Unfit::TooBig(why) => refuse(out, option, wire::REP_ERR_TOO_BIG, why),
    }
}
