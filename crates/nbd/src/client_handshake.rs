//! The client's side of the negotiation: reach an export, or list them.

use crate::error::Malformed;
use crate::handshake::{ExportInfo, Session};
use crate::wire::{self, u16_at, u32_at, u64_at};

/// What a client wants of the negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Enter the transmission phase.
    Go {
        /// The export's name; empty for the default one.
        export: String,
        /// Ask for structured replies; go on without them if the server has none.
        structured: bool,
        /// Ask for `base:allocation` (which needs structured replies); go on without if refused.
        allocation: bool,
    },
    /// Name the exports, then leave.
    List,
}

/// What a client reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// As the server's session.
    pub session: Session,
    /// Smallest, preferred and largest request in bytes, if the server told.
    pub block_size: Option<[u32; 3]>,
    /// The id the server gave to `base:allocation`, if selected.
    pub allocation_id: Option<u32>,
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteExport {
    /// Name by which a client asks for the export.
    pub name: String,
    /// A line for humans; may be empty.
    pub description: String,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// Send the output, call again with the rest of the input.
    Again,
    /// Send the output, call again when the input holds this many bytes.
    NeedMore(usize),
    /// Requests may be sent.
    Ready(Box<Negotiated>),
    /// The listing; send the output (a farewell), then close.
    Exports(Vec<RemoteExport>),
}

/// Most exports a listing may have: above it, the server is not believed.
const MAX_LISTED: usize = 65_536;

/// The client's negotiation with one server.
#[derive(Debug)]
pub struct ClientHandshake {
    goal: Goal,
    /// The option whose reply is awaited; None before the greeting.
    asked: Option<u32>,
    structured: bool,
    reached: Reached,
    exports: Vec<RemoteExport>,
}

/// What the server has told so far about the export.
#[derive(Debug, Default)]
struct Reached {
    name: Option<String>,
    description: String,
    size_and_flags: Option<(u64, u16)>,
    block_size: Option<[u32; 3]>,
    allocation_id: Option<u32>,
}

impl ClientHandshake {
    /// A negotiation towards `goal`; the server speaks first.
    pub fn new(goal: Goal) -> ClientHandshake {
        ClientHandshake { goal, asked: None, structured: false, reached: Reached::default(), exports: Vec::new() }
    }

    /// Takes at most one message from the front of `input`, appends to `out` what to send, and
    /// returns how many bytes of the input are done with.
    ///
    /// # Errors
    /// [`Malformed`]: this is no NBD server, or one that refuses the goal.
    pub fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, ClientStep), Malformed> {
        match self.asked {
            None => self.greeting(input, out),
            Some(option) => self.option_reply(option, input, out),
        }
    }

    fn greeting(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, ClientStep), Malformed> {
        if input.len() < wire::GREETING_BYTES {
            return Ok((0, ClientStep::NeedMore(wire::GREETING_BYTES)));
        }
        if u64_at(input, 0) != wire::GREETING_MAGIC {
            return Err(Malformed::Greeting(u64_at(input, 0)));
        }
        let flags = u16_at(input, 16);
        if u64_at(input, 8) != wire::OPTION_MAGIC || flags & wire::FLAG_FIXED_NEWSTYLE == 0 {
            return Err(Malformed::OldStyle(flags));
        }
        let flags = flags & (wire::FLAG_FIXED_NEWSTYLE | wire::FLAG_NO_ZEROES);
        out.extend_from_slice(&u32::from(flags).to_be_bytes());
        let first = match self.goal {
            Goal::List => wire::OPT_LIST,
            Goal::Go { structured: true, .. } => wire::OPT_STRUCTURED_REPLY,
            Goal::Go { .. } => wire::OPT_GO,
        };
        self.ask(first, out);
        Ok((wire::GREETING_BYTES, ClientStep::Again))
    }

    fn ask(&mut self, option: u32, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        if let Goal::Go { export, .. } = &self.goal {
            let name = [&(export.len() as u32).to_be_bytes()[..], export.as_bytes()].concat();
            match option {
                wire::OPT_SET_META_CONTEXT => {
                    data.extend_from_slice(&name);
                    data.extend_from_slice(&1u32.to_be_bytes());
                    data.extend_from_slice(&(wire::BASE_ALLOCATION.len() as u32).to_be_bytes());
                    data.extend_from_slice(wire::BASE_ALLOCATION.as_bytes());
                }
                wire::OPT_GO => {
                    data.extend_from_slice(&name);
                    data.extend_from_slice(&3u16.to_be_bytes());
                    for info in [wire::INFO_NAME, wire::INFO_DESCRIPTION, wire::INFO_BLOCK_SIZE] {
                        data.extend_from_slice(&info.to_be_bytes());
                    }
                }
                _ => {}
            }
        }
        self.asked = Some(option);
        out.extend_from_slice(&wire::OPTION_MAGIC.to_be_bytes());
        out.extend_from_slice(&option.to_be_bytes());
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(&data);
    }

    fn option_reply(&mut self, asked: u32, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, ClientStep), Malformed> {
        if input.len() < wire::OPTION_REPLY_HEADER_BYTES {
            return Ok((0, ClientStep::NeedMore(wire::OPTION_REPLY_HEADER_BYTES)));
        }
        let (magic, option, kind, length) = (u64_at(input, 0), u32_at(input, 8), u32_at(input, 12), u32_at(input, 16));
        if magic != wire::OPTION_REPLY_MAGIC || option != asked {
            return Err(Malformed::OptionReply { option: asked, got: option, magic });
        }
        if length as usize > wire::MAX_OPTION {
            return Err(Malformed::OptionLength { option, length });
        }
        let end = wire::OPTION_REPLY_HEADER_BYTES + length as usize;
        if input.len() < end {
            return Ok((0, ClientStep::NeedMore(end)));
        }
        let data = &input[wire::OPTION_REPLY_HEADER_BYTES..end];
        let step = match kind {
            wire::REP_ACK => self.acknowledged(asked, out)?,
            wire::REP_INFO if asked == wire::OPT_GO => self.info(data)?,
            wire::REP_SERVER if asked == wire::OPT_LIST => self.server(data)?,
            wire::REP_META_CONTEXT if asked == wire::OPT_SET_META_CONTEXT => {
                if data.len() < 4 {
                    return Err(Malformed::Length { what: "metadata context", length });
                }
                if &data[4..] == wire::BASE_ALLOCATION.as_bytes() {
                    self.reached.allocation_id = Some(u32_at(data, 0));
                }
                ClientStep::Again
            }
            code => self.refused(asked, code, data, out)?,
        };
        Ok((end, step))
    }

    fn acknowledged(&mut self, asked: u32, out: &mut Vec<u8>) -> Result<ClientStep, Malformed> {
        match asked {
            wire::OPT_LIST => {
                self.ask(wire::OPT_ABORT, out);
                return Ok(ClientStep::Exports(std::mem::take(&mut self.exports)));
            }
            wire::OPT_STRUCTURED_REPLY => {
                self.structured = true;
                let contexts = matches!(self.goal, Goal::Go { allocation: true, .. });
                self.ask(if contexts { wire::OPT_SET_META_CONTEXT } else { wire::OPT_GO }, out);
            }
            wire::OPT_SET_META_CONTEXT => self.ask(wire::OPT_GO, out),
            _ => return self.ready(),
        }
        Ok(ClientStep::Again)
    }

    fn ready(&mut self) -> Result<ClientStep, Malformed> {
        let Goal::Go { export, .. } = &self.goal else {
            return Ok(ClientStep::Exports(Vec::new()));
        };
        let reached = std::mem::take(&mut self.reached);
        let (size, flags) =
            reached.size_and_flags.ok_or(Malformed::Length { what: "GO without export information", length: 0 })?;
        let name = reached.name.unwrap_or_else(|| export.clone());
        let page = reached.block_size.map_or(wire::PREFERRED_BLOCK, |[_, preferred, _]| preferred);
        let export = ExportInfo { name, description: reached.description, size, page, flags };
        let session = Session { export, structured: self.structured, allocation: reached.allocation_id.is_some() };
        Ok(ClientStep::Ready(Box::new(Negotiated {
            session,
            block_size: reached.block_size,
            allocation_id: reached.allocation_id,
        })))
    }

    /// Structured replies and contexts are wishes; anything else refused ends the negotiation.
    fn refused(&mut self, asked: u32, code: u32, data: &[u8], out: &mut Vec<u8>) -> Result<ClientStep, Malformed> {
        let wish = matches!(asked, wire::OPT_STRUCTURED_REPLY | wire::OPT_SET_META_CONTEXT);
        if code & wire::REP_ERROR_BIT == 0 {
            return Err(Malformed::OptionReplyType { option: asked, kind: code });
        }
        if !wish {
            let message = String::from_utf8_lossy(data).into_owned();
            return Err(Malformed::Refused { option: asked, code, message });
        }
        self.ask(wire::OPT_GO, out);
        Ok(ClientStep::Again)
    }

    fn info(&mut self, data: &[u8]) -> Result<ClientStep, Malformed> {
        let wrong = || Malformed::Length { what: "piece of export information", length: data.len() as u32 };
        if data.len() < 2 {
            return Err(wrong());
        }
        let (kind, body) = (u16_at(data, 0), &data[2..]);
        let text = || String::from_utf8_lossy(body).into_owned();
        match kind {
            wire::INFO_EXPORT if body.len() == 10 => {
                self.reached.size_and_flags = Some((u64_at(body, 0), u16_at(body, 8)))
            }
            wire::INFO_BLOCK_SIZE if body.len() == 12 => {
                self.reached.block_size = Some([u32_at(body, 0), u32_at(body, 4), u32_at(body, 8)]);
            }
            wire::INFO_EXPORT | wire::INFO_BLOCK_SIZE => return Err(wrong()),
            wire::INFO_NAME => self.reached.name = Some(text()),
            wire::INFO_DESCRIPTION => self.reached.description = text(),
            _ => {}
        }
        Ok(ClientStep::Again)
    }

    fn server(&mut self, data: &[u8]) -> Result<ClientStep, Malformed> {
        let wrong = Malformed::Length { what: "listed export", length: data.len() as u32 };
        if data.len() < 4 || self.exports.len() >= MAX_LISTED {
            return Err(wrong);
        }
        let length = u32_at(data, 0) as usize;
        let Some((name, description)) = data[4..].split_at_checked(length) else {
            return Err(wrong);
        };
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        self.exports.push(RemoteExport { name: text(name), description: text(description) });
        Ok(ClientStep::Again)
    }
}
