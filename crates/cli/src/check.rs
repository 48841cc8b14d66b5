//! `array check`: what the engine's check found, for people and for programs.

use crate::exit::Exit;
use cygnus_control::paint::{Paint, Tone};
use cygnus_engine::{CheckReport, Finding, FindingKind, LostBlock, Readmitted, Verdict, VolumeAfter};
use cygnus_format::{MAP_PAGE_ENTRIES, MemberState};
use cygnus_types::{BLOCK, ByteSize, MemberIx, counted};
use serde::Serialize;

/// The answer of `array check`.
#[derive(Debug, Serialize)]
pub struct Report {
    name: String,
    uuid: String,
    /// What all of it comes to: consistent, degraded, repairable or beyond-redundancy.
    verdict: &'static str,
    #[serde(skip)]
    judged: Verdict,
    #[serde(skip)]
    contradicts: bool,
    /// What to run next, if anything.
    next: Option<String>,
    /// Nothing is wrong with what is there, be it all of the array or not.
    consistent: bool,
    /// The array was stopped cleanly.
    clean: bool,
    /// Everything found.
    findings: Vec<FindingLine>,
    /// Blocks that no combination of members yields: reading them is an error.
    unreadable: Vec<UnreadableRange>,
    /// The array cannot be opened but by force, and this would come of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    readmission: Option<Readmission>,
    /// Segments verified: those that hold anything needed.
    segments: u64,
    stripes: u64,
    /// Blocks whose checksums were compared.
    blocks: u64,
    /// Entries of the map that were followed to their summary.
    mapped_blocks: u64,
    bytes_read: u64,
    seconds: f64,
}

/// Blocks in a row.
#[derive(Debug, Serialize)]
struct UnreadableRange {
    volume: String,
    /// The first 4 KiB block.
    lba: u64,
    blocks: u64,
}

/// What would come of re-admitting members by force.
#[derive(Debug, Serialize)]
struct Readmission {
    members: Vec<ReadmittedMember>,
    volumes: Vec<VolumeAfterwards>,
    /// Pages of the maps that nobody has, and what they stand for at most.
    lost_pages: u64,
    lost_pages_bytes: u64,
}

#[derive(Debug, Serialize)]
struct ReadmittedMember {
    index: u16,
    path: String,
    /// What the superblocks call it.
    state: &'static str,
}

#[derive(Debug, Serialize)]
struct VolumeAfterwards {
    volume: String,
    readable_bytes: u64,
    unreadable_bytes: u64,
    in_doubt: bool,
}

impl Readmission {
    fn new(readmitted: Readmitted) -> Self {
        let bytes = |blocks: u64| blocks * BLOCK as u64;
        let member = |(index, path, was): (MemberIx, String, MemberState)| ReadmittedMember {
            index: index.0,
            path,
            state: was.word(),
        };
        let volume = |after: VolumeAfter| VolumeAfterwards {
            volume: after.name,
            readable_bytes: bytes(after.readable),
            unreadable_bytes: bytes(after.lost + after.given_up),
            in_doubt: after.in_doubt,
        };
        Self {
            lost_pages: readmitted.lost_pages,
            lost_pages_bytes: bytes(readmitted.lost_pages * MAP_PAGE_ENTRIES as u64),
            members: readmitted.members.into_iter().map(member).collect(),
            volumes: readmitted.volumes.into_iter().map(volume).collect(),
        }
    }
}

/// What to do about an array in place of which copies or parity do not fit.
fn next_in_place(array: &str) -> String {
    format!(
        "compare with a backup: without checksums nothing tells which copy, or whether data or parity is right. 'cygnus array check \
         {array} --repair' believes the first copy, and data rather than parity, and asks before it does. If it is a member that you do \
         not trust, serve the array while that one cannot be found, and have it filled by 'cygnus array replace {array} MEMBER ITS-DEVICE'"
    )
}

/// What to run next for an array that can be opened by force only.
fn next_by_force(array: &str) -> String {
    format!(
        "bring missing members back, which loses nothing, and check again; else 'cygnus serve {array} --force' re-admits the \
         others, or 'cygnus array salvage {array}' copies what is left, which may be old"
    )
}

fn contradicts(finding: &Finding) -> bool {
    matches!(finding.kind, FindingKind::Data | FindingKind::Parity) && finding.weight == Verdict::BeyondRedundancy
}

fn ranges(lost: &[LostBlock]) -> Vec<UnreadableRange> {
    let follows = |a: &LostBlock, b: &LostBlock| a.volume == b.volume && a.lba.0 + 1 == b.lba.0;
    let range = |run: &[LostBlock]| UnreadableRange {
        volume: run[0].volume.clone(),
        lba: run[0].lba.0,
        blocks: run.len() as u64,
    };
    lost.chunk_by(follows).map(range).collect()
}

#[derive(Debug, Serialize)]
struct FindingLine {
    kind: &'static str,
    /// Something is wrong with what is there.
    damage: bool,
    /// What it weighs: the verdict if there were nothing else. A remark weighs nothing.
    weight: &'static str,
    #[serde(skip)]
    judged: Verdict,
    device: Option<String>,
    /// Byte offset on the device.
    offset: Option<u64>,
    volume_id: Option<u32>,
    /// 4 KiB block of the volume.
    lba: Option<u64>,
    text: String,
}

impl FindingLine {
    fn new(finding: Finding) -> Self {
        Self {
            kind: finding.kind.name(),
            damage: finding.is_damage(),
            weight: finding.weight.name(),
            judged: finding.weight,
            device: finding.device,
            offset: finding.offset,
            volume_id: finding.volume.map(|volume| volume.0),
            lba: finding.lba.map(|lba| lba.0),
            text: finding.text,
        }
    }
}

impl Report {
    /// The same of an array that updates in place.
    pub fn in_place(report: CheckReport) -> Self {
        let contradicts = report.findings.iter().any(contradicts);
        let next = contradicts.then(|| next_in_place(&report.name));
        let report = Self::new(report);
        Self { next: next.or(report.next), contradicts, ..report }
    }

    /// Whether copies or parity do not fit, and a repair would believe one side.
    pub fn contradicts(&self) -> bool {
        self.contradicts
    }

    /// The engine's report as it is shown.
    pub fn new(report: CheckReport) -> Self {
        Self {
            contradicts: false,
            verdict: report.verdict().name(),
            judged: report.verdict(),
            next: match report.readmission {
                Some(_) => Some(next_by_force(&report.name)),
                None => report.verdict().next_step(&report.name),
            },
            consistent: report.is_consistent(),
            readmission: report.readmission.map(Readmission::new),
            name: report.name,
            uuid: report.uuid.to_string(),
            clean: report.clean,
            unreadable: ranges(&report.lost),
            findings: report.findings.into_iter().map(FindingLine::new).collect(),
            segments: report.segments,
            stripes: report.stripes,
            blocks: report.blocks,
            mapped_blocks: report.mapped,
            bytes_read: report.bytes,
            seconds: report.took.0 as f64 / 1e9,
        }
    }

    /// The number of things that are wrong, in words; `None` without any.
    pub fn damage(&self) -> Option<String> {
        match self.findings.iter().filter(|finding| finding.damage).count() {
            0 => None,
            count => Some(counted(count, "inconsistency").or("inconsistencies").to_string()),
        }
    }

    /// What the findings come to.
    pub fn exit(&self) -> Exit {
        match self.judged {
            Verdict::Consistent => Exit::Done,
            Verdict::Degraded | Verdict::Repairable => Exit::Attention,
            Verdict::BeyondRedundancy => Exit::Unavailable,
        }
    }

    /// The findings line by line, and a sentence about the array as a whole.
    pub fn text(&self, paint: Paint) -> String {
        let mut out = String::new();
        for finding in &self.findings {
            let word = match finding.judged {
                Verdict::Consistent => "note:",
                Verdict::Degraded => "degraded:",
                Verdict::Repairable => "damage:",
                Verdict::BeyondRedundancy => "lost:",
            };
            let tone = tone(finding.judged, Tone::Faint);
            out.push_str(&format!("{} {}\n", paint.tone(tone, word), finding.text));
        }
        for UnreadableRange { volume, lba, blocks } in &self.unreadable {
            let word = paint.tone(Tone::Bad, "unreadable:");
            let which =
                if *blocks == 1 { format!("block {lba}") } else { format!("blocks {lba} to {}", lba + blocks - 1) };
            out.push_str(&format!(
                "{word} {which} of {}/{volume}, {} from byte {} on\n",
                self.name,
                ByteSize(blocks * BLOCK as u64),
                lba * BLOCK as u64,
            ));
        }
        let damage = self.damage().map_or(String::new(), |damage| format!(", {damage}"));
        let verdict = format!("{}{damage}", self.judged.words());
        let verdict = paint.tone(tone(self.judged, Tone::Good), &verdict);
        if self.readmission.is_some() {
            let next = self.next.as_deref().unwrap_or_default();
            out.push_str(&format!("{}: {verdict}; it cannot be opened but by force\nnext: {next}\n", self.name));
            return out;
        }
        let rate = self.bytes_read as f64 / self.seconds.max(1e-9);
        out.push_str(&format!(
            "{}: {verdict}; {}, {}, {} ({}) verified, {} mapped; read {} in {:.1} s, {}/s\n",
            self.name,
            counted(self.segments, "segment"),
            counted(self.stripes, "stripe"),
            counted(self.blocks, "block"),
            ByteSize(self.blocks * BLOCK as u64),
            self.mapped_blocks,
            ByteSize(self.bytes_read),
            self.seconds,
            ByteSize(rate as u64 >> 20 << 20),
        ));
        if let Some(next) = &self.next {
            out.push_str(&format!("next: {next}\n"));
        }
        out
    }
}

/// How a verdict looks, and how one that is well does.
fn tone(verdict: Verdict, well: Tone) -> Tone {
    match verdict {
        Verdict::Consistent => well,
        Verdict::Degraded => Tone::Warning,
        Verdict::Repairable | Verdict::BeyondRedundancy => Tone::Bad,
    }
}
