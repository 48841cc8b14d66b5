//! The two kinds of trouble: an errno told to the peer, and input that ends the connection.

/// An error as NBD spells it in a reply. The numbers are the protocol's, whatever the host's are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Errno {
    /// Not permitted: the export is read-only.
    Perm,
    /// The data could not be read or written.
    Io,
    /// Not enough memory for this request.
    NoMem,
    /// The request makes no sense for this export.
    Inval,
    /// Out of space, or past the end for a write.
    NoSpc,
    /// The answer does not fit into one chunk although DF was asked for.
    Overflow,
    /// Not supported, or not fast as FAST_ZERO demands.
    NotSup,
    /// The server is going away.
    Shutdown,
}

impl Errno {
    /// The number on the wire.
    pub fn code(self) -> u32 {
        match self {
            Errno::Perm => 1,
            Errno::Io => 5,
            Errno::NoMem => 12,
            Errno::Inval => 22,
            Errno::NoSpc => 28,
            Errno::Overflow => 75,
            Errno::NotSup => 95,
            Errno::Shutdown => 108,
        }
    }

    /// The error of a wire number; unknown ones read as `Inval`, as the protocol asks. None for 0.
    pub fn from_code(code: u32) -> Option<Errno> {
        Some(match code {
            0 => return None,
            1 => Errno::Perm,
            5 => Errno::Io,
            12 => Errno::NoMem,
            28 => Errno::NoSpc,
            75 => Errno::Overflow,
            95 => Errno::NotSup,
            108 => Errno::Shutdown,
            _ => Errno::Inval,
        })
    }
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Errno::Perm => "operation not permitted",
            Errno::Io => "input/output error",
            Errno::NoMem => "out of memory",
            Errno::Inval => "invalid request",
            Errno::NoSpc => "no space left",
            Errno::Overflow => "answer too large for one chunk",
            Errno::NotSup => "not supported",
            Errno::Shutdown => "server is shutting down",
        })
    }
}

/// Input after which nothing on the connection can be trusted: close it and log this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The peer is not an NBD server.
    #[error("the greeting starts with {0:#018x}, this is not an NBD server")]
    Greeting(u64),
    /// The server speaks only the old negotiation.
    #[error("the server offers no fixed newstyle negotiation (flags {0:#06x})")]
    OldStyle(u16),
    /// The client's flags hold something unknown, so what follows cannot be understood.
    #[error("unknown client flags {0:#010x}; expected a fixed newstyle client")]
    ClientFlags(u32),
    /// An option does not start with its magic.
    #[error("an option starts with {0:#018x} instead of IHAVEOPT")]
    OptionMagic(u64),
    /// An option's data is absurdly long.
    #[error("option {option} announces {length} bytes of data")]
    OptionLength {
        /// The option's number.
        option: u32,
        /// The length it announced, in bytes.
        length: u32,
    },
    /// The negotiation does not end.
    #[error("more than {0} options without choosing an export")]
    TooManyOptions(u32),
    /// EXPORT_NAME named no export; this option has no other way to say so than to close.
    #[error("no export named {0:?}")]
    UnknownExport(String),
    /// EXPORT_NAME carried something which is no name.
    #[error("EXPORT_NAME with a name of {0} bytes that is too long or not UTF-8")]
    ExportName(usize),
    /// A request does not start with its magic.
    #[error("a request starts with {0:#010x}; the stream is out of step")]
    RequestMagic(u32),
    /// A WRITE announces more data than the limit said at negotiation.
    #[error("a WRITE of {0} bytes, above the limit of {max}", max = crate::wire::MAX_PAYLOAD)]
    WriteLength(u32),
    /// An option reply does not start with its magic, or answers another option.
    #[error("an answer to option {option} was expected, got magic {magic:#018x} for option {got}")]
    OptionReply {
        /// The option that was asked for.
        option: u32,
        /// The option answered.
        got: u32,
        /// The magic number that came.
        magic: u64,
    },
    /// An option reply of a type that does not belong to the option.
    #[error("option {option} was answered with a reply of type {kind}, which does not belong to it")]
    OptionReplyType {
        /// The option that was asked for.
        option: u32,
        /// The reply's type.
        kind: u32,
    },
    /// The server refused an option we cannot do without.
    #[error("the server refused option {option} (code {code:#x}): {message}")]
    Refused {
        /// The option that was asked for.
        option: u32,
        /// The reply type.
        code: u32,
        /// What the server said.
        message: String,
    },
    /// A reply does not start with a reply's magic.
    #[error("a reply starts with {0:#010x}; the stream is out of step")]
    ReplyMagic(u32),
    /// A reply to a request that was not made.
    #[error("a reply to the unknown request {0:#x}")]
    UnknownCookie(u64),
    /// A reply's or chunk's length does not fit its type.
    #[error("a {what} of {length} bytes does not fit the protocol")]
    Length {
        /// What was being read.
        what: &'static str,
        /// The length announced, in bytes.
        length: u32,
    },
    /// A structured chunk of a type that is neither known nor an error.
    #[error("unknown structured chunk type {0}")]
    ChunkType(u16),
}
