//! What tests of commands need: a place for members and their state directory, and servers that do not outlive a test.
// Each test program is built with all of it, and none uses all.
#![allow(dead_code)]

pub mod nbd;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

pub const CYGNUS: &str = env!("CARGO_BIN_EXE_cygnus");

/// No command takes longer than this, whatever else the machine does.
pub const LONGEST: Duration = Duration::from_secs(60);

/// A directory with a state directory and members in it, gone at the end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new(test: &str) -> Self {
        // Not /tmp, which may be a file system without direct I/O; and short, for the sockets' sake.
        let dir = PathBuf::from(format!("/var/tmp/cygnus-{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(CYGNUS);
        command.current_dir(&self.0).env_remove("CYGNUS_STATE").env_remove("NOTIFY_SOCKET");
        if !line.contains("--state ") {
            command.args(["--state", "state"]);
        }
        command.args(line.split_whitespace());
        command
    }

    /// Runs a command to its end, which must come.
    pub fn run(&self, line: &str) -> Output {
        let child = self.start(line);
        let pid = child.id() as libc::pid_t;
        let (ended, watch) = std::sync::mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            let late = watch.recv_timeout(LONGEST) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if late {
                // SAFETY: the child has not been waited for when this runs, so the number is its own.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
            late
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        assert!(!watchdog.join().unwrap(), "{line}: not done after {LONGEST:?}");
        output
    }

    /// Runs a command that must succeed; its standard output.
    pub fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must end with this status; its standard output and error.
    pub fn ends(&self, line: &str, status: i32) -> (String, String) {
        let output = self.run(line);
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(status), "{line}: {out}{err}");
        (out, err)
    }

    /// Runs a command that must fail with status 1; its standard error.
    pub fn fails(&self, line: &str) -> String {
        self.ends(line, 1).1
    }

    pub fn json(&self, line: &str) -> serde_json::Value {
        self.json_ending(line, 0)
    }

    /// The one JSON document of a command that must end with this status.
    pub fn json_ending(&self, line: &str, status: i32) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_str(&self.ends(&format!("--json {line}"), status).0).unwrap();
        assert_eq!(value["schema"], 1);
        value
    }

    pub fn create_tank(&self) {
        self.ok("array create tank --groups 2 --raid 2+1 --create 64MiB --sparse d0 d1 d2 d3 d4 d5");
    }

    /// Starts something that need not end by itself, with all that it says piped.
    pub fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts to serve and waits for the line that says so.
    pub fn serve(&self, line: &str) -> Server {
        Server::start(self.command(line))
    }
}

impl Place {
    /// Removes what servers that were killed have left in memory, of arrays that the state directory knows.
    fn forget_what_is_kept(&self) {
        let records = fs::read_dir(self.0.join("state")).into_iter().flatten().flatten();
        let texts = records.filter_map(|entry| fs::read_to_string(entry.path()).ok());
        for text in texts {
            let uuid = text.lines().find_map(|line| line.strip_prefix("uuid = \"")?.strip_suffix('"'));
            for end in ["", ".at"] {
                let _ = uuid.map(|uuid| fs::remove_file(format!("/dev/shm/cygnus-{uuid}{end}")));
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.forget_what_is_kept();
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A `serve` that does not outlive its test.
pub struct Server(pub Child);

impl Server {
    pub fn start(mut command: Command) -> Self {
        command.stderr(Stdio::null());
        Self::started(command)
    }

    pub fn started(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        let server = Self(child);
        assert!(ready.starts_with("ready "), "{command:?}: {ready:?}");
        server
    }

    /// Starts with a log that takes nothing, as on a full file system.
    pub fn start_without_log(mut command: Command) -> Self {
        command.stderr(File::create("/dev/full").unwrap());
        Self::started(command)
    }

    /// Starts with a log that is full already and that nobody reads, as on a terminal that is held. It is the answer's second part.
    pub fn start_with_unread_log(mut command: Command) -> (Self, UnixStream) {
        let (unread, mut log) = UnixStream::pair().unwrap();
        log.set_nonblocking(true).unwrap();
        while log.write(&[b'.'; 64]).is_ok() {}
        log.set_nonblocking(false).unwrap();
        command.stderr(OwnedFd::from(log));
        (Self::started(command), unread)
    }

    pub fn signal(&mut self, signal: libc::c_int) -> std::process::ExitStatus {
        // SAFETY: the process is our child and has not been waited for, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.0.id() as libc::pid_t, signal) }, 0);
        self.0.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
