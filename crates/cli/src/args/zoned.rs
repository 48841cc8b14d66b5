//! `cygnus zoned ...`

use super::values::{Size, parse_whole_blocks};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

const MAKE_EXAMPLES: &str = "\
Examples:
  Three shingled disks to try, and an array of them:
    for n in 0 1 2; do cygnus zoned make z$n --size 4GiB --zone 16MiB --conventional 4; done
    cygnus array create tank --preset log-raid --raid 2+1 --segment 16MiB zoned:z0 zoned:z1 zoned:z2";

/// The verbs of devices with zones.
#[derive(Debug, Subcommand)]
pub enum ZonedCommand {
    /// Make a file that stands for a device with zones, as a host-managed shingled disk is one
    ///
    /// Members name it as zoned:FILE. It refuses what such a disk would refuse: a write that does not go on where its zone does. kill -9
    /// leaves in it what a disk would have; a machine that loses its power may leave more or less.
    #[command(after_help = MAKE_EXAMPLES)]
    Make(ZonedMakeArgs),
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
    /// Zones at the start that may be written anywhere. Members need 3 MiB of them and one more; what comes out of order goes there too
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub conventional: u32,
}
