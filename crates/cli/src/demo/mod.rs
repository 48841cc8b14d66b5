//! `cygnus demo`: an array of nine files, served over NBD to a client that verifies, shown live.
//!
//! The array is served by a `cygnus serve` of its own process, reached as any client would reach it.
//!
//! | file | idea |
//! |---|---|
//! | `mod.rs` | sets everything up, runs it, tells how it went |
//! | `server.rs` | the files, the array, the `serve` process |
//! | `client.rs`, `workload.rs` | the NBD client, and what it writes and compares |
//! | `observe.rs` | counters of both sides into snapshots |
//! | `snapshot.rs`, `view.rs`, `plain.rs` | a moment as data, on a terminal, as a line |

mod client;
mod observe;
mod plain;
mod server;
mod snapshot;
mod view;
mod workload;

use crate::args::demo::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use client::{ClientError, Connection};
use cygnus_types::counted;
use observe::Observer;
use server::DemoServer;
use snapshot::{Snapshot, Summary};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use view::View;
use workload::{Outcome, Plan, Progress, Workload};

/// Requests the client keeps in flight.
const DEPTH: usize = 64;
/// Time between two pictures.
const LIVE: Duration = Duration::from_millis(250);
/// Time between two lines.
const PLAIN: Duration = Duration::from_secs(2);

/// Carries out `cygnus demo`.
pub fn run(args: &DemoArgs, output: Output) -> Result<Exit, Failure> {
    interrupt::install().map_err(|error| Failure::Failed(format!("signals: {error}")))?;
    let mut server = DemoServer::start(args, output)?;
    let shown = show(args, output, &mut server);
    let stopped = server.stop();
    let Some(summary) = shown? else {
        output.remark("ended early");
        return stopped.map(Exit::from);
    };
    stopped?;
    output.answer(&summary, |_| plain::summary(&summary))?;
    let wrong = summary.wrong_blocks;
    Ok(output.verdict(wrong == 0, &format!("{} not what was written", counted(wrong, "block is").or("blocks are"))))
}

/// Runs the client and shows what happens until it is done; `None` if the user ended it.
fn show(args: &DemoArgs, output: Output, server: &mut DemoServer) -> Result<Option<Summary>, Failure> {
    let connection = Connection::open(server.socket(), server::VOLUME, DEPTH).map_err(Failure::of)?;
    let plan = Plan { seed: args.seed, overwrites: args.fill, time_limit: args.time_limit.0 };
    let progress = Arc::new(Progress::default());
    let (send, done) = channel();
    let client = std::thread::spawn({
        let progress = progress.clone();
        // The receiver is gone only when showing failed, and then nobody asks for the outcome.
        move || drop(send.send(Workload::new(connection, plan, &progress).run()))
    });
    let mut observer = Observer::new(server.control()?, progress.clone());
    let live = std::io::stdout().is_terminal() && !args.plain && !output.json();
    let outcome = if live {
        watch_live(&mut observer, &progress, &done)
    } else {
        watch_plain(&mut observer, &progress, &done, output)
    };
    progress.abort.store(true, Ordering::Relaxed);
    client.join().expect("the client's errors are values");
    let outcome = outcome?.map_err(|error| server.explain(&error))?;
    if outcome.aborted {
        return Ok(None);
    }
    let last = observer.snapshot()?;
    Ok(Some(summarise(last, &outcome, server.capacity())))
}

fn summarise(last: Snapshot, outcome: &Outcome, capacity_bytes: u64) -> Summary {
    Summary {
        last,
        capacity_bytes,
        written_bytes: outcome.written_bytes,
        write_time: outcome.write_time,
        write_latency: workload::percentiles(&outcome.write_latency),
        verified_bytes: outcome.verified_bytes,
        wrong_blocks: outcome.wrong_blocks,
        cut_short: outcome.cut_short,
    }
}

/// What the client ended with.
type Done = Receiver<Result<Outcome, ClientError>>;

/// Waits for the client for as long as `pause` at most.
fn ended(done: &Done, pause: Duration) -> Option<Result<Outcome, ClientError>> {
    match done.recv_timeout(pause) {
        Ok(outcome) => Some(outcome),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => unreachable!("the client sends its outcome before it ends"),
    }
}

/// How watching ends: the display's own failure, or the client's outcome.
type Watched = Result<Result<Outcome, ClientError>, Failure>;

fn watch_plain(observer: &mut Observer, progress: &Progress, done: &Done, output: Output) -> Watched {
    output.remark(plain::LEGEND);
    // Rates need a reading to start from.
    observer.snapshot()?;
    let mut waited = Duration::ZERO;
    loop {
        // Short waits, so that an interrupt is noticed soon.
        if let Some(outcome) = ended(done, LIVE) {
            return Ok(outcome);
        }
        if interrupt::requested() {
            progress.abort.store(true, Ordering::Relaxed);
        }
        waited += LIVE;
        if waited >= PLAIN {
            waited = Duration::ZERO;
            output.remark(&plain::line(&observer.snapshot()?));
        }
    }
}

fn watch_live(observer: &mut Observer, progress: &Progress, done: &Done) -> Watched {
    let terminal_failed = |error: std::io::Error| Failure::Failed(format!("terminal: {error}"));
    let mut terminal = ratatui::try_init().map_err(terminal_failed)?;
    let mut view = View::default();
    let mut watch = || -> Watched {
        loop {
            view.push(observer.snapshot()?);
            terminal.draw(|frame| view.draw(frame)).map_err(terminal_failed)?;
            if let Some(outcome) = ended(done, LIVE) {
                return Ok(outcome);
            }
            if interrupt::requested() || quit_pressed().map_err(terminal_failed)? {
                progress.abort.store(true, Ordering::Relaxed);
            }
        }
    };
    let watched = watch();
    ratatui::try_restore().map_err(terminal_failed)?;
    watched
}

/// Whether q, Escape or Ctrl-C was pressed since the last look.
fn quit_pressed() -> std::io::Result<bool> {
    use ratatui::crossterm::event::{Event, KeyCode, KeyModifiers, poll, read};
    let mut quit = false;
    while poll(Duration::ZERO)? {
        if let Event::Key(key) = read()? {
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            quit |= matches!(key.code, KeyCode::Char('q') | KeyCode::Esc);
            quit |= control && key.code == KeyCode::Char('c');
        }
    }
    Ok(quit)
}
