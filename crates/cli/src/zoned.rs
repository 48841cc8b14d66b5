//! `cygnus zoned`: devices with zones, made of files and looked at.

use crate::args::zoned::{ZonedCommand, ZonedMakeArgs};
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_control::paint::{Paint, Tone};
use cygnus_runtime::ZoneInfo;
use cygnus_types::{ByteSize, counted};
use cygnus_uring::{NewZones, create_zoned_file, reset_zones, zones_at};
use serde::Serialize;
use std::path::Path;

/// Carries out `cygnus zoned`.
pub fn run(command: ZonedCommand, output: Output) -> Result<(), Failure> {
    match command {
        ZonedCommand::Make(args) => make(&args, &output),
        ZonedCommand::Reset { device, zones, yes } => reset(&device, zones, yes, &output),
        ZonedCommand::Show { device } => show(&device, &output),
    }
}

/// What `zoned make` answers.
#[derive(Serialize)]
struct Made {
    member: String,
    size_bytes: u64,
    zone_bytes: u64,
    zone_capacity_bytes: u64,
    conventional: u32,
    active_limit: u32,
}

fn make(args: &ZonedMakeArgs, output: &Output) -> Result<(), Failure> {
    let (size_bytes, zone_bytes) = (args.size.0.bytes(), args.zone.0.bytes());
    let zone_capacity_bytes = args.capacity.map_or(zone_bytes, |capacity| capacity.0.bytes());
    let (conventional, active_limit) = (args.conventional, args.active);
    let zones = NewZones { bytes: zone_bytes, capacity: zone_capacity_bytes, conventional, active_limit };
    create_zoned_file(&args.file, size_bytes, zones).map_err(Failure::of)?;
    let member = format!("zoned:{}", args.file.display());
    let made = Made { member, size_bytes, zone_bytes, zone_capacity_bytes, conventional, active_limit };
    output.answer(&made, |_| {
        let zones = counted((made.size_bytes / made.zone_bytes) as usize, "zone");
        let short = (zone_capacity_bytes < zone_bytes)
            .then(|| format!(", of which {} can be written", ByteSize(zone_capacity_bytes)));
        let few = (active_limit > 0).then(|| format!(", {active_limit} partly written at a time"));
        let (short, few) = (short.unwrap_or_default(), few.unwrap_or_default());
        format!("{}: {zones} of {}{short}, {conventional} conventional{few}\n", made.member, ByteSize(zone_bytes))
    })
}

/// What `zoned reset` answers.
#[derive(Serialize)]
struct Reset {
    device: String,
    /// Zones, as they are counted on the device.
    reset: Vec<u32>,
}

fn reset(device: &Path, zones: Vec<u32>, yes: bool, output: &Output) -> Result<(), Failure> {
    let (place, count) = (device.display(), counted(zones.len(), "zone"));
    confirm(&format!("Reset {count} of {place}, and lose what lies there?"), yes)?;
    reset_zones(device, &zones).map_err(Failure::of)?;
    let sentence = format!("Reset {count} of {place}.");
    output.done(&Reset { device: place.to_string(), reset: zones }, &sentence)
}

/// What `zoned show` answers.
#[derive(Serialize)]
struct Shown {
    device: String,
    size_bytes: u64,
    zone_bytes: u64,
    zones: usize,
    conventional: usize,
    empty: usize,
    partly_written: usize,
    full: usize,
    written_bytes: u64,
}

fn show(device: &Path, output: &Output) -> Result<(), Failure> {
    let all = zones_at(device).map_err(Failure::of)?;
    let written = |zone: &ZoneInfo| zone.pointer.map(|pointer| pointer - zone.start);
    let with = |wanted: &dyn Fn(&ZoneInfo, u64) -> bool| {
        all.iter().filter(|zone| written(zone).is_some_and(|bytes| wanted(zone, bytes))).count()
    };
    let (empty, full) = (with(&|_, bytes| bytes == 0), with(&|zone, bytes| bytes == zone.capacity));
    let conventional = all.iter().filter(|zone| zone.pointer.is_none()).count();
    let shown = Shown {
        device: device.display().to_string(),
        size_bytes: all.iter().map(|zone| zone.capacity).sum(),
        zone_bytes: all.first().map_or(0, |zone| zone.capacity),
        zones: all.len(),
        conventional,
        empty,
        partly_written: all.len() - conventional - empty - full,
        full,
        written_bytes: all.iter().filter_map(written).sum(),
    };
    output.answer(&shown, |paint| in_words(&shown, paint))
}

fn in_words(shown: &Shown, paint: Paint) -> String {
    let name = paint.tone(Tone::Heading, &shown.device);
    let (size, zone) = (ByteSize(shown.size_bytes), ByteSize(shown.zone_bytes));
    let mut out = format!("{name}: {size} in {} of {zone}\n", counted(shown.zones, "zone"));
    out += &format!("  conventional    {}\n", shown.conventional);
    out += &format!("  empty           {}\n", shown.empty);
    out += &format!("  partly written  {}\n", shown.partly_written);
    out += &format!("  full            {}\n", shown.full);
    out + &format!("  written         {} of the sequential ones\n", ByteSize(shown.written_bytes))
}
