//! Where results go: text or JSON on standard output, remarks on standard error.

use crate::args::{ColorWhen, Global};
use crate::failure::Failure;
use cygnus_control::SCHEMA;
use cygnus_control::paint::{Paint, Tone};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// How this run speaks.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    /// For standard output.
    pub paint: Paint,
    error_paint: Paint,
}

/// A JSON answer: the schema number beside the answer's own members.
#[derive(Serialize)]
struct Versioned<'a, T> {
    schema: u32,
    #[serde(flatten)]
    body: &'a T,
}

fn paint_for(when: ColorWhen, terminal: bool) -> Paint {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    match when {
        ColorWhen::Always => Paint::Colour,
        ColorWhen::Auto if terminal && wanted => Paint::Colour,
        _ => Paint::Plain,
    }
}

impl Output {
    /// As the flags, the environment and the terminal say.
    pub fn new(global: &Global) -> Self {
        Self {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            paint: paint_for(global.color, std::io::stdout().is_terminal()),
            error_paint: paint_for(global.color, std::io::stderr().is_terminal()),
        }
    }

    /// Whether `--json` was given.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Whether a bar may show how far it is. Only a terminal shows it, which is the bar's own matter.
    pub fn shows_progress(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Gives the answer: `body` under `--json`, else what `text` makes of it.
    pub fn answer<T: Serialize>(&self, body: &T, text: impl FnOnce(Paint) -> String) -> Result<(), Failure> {
        let text = if self.json { json(body) } else { text(self.paint) };
        print(&text)
    }

    /// Says what was done, for people only; `--json` gets an object with just the schema.
    pub fn done(&self, sentence: &str) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Done {}
        match (self.json, self.quiet) {
            (true, _) => print(&json(&Done {})),
            (false, true) => Ok(()),
            (false, false) => print(&format!("{sentence}\n")),
        }
    }

    /// A remark on the way, unless `--quiet`.
    pub fn remark(&self, sentence: &str) {
        if !self.quiet {
            eprintln!("{sentence}");
        }
    }

    /// A remark for those who asked for more.
    pub fn detail(&self, sentence: &str) {
        if self.verbose {
            eprintln!("{}", self.error_paint.tone(Tone::Faint, sentence));
        }
    }

    /// A warning.
    pub fn warn(&self, sentence: &str) {
        eprintln!("{} {sentence}", self.error_paint.tone(Tone::Warning, "warning:"));
    }

    /// Tells why the command failed.
    pub fn fail(&self, failure: &Failure) {
        #[derive(Serialize)]
        struct Failed {
            error: String,
        }
        eprintln!("{} {failure}", self.error_paint.tone(Tone::Bad, "error:"));
        if self.json {
            // The message has gone to standard error already; a closed standard output cannot make this worse.
            let _ = print(&json(&Failed { error: failure.to_string() }));
        }
    }
}

fn json<T: Serialize>(body: &T) -> String {
    let text = serde_json::to_string_pretty(&Versioned { schema: SCHEMA, body });
    text.expect("answers are plain structs") + "\n"
}

/// Writes to standard output. A reader that has gone (`| head`) wants no more, which is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::Failed(format!("standard output: {error}"))),
    }
}

/// Asks a question that is answered with yes or no, if there is somebody to ask: without a terminal the answer is yes,
/// as for any command in a script.
pub fn confirm(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| Failure::Failed(format!("standard input: {error}")))?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// The engine's log lines on standard error.
#[derive(Clone, Copy, Debug)]
pub struct LogLines {
    output: Output,
    /// Shown only under `--verbose`.
    only_details: bool,
}

impl LogLines {
    /// For a command whose log matters only to those who ask for it.
    pub fn details(output: Output) -> Self {
        Self { output, only_details: true }
    }

    /// For a server, whose log is read.
    pub fn all(output: Output) -> Self {
        Self { output, only_details: false }
    }
}

impl cygnus_engine::Log for LogLines {
    fn line(&self, text: &str) {
        if self.only_details { self.output.detail(text) } else { self.output.remark(text) }
    }
}
