//! `cygnus ssd ...`

use super::values::{Size, parse_whole_blocks};
use clap::{Args, Subcommand, ValueHint};
use cygnus_ssdlink::Address;
use std::path::PathBuf;

const SERVE_EXAMPLES: &str = "\
Examples:
  Three drives of 1 GiB, and an array of them:
    for n in 0 1 2; do cygnus ssd serve d$n --create 1GiB --listen unix:d$n.sock & done
    for n in 0 1 2; do until [ -S d$n.sock ]; do sleep 0.1; done; done     # until they listen
    cygnus array create tank --preset log-raid --raid 2+1 ssd:unix:d{0..2}.sock
    kill %1 %2 %3          # stops the drives cleanly, after what serves the array
  One for hosts of a network that is trusted, as slow as a SATA drive:
    cygnus ssd serve d3 --create 100GiB --model sata --timed --listen tcp:10.0.0.7:4420

Whoever can connect by TCP can claim the drive: there are no passwords. A socket file is its owner's alone.";

/// The verbs of software SSDs.
#[derive(Debug, Subcommand)]
pub enum SsdCommand {
    /// Serve the drive in a file to hosts, in the foreground
    ///
    /// The drive stores blocks of 4 KiB with up to 128 bytes beside each, computes parity of its own blocks on request, and is one
    /// host's alone while that is connected. A modelled SSD of the same size goes along and tells by its counters what flash would have
    /// gone through ('cygnus ssd status'). When it is ready, it prints one line that begins with "ready" and names the address.
    /// SIGTERM and SIGINT stop it cleanly. kill -9 loses nothing that was answered: that takes the machine's power, and then what
    /// was not flushed may be gone.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(SsdServeArgs),
    /// Show what hosts asked of a drive, and what flash would have gone through
    #[command(after_help = "Example:\n  cygnus ssd status unix:d0.sock --json | jq .write_amplification")]
    Status {
        /// Where it is served: unix:PATH or tcp:HOST:PORT
        #[arg(value_name = "ADDRESS")]
        address: Address,
    },
    /// Show which drive it is and what it can do
    #[command(after_help = "Example:\n  cygnus ssd identify tcp:10.0.0.7:4420")]
    Identify {
        /// Where it is served: unix:PATH or tcp:HOST:PORT
        #[arg(value_name = "ADDRESS")]
        address: Address,
    },
}

/// `cygnus ssd serve`
#[derive(Debug, Args)]
pub struct SsdServeArgs {
    /// The file that holds the drive
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Where to listen: unix:PATH, or tcp:HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Address,
    /// Make the drive, of this capacity, if FILE does not exist; its space is set aside. The file is 7 % larger
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub create: Option<Size>,
    /// With --create: take space as it is written, and give it back as it is trimmed
    #[arg(long, requires = "create")]
    pub sparse: bool,
    /// With --create: the make of the modelled SSD that goes along, as 'cygnus sim device --help' lists them [default: scalaafa-femu]
    #[arg(long, value_name = "PRESET", requires = "create")]
    pub model: Option<String>,
    /// Let every answer take as long as it would from the modelled SSD
    #[arg(long)]
    pub timed: bool,
}
