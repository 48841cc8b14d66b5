//! `cygnus zoned ...`

use super::values::{Size, parse_whole_blocks};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const MAKE_EXAMPLES: &str = "\
Examples:
  Three shingled disks to try, and an array of them:
    for n in 0 1 2; do cygnus zoned make z$n --size 4GiB --zone 16MiB --conventional 4; done
    cygnus array create tank --preset log-raid --raid 2+1 --segment 16MiB zoned:z0 zoned:z1 zoned:z2
  Three drives of zoned flash:
    for n in 0 1 2; do cygnus zoned make f$n --size 8GiB --zone 32MiB --capacity 24MiB --conventional 0 --active 14; done
    cygnus array create flash --preset log-raid --raid 2+1 zoned:f0 zoned:f1 zoned:f2";

/// The verbs of devices with zones.
#[derive(Debug, Subcommand)]
pub enum ZonedCommand {
    /// Make a file that stands for a device with zones, as a host-managed shingled disk is one
    ///
    /// Members name it as zoned:FILE. It refuses what such a disk would refuse: a write that does not go on where its zone does. kill -9
    /// leaves in it what a disk would have; a machine that loses its power may leave more or less.
    #[command(after_help = MAKE_EXAMPLES)]
    Make(ZonedMakeArgs),
    /// Reset zones of a device: what they hold is gone, and they are written from their start again
    ///
    /// For trying what an array does when somebody resets a zone behind its back; blkzone reset does the same to a block device. It is
    /// refused while a server or another program has the device. Asks first; without a terminal to ask at it needs --yes.
    #[command(after_help = "Example:\n  cygnus zoned reset zoned:z0 20 21 --yes")]
    Reset {
        /// The block device, or zoned:FILE
        #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
        device: PathBuf,
        /// Which zones, counted from 0
        #[arg(value_name = "ZONE", required = true)]
        zones: Vec<u32>,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Show the zones of a device, and how far they are written
    #[command(after_help = "Examples:\n  cygnus zoned show /dev/sdz\n  cygnus zoned show zoned:z0 --json | jq .full")]
    Show {
        /// The block device, or zoned:FILE
        #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
        device: PathBuf,
    },
}

/// `cygnus zoned make`
#[derive(Debug, Args)]
pub struct ZonedMakeArgs {
    /// The file; it must not exist
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Capacity, whole zones. Space is taken as it is written
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub size: Size,
    /// Size of a zone; disks have 256MiB
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = parse_whole_blocks)]
    pub zone: Size,
    /// What of a zone can be written; zoned flash has less than its zones are long. By default all of it
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub capacity: Option<Size>,
    /// Zones at the start that may be written anywhere: superblocks and what comes out of order go there, if they have 3 MiB and one zone
    /// more. Else they are left alone, and a log in the first sequential zones does instead; zoned flash has none of them
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub conventional: u32,
    /// Zones that can be partly written at a time, as zoned flash has such a limit; 0: as many as there are
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub active: u32,
}
