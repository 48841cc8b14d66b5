//! `array dump --volume V --lba N`: where a block lies.

use crate::failure::Failure;
use cygnus_control::paint::{Paint, Tone};
use cygnus_engine::Array;
use cygnus_types::{BLOCK, Lba};
use serde::Serialize;

/// Where a block of a volume is on the devices.
#[derive(Debug, Serialize)]
pub struct Found {
    volume: String,
    lba: u64,
    /// Byte of the volume where the block begins.
    volume_offset: u64,
    /// Absent when the block was never written, or discarded.
    place: Option<PlaceLine>,
}

#[derive(Debug, Serialize)]
struct PlaceLine {
    group: u16,
    segment: u32,
    column: u8,
    row: u32,
    member: u16,
    device: String,
    /// Byte offset on the device.
    offset: u64,
    /// Low 27 bits, as the map has them.
    map_crc: u32,
    /// The device delivers what the map wants.
    intact: bool,
    /// As the stripe's header says; absent when no header that describes the block can be read.
    summary: Option<SummaryLine>,
}

#[derive(Debug, Serialize)]
struct SummaryLine {
    crc: u32,
    write_seq: u64,
    relocated: bool,
    stripe_seq: u64,
    stripe_row: u32,
    segment_seq: u64,
}

/// Looks a block up.
pub async fn find(array: &Array, volume: &str, lba: u64) -> Result<Found, Failure> {
    let Some(state) = array.volume(volume) else {
        let known = array.volume_names().join(", ");
        return Err(Failure::Failed(format!("there is no volume {volume:?}; there are: {known}")));
    };
    let blocks = state.size() / BLOCK as u64;
    if lba >= blocks {
        return Err(Failure::Failed(format!("{volume} has {blocks} blocks, counted from 0: there is no block {lba}")));
    }
    let place = array.locate(volume, Lba(lba)).await.map(|at| PlaceLine {
        group: at.group.0,
        segment: at.segment.0,
        column: at.column,
        row: at.row,
        member: at.member.0,
        device: at.device,
        offset: at.offset,
        map_crc: at.map_crc,
        intact: at.intact,
        summary: at.summary.map(|summary| SummaryLine {
            crc: summary.crc,
            write_seq: summary.write_seq,
            relocated: summary.relocated,
            stripe_seq: summary.stripe_seq,
            stripe_row: summary.stripe_row,
            segment_seq: summary.segment_seq,
        }),
    });
    Ok(Found { volume: volume.into(), lba, volume_offset: Lba(lba).byte_offset(), place })
}

impl Found {
    /// The same in lines of words.
    pub fn text(&self, paint: Paint) -> String {
        let Self { volume, lba, volume_offset, place } = self;
        let title = paint.tone(Tone::Heading, &format!("{volume} block {lba}"));
        let mut out = format!("{title} (bytes {volume_offset} on): ");
        let Some(at) = place else {
            return out + "a hole: never written, or discarded\n";
        };
        let PlaceLine { group, segment, column, row, member, device, offset, map_crc, intact, summary } = at;
        out.push_str(&format!("R-group {group}, segment {segment}, column {column}, row {row}\n"));
        out.push_str(&format!("  member {member}, {device} at byte {offset}\n"));
        out.push_str(&match summary {
            Some(SummaryLine { crc, write_seq, relocated, stripe_seq, stripe_row, segment_seq }) => format!(
                "  crc {crc:08x}, write {write_seq}{}, in stripe {stripe_seq} at row {stripe_row}, life {segment_seq} of the segment\n",
                if *relocated { ", moved by cleaning" } else { "" },
            ),
            None => format!("  crc .{map_crc:07x} as the map has it; no header that describes the block can be read\n"),
        });
        out.push_str(&match intact {
            true => format!("  {}\n", paint.tone(Tone::Good, "the device has it intact")),
            false => format!(
                "  {}\n",
                paint.tone(Tone::Bad, "the device does not deliver it: 'cygnus array check' tells more")
            ),
        });
        out
    }
}
