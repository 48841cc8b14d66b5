//! `array dump`: what is on the disks, for people who want to see it. Reads with the format's own decoders and believes
//! nothing that they do not verify.

pub mod locate;

use crate::failure::Failure;
use crate::ondisk::{Columns, Header};
use cygnus_control::paging::Pages;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::table::{Align, Table};
use cygnus_engine::SegmentInfo;
use cygnus_format::{Discard, Entry, Kind, Layout, Raid, Role, Stream};
use cygnus_host::members::{Assembly, Member};
use cygnus_types::{BLOCK, ByteSize, Constraint, GroupId, SegmentId};
use serde::Serialize;

/// What `array dump` answers: superblocks, checkpoints and segments as they are on the members.
#[derive(Debug, Serialize)]
pub struct ArrayDump {
    name: String,
    uuid: String,
    preset: String,
    generation: u64,
    session: u64,
    clean: bool,
    data_columns: u8,
    parity_columns: u8,
    chunk_bytes: u64,
    stripe_rows: u32,
    segment_bytes: u64,
    transient_bytes: u64,
    over_provisioning_permille: u16,
    policies: Vec<(String, u64)>,
    volumes: Vec<VolumeDump>,
    checkpoints: Vec<CheckpointDump>,
    members: Vec<MemberDump>,
    oddities: Vec<String>,
    /// One R-group after the other, those asked for.
    groups: Vec<GroupDump>,
    #[serde(skip)]
    with_stripes: bool,
}

#[derive(Debug, Serialize)]
struct VolumeDump {
    id: u32,
    name: String,
    size_bytes: u64,
    created_unix: u64,
    /// On which media its blocks may be, if not on any.
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<String>,
    /// How it is mapped, if by pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<Pages>,
}

#[derive(Debug, Serialize)]
struct CheckpointDump {
    generation: u64,
    barrier: u64,
    mapped_blocks: u64,
    pages: u64,
    /// (R-group, segment) that hold its pages or were open when it began.
    segments: Vec<(u16, u32)>,
}

#[derive(Debug, Serialize)]
struct MemberDump {
    index: usize,
    uuid: String,
    /// As the newest superblock says.
    state: &'static str,
    path: Option<String>,
    size_bytes: u64,
    /// Of its own superblock; absent when it was not found.
    generation: Option<u64>,
    /// Why a copy of one of its superblock slots cannot be used.
    spoiled_slot: Option<String>,
}

#[derive(Debug, Serialize)]
struct GroupDump {
    index: u16,
    data_columns: u8,
    parity_columns: u8,
    segments: Vec<SegmentDump>,
}

/// One segment as its stripes tell.
#[derive(Debug, Serialize)]
pub struct SegmentDump {
    segment: u32,
    /// What the next opening takes it for: free, sealed, meta; absent when the array cannot be opened.
    state: Option<&'static str>,
    /// Blocks of current data.
    live: Option<u32>,
    segment_seq: u64,
    session: u64,
    stream: &'static str,
    stripes: Vec<StripeDump>,
    rows_used: u32,
    rows: u32,
    /// Why the chain of stripes ends where it does, if not simply because nothing follows.
    ends: Option<String>,
}

#[derive(Debug, Serialize)]
struct StripeDump {
    start_row: u32,
    header_blocks: u32,
    rows: u32,
    stripe_seq: u64,
    durable: u64,
    reactor: u16,
    parity_start: u8,
    blocks: u64,
    discards: Vec<DiscardDump>,
    /// Columns whose header could be read.
    columns: Vec<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<EntryDump>,
}

#[derive(Debug, Serialize)]
struct EntryDump {
    column: u8,
    row: u32,
    kind: &'static str,
    volume: u32,
    lba: u64,
    seq: u64,
    crc: u32,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct DiscardDump {
    volume: u32,
    lba: u64,
    blocks: u32,
    seq: u64,
}

/// What of the segments is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// The number of the only R-group that is shown; all if not given.
    pub group: Option<u16>,
    /// Only this segment, with its entries.
    pub segment: Option<u32>,
    /// The stripes of all segments, without entries.
    pub stripes: bool,
}

/// Reads what `selection` asks for. `known` is what the array itself makes of its segments, if it can be opened.
pub fn dump(assembly: &Assembly, known: &[SegmentInfo], selection: Selection) -> Result<ArrayDump, Failure> {
    let newest = &assembly.newest;
    let state = &newest.state;
    let layout = state.layout().map_err(Failure::of)?;
    let groups = layout.groups();
    if let Some(group) = selection.group.filter(|&group| usize::from(group) >= groups) {
        return Err(Failure::Failed(format!("there is no R-group {group}: the array has {groups}, counted from 0")));
    }
    let mut dumped = Vec::new();
    // In place there is nothing behind the superblocks that tells what it is.
    let groups = if state.in_place.is_some() { 0 } else { groups };
    for group in (0..groups as u16).filter(|&group| selection.group.is_none_or(|wanted| wanted == group)) {
        dumped.push(dump_group(assembly, &layout, GroupId(group), selection.segment, known)?);
    }
    let geometry = &state.geometry;
    let checkpoint = |root: &cygnus_format::CheckpointRoot| CheckpointDump {
        generation: root.generation,
        barrier: root.barrier,
        mapped_blocks: root.mapped_blocks,
        pages: root.pages,
        segments: root.segments.iter().map(|at| (at.group.0, at.segment.0)).collect(),
    };
    let volume = |volume: &cygnus_format::VolumeDesc| VolumeDump {
        id: volume.id.0,
        name: volume.name.clone(),
        size_bytes: volume.size_bytes,
        created_unix: volume.created_unix,
        media: (volume.constraint != Constraint::None).then(|| volume.constraint.to_string()),
        pages: Pages::of(volume.paging),
    };
    Ok(ArrayDump {
        name: state.name.clone(),
        uuid: newest.array.to_string(),
        preset: state.preset.clone(),
        generation: newest.generation,
        session: state.session,
        clean: state.clean,
        data_columns: geometry.data,
        parity_columns: geometry.parity,
        chunk_bytes: u64::from(geometry.chunk_blocks) * BLOCK as u64,
        stripe_rows: geometry.stripe_rows,
        segment_bytes: geometry.segment_bytes(),
        transient_bytes: u64::from(geometry.transient_blocks) * BLOCK as u64,
        over_provisioning_permille: state.over_provisioning_permille,
        policies: state.policies.iter().map(|policy| (policy.name.clone(), policy.value)).collect(),
        volumes: state.volumes.iter().map(volume).collect(),
        checkpoints: state.roots.iter().flatten().map(checkpoint).collect(),
        members: state.members().zip(&assembly.members).enumerate().map(dump_member).collect(),
        oddities: assembly.oddities.clone(),
        groups: dumped,
        with_stripes: selection.stripes || selection.segment.is_some(),
    })
}

fn dump_member((index, (desc, found)): (usize, (&cygnus_format::MemberDesc, &Option<Member>))) -> MemberDump {
    MemberDump {
        index,
        uuid: desc.uuid.to_string(),
        state: desc.state.word(),
        path: found.as_ref().map(|member| member.path.display().to_string()),
        size_bytes: desc.size_bytes,
        generation: found.as_ref().map(|member| member.superblock.generation),
        spoiled_slot: found.as_ref().and_then(|member| member.spoiled.as_ref()).map(ToString::to_string),
    }
}

fn dump_group(
    assembly: &Assembly,
    layout: &Layout,
    group: GroupId,
    segment: Option<u32>,
    known: &[SegmentInfo],
) -> Result<GroupDump, Failure> {
    let count = layout.segments(group);
    if let Some(segment) = segment.filter(|&segment| segment >= count) {
        let why = format!("there is no segment {segment}: R-group {} has {count}, counted from 0", group.0);
        return Err(Failure::Failed(why));
    }
    let columns = Columns::open(assembly, layout, group).map_err(Failure::of)?;
    let wanted = segment.map_or(0..count, |segment| segment..segment + 1);
    let info = |index: u32| known.iter().find(|info| info.group == group && info.segment.0 == index);
    let one = |index: u32| dump_segment(&columns, SegmentId(index), segment.is_some(), info(index));
    let segments = wanted.filter_map(one).collect();
    let Raid { data, parity } = layout.shape(group).raid();
    Ok(GroupDump { index: group.0, data_columns: data, parity_columns: parity, segments })
}

/// One segment; `None` when it holds no stripe.
fn dump_segment(
    columns: &Columns,
    segment: SegmentId,
    entries: bool,
    info: Option<&SegmentInfo>,
) -> Option<SegmentDump> {
    let mut chain = columns.chain(segment);
    let mut dump: Option<SegmentDump> = None;
    for found in chain.by_ref() {
        let common = found.common;
        let dump = dump.get_or_insert_with(|| SegmentDump {
            segment: segment.0,
            state: info.map(|info| info.state),
            live: info.map(|info| info.live),
            segment_seq: common.segment_seq,
            session: common.session,
            stream: stream_word(common.stream),
            stripes: Vec::new(),
            rows_used: 0,
            rows: columns.geometry().segment_blocks,
            ends: None,
        });
        let headers: Vec<&Header> = found.headers().collect();
        dump.stripes.push(stripe(&headers, entries));
        dump.rows_used = common.end_row();
    }
    dump.map(|dump| SegmentDump { ends: chain.broken().map(ToString::to_string), ..dump })
}

fn stripe(headers: &[&Header], with_entries: bool) -> StripeDump {
    let common = headers[0].common;
    let width = common.width();
    // Each column's entries stand in several headers; any one that was read will do.
    let of = |column: u8| headers.iter().find_map(|header| header.entries_of(column)).unwrap_or_default();
    let filled = |entry: &&Entry| !matches!(entry.kind(), Kind::Void | Kind::Parity);
    let mut entries = Vec::new();
    if with_entries {
        for column in 0..width {
            for (row, entry) in of(column).iter().enumerate() {
                entries.push(EntryDump {
                    column,
                    row: common.first_data_row() + row as u32,
                    kind: kind_word(entry.kind()),
                    volume: entry.volume().0,
                    lba: entry.lba().0,
                    seq: entry.seq(),
                    crc: entry.crc(),
                });
            }
        }
    }
    StripeDump {
        start_row: common.start_row,
        header_blocks: common.header_blocks,
        rows: common.rows,
        stripe_seq: common.stripe_seq,
        durable: common.durable,
        reactor: common.reactor.0,
        parity_start: common.rotation.parity_start,
        blocks: (0..width)
            .filter(|&column| matches!(common.rotation.role(column), Role::Data(_)))
            .map(|column| of(column).iter().filter(filled).count() as u64)
            .sum(),
        discards: headers[0].discards.iter().map(discard).collect(),
        columns: headers.iter().map(|header| header.column).collect(),
        entries,
    }
}

fn discard(discard: &Discard) -> DiscardDump {
    DiscardDump { volume: discard.volume().0, lba: discard.lba().0, blocks: discard.count(), seq: discard.seq() }
}

fn stream_word(stream: Stream) -> &'static str {
    match stream {
        Stream::Clients => "clients",
        Stream::Relocation => "relocation",
        Stream::Meta => "meta",
    }
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Void => "void",
        Kind::Data => "data",
        Kind::Relocated => "relocated",
        Kind::Meta => "meta",
        Kind::Parity => "parity",
        Kind::Packed => "packed",
        Kind::Protections => "protections",
    }
}

impl ArrayDump {
    /// The tables of it.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = self.head(paint);
        out.push('\n');
        out.push_str(&self.member_table(paint));
        for group in &self.groups {
            out.push_str(&format!(
                "\n{}\n",
                paint.tone(
                    Tone::Heading,
                    &format!("R-group {}, {}+{}", group.index, group.data_columns, group.parity_columns)
                )
            ));
            out.push_str(&segment_table(&group.segments, paint));
            for segment in group.segments.iter().filter(|_| self.with_stripes) {
                out.push_str(&segment_text(segment, paint));
            }
        }
        out
    }

    fn head(&self, paint: Paint) -> String {
        let mut out = format!(
            "{} {} ({}), superblock generation {}, session {}, {}\n",
            paint.tone(Tone::Heading, &self.name),
            self.uuid,
            self.preset,
            self.generation,
            self.session,
            if self.clean { "stopped cleanly" } else { "not stopped cleanly" },
        );
        out.push_str(&format!(
            "  {}+{}, chunk {}, stripe of {} rows, segment {}, transient area {}, over-provisioning {} permille\n",
            self.data_columns,
            self.parity_columns,
            ByteSize(self.chunk_bytes),
            self.stripe_rows,
            ByteSize(self.segment_bytes),
            ByteSize(self.transient_bytes),
            self.over_provisioning_permille,
        ));
        for (name, value) in &self.policies {
            out.push_str(&format!("  policy {name} = {value}\n"));
        }
        for volume in &self.volumes {
            let size = ByteSize(volume.size_bytes);
            let media = volume.media.as_ref().map_or(String::new(), |media| format!(", {media}"));
            let pages = volume.pages.map_or(String::new(), |of| format!(", pages of {}", ByteSize(of.page_bytes)));
            out.push_str(&format!("  volume {} '{}', {size}{media}{pages}\n", volume.id, volume.name));
        }
        for checkpoint in &self.checkpoints {
            let segments: Vec<String> = checkpoint.segments.iter().map(|(g, s)| format!("{g}/{s}")).collect();
            out.push_str(&format!(
                "  checkpoint {}: {} blocks mapped on {} pages, replay from stripe {}, segments {}\n",
                checkpoint.generation,
                checkpoint.mapped_blocks,
                checkpoint.pages,
                checkpoint.barrier,
                segments.join(" "),
            ));
        }
        for oddity in &self.oddities {
            out.push_str(&format!("  {}\n", paint.tone(Tone::Warning, oddity)));
        }
        out
    }

    fn member_table(&self, paint: Paint) -> String {
        let mut table = Table::new(&[
            ("MEMBER", Align::Right),
            ("STATE", Align::Left),
            ("GENERATION", Align::Right),
            ("SIZE", Align::Right),
            ("UUID", Align::Left),
            ("PATH", Align::Left),
        ]);
        for member in &self.members {
            let plain = |text: String| (Tone::Normal, text);
            let path = member.path.clone().unwrap_or_else(|| "not found".into());
            let remark = member.spoiled_slot.as_ref().map_or(String::new(), |why| format!("  (spoiled slot: {why})"));
            table.row(vec![
                plain(member.index.to_string()),
                (if member.state == "online" { Tone::Good } else { Tone::Bad }, member.state.into()),
                plain(member.generation.map_or("-".into(), |generation| generation.to_string())),
                plain(ByteSize(member.size_bytes).to_string()),
                plain(member.uuid.clone()),
                plain(path + &remark),
            ]);
        }
        table.render(paint)
    }
}

fn segment_table(segments: &[SegmentDump], paint: Paint) -> String {
    if segments.is_empty() {
        return "no segment holds a stripe\n".into();
    }
    let mut table = Table::new(&[
        ("SEGMENT", Align::Right),
        ("STATE", Align::Left),
        ("LIVE", Align::Right),
        ("SEQ", Align::Right),
        ("SESSION", Align::Right),
        ("STREAM", Align::Left),
        ("STRIPES", Align::Right),
        ("ROWS", Align::Right),
        ("OF", Align::Right),
        ("BLOCKS", Align::Right),
        ("DISCARDS", Align::Right),
        ("", Align::Left),
    ]);
    for segment in segments {
        let plain = |text: String| (Tone::Normal, text);
        table.row(vec![
            plain(segment.segment.to_string()),
            plain(segment.state.unwrap_or("?").into()),
            plain(segment.live.map_or("?".into(), |live| live.to_string())),
            plain(segment.segment_seq.to_string()),
            plain(segment.session.to_string()),
            plain(segment.stream.into()),
            plain(segment.stripes.len().to_string()),
            plain(segment.rows_used.to_string()),
            plain(segment.rows.to_string()),
            plain(segment.stripes.iter().map(|stripe| stripe.blocks).sum::<u64>().to_string()),
            plain(segment.stripes.iter().map(|stripe| stripe.discards.len()).sum::<usize>().to_string()),
            (Tone::Warning, segment.ends.clone().unwrap_or_default()),
        ]);
    }
    table.render(paint)
}

fn segment_text(segment: &SegmentDump, paint: Paint) -> String {
    let mut out = String::new();
    for stripe in &segment.stripes {
        let heading = format!(
            "segment {}, stripe {} at row {}: {} rows below {} of header, parity from column {}, reactor {}, durable below {}",
            segment.segment,
            stripe.stripe_seq,
            stripe.start_row,
            stripe.rows,
            stripe.header_blocks,
            stripe.parity_start,
            stripe.reactor,
            stripe.durable,
        );
        let gap = if stripe.entries.is_empty() { "" } else { "\n" };
        out.push_str(&format!("{gap}{}\n", paint.tone(Tone::Heading, &heading)));
        for discard in &stripe.discards {
            let DiscardDump { volume, lba, blocks, seq } = discard;
            out.push_str(&format!("  discard of volume {volume}, {blocks} blocks from {lba}, seq {seq}\n"));
        }
        for entry in &stripe.entries {
            let EntryDump { column, row, kind, volume, lba, seq, crc } = entry;
            out.push_str(&match *kind {
                "void" => format!("  column {column} row {row:>6}  void\n"),
                "parity" => format!("  column {column} row {row:>6}  parity     crc {crc:08x}\n"),
                _ => format!(
                    "  column {column} row {row:>6}  {kind:<9}  crc {crc:08x}  volume {volume} block {lba} seq {seq}\n"
                ),
            });
        }
    }
    out
}
