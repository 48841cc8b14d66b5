//! `cygnus bench peers`: the run, which a signal may cut short, and its table.

use crate::args::bench::PeersBenchArgs;
use crate::failure::Failure;
use crate::interrupt;
use crate::leftover;
use crate::output::Output;
use cygnus_bench::{PeerOptions, PeerRow, may_run_on, run_peers};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_types::Nanos;
use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(100);

/// What `bench peers` answers.
#[derive(Debug, Serialize)]
struct PeersReport {
    rows: Vec<PeerRow>,
    not_installed: Vec<String>,
}

/// Carries out `cygnus bench peers`.
pub fn run(args: &PeersBenchArgs, output: Output) -> Result<(), Failure> {
    refuse_core("--server-core", args.server_core)?;
    refuse_core("--client-core", args.client_core)?;
    let options = PeerOptions {
        time: args.time.0,
        fill: args.fill,
        server_core: args.server_core.into(),
        client_core: args.client_core.into(),
        depths: args.depth.iter().map(|&depth| depth.into()).collect(),
        peers: !args.alone,
        ..PeerOptions::default()
    };
    let (rows, not_installed) = measured(options, output)?;
    let report = PeersReport { rows, not_installed };
    output.answer(&report, |paint| report.text(paint))
}

/// Refuses a core that there is not, or that others have.
fn refuse_core(option: &str, core: u16) -> Result<(), Failure> {
    may_run_on(core.into()).map_err(|error| {
        Failure::Usage(format!("{option} {core}: this process may not run on core {core} ({error}): name another one"))
    })
}

/// Measures on a thread of its own, so that a signal need not wait for it. The thread ends with the process then, and the servers
/// with the thread.
fn measured(options: PeerOptions, output: Output) -> Result<(Vec<PeerRow>, Vec<String>), Failure> {
    let _held = interrupt::Held::begin().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let scratch = InMemory::new().map_err(|error| Failure::Failed(format!("a directory in memory: {error}")))?;
    let (dir, (tell, result)) = (scratch.inner(), channel());
    let thread = std::thread::spawn(move || {
        let rows = run_peers(&options, &dir, |what| output.remark(&format!("{what} ..."))).map_err(Failure::of);
        // Who waits for it is gone only if the process ends.
        let _ = tell.send(rows);
    });
    loop {
        match result.recv_timeout(LOOK) {
            // A server that a terminal's signal has ended as well is no finding.
            Ok(Err(_)) | Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                return Err(Failure::Failed("interrupted: not all was measured, and nothing stays".into()));
            }
            Ok(rows) => return rows,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(thread.join().map_or_else(|panic| std::panic::resume_unwind(panic), |()| unreachable!()));
            }
        }
    }
}

/// A directory in memory that goes when this goes, and if that is never, when the next one is made.
struct InMemory {
    dir: PathBuf,
    /// Locked: says that it is in use.
    _used: File,
}

impl InMemory {
    fn new() -> io::Result<Self> {
        let base = Path::new("/dev/shm");
        Self::below(if base.is_dir() { base.to_owned() } else { std::env::temp_dir() })
    }

    fn below(base: PathBuf) -> io::Result<Self> {
        let prefix = "cygnus-bench-";
        for left in leftover::of_gone(&base, prefix) {
            // What cannot be removed is another user's.
            let _ = fs::remove_dir_all(left);
        }
        let dir = base.join(format!("{prefix}{}", std::process::id()));
        fs::create_dir(&dir)?;
        let used = File::open(&dir)?;
        used.try_lock()?;
        let made = Self { dir, _used: used };
        fs::create_dir(made.inner())?;
        Ok(made)
    }

    /// The directory in it that is for sockets: who binds one locks where it is for a moment.
    fn inner(&self) -> PathBuf {
        self.dir.join("servers")
    }
}

impl Drop for InMemory {
    fn drop(&mut self) {
        // It is scratch; what cannot be removed is left.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl PeersReport {
    fn text(&self, paint: Paint) -> String {
        let columns = ["IOPS", "OF LIMIT", "P50", "P99", "P99.9", "SERVER CPU", "CLIENT CPU", "MOVED"]
            .map(|name| (name, Align::Right));
        let heads = [("SERVER", Align::Left), ("WORKLOAD", Align::Left), ("QUEUE", Align::Right)];
        let mut table = Table::new(&[&heads[..], &columns[..]].concat());
        let time = |micros: f64| (Tone::Normal, Nanos((micros * 1e3) as u64).to_string());
        for row in &self.rows {
            table.row(vec![
                (Tone::Normal, row.server.clone()),
                (Tone::Normal, row.workload.to_string()),
                (Tone::Normal, format!("{} x {}", row.connections, row.depth)),
                (Tone::Normal, show::count(row.iops as u64)),
                (Tone::Normal, format!("{:.2}", row.of_limit)),
                time(row.p50_us),
                time(row.p99_us),
                time(row.p99_9_us),
                (Tone::Normal, format!("{:.0} ns", row.server_ns)),
                (Tone::Normal, format!("{:.0} ns", row.client_ns)),
                (Tone::Normal, row.moved_per_write.map_or("-".into(), |moved| format!("{moved:.2}"))),
            ]);
        }
        let absent = match &self.not_installed[..] {
            [] => String::new(),
            names => format!("not installed: {}\n", names.join(", ")),
        };
        format!("{}{absent}", table.render(paint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    #[test]
    fn what_a_killed_run_left_in_memory_goes_with_the_next_one() {
        let scratch = Scratch::new("bench-in-memory");
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let left = scratch.path().join(format!("cygnus-bench-{}", gone.id()));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("image"), "x").unwrap();
        let made = InMemory::below(scratch.path().to_owned()).unwrap();
        assert!(!left.exists() && made.inner().exists());
        drop(made);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
