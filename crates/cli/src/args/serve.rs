//! `cygnus serve`

use super::values::{
    Interval, KeptIn, Size, Span, ValueError, deserialize_from_str, parse_hung_after, parse_stalled_after,
};
use clap::{Args, ValueEnum};
use cygnus_engine::{Link, LinkError};
use cygnus_host::ArrayName;
use cygnus_target::ListenAddress;
use serde::Deserialize;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  cygnus serve tank --nbd unix:/run/cygnus/tank.sock
  cygnus serve tank --nbd 127.0.0.1:10809 --nbd '[::1]:10809' --reactors 4 --pin
  cygnus serve tank --record vol0=vol0.trace
  cygnus serve tank --autonomics --link nic0:/dev/sda,/dev/sdb --link nic1:/dev/sdc,/dev/sdd

  As a systemd service (it says when it is ready; SIGTERM is a clean stop):
    [Service]
    Type=notify
    ExecStart=/usr/local/bin/cygnus serve tank --nbd 0.0.0.0:10809
    TimeoutStopSec=120";

/// When lines of the log begin with the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogTime {
    /// Unless systemd's journal notes it
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl LogTime {
    /// Whether they do in this process.
    pub fn wanted(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::env::var_os("JOURNAL_STREAM").is_none(),
        }
    }
}

/// A volume, and the new file that its requests go to.
#[derive(Clone, Debug)]
pub struct RecordTo(pub cygnus_server::RecordTo);

impl FromStr for RecordTo {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once('=') {
            Some((volume, file)) if !volume.is_empty() && !file.is_empty() => {
                Ok(Self(cygnus_server::RecordTo { volume: volume.into(), file: file.into() }))
            }
            _ => Err(ValueError::new("write VOLUME=FILE, such as vol0=vol0.trace")),
        }
    }
}

/// Which members share a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkChoice {
    /// Whatever Linux tells.
    Auto,
    /// As somebody declares it.
    Declared(Link),
}

impl LinkChoice {
    /// The link, if it is declared.
    pub fn declared(&self) -> Option<Link> {
        match self {
            Self::Auto => None,
            Self::Declared(link) => Some(link.clone()),
        }
    }
}

impl FromStr for LinkChoice {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Declared) }
    }
}

deserialize_from_str!(LinkChoice);

/// `cygnus serve`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// The array
    pub name: ArrayName,
    /// Listen here: unix:PATH or HOST:PORT; may be given several times [default: unix:STATE/NAME.sock]
    #[arg(long, value_name = "ADDRESS")]
    pub nbd: Vec<ListenAddress>,
    /// Number of reactors, each a thread of its own [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub reactors: Option<u16>,
    /// Pin each reactor to a core
    #[arg(long)]
    pub pin: bool,
    /// A member that gives no answer to a read or write for so long goes out of service, to a flush twice, to a trim four
    /// times; at least 1s [default: 75s, in which the kernel's own timers and resets have had their turn]
    #[arg(long, value_name = "SPAN", value_parser = parse_hung_after)]
    pub hung_after: Option<Span>,
    /// While more members of an R-group are in trouble than its parity covers, requests wait for them: for so long, then
    /// they fail until the members are back [default: for as long as it takes]
    #[arg(long, value_name = "SPAN")]
    pub suspended_for: Option<Span>,
    /// Verify all live data this often and mend what is wrong, such as 30d, or never [default: 30d]
    #[arg(long, value_name = "INTERVAL")]
    pub scrub_every: Option<Interval>,
    /// Memory that the server takes at most, with the volumes' maps (8 bytes for each 4 KiB of data, up to 256 where it is
    /// scattered), buffers, and what clients have under way; 'cygnus array status' shows each part [default: half of the
    /// machine's, or three quarters of what its control group may take]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// Directory of a file system in memory (tmpfs), where writes that were acknowledged and are not on the members yet outlast
    /// a server that is killed; the next one puts them there. 'none': they are lost then [default: /dev/shm]
    #[arg(long, value_name = "DIR|none", env = "CYGNUS_KEPT_IN", hide_env_values = true)]
    pub kept_in: Option<KeptIn>,
    /// Connections that there may be; one host, or one user of this machine, may have half of them [default: 2048]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub max_connections: Option<u32>,
    /// A client that does not take its replies for so long, or does not send the rest of a request, is disconnected
    /// [default: 60s]
    #[arg(long, value_name = "SPAN", value_parser = parse_stalled_after)]
    pub stalled_after: Option<Span>,
    /// A client that asks nothing for so long is disconnected, or never [default: never]
    #[arg(long, value_name = "INTERVAL")]
    pub idle_after: Option<Interval>,
    /// Have data move out of the way of contention: new writes avoid members that lag or share a contended link, reads go around
    /// them, and blocks that a read has brought from them are written anew elsewhere
    #[arg(long)]
    pub autonomics: bool,
    /// Members that share a link, such as nic0:/dev/sda,/dev/sdb; may be given several times. Any path that leads to a member does:
    /// those in /dev/disk/by-id stay when the kernel names devices anew. auto: members that share a controller,
    /// PCIe switch or port, or network interface by what Linux tells, which the log lists. A member in no link has one for itself
    #[arg(long, value_name = "LINK|auto")]
    pub link: Vec<LinkChoice>,
    /// Serve an array of which something durable is lost, which is refused otherwise, with the reason. Whatever may be
    /// concerned is given up: it is unreadable until it is written anew or discarded. Where too many members are missing, those
    /// that are recorded as failed are re-admitted; 'cygnus array check' says what would be unreadable then.
    /// Where copies went on without each other, those count that a refusal names as the ones to go on with by force
    #[arg(long)]
    pub force: bool,
    /// Do not ask before that
    #[arg(short, long, requires = "force")]
    pub yes: bool,
    /// Write down what clients ask of a volume, without the data; for 'cygnus trace'. May be given several times
    #[arg(long, value_name = "VOLUME=FILE")]
    pub record: Vec<RecordTo>,
    /// The time (RFC 3339, UTC) before each line of the log: always, never, or auto, which leaves it to systemd's journal
    /// [default: auto]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    pub log_time: Option<LogTime>,
    /// Write a newline to this file descriptor, which was opened for the server, when ready, and close it
    #[arg(long, value_name = "FD", value_parser = clap::value_parser!(i32).range(3..))]
    pub ready_fd: Option<i32>,
}
