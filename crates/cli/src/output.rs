//! Where results go: text or JSON on standard output, remarks on standard error.

use crate::args::{ColorWhen, Global};
use crate::exit::Exit;
use crate::failure::Failure;
use cygnus_control::SCHEMA;
use cygnus_control::paint::{Paint, Tone};
use cygnus_server::{Ready, Voice};
use serde::Serialize;
use std::fmt;
use std::io::{self, IsTerminal, Write};

/// How this run speaks.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    /// Whether answers on standard output are coloured.
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
            paint: paint_for(global.color, io::stdout().is_terminal()),
            error_paint: paint_for(global.color, io::stderr().is_terminal()),
        }
    }

    /// Whether `--json` was given.
    pub fn json(&self) -> bool {
        self.json
    }

    /// Whether a person looks on who wants to see how far something is.
    pub fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && io::stdout().is_terminal()
    }

    /// Gives the answer: `body` under `--json`, else what `text` makes of it.
    pub fn answer<T: Serialize>(&self, body: &T, text: impl FnOnce(Paint) -> String) -> Result<(), Failure> {
        let text = if self.json { json(body) } else { text(self.paint) };
        print(&text)
    }

    /// Gives the answer to something done: `body` under `--json`, else `sentence`, unless `--quiet`.
    pub fn done<T: Serialize>(&self, body: &T, sentence: &str) -> Result<(), Failure> {
        match (self.json, self.quiet) {
            (true, _) => print(&json(body)),
            (false, true) => Ok(()),
            (false, false) => print(&format!("{sentence}\n")),
        }
    }

    /// A remark on the way, unless `--quiet`.
    pub fn remark(&self, sentence: &str) {
        if !self.quiet {
            say_aside(sentence);
        }
    }

    /// A remark for those who asked for more.
    pub fn detail(&self, sentence: &str) {
        if self.verbose {
            say_aside(self.error_paint.tone(Tone::Faint, sentence));
        }
    }

    /// A warning on standard error, which `--quiet` does not keep back.
    pub fn warn(&self, sentence: &str) {
        say_aside(format_args!("{} {sentence}", self.error_paint.tone(Tone::Warning, "warning:")));
    }

    /// Says what is wrong with what was answered; the exit status tells the same to programs.
    pub fn complain(&self, sentence: &str) {
        say_aside(format_args!("{} {sentence}", self.error_paint.tone(Tone::Bad, "error:")));
    }

    /// Ends a command whose answer is given: with a complaint, if that was not good.
    pub fn verdict(&self, good: bool, complaint: &str) -> Exit {
        if good {
            return Exit::Done;
        }
        self.complain(complaint);
        Exit::Failed
    }

    /// Tells why the command failed, in place of an answer.
    pub fn fail(&self, failure: &Failure) {
        self.complain(&failure.to_string());
        if self.json {
            fail_json(failure.to_string(), failure.exit());
        }
    }
}

/// A line on standard error. Whoever read it may be gone, or the file system of the log full: a server goes on serving then,
/// and a command still ends with the status that tells what came of it. So that is no error here, and no panic.
fn say_aside(line: impl fmt::Display) {
    // In one piece: a log that standard output goes to as well would have lines of that begin within this one.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A command line that could not be read: told as clap tells it, and as JSON to who asked for that.
pub fn wrong_usage(error: &clap::Error) -> Exit {
    // Help and versions are answers; nothing can be done about a terminal that does not take them.
    let _ = error.print();
    if !error.use_stderr() {
        return Exit::Done;
    }
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.to_string();
        let message = text.trim().trim_start_matches("error: ");
        fail_json(message.to_owned(), Exit::Usage);
    }
    Exit::Usage
}

fn fail_json(error: String, exit: Exit) {
    #[derive(Serialize)]
    struct Failed {
        error: String,
        exit_status: u8,
    }
    // The message has gone to standard error already; a closed standard output cannot make this worse.
    let _ = print(&json(&Failed { error, exit_status: exit.code() }));
}

fn json<T: Serialize>(body: &T) -> String {
    let text = serde_json::to_string_pretty(&Versioned { schema: SCHEMA, body });
    text.expect("answers are plain structs") + "\n"
}

/// Writes to standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    write(text).map_err(|error| Failure::Failed(format!("standard output: {error}")))
}

/// A reader that has gone (`| head`) wants no more, which is no failure.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// A server speaks as any command does: its log is remarks, and that it is ready is its answer.
impl Voice for Output {
    fn say(&self, line: &str) {
        self.remark(line);
    }

    fn detail(&self, line: &str) {
        Output::detail(self, line);
    }

    fn ready(&self, ready: &Ready) -> io::Result<()> {
        let Ready { array, nbd } = ready;
        let line = match self.json {
            true => serde_json::json!({ "schema": SCHEMA, "ready": array, "nbd": nbd }).to_string(),
            false => format!("ready {array} {}", nbd.join(" ")),
        };
        write(&format!("{line}\n"))
    }
}

/// The engine's log lines on standard error, for those who ask for them: a short-lived command's.
#[derive(Clone, Copy, Debug)]
pub struct LogLines(Output);

impl LogLines {
    /// Shown under `--verbose`, but for how far an opening is, which takes long and is waited for.
    pub fn details(output: Output) -> Self {
        Self(output)
    }
}

impl cygnus_engine::Log for LogLines {
    fn line(&self, text: &str) {
        self.0.detail(text);
    }

    fn progress(&self, text: &str) {
        self.0.remark(text);
    }

    fn warning(&self, text: &str) {
        self.0.warn(text);
    }
}
