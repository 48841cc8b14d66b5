//! `cygnus array ...`

use super::values::{
    Cleaning, Parity, Percent, Preset, Protection, SegmentSize, Size, Streams, VolumeName, parse_whole_blocks,
};
use clap::{Args, Subcommand, ValueHint};
use cygnus_format::Raids;
use cygnus_host::ArrayName;
use cygnus_types::Medium;
use std::path::PathBuf;

/// The verbs of an array.
#[derive(Debug, Subcommand)]
pub enum ArrayCommand {
    /// Make a new array of files or block devices
    #[command(after_help = CREATE_EXAMPLES)]
    Create(CreateArgs),
    /// Show an array's health, R-groups, members and volumes
    ///
    /// The exit status tells the health too: 0 well, 3 somebody should look, 4 not all data can be read and written.
    #[command(after_help = "Example:\n  cygnus array status tank --json | jq .devices")]
    Status {
        /// The array
        name: ArrayName,
    },
    /// List the arrays that the state directory knows
    List,
    /// Find arrays on files, devices or in directories, and remember where their members are
    #[command(after_help = SCAN_EXAMPLES)]
    Scan {
        /// Files, block devices, or directories whose files are all looked at; none: all block devices of this machine
        #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
        paths: Vec<PathBuf>,
    },
    /// Verify a stopped array offline: every structure, checksum and parity; changes nothing
    ///
    /// Reports everything it finds. The exit status is 3 if something is wrong or missing that redundancy covers, 4 if blocks are
    /// beyond it; with --repair, if anything of that is left.
    #[command(after_help = "Example:\n  cygnus array check tank --repair")]
    Check {
        /// The array
        name: ArrayName,
        /// Then repair what redundancy allows, and verify again: blocks, parity, headers, checkpoints, superblocks, and
        /// members that only lack what was written while they were away. What is wrong is written anew elsewhere, never
        /// in place, so it can be interrupted at any moment. Arrays that update in place have no checksums: of copies that
        /// differ the first is believed, and data rather than parity, and the other is overwritten, after a question
        #[arg(long)]
        repair: bool,
        /// Answer that question with yes
        #[arg(long, requires = "repair")]
        yes: bool,
    },
    /// Copy what can still be read of a volume out of a stopped array, however broken that is
    ///
    /// Writes nothing to the members. More of them may be missing than the parity covers, and both checkpoints may be
    /// lost: then the map is made from the stripes' headers. Every block that is copied matches its checksum; the rest
    /// are holes, and if there are any the exit status is 4.
    #[command(after_help = SALVAGE_EXAMPLES)]
    Salvage(SalvageArgs),
    /// Verify everything that live data depends on while the array serves, and mend what is wrong
    ///
    /// Headers, checksums, parity and superblocks are read back, giving way to clients. What is wrong is rebuilt and
    /// written anew elsewhere. With --wait, the blocks beyond redundancy are listed, and if there are any the exit
    /// status is 4; it is 3 if something found no room. 'cygnus serve' does this by itself every 30 days; see its --scrub-every.
    #[command(after_help = "Example:\n  cygnus array scrub tank --wait")]
    Scrub {
        /// The array
        name: ArrayName,
        /// Show the progress and wait for the end
        #[arg(short, long)]
        wait: bool,
    },
    /// Show what is on the disks of a stopped array: superblocks, segments and summaries
    #[command(after_help = DUMP_EXAMPLES)]
    Dump(DumpArgs),
    /// Add devices as whole R-groups: more room, at once
    ///
    /// Works on a served array, clients go on meanwhile, and on a stopped one. A new R-group is the next to take the
    /// writes.
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddArgs),
    /// Let an R-group go: its data moves to the others first
    ///
    /// Works on a served array; clients go on meanwhile. Refused when the others have no room for the data. When it is
    /// done the devices are free for other use. 'cygnus array cancel' calls it off.
    #[command(after_help = RETIRE_EXAMPLES)]
    Retire(RetireArgs),
    /// Put another device into the place of a member, and fill it with what the member held
    ///
    /// Works on a served array; clients go on meanwhile. Only live data is restored. When the member's own device has
    /// come back, only what it lacks is.
    #[command(after_help = REPLACE_EXAMPLES)]
    Replace(ReplaceArgs),
    /// Have a spare take over from a member that still works, before that fails
    ///
    /// Works on a served array; clients go on meanwhile, and no redundancy is lost: the member stays in service until the
    /// spare holds all that it holds. Then it is free for other use. Only live data is copied. 'cygnus array cancel' calls
    /// it off, and so does a stop or a crash: then the spare is a spare still, and the drain can be begun again.
    #[command(after_help = DRAIN_EXAMPLES)]
    Drain(DrainArgs),
    /// Spares: devices kept ready to take a lost member's place by themselves
    Spare {
        #[command(subcommand)]
        command: SpareCommand,
    },
    /// End a running job early; 'cygnus array status' shows the jobs and their numbers
    #[command(after_help = "Example:\n  cygnus array cancel tank 3")]
    Cancel {
        /// The array
        name: ArrayName,
        /// The job's number
        job: u64,
    },
    /// Forget an array whose members are gone for good, or are to be used elsewhere: changes no device
    ///
    /// Removes what the state directory remembers of it, and nothing else. 'cygnus array scan' finds it again.
    #[command(after_help = "Example:\n  cygnus array forget tank")]
    Forget {
        /// The array
        name: ArrayName,
    },
    /// Take an array apart: its volumes are lost, its members are free for other use
    ///
    /// Asks first; without a terminal to ask at it needs --yes. Files made by --create stay where they are.
    #[command(after_help = "Example:\n  cygnus array destroy tank --yes")]
    Destroy {
        /// The array
        name: ArrayName,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
}

const CREATE_EXAMPLES: &str = "\
Examples:
  Three R-groups of two data and one parity member each, on nine new files of 1 GiB:
    cygnus array create tank --preset swan --groups 3 --raid 2+1 --create 1GiB d{0..8}
  The same on nine drives:
    cygnus array create tank --preset swan --groups 3 --raid 2+1 /dev/nvme{0..8}n1
  One group of six members that survives the loss of any two, cleaning beside the writes:
    cygnus array create tank --preset log-raid --raid 4+2 /dev/nvme{0..5}n1
  A pool of three flash drives and six disks, any two of which may be lost; a volume on flash only:
    cygnus array create tank --preset salsa --raid flash:2+1,disk:4+2 /dev/nvme{0..2}n1 /dev/sd{a..f}
    cygnus volume create tank/db --size 100GiB --media flash
  A serial array of four drives without redundancy, and one of four mirrored pairs:
    cygnus array create tank --preset serial /dev/nvme{0..3}n1
    cygnus array create tank --preset serial --raid 1+1 /dev/nvme{0..7}n1
  For comparison, the same members as Linux md would use them, with thick volumes:
    cygnus array create tank --preset raid6 /dev/nvme{0..5}n1

Members are given group by group: the first K+M form R-group 0, the next R-group 1, and so on.
What holds a file system, a partition table or a member of an array is refused without --force.

The write hole: raid4, raid5 and raid6 in place may lose or garble blocks that nobody was writing,
if power fails while a member is missing, or a member is lost after a crash before the resync is
done. No other preset does.";

const SCAN_EXAMPLES: &str = "\
Examples:
  cygnus array scan                      all block devices of this machine
  cygnus array scan /dev/nvme*n1
  cygnus array scan /srv/cygnus-files";

const ADD_EXAMPLES: &str = "\
Examples:
  cygnus array add tank /dev/nvme{9..11}n1              one R-group more for an array of 2+1
  cygnus array add tank --create 1GiB d{9..14}          two more, of new files

Members may differ in size: each R-group has as many segments as its smallest member has room for.";

const RETIRE_EXAMPLES: &str = "\
Examples:
  cygnus array retire tank 1 --wait                     R-group 1
  cygnus array retire tank /dev/nvme4n1                 the R-group that this member belongs to";

const REPLACE_EXAMPLES: &str = "\
Examples:
  cygnus array replace tank 4 /dev/nvme9n1 --wait       member 4, whatever became of it
  cygnus array replace tank d4 new --create 1GiB        by path, with a file made for it
  cygnus array replace tank 4 d4                        its own device, come back after it failed";

const DRAIN_EXAMPLES: &str = "\
Examples:
  cygnus array spare add tank /dev/nvme9n1              a spare at least as large as the member
  cygnus array drain tank /dev/nvme4n1 --wait           it takes over from nvme4n1
  cygnus array drain tank 4                             the member by its number";

const DUMP_EXAMPLES: &str = "\
Examples:
  cygnus array dump tank                             superblocks, and one line for each segment
  cygnus array dump tank --group 1 --segment 17      the stripes and summaries of one segment
  cygnus array dump tank --volume vol0 --lba 4711    where that block lies: device, byte offset, checksum";

const SALVAGE_EXAMPLES: &str = "\
Examples:
  cygnus array salvage tank/vol0 /backup/vol0.img --map /backup/vol0.map
  ddrescueview /backup/vol0.map                      the map is one of GNU ddrescue: '+' copied, '-' a hole";

/// `cygnus array salvage`
#[derive(Debug, Args)]
pub struct SalvageArgs {
    /// The volume, as ARRAY/VOLUME
    #[arg(value_name = "ARRAY/VOLUME")]
    pub volume: VolumeName,
    /// The file to copy to; sparse where the volume holds zeros
    #[arg(value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Write here which bytes are holes, as a map file of GNU ddrescue
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub map: Option<PathBuf>,
    /// Replace files that exist; never a member of an array, nor a device
    #[arg(long)]
    pub force: bool,
}

/// `cygnus array create`
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// Name of the new array
    pub name: ArrayName,
    /// The files, block devices or software SSDs (ssd:unix:PATH, ssd:tcp:HOST:PORT), group by group
    #[arg(value_name = "MEMBER", value_hint = ValueHint::AnyPath)]
    pub members: Vec<PathBuf>,
    /// How it works: swan (R-groups take turns, cleaning never meets the writers), log-raid (one group), fusion (one group,
    /// small writes with flushes are copied first and get their parity later), scala-afa (as fusion, and members that can
    /// compute that parity), triple-a (one log over all groups), salsa (one pool of R-groups on several media, to which volumes
    /// can be kept) or serial (one device takes the writes, full ones are emptied and
    /// discarded as a whole); or raid0, raid1, raid4, raid5, raid6,
    /// raid10 (updated in place as Linux md does it, with a write hole) [default: swan]
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<Preset>,
    /// Number of R-groups [default: as many as the members make]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub groups: Option<u16>,
    /// Data and parity members of each R-group: K+M (M is 0 to 3), or by medium flash:K+M,disk:K+M [default: 2+1; of serial 1+0]
    #[arg(long, value_name = "K+M")]
    pub raid: Option<Raids>,
    /// Make members that do not exist as files of this size, with their space set aside; files that exist keep theirs
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub create: Option<Size>,
    /// With --create: take space as it is written, and have writes wait if the file system is full by then
    #[arg(long)]
    pub sparse: bool,
    /// Striping unit, the length of consecutive data on one member; a power of two [default: 64KiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub chunk: Option<Size>,
    /// Size of a segment on each member, the unit of cleaning and TRIM: a size, or auto [default: auto]
    #[arg(long, value_name = "SIZE")]
    pub segment: Option<SegmentSize>,
    /// Share of the space held back for cleaning; more costs capacity and saves writes [default: 20%]
    #[arg(long, value_name = "PERCENT")]
    pub over_provision: Option<Percent>,
    /// What R-groups store on: nvm, flash, disk or smr, for all, or for each in order as in flash,disk,disk; several only with
    /// preset salsa [default: flash or disk, as members and the disks below files say]
    #[arg(long, value_name = "MEDIA", value_delimiter = ',')]
    pub media: Vec<Medium>,
    /// Where parity stands: rotate (RAID-5, RAID-6) or fixed (RAID-4) [default: rotate]
    #[arg(long, value_name = "WHERE")]
    pub parity: Option<Parity>,
    /// Which segments are cleaned first: greedy (fewest valid blocks), circular (the oldest), cost-benefit, generalised:ALPHA
    /// (invalid share + ALPHA x age / age of the oldest) or d-choices:D (the emptiest of D drawn); with salsa by medium too, as in
    /// disk:circular,flash:greedy [default: greedy; of swan and serial circular, of salsa generalised:0.3]
    #[arg(long, value_name = "RULE")]
    pub cleaning: Option<Cleaning>,
    /// Which writes share segments: together (all), heat (ranges of 128 KiB that are written often are apart: less is moved by
    /// cleaning if they are, and flushes end one more stripe) or volume (volumes have four streams by turns: less is moved if data
    /// lives longer in some than in others; takes some 20 segments) [default: together; of salsa heat]
    #[arg(long, value_name = "HOW")]
    pub streams: Option<Streams>,
    /// What makes flushed writes safe while their stripe is not full: full-stripe (it ends there), two-phase (copies on
    /// as many members as it has parity, which follows; less is written for small writes with flushes), parity-buffer (the same,
    /// or the parity of the rows begun where that is less than copies: for flushed writes of more than a chunk) or offload (as
    /// two-phase, and software SSDs, which can, compute the parity from their copies) [default: full-stripe; of fusion two-phase, of
    /// scala-afa offload]
    #[arg(long, value_name = "HOW")]
    pub protection: Option<Protection>,
    /// With all but full-stripe: space on each member for the copies, or the parity [default: a 128th of the smallest, 512KiB to 128MiB;
    /// with offload twice that]
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub transient: Option<Size>,
    /// Use members although they hold something else, which is lost
    #[arg(long)]
    pub force: bool,
    /// Do not ask before what a device holds is lost
    #[arg(short, long)]
    pub yes: bool,
}

/// `cygnus array add`
#[derive(Debug, Args)]
pub struct AddArgs {
    /// The array
    pub name: ArrayName,
    /// The files or block devices, group by group: K+M for each R-group
    #[arg(required = true, value_name = "DEVICE", value_hint = ValueHint::AnyPath)]
    pub devices: Vec<PathBuf>,
    /// What the new R-groups store on: nvm, flash, disk or smr, for all of them, or for each in their order [default: flash or disk, as
    /// their members say, files as the disk below them, else flash; nvm and smr have to be said]
    #[arg(long, value_name = "MEDIA", value_delimiter = ',')]
    pub media: Vec<Medium>,
    /// Make devices that do not exist as files of this size, with their space set aside
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub create: Option<Size>,
    /// With --create: take space as it is written, and have writes wait if the file system is full by then
    #[arg(long, requires = "create")]
    pub sparse: bool,
    /// Use devices although they hold something, which is lost
    #[arg(long)]
    pub force: bool,
    /// Do not ask before what a device holds is lost
    #[arg(short, long)]
    pub yes: bool,
}

/// `cygnus array retire`
#[derive(Debug, Args)]
pub struct RetireArgs {
    /// The array
    pub name: ArrayName,
    /// The R-group: its number as 'array status' shows it, or the path of one of its members
    #[arg(value_name = "GROUP")]
    pub group: String,
    /// Wait until the group has left, and show how far it has come
    #[arg(long)]
    pub wait: bool,
}

/// `cygnus array replace`
#[derive(Debug, Args)]
pub struct ReplaceArgs {
    /// The array
    pub name: ArrayName,
    /// The member: its number as 'array status' shows it, or its path
    #[arg(value_name = "OLD")]
    pub member: String,
    /// The file or block device that takes its place
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub device: PathBuf,
    /// Make NEW as a file of this size if it does not exist, with its space set aside
    #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
    pub create: Option<Size>,
    /// With --create: take space as it is written, and have writes wait if the file system is full by then
    #[arg(long, requires = "create")]
    pub sparse: bool,
    /// Wait until everything is restored, and show how far it has come
    #[arg(long)]
    pub wait: bool,
    /// Use NEW although it holds something, which is lost, and although OLD still works
    #[arg(long)]
    pub force: bool,
    /// Do not ask before what a device holds is lost
    #[arg(short, long)]
    pub yes: bool,
}

/// `cygnus array drain`
#[derive(Debug, Args)]
pub struct DrainArgs {
    /// The array
    pub name: ArrayName,
    /// The member: its number as 'array status' shows it, or its path
    #[arg(value_name = "DEVICE")]
    pub member: String,
    /// Wait until the spare has taken over, and show how far it has come
    #[arg(short, long)]
    pub wait: bool,
}

/// The verbs of spares.
#[derive(Debug, Subcommand)]
pub enum SpareCommand {
    /// Keep a device ready; if a member is lost already, it takes its place at once
    Add {
        /// The array
        name: ArrayName,
        /// The file or block device
        #[arg(value_name = "DEVICE", value_hint = ValueHint::AnyPath)]
        device: PathBuf,
        /// Make it as a file of this size if it does not exist, with its space set aside
        #[arg(long, value_name = "SIZE", value_parser = parse_whole_blocks)]
        create: Option<Size>,
        /// With --create: take space as it is written, and have writes wait if the file system is full by then
        #[arg(long, requires = "create")]
        sparse: bool,
        /// Use it although it holds something, which is lost
        #[arg(long)]
        force: bool,
        /// Do not ask before what it holds is lost
        #[arg(short, long)]
        yes: bool,
    },
    /// Let go of a spare
    Remove {
        /// The array
        name: ArrayName,
        /// Its path, or its UUID
        #[arg(value_name = "SPARE")]
        spare: String,
    },
    /// Show the spares
    List {
        /// The array
        name: ArrayName,
    },
}

/// `cygnus array dump`
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// The array
    pub name: ArrayName,
    /// Only this R-group
    #[arg(long, value_name = "G")]
    pub group: Option<u16>,
    /// Only this segment, with all its stripes and summary entries
    #[arg(long, value_name = "S", requires = "group")]
    pub segment: Option<u32>,
    /// The stripes of every segment too, one line each
    #[arg(long)]
    pub stripes: bool,
    /// Where a block of this volume lies, with --lba
    #[arg(long, value_name = "VOLUME", requires = "lba", conflicts_with_all = ["group", "segment", "stripes"])]
    pub volume: Option<String>,
    /// The 4 KiB block of --volume, counted from 0
    #[arg(long, value_name = "N", requires = "volume")]
    pub lba: Option<u64>,
}
