//! Replays a trace on a volume.

use super::spread::is_coarse;
use super::{ASSUMED_LEN, Columns, Format, ReadOptions, Record, Reorder, Skip, Spread, TraceError, TraceReader};
use crate::recording::{Damage, Shipped};
use crate::request::MOST_AT_ONCE;
use crate::{Request, SHORT_READ, Schedule, Source, Span, WorkloadError};
use cygnus_types::{ByteSize, Nanos};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

/// Volumes take requests in multiples of this; traces of other sizes are widened to it.
const SECTOR: u64 = 512;
/// Scaled offsets keep their place within a block of this size.
const BLOCK: u64 = cygnus_types::BLOCK as u64;

/// A trace, and how it is played. `[workload.replay]` with a `file` or a `recording`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplayConfig {
    /// The trace, plain or compressed with gzip or bzip2.
    pub file: Option<PathBuf>,
    /// A recording that comes with Cygnus, instead of a file.
    pub recording: Option<&'static Shipped>,
    /// Its format; found out if not given.
    pub format: Option<Format>,
    /// Its columns instead of a format, such as "time=0,op=3,offset=4,size=5".
    pub columns: Option<Columns>,
    /// Bad lines that may be skipped; 100 if not given.
    pub skip: Option<u64>,
    /// Only these volumes of the trace; all if not given.
    pub volumes: Option<Vec<u32>>,
    /// Only this number of requests, from the trace's beginning.
    pub requests: Option<u64>,
    /// Factor by which time runs faster.
    #[serde(default = "real_time")]
    pub speed: f64,
    /// As fast as the depth allows instead of at the recorded times.
    #[serde(default)]
    pub closed_loop: bool,
    /// Requests outstanding at once; 32 in the closed loop, 1024 at the recorded times.
    pub depth: Option<u32>,
    /// What to do when the trace spans more than the volume.
    #[serde(default)]
    pub fit: Fit,
    /// How often the trace is played; after its end it begins again.
    #[serde(default = "once")]
    pub loops: u32,
    /// The first part of the run, which is not measured.
    #[serde(default)]
    pub ramp: Span,
    /// Stop after this time, the ramp included.
    pub duration: Option<Span>,
}

fn real_time() -> f64 {
    1.0
}

fn once() -> u32 {
    1
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How offsets of a trace are brought into a volume that is smaller than what the trace spans. The volumes of a trace
/// stand one behind the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Modulo the volume's size: sequential runs stay, distant data share places.
    #[default]
    Wrap,
    /// In proportion: hot and cold stay apart, sequential runs overlap.
    Scale,
    /// Not at all: an error.
    Refuse,
}

impl ReplayConfig {
    /// A recording once, as fast as this many requests at once allow.
    pub fn closed_loop(recording: &'static Shipped, depth: u32) -> Self {
        Self {
            file: None,
            recording: Some(recording),
            format: None,
            columns: None,
            skip: None,
            volumes: None,
            requests: None,
            speed: real_time(),
            closed_loop: true,
            depth: Some(depth),
            fit: Fit::Refuse,
            loops: once(),
            ramp: Span::default(),
            duration: None,
        }
    }

    /// Finds numbers that make no sense, whatever the volume and the trace.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let wrong = |what: &str| Err(WorkloadError::setting(&self.name(), what));
        if !(self.speed > 0.0 && self.speed.is_finite()) {
            return wrong("speed: a factor above 0; 2 is twice as fast");
        }
        if self.depth == Some(0) || self.loops == 0 || self.requests == Some(0) {
            return wrong("depth, loops and requests are at least 1");
        }
        if self.depth.is_some_and(|depth| depth > MOST_AT_ONCE) {
            return wrong(&format!("depth is at most {MOST_AT_ONCE}"));
        }
        if self.closed_loop && self.speed != real_time() {
            return wrong("speed: in a closed loop requests have no times; take out speed or closed-loop");
        }
        if self.duration.is_some_and(|duration| duration <= self.ramp) {
            return wrong("duration: must be longer than ramp, which is part of it");
        }
        Ok(())
    }

    /// Reads the whole trace, so that whatever is wrong with it shows before anything runs.
    ///
    /// # Errors
    /// When the trace cannot be read, settings make no sense, or it does not fit into a volume of that size.
    pub fn build(&self, volume_size: u64) -> Result<Box<dyn Source>, WorkloadError> {
        self.check()?;
        let name = self.name();
        if volume_size < SECTOR {
            return Err(WorkloadError::Volume { name, needs: ByteSize(SECTOR), volume: ByteSize(volume_size) });
        }
        if self.format.is_some() && self.columns.is_some() {
            return Err(WorkloadError::setting(&name, "a trace has a format or columns, not both"));
        }
        let (mut records, found) = self.load()?;
        let extents = Extents::of(&records);
        if self.fit == Fit::Refuse && extents.total > volume_size {
            let (needs, volume) = (ByteSize(extents.total), ByteSize(volume_size));
            return Err(TraceError::DoesNotFit { path: self.path(), needs, volume }.into());
        }
        let remarks = extents.remark(&records, volume_size, self.fit).into_iter().chain(found);
        let remarks = remarks.map(|remark| format!("{name}: {remark}")).collect();
        for record in &mut records {
            extents.place(record, volume_size, self.fit);
        }
        let labels = labels(&records);
        Ok(Box::new(Replay { name, config: self.clone(), records, labels, next: 0, round: 0, volume_size, remarks }))
    }

    /// What reports call it.
    fn name(&self) -> String {
        self.path().file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// What errors call it.
    fn path(&self) -> PathBuf {
        self.file.clone().or_else(|| self.recording.map(|recording| recording.name.into())).unwrap_or_default()
    }

    /// The requests asked for, ordered by arrival, the first one at time 0.
    /// And what a reader of the results must know of what the file does not tell.
    fn load(&self) -> Result<(Vec<Record>, Vec<String>), WorkloadError> {
        let skip = self.skip.map_or(Skip::default(), Skip::AtMost);
        let options = ReadOptions { format: self.format, columns: self.columns.clone(), skip };
        let mut reader = match (&self.file, self.recording) {
            (Some(file), None) => TraceReader::open(file, options)?,
            (None, Some(recording)) => recording.open()?,
            _ => return Err(WorkloadError::setting("replay", "name one trace, a file or a recording")),
        };
        let wanted = |record: &Record| self.volumes.as_ref().is_none_or(|volumes| volumes.contains(&record.volume));
        let most = self.requests.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let (mut records, mut others) = (Vec::new(), BTreeSet::new());
        let tick = reader.tick();
        // Spread before some are chosen: what is left out had its time too.
        let mut all: Box<dyn Iterator<Item = Result<Record, TraceError>> + '_> = match is_coarse(tick) {
            true => Box::new(Spread::new(Reorder::new(&mut reader), tick)),
            false => Box::new(&mut reader),
        };
        while records.len() < most {
            let Some(record) = all.next().transpose()? else { break };
            if wanted(&record) {
                records.push(record);
            } else {
                others.insert(record.volume);
            }
        }
        drop(all);
        if records.is_empty() {
            return Err(TraceError::OtherVolumes { path: self.path(), volumes: some_of(&others) }.into());
        }
        records.sort_by_key(|record| record.at);
        let start = records[0].at;
        records.iter_mut().for_each(|record| record.at -= start);
        let skipped = Some(reader.skipped()).filter(|skipped| skipped.count > 0);
        let found = [
            assumption(reader.assumed_lengths()),
            skipped.map(|skipped| skipped.to_string()),
            reader.recording().and_then(|(_, damage)| missing(damage)),
        ];
        Ok((records, found.into_iter().flatten().collect()))
    }
}

/// What tells the volumes of a trace apart in results: their numbers; where one is too large for that, as those of Linux'
/// devices are, their places among them.
fn labels(records: &[Record]) -> BTreeMap<u32, u16> {
    let volumes: BTreeSet<u32> = records.iter().map(|record| record.volume).collect();
    let small = volumes.last().is_none_or(|&last| u16::try_from(last).is_ok());
    let label = |(place, volume): (usize, u32)| {
        let label = if small { volume as usize } else { place };
        (volume, u16::try_from(label).unwrap_or(u16::MAX))
    };
    volumes.into_iter().enumerate().map(label).collect()
}

/// The first few numbers of volumes, for a sentence.
fn some_of(volumes: &BTreeSet<u32>) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = volumes.iter().take(SHOWN).map(u32::to_string).collect();
    let more = if volumes.len() > SHOWN { ", ..." } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A sentence about lengths that were assumed.
fn assumption(requests: u64) -> Option<String> {
    (requests > 0).then(|| format!("{requests} requests have no length in it and were taken for {ASSUMED_LEN} bytes"))
}

/// A sentence about what a recording lacks; nothing if it is whole.
fn missing(damage: Damage) -> Option<String> {
    let Damage { lost, places, bytes, .. } = damage;
    (lost > 0 || places > 0).then(|| {
        format!("{lost} requests are missing in the recording, and {bytes} bytes in {places} places of it are damaged")
    })
}

/// Where the volumes of a trace stand, one behind the other.
struct Extents {
    base: BTreeMap<u32, u64>,
    total: u64,
}

impl Extents {
    fn of(records: &[Record]) -> Extents {
        let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
        for record in records {
            let size = sizes.entry(record.volume).or_default();
            *size = (*size).max(record.end());
        }
        let mut total: u64 = 0;
        let base = sizes.into_iter().map(|(volume, size)| {
            let base = total;
            total = total.saturating_add(size.next_multiple_of(BLOCK));
            (volume, base)
        });
        Extents { base: base.collect(), total }
    }

    /// A sentence about what has no place of its own in a volume of `size` bytes; nothing if all has.
    fn remark(&self, records: &[Record], size: u64, fit: Fit) -> Option<String> {
        if self.total <= size || fit == Fit::Refuse {
            return None;
        }
        let (spans, volume) = (ByteSize(self.total), ByteSize(size));
        let ranged = || records.iter().filter(|record| record.kind.has_range());
        let beyond = ranged().filter(|record| self.base[&record.volume].saturating_add(record.end()) > size).count();
        let (share, times) = (beyond as f64 * 100.0 / ranged().count().max(1) as f64, self.total.div_ceil(size));
        Some(match fit {
            Fit::Scale => {
                format!("spans {spans} and is scaled to the volume's {volume}: up to {times} places of it share one")
            }
            _ => format!(
                "spans {spans} and is wrapped around the volume's {volume}: {beyond} requests beyond its end ({share:.1} %) \
                 are folded onto others, up to {times} places onto one"
            ),
        })
    }

    /// Moves a record into a volume of `size` bytes and to whole sectors.
    fn place(&self, record: &mut Record, size: u64, fit: Fit) {
        let size = size / SECTOR * SECTOR;
        if !record.kind.has_range() {
            return;
        }
        let end = record.end().next_multiple_of(SECTOR);
        let mut offset = record.offset / SECTOR * SECTOR;
        let len = (end - offset).min(size).min(u64::from(u32::MAX) / SECTOR * SECTOR);
        offset = offset.saturating_add(self.base[&record.volume]);
        if self.total > size {
            offset = match fit {
                Fit::Scale => {
                    let scaled = (u128::from(offset) * u128::from(size) / u128::from(self.total)) as u64;
                    scaled / BLOCK * BLOCK + offset % BLOCK
                }
                Fit::Wrap | Fit::Refuse => offset % size,
            };
        }
        // What would reach beyond the end is moved back.
        record.offset = offset.min(size - len);
        record.len = len as u32;
    }
}

struct Replay {
    name: String,
    config: ReplayConfig,
    records: Vec<Record>,
    labels: BTreeMap<u32, u16>,
    next: usize,
    round: u32,
    volume_size: u64,
    remarks: Vec<String>,
}

impl Replay {
    /// A request's label: that of its volume; in the recordings that come with Cygnus, which have one, 1 for what is longer
    /// than a [`SHORT_READ`], and otherwise 0.
    fn label(&self, record: &Record) -> u16 {
        match self.config.recording {
            Some(_) => u16::from(record.len > SHORT_READ),
            None => self.labels[&record.volume],
        }
    }

    /// When a record of this round arrives. A round follows the one before by the trace's mean gap.
    fn arrival(&self, record: &Record) -> Nanos {
        let last = self.records[self.records.len() - 1].at.0;
        let period = last + last / (self.records.len() as u64 - 1).max(1);
        let at = u128::from(period) * u128::from(self.round) + u128::from(record.at.0);
        // What is later than that never comes; a runner adds to it when it begins.
        const NEVER: u64 = u64::MAX / 2;
        Nanos(((at as f64 / self.config.speed) as u64).min(NEVER))
    }
}

impl Source for Replay {
    fn next(&mut self) -> Option<Request> {
        if self.next == self.records.len() {
            self.next = 0;
            self.round += 1;
        }
        if self.round >= self.config.loops {
            return None;
        }
        let record = self.records[self.next];
        self.next += 1;
        let arrival = (!self.config.closed_loop).then(|| self.arrival(&record));
        let job = self.label(&record);
        Some(Request { arrival, fua: record.fua, ..Request::new(record.kind, record.offset, record.len, job) })
    }

    fn depth(&self) -> u32 {
        self.config.depth.unwrap_or(if self.config.closed_loop { 32 } else { 1024 })
    }

    fn footprint(&self) -> Range<u64> {
        let ranged = || self.records.iter().filter(|record| record.kind.has_range());
        let start = ranged().map(|record| record.offset).min().unwrap_or(0);
        start..ranged().map(Record::end).max().unwrap_or(0).min(self.volume_size)
    }

    fn schedule(&self) -> Schedule {
        Schedule {
            ramp: self.config.ramp.0,
            duration: self.config.duration.map(|duration| duration.0),
            ..Schedule::default()
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn jobs(&self) -> Vec<(u16, String)> {
        let name = |record: &Record| match self.config.recording {
            Some(_) if record.len > SHORT_READ => "long".into(),
            Some(_) => "short".into(),
            None => format!("volume {}", record.volume),
        };
        let jobs: BTreeMap<u16, String> =
            self.records.iter().map(|record| (self.label(record), name(record))).collect();
        jobs.into_iter().collect()
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn records(list: &[(u64, u32, u64, u32)]) -> Vec<Record> {
        let record = |&(at, volume, offset, len): &(u64, u32, u64, u32)| Record {
            at: Nanos(at),
            kind: if len == 0 { Kind::Flush } else { Kind::Write },
            offset,
            len,
            volume,
            fua: false,
        };
        list.iter().map(record).collect()
    }

    fn placed(records: &[Record], size: u64, fit: Fit) -> Vec<(u64, u32)> {
        let extents = Extents::of(records);
        let place = |record: &Record| {
            let mut record = *record;
            extents.place(&mut record, size, fit);
            (record.offset, record.len)
        };
        records.iter().map(place).collect()
    }

    #[test]
    fn volumes_stand_behind_one_another_and_fit() {
        let trace = records(&[(0, 0, 0, 4096), (1, 0, 12288, 4096), (2, 7, 0, 8192), (3, 7, 8192, 100)]);
        let fitting = vec![(0, 4096), (12288, 4096), (16384, 8192), (24576, 512)];
        assert_eq!(placed(&trace, 28672, Fit::Refuse), fitting, "large enough: nothing moves");
        let wrapped = vec![(0, 4096), (12288, 4096), (0, 8192), (8192, 512)];
        assert_eq!(placed(&trace, 16384, Fit::Wrap), wrapped);
        assert_eq!(placed(&trace, 20480, Fit::Wrap)[2], (12288, 8192), "what reaches beyond the end is moved back");
        let scaled = vec![(0, 4096), (4096, 4096), (8192, 8192), (12288, 512)];
        assert_eq!(placed(&trace, 16384, Fit::Scale), scaled);
        assert_eq!(placed(&trace, 512, Fit::Wrap), vec![(0, 512); 4], "a request longer than the volume is cut");
    }

    /// A file of this text as a source, with these settings.
    fn replay(text: &str, settings: &str) -> Result<Box<dyn Source>, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("cygnus-replay-{}-{number}.csv", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let config: ReplayConfig = toml::from_str(&format!("file = {file:?}\n{settings}")).unwrap();
        let source = config.build(1 << 20).map_err(|error| error.to_string());
        std::fs::remove_file(&file).unwrap();
        source
    }

    #[test]
    fn results_say_what_was_skipped() {
        let trace = "5,h,0,Write,0,4096,1\n6,h,0,Write,0,x,1\n7,h,0,Read,0,4096,1\n";
        let source = replay(trace, "").unwrap();
        let [remark] = source.remarks() else { panic!("one remark, and not {:?}", source.remarks()) };
        assert!(
            remark.ends_with("1 line was no request and skipped: line 2: size: \"x\" is not a number that fits"),
            "{remark}"
        );
        assert!(replay("5,h,0,Write,0,4096,1\n", "").unwrap().remarks().is_empty());
    }

    #[test]
    fn volumes_are_told_apart_whatever_their_numbers() {
        let labels = |volumes: &[u32]| {
            let list: Vec<_> = volumes.iter().map(|&volume| (0, volume, 0, 512)).collect();
            super::labels(&records(&list)).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(labels(&[7, 0, 7]), [(0, 0), (7, 7)]);
        assert_eq!(labels(&[8 << 16, 259 << 16, 0]), [(0, 0), (8 << 16, 1), (259 << 16, 2)]);
    }

    #[test]
    fn volumes_that_are_not_there_are_told_from_those_that_are() {
        let trace = "5,h,1,Write,0,4096,1\n6,h,3,Write,0,4096,1\n";
        let error = replay(trace, "volumes = [2]").err().unwrap();
        assert!(error.ends_with("name some of its own, 1, 3"), "{error}");
        assert!(replay(trace, "requests = 0").err().unwrap().contains("requests are at least 1"));
    }

    #[test]
    fn settings_that_contradict_one_another_are_refused() {
        for (settings, words) in [
            ("duration = \"0s\"", "duration: must be longer than ramp"),
            ("duration = \"1s\"\nramp = \"1s\"", "duration: must be longer than ramp"),
            ("closed-loop = true\nspeed = 2", "speed: in a closed loop"),
        ] {
            let error = replay("5,h,1,Write,0,4096,1\n", settings).err().unwrap();
            assert!(error.contains(words), "{settings}: {error}");
        }
    }

    #[test]
    fn columns_in_whole_seconds_are_a_coarse_clock() {
        let arrivals = |text: &str, settings: &str| {
            let settings = format!("columns = \"time=0,op=1,offset=2,volume=3\"\n{settings}");
            let mut source = replay(text, &settings).unwrap();
            let next = || source.next().map(|request| request.arrival.unwrap().0 / 1_000_000);
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!(arrivals("9,W,0,1\n9,W,0,1\n10,W,0,1\n", ""), [0, 500, 1000]);
        assert_eq!(arrivals("10,W,0,1\n9,W,0,1\n9,W,0,1\n", ""), [0, 500, 1000], "the first one is the earliest");
        let two = "9,W,0,1\n9,W,0,2\n9,W,0,1\n9,W,0,2\n10,W,0,2\n";
        assert_eq!(arrivals(two, "requests = 3"), [0, 250, 500], "the fourth had its time too");
        assert_eq!(arrivals(two, "volumes = [2]"), [0, 500, 750]);
        assert_eq!(arrivals("9.0,W,0,1\n9.0,W,0,1\n10.5,W,0,1\n", ""), [0, 0, 1500]);
    }
}
