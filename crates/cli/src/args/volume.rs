//! `cygnus volume ...`

use super::values::{Setting, Size, VolumeName, parse_whole_blocks};
use clap::Subcommand;
use cygnus_host::ArrayName;
use cygnus_types::{Acknowledged, Medium};

/// The verbs of a volume.
#[derive(Debug, Subcommand)]
pub enum VolumeCommand {
    /// Make a volume; it reads as zeros and takes no space until it is written
    ///
    /// Works on a stopped array and on one being served, where clients can use it at once.
    #[command(after_help = "Example:\n  cygnus volume create tank/vol0 --size 4GiB")]
    Create {
        /// The array and the new volume's name, which is also its NBD export name
        #[arg(value_name = "ARRAY/VOLUME")]
        volume: VolumeName,
        /// Its size, a multiple of 4 KiB
        #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
        size: Size,
        /// Where a write is when it is answered: 'memory', 'written' or 'durable'
        ///
        /// memory: the machine going down loses what no flush has covered, a killed server nothing. written: on the members;
        /// only members that lose power lose what no flush has covered. durable: flushed there; nothing is lost, and clients
        /// need not flush. 'memory' if left out; arrays that update in place have 'written' only.
        #[arg(long, value_name = "LEVEL")]
        ack: Option<Acknowledged>,
        /// Have its data on R-groups on this medium only: 'nvm', 'flash', 'disk' or 'smr'; with --hybrid, on two: 'flash,smr'
        ///
        /// When these are full its clients get ENOSPC, whatever room there is elsewhere.
        #[arg(long, value_name = "MEDIUM", value_delimiter = ',', conflicts_with = "prefer")]
        media: Vec<Medium>,
        /// Have its data on R-groups on this medium while there is room, else on what is nearest in speed: nvm, flash, disk, smr
        #[arg(long, value_name = "MEDIUM")]
        prefer: Option<Medium>,
        /// Have its data on the slower of two media, and on the faster one what clients often read of it
        ///
        /// They are the fastest and the slowest that the array has, or those that --media names. Writes go to the slower one. A range
        /// of 1 MiB of which twice as much was read within about a day moves to the faster one as it is read again, and back when
        /// others need the room and it is read no more. It takes R-groups on both media.
        #[arg(long, conflicts_with = "prefer")]
        hybrid: bool,
        /// Have one entry in the map for so much: '4KiB', '8KiB', '16KiB', '32KiB' or '64KiB'
        ///
        /// The map of a volume takes 8 bytes of memory for each page that holds data: 2 GiB for each TiB with pages of 4 KiB, 128 MiB
        /// with 64 KiB. A page is read as a whole to be verified, and one that is written in part is read and written as a whole. So
        /// large pages are for large requests. A chunk of the array ('array create --chunk') must be a multiple of a page, and the
        /// volume's size too. Pages leave room at the ends of stripes: media on which such a volume may be offer less to all volumes,
        /// an eighth where segments are as small as 1 MiB ('array status' tells). 4KiB if left out.
        #[arg(long, value_name = "SIZE")]
        page: Option<Size>,
        /// Let so much data of pages that are written in part have entries by 4 KiB
        ///
        /// Until there is that much, a block that is written without the rest of its page is written alone, and takes 16 to 32 bytes
        /// of memory. What is written or moved with the rest of its page has no entry of its own any more.
        #[arg(long, value_name = "SIZE", requires = "page")]
        fine: Option<Size>,
    },
    /// Change when a volume answers
    ///
    /// ack=memory: a write is answered from memory; the machine going down loses what no flush has covered, a killed server
    /// nothing. ack=written: answered when the members have it; only members that lose power lose what no flush has covered.
    /// ack=durable: answered when it is flushed there; nothing is lost, and clients need not flush. From the end of the command
    /// on what was answered before is as safe. Clients that were connected while it was 'durable' keep that until they connect
    /// again.
    #[command(after_help = "Example:\n  cygnus volume set tank/vol0 ack=written")]
    Set {
        /// The volume
        #[arg(value_name = "ARRAY/VOLUME")]
        volume: VolumeName,
        /// What to change: ack=memory, ack=written or ack=durable
        #[arg(value_name = "ack=LEVEL")]
        setting: Setting,
    },
    /// List the volumes of an array
    List {
        /// The array
        name: ArrayName,
    },
    /// Change a volume's size
    ///
    /// Clients see the new size when they connect again. Before it becomes smaller it asks; without a terminal to ask at that needs
    /// --yes.
    #[command(after_help = "Example:\n  cygnus volume resize tank/vol0 --size 8GiB")]
    Resize {
        /// The volume
        #[arg(value_name = "ARRAY/VOLUME")]
        volume: VolumeName,
        /// Its new size, a multiple of 4 KiB
        #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
        size: Size,
        /// Allow it to become smaller, which loses what lies behind the new end
        #[arg(long)]
        shrink: bool,
        /// Do not ask before it becomes smaller
        #[arg(short, long)]
        yes: bool,
    },
    /// Delete a volume and all that is in it
    ///
    /// Asks first; without a terminal to ask at it needs --yes.
    #[command(after_help = "Example:\n  cygnus volume delete tank/vol0 --yes")]
    Delete {
        /// The volume
        #[arg(value_name = "ARRAY/VOLUME")]
        volume: VolumeName,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
        /// Delete it although clients are connected; they get errors
        #[arg(long)]
        force: bool,
    },
}
