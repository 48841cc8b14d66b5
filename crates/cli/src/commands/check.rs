//! `cygnus array check`

use super::Context;
use crate::args::values::ArrayName;
use crate::backend;
use crate::check::Report;
use crate::failure::Failure;
use crate::output::LogLines;
use cygnus_engine::CheckProgress;
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::sync::Arc;

/// Does it.
pub fn run(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let record = context.state.load(name)?;
    context.require_stopped(name, "check")?;
    let log = Arc::new(LogLines::details(context.output));
    let report = Report::new(backend::check(&record, log, bar())?);
    context.output.answer(&report, |paint| report.text(paint))?;
    match report.damage() {
        None => Ok(()),
        Some(damage) => Err(Failure::Failed(format!("{name} has {damage}"))),
    }
}

/// A line on the terminal that says how far the check has come, if there is a terminal.
fn bar() -> impl Fn(CheckProgress) + 'static {
    let shown = Cell::new(None);
    let wanted = std::io::stderr().is_terminal();
    move |now| {
        let percent = now.segments * 100 / now.of.max(1);
        if !wanted || shown.replace(Some(percent)) == Some(percent) {
            return;
        }
        let filled = "=".repeat(percent / 4);
        let line = match percent {
            // Leaves no trace.
            100 => "\r\x1b[K".to_string(),
            _ => format!("\r[{filled:<25}] {percent} %, {} of {} segments", now.segments, now.of),
        };
        let mut terminal = std::io::stderr().lock();
        // Only decoration: a terminal that has gone is no reason to fail.
        let _ = terminal.write_all(line.as_bytes()).and_then(|()| terminal.flush());
    }
}
