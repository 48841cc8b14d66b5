//! What a server says of itself in its log, each with its words and its weight. What the array says comes as lines of its own.

use crate::memory::FewPlaces;
use cygnus_host::links::SharedLink;
use cygnus_host::state::StateError;
use cygnus_target::{ListenAddress, SessionEvent};
use cygnus_types::MemberIx;
use std::fmt;
use std::io;
use std::path::Path;

/// Something that a server says.
pub enum ServerEvent<'a> {
    /// A member is not as it should be.
    Oddity(&'a str),
    /// A device is used in another way than the best.
    Fallback { device: &'a str, why: &'a str },
    /// There are fewer places for clients than were asked for, or few at all.
    FewPlaces(FewPlaces),
    /// Data is to move out of the way of contention, and this array has no second group for it.
    NowhereToMove { array: &'a str },
    /// Members share a link, by what Linux tells.
    SharedLink(&'a SharedLink),
    /// What a member's way to this machine is, Linux does not tell.
    WayUnknown { member: &'a str, why: &'a str },
    /// All members share the only link.
    OneLinkForAll(&'a SharedLink),
    /// Links were looked for, and none was found.
    NoSharedLink { alone: usize, unknown: usize },
    /// Requests to a volume are being written down.
    Recording { volume: &'a str, file: &'a Path },
    /// That has failed.
    RecordingEnds { file: &'a Path, error: &'a io::Error },
    /// The operating system asks for a stop.
    Signal(&'static str),
    /// The same while the array is still being opened.
    SignalTooEarly { signal: &'static str, array: &'a str },
    /// A clean stop begins.
    Stopping { array: &'a str },
    /// It is over.
    Stopped { array: &'a str },
    /// A socket for clients was removed.
    AddressLost(&'a ListenAddress),
    /// The state directory had lost the control socket.
    ControlRenewed { array: &'a str, dir: &'a Path },
    /// It had, and there cannot be another one.
    ControlLost { array: &'a str, why: &'a dyn fmt::Display },
    /// A member that is looked for is not there.
    LookedFor { member: MemberIx, place: &'a Path, why: &'a str },
    /// A member has come to another path.
    Moved { member: MemberIx, place: &'a Path },
    /// Where members are could not be written down: the disks know, and a scan finds them.
    NotRemembered(&'a StateError),
    /// A client's connection.
    Session(&'a SessionEvent),
}

/// Who should read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// For an operator who asked for more (`--verbose`).
    Detail,
    /// For the log of every server.
    Line,
    /// For the log of every server, and an operator should do something.
    Warning,
}

impl ServerEvent<'_> {
    /// Who should read it.
    pub fn weight(&self) -> Weight {
        match self {
            Self::Fallback { .. } | Self::Signal(_) | Self::LookedFor { .. } => Weight::Detail,
            Self::Session(event) if event.trouble().is_none() => Weight::Detail,
            Self::SharedLink(_) | Self::WayUnknown { .. } | Self::NoSharedLink { .. } | Self::Moved { .. } => {
                Weight::Line
            }
            Self::Recording { .. } | Self::Stopping { .. } | Self::Stopped { .. } | Self::Session(_) => Weight::Line,
            Self::ControlLost { .. } | Self::SignalTooEarly { .. } => Weight::Line,
            Self::Oddity(_) | Self::RecordingEnds { .. } | Self::AddressLost(_) => Weight::Warning,
            Self::ControlRenewed { .. } | Self::NotRemembered(_) => Weight::Warning,
            Self::NowhereToMove { .. } | Self::OneLinkForAll(_) | Self::FewPlaces(_) => Weight::Warning,
        }
    }

    /// Under which name it is counted once there were many, and what it is about; `None`: all of it is told.
    pub fn throttled(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::ControlLost { array, .. } => Some(("control socket", array)),
            _ => None,
        }
    }
}

impl fmt::Display for ServerEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oddity(what) => f.write_str(what),
            Self::Fallback { device, why } => write!(f, "{device}: {why}"),
            Self::FewPlaces(few) => write!(f, "{few}"),
            Self::NowhereToMove { array } => write!(
                f,
                "{array} has one R-group, so --autonomics moves no data and steers no writes: there is no second group for them; \
                 only reads go around members that are slow. Leave it out, or create an array of several groups"
            ),
            Self::SharedLink(link) => write!(f, "link {}: {link}", link.name),
            Self::WayUnknown { member, why } => {
                write!(
                    f,
                    "{member} counts as behind a link of its own, for its way to this machine is not known: {why}"
                )
            }
            Self::OneLinkForAll(link) => write!(
                f,
                "all members are behind link {}, so nothing can move out of the way of that link, but only away from members that are late by themselves. \
                 If they share less than that, declare what they do with --link NAME:MEMBERS; else put some members behind another \
                 link, or leave --link auto out, and each member counts by itself",
                link.name
            ),
            Self::NoSharedLink { alone, unknown } => write!(
                f,
                "no link was found that members share: the ways of {alone} are known and have nothing in common, those of {unknown} \
                 are not known. Each counts as behind a link of its own; --link NAME:MEMBERS declares another one"
            ),
            Self::Recording { volume, file } => write!(f, "recording {volume} to {}", file.display()),
            Self::RecordingEnds { file, error } => write!(f, "the recording {} ends here: {error}", file.display()),
            Self::Signal(name) => write!(f, "{name} received"),
            Self::SignalTooEarly { signal, array } => write!(
                f,
                "{signal} received while {array} is being opened: it stops as soon as it is open; a second {signal} ends the \
                 server at once, which loses nothing that was acknowledged"
            ),
            Self::Stopping { array } => write!(f, "stopping {array}"),
            Self::Stopped { array } => write!(f, "{array} is stopped cleanly"),
            Self::AddressLost(address) => {
                write!(f, "{address} was removed: nobody can connect there before the next start")
            }
            Self::ControlRenewed { array, dir } => {
                write!(f, "{} had lost the control socket of {array}: it is there again", dir.display())
            }
            Self::ControlLost { array, why } => {
                write!(f, "no command reaches {array}, since its control socket is gone: {why}")
            }
            Self::LookedFor { member, place, why } => {
                write!(f, "member {} is looked for at {}: {why}", member.0, place.display())
            }
            Self::Moved { member, place } => write!(f, "member {} is at {} now", member.0, place.display()),
            Self::NotRemembered(error) => write!(
                f,
                "where the members are could not be written down: {error}: it is tried again every second; if the server ends \
                 before that works, 'cygnus array scan' finds them"
            ),
            Self::Session(event) => write!(f, "{event}"),
        }
    }
}
