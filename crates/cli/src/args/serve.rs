//! `cygnus serve`

use super::values::{ArrayName, Interval, Span, ValueError};
use clap::Args;
use cygnus_target::ListenAddress;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  cygnus serve tank --nbd unix:/run/cygnus/tank.sock
  cygnus serve tank --nbd 127.0.0.1:10809 --nbd '[::1]:10809' --reactors 4 --pin
  cygnus serve tank --record vol0=vol0.trace

  As a systemd service (it says when it is ready; SIGTERM is a clean stop):
    [Service]
    Type=notify
    ExecStart=/usr/local/bin/cygnus serve tank --nbd 0.0.0.0:10809
    TimeoutStopSec=120";

/// A volume, and the new file that its requests go to.
#[derive(Clone, Debug)]
pub struct RecordTo {
    /// The volume's name.
    pub volume: String,
    /// The file.
    pub file: PathBuf,
}

impl FromStr for RecordTo {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text.split_once('=') {
            Some((volume, file)) if !volume.is_empty() && !file.is_empty() => {
                Ok(Self { volume: volume.into(), file: file.into() })
            }
            _ => Err(ValueError::new("write VOLUME=FILE, such as vol0=vol0.trace")),
        }
    }
}

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
    /// A member that gives no answer for so long goes out of service; more than any drive's own retries take
    /// [default: 30s]
    #[arg(long, value_name = "SPAN")]
    pub hung_after: Option<Span>,
    /// Verify all live data this often and mend what is wrong, such as 30d, or never [default: 30d]
    #[arg(long, value_name = "INTERVAL")]
    pub scrub_every: Option<Interval>,
    /// Write down what clients ask of a volume, without the data; for 'cygnus trace'. May be given several times
    #[arg(long, value_name = "VOLUME=FILE")]
    pub record: Vec<RecordTo>,
    /// Write a newline to this file descriptor when ready, and close it
    #[arg(long, value_name = "FD", value_parser = clap::value_parser!(i32).range(3..))]
    pub ready_fd: Option<i32>,
}
