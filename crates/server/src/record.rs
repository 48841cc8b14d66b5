//! `--record`: what clients ask of a volume, collected by each reactor and written by a thread of the recording.

use crate::ServeError;
use crate::event::ServerEvent;
use crate::log::ServerLog;
use crate::options::RecordTo;
use cygnus_runtime::Runtime;
use cygnus_types::{Nanos, Uuid};
use cygnus_volume::{self as volume, Request, Tap};
use cygnus_workload::Kind;
use cygnus_workload::recording::{FrameBuilder, Header};
use cygnus_workload::trace::Record;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Frames that may wait to be written; 15 MiB, some seconds of the fastest clients. Beyond that, requests are missing.
const WAITING: usize = 256;
/// Time after which a frame that does not fill is handed over.
const PERIOD: Nanos = Nanos::millis(250);
/// Time after which what was written is made durable.
const SYNC: Duration = Duration::from_secs(1);

/// To the thread that writes.
enum ToWriter {
    /// Write this.
    Frame(Vec<u8>),
    /// Nothing more will come.
    End,
}

/// A recording under way, for all reactors.
pub struct Recording {
    volume: String,
    to_writer: SyncSender<ToWriter>,
    writer: JoinHandle<()>,
}

/// Begins the recordings that were asked for, of volumes whose sizes are these.
pub fn begin(
    targets: &[RecordTo],
    rt: &Runtime,
    volumes: &BTreeMap<String, u64>,
    about: &About,
) -> Result<Vec<Recording>, ServeError> {
    let size = |target: &RecordTo| {
        volumes.get(&target.volume).copied().ok_or_else(|| {
            let known = volumes.keys().cloned().collect::<Vec<_>>().join(", ");
            ServeError::NothingToRecord { array: about.name.into(), volume: target.volume.clone(), known }
        })
    };
    // Before any file is made.
    let sizes = targets.iter().map(size).collect::<Result<Vec<u64>, ServeError>>()?;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_nanos() as u64);
    let clock = since_1970.saturating_sub(rt.precise_now().0);
    let mut recordings = Vec::new();
    for (target, size) in targets.iter().zip(sizes) {
        let volume = format!("{}/{}", about.name, target.volume);
        let header = Header { clock, size, array: about.array, volume };
        match start(target, &header, about.log.clone()) {
            Ok(recording) => recordings.push(recording),
            Err(failure) => {
                end(recordings);
                return Err(failure);
            }
        }
        about.log.tell(&ServerEvent::Recording { volume: &header.volume, file: &target.file });
    }
    Ok(recordings)
}

/// What is served.
pub struct About<'a> {
    pub name: &'a str,
    pub array: Uuid,
    pub log: &'a Arc<ServerLog>,
}

fn start(target: &RecordTo, header: &Header, log: Arc<ServerLog>) -> Result<Recording, ServeError> {
    let path = target.file.clone();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => ServeError::RecordingExists(path.display().to_string()),
        _ => ServeError::io(path.display())(error),
    };
    let mut file = File::create_new(&path).map_err(failed)?;
    if let Err(error) = file.write_all(&header.encode()) {
        // It holds nothing; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(&path);
        return Err(failed(error));
    }
    let (to_writer, frames) = sync_channel(WAITING);
    let write = {
        let path = path.clone();
        move || {
            if let Err(error) = write_frames(&mut file, &frames) {
                log.tell(&ServerEvent::RecordingEnds { file: &path, error: &error });
            }
        }
    };
    let writer = thread::Builder::new().name(format!("record {}", target.volume)).spawn(write);
    Ok(Recording { volume: target.volume.clone(), to_writer, writer: writer.map_err(failed)? })
}

/// Writes what comes until the end, or until that fails.
fn write_frames(file: &mut File, frames: &Receiver<ToWriter>) -> io::Result<()> {
    let (mut dirty, mut synced) = (false, Instant::now());
    loop {
        match frames.recv_timeout(SYNC) {
            Ok(ToWriter::Frame(bytes)) => {
                file.write_all(&bytes)?;
                dirty = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(ToWriter::End) | Err(RecvTimeoutError::Disconnected) => return file.sync_all(),
        }
        if dirty && synced.elapsed() >= SYNC {
            file.sync_data()?;
            (dirty, synced) = (false, Instant::now());
        }
    }
}

/// Ends recordings; their files are complete when this returns. All reactors' recorders have been
/// [finished](Recorder::finish).
pub fn end(recordings: Vec<Recording>) {
    for Recording { to_writer, writer, .. } in recordings {
        // A writer that is gone has said why.
        let _ = to_writer.send(ToWriter::End);
        let _ = writer.join();
    }
}

/// The recordings as one reactor fills them.
#[derive(Clone, Default)]
pub struct Recorder {
    taps: Rc<BTreeMap<String, Rc<VolumeTap>>>,
}

impl Recorder {
    /// For this reactor.
    pub fn new(rt: &Runtime, recordings: &[Recording]) -> Recorder {
        let tap = |recording: &Recording| {
            let frame = RefCell::new(FrameBuilder::new(rt.id().0));
            (recording.volume.clone(), Rc::new(VolumeTap { frame, to_writer: recording.to_writer.clone() }))
        };
        let recorder = Recorder { taps: Rc::new(recordings.iter().map(tap).collect()) };
        if !recordings.is_empty() {
            rt.spawn(now_and_then(rt.clone(), recorder.clone()));
        }
        recorder
    }

    /// What the server's sessions tell.
    pub fn taps(&self) -> BTreeMap<String, Rc<dyn Tap>> {
        self.taps.iter().map(|(volume, tap)| (volume.clone(), tap.clone() as Rc<dyn Tap>)).collect()
    }

    /// No more requests will come: hands over what there is, waiting for room.
    pub fn finish(&self) {
        for tap in self.taps.values() {
            if let Some(bytes) = tap.frame.borrow_mut().take() {
                // A writer that is gone has said why.
                let _ = tap.to_writer.send(ToWriter::Frame(bytes));
            }
        }
    }
}

async fn now_and_then(rt: Runtime, recorder: Recorder) {
    loop {
        rt.sleep(PERIOD).await;
        recorder.taps.values().for_each(|tap| tap.hand_over(&mut tap.frame.borrow_mut()));
    }
}

/// A volume's requests on one reactor.
struct VolumeTap {
    frame: RefCell<FrameBuilder>,
    to_writer: SyncSender<ToWriter>,
}

impl VolumeTap {
    /// Gives the frame to the writer; never waits.
    fn hand_over(&self, frame: &mut FrameBuilder) {
        let Some(bytes) = frame.take() else { return };
        let refused = self.to_writer.try_send(ToWriter::Frame(bytes)).err();
        if let Some(TrySendError::Full(ToWriter::Frame(bytes)) | TrySendError::Disconnected(ToWriter::Frame(bytes))) =
            refused
        {
            frame.lose(&bytes);
        }
    }
}

impl Tap for VolumeTap {
    fn request(&self, at: Nanos, request: &Request) {
        let Some(kind) = kind(request.kind) else { return };
        let (offset, len) = if kind.has_range() { (request.offset, request.len) } else { (0, 0) };
        let mut frame = self.frame.borrow_mut();
        frame.push(&Record { at, kind, offset, len, volume: 0, fua: request.fua });
        if frame.is_full() {
            self.hand_over(&mut frame);
        }
    }
}

/// What is recorded of a request, if anything.
fn kind(kind: volume::Kind) -> Option<Kind> {
    match kind {
        volume::Kind::Read => Some(Kind::Read),
        volume::Kind::Write => Some(Kind::Write),
        volume::Kind::Flush => Some(Kind::Flush),
        volume::Kind::Trim => Some(Kind::Trim),
        volume::Kind::WriteZeroes => Some(Kind::WriteZeroes),
        volume::Kind::Prefetch | volume::Kind::Extents => None,
    }
}
