//! Failed operations: what sorts there are, which of them may pass, and how each is said.
//!
//! # How the numbers of the system are judged
//!
//! Linux's block layer gives each of its states a number of its own (`blk_errors` in `block/blk-core.c`), so most tell what
//! happened. `ENODATA` is a medium error that the drive itself reports, `EILSEQ` and `EBADMSG` a checksum below us, `EREMOTEIO`
//! a drive that gives up on a command (a hardware error): [`IoErrorKind::Medium`], lasting. `ENOLINK` (a transport), `ETIMEDOUT`
//! (no answer after all the kernel's retries), `ENOTCONN` (a FUSE server that is gone), `ESTALE` (a network file system that
//! has lost the file's handle) and the network's own are the way to the device, not the device: [`IoErrorKind::Path`].
//! `EROFS`, `EACCES`, `EPERM`, `EBADF`, `EBADE` (somebody else's reservation) and `EFBIG` (`ulimit -f`) are somebody's
//! decision: [`IoErrorKind::Refused`].
//!
//! `EIO` says nothing: a bad sector behind the page cache, a loop device on a full file system, a thin pool that is full, a
//! path that multipath gave up and a file system below that shut itself down all give it. It is [`IoErrorKind::Unclear`], as is
//! every number without a meaning here. Whoever reads takes it for a bad range, since mirrors and parity mend that, and mending
//! writes. Whoever writes or flushes learns from it that the device did not store something, and no more: what it held
//! before is not in doubt.

use std::fmt;

/// The kinds of failure the engine tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IoErrorKind {
    /// The medium could not deliver or store this range, and says so; other ranges may work.
    Medium,
    /// A file or block device ends before it did: somebody has shortened it, and what lay behind is gone.
    CutShort,
    /// It failed, and nobody says whether for good.
    Unclear,
    /// The device is not there.
    Gone,
    /// The way to the device is lost. The device may be as well as ever.
    Path,
    /// Somebody does not let us: a device or file system that is read-only, a permission, a reservation.
    Refused,
    /// The device gave no answer within the patience for it.
    Hung,
    /// The device, or its driver, has no such command.
    Unsupported,
    /// The range lies outside the device or breaks its alignment: a bug of the caller.
    Range,
    /// The transport of a socket broke or was closed.
    Closed,
    /// Space ran out below us (a sparse file on a full file system, a thin pool).
    NoSpace,
}

impl IoErrorKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 11] = [
        Self::Medium,
        Self::CutShort,
        Self::Unclear,
        Self::Gone,
        Self::Path,
        Self::Refused,
        Self::Hung,
        Self::Unsupported,
        Self::Range,
        Self::Closed,
        Self::NoSpace,
    ];

    /// Whether the trouble may pass, by itself or by what somebody does below us, with all that the device held before still
    /// good. Only what was being written is in doubt; after a failed flush, everything since the last one that succeeded.
    pub const fn may_pass(self) -> bool {
        match self {
            Self::Unclear | Self::Gone | Self::Path | Self::Refused | Self::Hung | Self::NoSpace => true,
            Self::Medium | Self::CutShort | Self::Unsupported | Self::Range | Self::Closed => false,
        }
    }

    /// Whether a read that failed so tells of its range alone: it is to be had from elsewhere, and to be written anew.
    pub const fn is_of_range(self) -> bool {
        matches!(self, Self::Medium | Self::CutShort | Self::Unclear)
    }

    /// What happened, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Medium => "the medium failed",
            Self::CutShort => "it has become smaller than it was, and what lay behind is gone",
            Self::Unclear => "it failed",
            Self::Gone => "the device is not there",
            Self::Path => "the path to the device is lost",
            Self::Refused => "it is not allowed",
            Self::Hung => "the device gives no answer",
            Self::Unsupported => "the device has no such command",
            Self::Range => "the device does not take such a range",
            Self::Closed => "the connection is closed",
            Self::NoSpace => "there is no space left below the device",
        }
    }
}

/// A failed operation. `errno` is the operating system's number where there is one, else 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoError {
    /// What sort of failure.
    pub kind: IoErrorKind,
    /// Operating system error number, 0 if none applies.
    pub errno: i32,
}

impl std::error::Error for IoError {}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if self.errno == 0 {
            return Ok(());
        }
        let text = std::io::Error::from_raw_os_error(self.errno).to_string();
        // The standard library adds the number, which says less than its name.
        let text = text.split(" (os error").next().unwrap_or_default();
        match name(self.errno) {
            Some(name) => write!(f, ": {text} ({name})"),
            None => write!(f, ": {text} (errno {})", self.errno),
        }
    }
}

impl IoError {
    /// An error that no operating system call caused.
    pub const fn new(kind: IoErrorKind) -> Self {
        Self { kind, errno: 0 }
    }

    /// What the system's number means for an operation of a device; see the module's text.
    pub const fn of_device(errno: i32) -> Self {
        let kind = match errno {
            libc::ENODATA | libc::EILSEQ | libc::EBADMSG | libc::EREMOTEIO => IoErrorKind::Medium,
            libc::ENODEV | libc::ENXIO | libc::ENOENT | libc::ESHUTDOWN | libc::ENOMEDIUM => IoErrorKind::Gone,
            libc::ENOLINK | libc::ETIMEDOUT | libc::ESTALE | libc::EPIPE | libc::ENOTCONN | libc::ECONNRESET => {
                IoErrorKind::Path
            }
            libc::ECONNREFUSED | libc::ECONNABORTED | libc::EHOSTUNREACH | libc::EHOSTDOWN => IoErrorKind::Path,
            libc::ENETUNREACH | libc::ENETDOWN | libc::ENETRESET => IoErrorKind::Path,
            libc::EROFS | libc::EACCES | libc::EPERM | libc::EBADF | libc::EBADE | libc::EFBIG => IoErrorKind::Refused,
            libc::ENOSPC | libc::EDQUOT => IoErrorKind::NoSpace,
            libc::EINVAL => IoErrorKind::Range,
            _ => IoErrorKind::Unclear,
        };
        Self { kind, errno }
    }

    /// What the system's number means for an operation of a socket.
    pub const fn of_socket(errno: i32) -> Self {
        let kind = match errno {
            libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN | libc::ECONNABORTED | libc::ETIMEDOUT => {
                IoErrorKind::Closed
            }
            libc::EHOSTUNREACH | libc::ENETUNREACH | libc::ENETDOWN | libc::ESHUTDOWN => IoErrorKind::Closed,
            _ => IoErrorKind::Unclear,
        };
        Self { kind, errno }
    }
}

macro_rules! names {
    ($($name:ident)*) => {
        /// What the manual pages call an error number that devices and sockets may give.
        const fn name(errno: i32) -> Option<&'static str> {
            match errno {
                $(libc::$name => Some(stringify!($name)),)*
                _ => None,
            }
        }
    };
}

names! {
    EPERM ENOENT EINTR EIO ENXIO EBADF EAGAIN ENOMEM EACCES EBUSY ENODEV EINVAL ENFILE EMFILE EFBIG ENOSPC EROFS EPIPE EILSEQ
    ENODATA ETIME ENOLINK EBADE EBADMSG EOVERFLOW EUCLEAN EREMOTEIO ECOMM EPROTO EOPNOTSUPP ENETDOWN ENETUNREACH ENETRESET
    ECONNABORTED ECONNRESET ENOBUFS ENOTCONN ESHUTDOWN ETIMEDOUT ECONNREFUSED EHOSTDOWN EHOSTUNREACH ESTALE EDQUOT ENOMEDIUM
    ECANCELED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_said_in_words_with_the_systems_own() {
        let said = |errno| IoError::of_device(errno).to_string();
        assert_eq!(said(libc::ENOLINK), "the path to the device is lost: Link has been severed (ENOLINK)");
        assert_eq!(said(libc::EPERM), "it is not allowed: Operation not permitted (EPERM)");
        assert_eq!(said(libc::EIO), "it failed: Input/output error (EIO)");
        assert_eq!(said(libc::ENOSPC), "there is no space left below the device: No space left on device (ENOSPC)");
        assert_eq!(said(4000), "it failed: Unknown error 4000 (errno 4000)");
        assert_eq!(IoError::new(IoErrorKind::Hung).to_string(), "the device gives no answer");
    }

    /// The block layer's states and their numbers, and what a member does after each.
    #[test]
    fn only_what_the_drive_itself_calls_lasting_lasts() {
        for (errno, kind) in [
            (libc::ENODATA, IoErrorKind::Medium),
            (libc::EREMOTEIO, IoErrorKind::Medium),
            (libc::EILSEQ, IoErrorKind::Medium),
            (libc::EIO, IoErrorKind::Unclear),
            (libc::ENOMEM, IoErrorKind::Unclear),
            (libc::ENODEV, IoErrorKind::Gone),
            (libc::ENOLINK, IoErrorKind::Path),
            (libc::ETIMEDOUT, IoErrorKind::Path),
            (libc::ENOTCONN, IoErrorKind::Path),
            (libc::EROFS, IoErrorKind::Refused),
            (libc::EBADE, IoErrorKind::Refused),
            (libc::EDQUOT, IoErrorKind::NoSpace),
        ] {
            assert_eq!(IoError::of_device(errno).kind, kind, "{errno}");
            assert_eq!(kind.may_pass(), kind != IoErrorKind::Medium, "{kind:?}");
        }
        assert_eq!(IoError::of_socket(libc::ETIMEDOUT).kind, IoErrorKind::Closed);
    }
}
