//! The drives that a plan is made of: their figures, known or given, and how many of them an array can have.

use super::room::{Planned, Room};
use crate::args::plan::PlanArgs;
use crate::failure::Failure;
use cygnus_engine::CreateOptions;
use cygnus_format::{MAX_GROUPS, MAX_MEMBERS, MAX_WIDTH};
use cygnus_policy::Preset as ArrayPreset;
use cygnus_policy::planner::{DeviceFigures, Layout};
use cygnus_ssd::{Figure, Preset};
use cygnus_types::{BLOCK, ByteSize};
use serde::Serialize;

/// The prototype of the SWAN paper, section 3.5: 15.6 us and 19.5 us for a 4 KiB block, 4 ms per erase, segments of
/// 256 blocks, drives of 120 GB.
const SWAN_PAPER: DeviceFigures = DeviceFigures {
    write_rate: 4096.0 / 19.5e-6,
    read_rate: 4096.0 / 15.6e-6,
    erase_seconds: 4e-3,
    segment: 1048576.0,
    capacity: 120e9,
};
pub const SWAN_PAPER_NAME: &str = "swan-paper";

/// Bytes of a segment on one drive where nothing is said.
const DEFAULT_SEGMENT: f64 = (64u64 << 20) as f64;

/// A drive as it is told.
#[derive(Debug, Serialize)]
pub struct Device {
    pub name: String,
    pub write_bytes_per_second: f64,
    pub read_bytes_per_second: f64,
    pub erase_seconds: f64,
    pub segment_bytes: f64,
    pub capacity_bytes: f64,
}

/// What is told of a drive.
pub fn device(args: &PlanArgs, figures: &DeviceFigures) -> Device {
    Device {
        name: args.device.clone(),
        write_bytes_per_second: figures.write_rate,
        read_bytes_per_second: figures.read_rate,
        erase_seconds: figures.erase_seconds,
        segment_bytes: figures.segment,
        capacity_bytes: figures.capacity,
    }
}

/// The drive's figures: those known under its name, with what the flags say instead.
pub fn figures(args: &PlanArgs) -> Result<DeviceFigures, Failure> {
    let (known, erased_at_once) =
        if args.device == SWAN_PAPER_NAME { (SWAN_PAPER, SWAN_PAPER.segment) } else { preset_figures(&args.device)? };
    let size = |size: Option<crate::args::values::Size>, known: f64| size.map_or(known, |s| s.0.0 as f64);
    let segment = size(args.segment, known.segment);
    // The known one's is that of the known segment, and longer ones take as many times that.
    let times = |segment: f64| (segment / erased_at_once).ceil();
    let erase = |segment: f64| known.erase_seconds * times(segment) / times(known.segment);
    let figures = DeviceFigures {
        write_rate: args.write_rate.map_or(known.write_rate, |rate| rate.0),
        read_rate: args.read_rate.map_or(known.read_rate, |rate| rate.0),
        erase_seconds: args.erase_us.map_or_else(|| erase(segment), |us| f64::from(us) / 1e6),
        segment,
        // What is behind the last whole block of a drive is in no array.
        capacity: (size(args.capacity, known.capacity) / BLOCK as f64).floor() * BLOCK as f64,
    };
    if figures.segment < 4096.0 || figures.capacity < figures.segment {
        return Err(Failure::Usage("a segment has at least 4 KiB, and a drive at least one segment".into()));
    }
    Ok(figures)
}

/// Figures of a known drive, and how much it erases in the time of one erase, as its dies do so side by side.
fn preset_figures(name: &str) -> Result<(DeviceFigures, f64), Failure> {
    let Some(preset) = Preset::by_name(name) else {
        let names: Vec<_> = Preset::ALL.iter().map(|preset| preset.name()).collect();
        let names = names.join(", ");
        return Err(Failure::Usage(format!("no drive is known as '{name}'; known are {SWAN_PAPER_NAME}, {names}")));
    };
    let Some(config) = preset.config().ssd() else {
        return Err(Failure::Usage(format!("'{name}' is a disk; the plan is for drives of flash")));
    };
    let published = preset.published();
    let of = |figure| published.iter().find(|(f, _, _)| *f == figure).map(|(_, mb, _)| mb * 1e6);
    let flash = &config.flash;
    let dies = f64::from(flash.channels) * f64::from(flash.dies_per_channel);
    let block = f64::from(flash.planes) * f64::from(flash.page) * f64::from(flash.pages_per_block);
    let sums = config.arithmetic().map_err(|error| Failure::Failed(format!("{name}: {error}")))?;
    // What lasts counts, not what an SLC buffer takes at first.
    let lasting = sums.program_rate.min(config.host.write_rate);
    let before_the_buffer_is_full = of(Figure::SequentialWrite).filter(|_| sums.slc_rate.is_none());
    let figures = DeviceFigures {
        write_rate: of(Figure::SequentialWriteAfterSlc).or(before_the_buffer_is_full).unwrap_or(lasting as f64),
        read_rate: of(Figure::SequentialRead).unwrap_or(sums.sequential_read as f64),
        erase_seconds: flash.t_erase.0 as f64 / 1e9 * (DEFAULT_SEGMENT / (dies * block)).ceil(),
        segment: DEFAULT_SEGMENT,
        capacity: config.capacity as f64,
    };
    Ok((figures, dies * block))
}

/// R-groups of a width that an array of so many drives may have.
pub fn groups_of(devices: u32, width: u32) -> u32 {
    (devices / width).min(MAX_GROUPS as u32).min(MAX_MEMBERS as u32 / width)
}

/// Whether an array may have R-groups as wide as that.
pub fn is_possible_width(width: u32) -> bool {
    width <= u32::from(MAX_WIDTH)
}

/// What a layout leaves to other arrays; nothing if one array takes all.
fn beyond_one_array(spares: u32, width: u32) -> Option<String> {
    (spares >= width).then(|| {
        format!(
            "an array has at most {MAX_MEMBERS} drives in {MAX_GROUPS} R-groups: {spares} drives are left for another one"
        )
    })
}

/// Bytes of all members that can be addressed.
const MOST_BYTES: f64 = (1_u64 << 48) as f64;

/// What is told of the room in an array that is made of such drives, as the arguments have it, and of what it leaves to others.
pub fn room(args: &PlanArgs, preset: ArrayPreset, layout: Layout) -> Result<Room, Failure> {
    let [data, parity] = [layout.data, layout.parity].map(|columns| columns as u8);
    let shape = CreateOptions::new("plan", preset, layout.groups as usize, data, parity);
    let drive = figures(args)?;
    let beyond = beyond_one_array(layout.spares, layout.width());
    let raw = f64::from(layout.groups * layout.width()) * drive.capacity;
    if raw > MOST_BYTES {
        let why = format!(
            "an array has at most {} in all, and this would be {}: make several of fewer or smaller drives",
            super::units::size(MOST_BYTES),
            super::units::size(raw)
        );
        return Ok(Room { impossible: Some(why), remarks: beyond.into_iter().collect() });
    }
    let planned = Planned {
        made: CreateOptions { segment: args.segment.map(|size| size.0), ..shape },
        drive: ByteSize(drive.capacity as u64),
        utilisation: f64::from(args.utilisation.0) / 100.0,
        // The paper's is of the paper's prototype.
        segment: (args.segment.is_none() && args.device != SWAN_PAPER_NAME).then_some(ByteSize(drive.segment as u64)),
    };
    let mut room = planned.room();
    room.remarks.extend(beyond);
    Ok(room)
}

/// Refuses what no array can be.
pub fn possible(groups: u32, data: u32, parity: u32) -> Result<(), Failure> {
    let most = u32::from(MAX_WIDTH) - parity;
    if data > most {
        return Err(Failure::Usage(format!(
            "it would take R-groups of {data} such data drives, and an R-group has at most {most} beside its parity: plan with \
             faster drives or a narrower --raid, or with a slower network for each of several arrays"
        )));
    }
    if groups as usize > MAX_GROUPS {
        return Err(Failure::Usage(format!(
            "it would take {groups} R-groups, and an array has at most {MAX_GROUPS}: let it be less full"
        )));
    }
    if groups.saturating_mul(data + parity) as usize > MAX_MEMBERS {
        return Err(Failure::Usage(format!(
            "it would take {groups} R-groups of {} drives, and an array has at most {MAX_MEMBERS} in all: let it be less full",
            data + parity
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_drive_is_planned_faster_than_its_flash() {
        for preset in Preset::ALL.iter().filter(|preset| preset.config().ssd().is_some()) {
            let (figures, _) = preset_figures(preset.name()).unwrap();
            let sums = preset.config().ssd().unwrap().arithmetic().unwrap();
            // A published rate is another source than the arithmetic of the dies, and may be a little more.
            assert!(figures.write_rate <= 1.2 * sums.program_rate as f64, "{}: {figures:?}, {sums:?}", preset.name());
            assert!(figures.read_rate <= 1.2 * sums.sequential_read as f64, "{}: {figures:?}, {sums:?}", preset.name());
        }
    }
}
