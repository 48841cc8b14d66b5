//! The demo's array: nine files in a directory of their own, and a `cygnus serve` that has them.

use super::client::ClientError;
use crate::args::demo::DemoArgs;
use crate::backend;
use crate::failure::Failure;
use crate::output::{LogLines, Output};
use cygnus_control::SCHEMA;
use cygnus_control::client::Client;
use cygnus_control::protocol::Request;
use cygnus_engine::CreateOptions;
use cygnus_host::ArrayName;
use cygnus_host::devices::now_unix;
use cygnus_host::members::Assembly;
use cygnus_host::scratch::Scratch;
use cygnus_host::state::{ArrayRecord, MemberRecord, StateDir};
use cygnus_policy::Preset;
use cygnus_types::ByteSize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const GROUPS: usize = 3;
const DATA: u8 = 2;
const PARITY: u8 = 1;
const ARRAY: &str = "demo";
/// Name of the volume, which is the export that the client opens.
pub const VOLUME: &str = "vol0";
/// The volume takes this much of the usable space, in percent: full enough that cleaning has work.
const FULL: u64 = 60;
/// How long the server may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(30);

/// A running `serve` with its files.
pub struct DemoServer {
    child: Child,
    name: ArrayName,
    state: StateDir,
    socket: PathBuf,
    log: PathBuf,
    capacity: u64,
    // Dropped last: the files go when the process is gone.
    scratch: Scratch,
    keep: bool,
}

impl DemoServer {
    /// Makes files, array and volume, and starts to serve.
    pub fn start(args: &DemoArgs, output: Output) -> Result<Self, Failure> {
        let parent = args.dir.clone().unwrap_or_else(default_parent);
        let size = args.device_size.0;
        let count = GROUPS * usize::from(DATA + PARITY);
        check_room(&parent, ByteSize(size.0 * count as u64))?;
        let failed = |error| Failure::Failed(format!("{}: {error}", parent.display()));
        let mut scratch = Scratch::new_in(&parent, ARRAY).map_err(failed)?;
        if args.keep {
            scratch.keep();
        }
        let dir = std::fs::canonicalize(scratch.path()).map_err(failed)?;
        let state = StateDir::new(dir.join("state"));
        let name: ArrayName = ARRAY.parse().expect("a good name");
        output.remark(&format!("{count} files of {size} in {}: {GROUPS} R-groups of {DATA}+{PARITY}", dir.display()));
        let record = make_array(&dir, size, count)?;
        state.save(&record)?;
        let capacity = make_volume(&record, output)?;
        let (socket, log) = (dir.join("demo.sock"), dir.join("serve.log"));
        let child = spawn(&state, &socket, &log)?;
        let mut server = Self { child, name, state, socket, log, capacity, scratch, keep: args.keep };
        server.await_ready()?;
        Ok(server)
    }

    fn await_ready(&mut self) -> Result<(), Failure> {
        let out = self.child.stdout.take().expect("it was piped");
        let mut line = String::new();
        match BufReader::new(out).read_line(&mut line) {
            Ok(_) if line.starts_with("ready") => Ok(()),
            _ => Err(self.died("did not become ready")),
        }
    }

    fn died(&self, what: &str) -> Failure {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        Failure::Failed(format!("the server {what}; its last words:\n  {}", tail.join("\n  ")))
    }

    /// The client's failure, with the server's last words if it died.
    pub fn explain(&mut self, error: &ClientError) -> Failure {
        match self.child.try_wait() {
            Ok(Some(status)) => self.died(&format!("ended ({status})")),
            _ => Failure::of(error),
        }
    }

    /// Where NBD clients connect.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Usable bytes of the array.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// A connection to the control socket.
    pub fn control(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.state.control_socket(&self.name)?)?)
    }

    /// Stops the server cleanly.
    pub fn stop(mut self) -> Result<(), Failure> {
        self.control()?.call(&Request::Stop)?;
        let begun = Instant::now();
        let status = loop {
            match self.child.try_wait().map_err(Failure::of)? {
                Some(status) => break status,
                None if begun.elapsed() > STOP => return Err(self.died("does not stop")),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        match status.success() {
            true => Ok(()),
            false => Err(self.died(&format!("ended badly ({status})"))),
        }
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        // After a clean stop both do nothing; after a failure nothing more can be done than this.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.keep {
            let (state, scratch) = (self.state.path().display(), self.scratch.path().display());
            let _ = writeln!(io::stderr(), "kept: cygnus --state {state} array status {ARRAY}\n      in {scratch}");
        }
    }
}

/// `$TMPDIR`, or a place that is a disk more often than `/tmp` is.
fn default_parent() -> PathBuf {
    std::env::var_os("TMPDIR").map_or_else(|| "/var/tmp".into(), PathBuf::from)
}

fn check_room(dir: &Path, need: ByteSize) -> Result<(), Failure> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(dir.as_os_str().as_bytes())
        .map_err(|_| Failure::Usage(format!("{} is no path", dir.display())))?;
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: `path` ends in NUL and `stat` has room for the answer; both outlive the call.
    if unsafe { libc::statvfs(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
        return Err(Failure::Failed(format!("{}: {}", dir.display(), std::io::Error::last_os_error())));
    }
    // SAFETY: zeroed is a valid statvfs, and the call has filled it.
    let stat = unsafe { stat.assume_init() };
    let free = ByteSize(stat.f_bavail * stat.f_frsize);
    if free < need {
        return Err(Failure::Failed(format!(
            "{} has {free} free and the demo needs {need}: choose another place with --dir, or a smaller --device-size",
            dir.display()
        )));
    }
    Ok(())
}

fn make_array(dir: &Path, size: ByteSize, count: usize) -> Result<ArrayRecord, Failure> {
    let paths: Vec<PathBuf> = (0..count).map(|index| dir.join(format!("d{index}"))).collect();
    for path in &paths {
        cygnus_uring::create_file(path, size.0).map_err(Failure::of)?;
    }
    let uuid = backend::create(&paths, &CreateOptions::new(ARRAY, Preset::Swan, GROUPS, DATA, PARITY))?.uuid;
    let members = (0..).zip(paths).map(|(index, path)| MemberRecord { index, path }).collect();
    Ok(ArrayRecord {
        schema: SCHEMA,
        name: ARRAY.into(),
        uuid: uuid.to_string(),
        kept_in: None,
        spares: Vec::new(),
        members,
    })
}

/// Makes the volume; returns the array's usable bytes.
fn make_volume(record: &ArrayRecord, output: Output) -> Result<u64, Failure> {
    let assembly = Assembly::of_record(record)?;
    backend::with_array(&assembly, Arc::new(LogLines::details(output)), async |array| {
        let usable = array.status().usable;
        let size = ByteSize(usable.0 / 100 * FULL / (1 << 20) * (1 << 20));
        array.create_volume(VOLUME, size, now_unix()).await.map_err(Failure::of)?;
        output.remark(&format!("volume {VOLUME} of {size} in {usable} usable"));
        Ok(usable.0)
    })
}

fn spawn(state: &StateDir, socket: &Path, log: &Path) -> Result<Child, Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("starting 'cygnus serve': {error}"));
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("--state").arg(state.path()).args(["-v", "serve", ARRAY, "--nbd"]);
    let mut address = std::ffi::OsString::from("unix:");
    address.push(socket);
    command.arg(address).env_remove("NOTIFY_SOCKET");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(log).map_err(failed)?);
    // A Ctrl-C is for the demo, which stops the server in its own time.
    command.process_group(0);
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    command.spawn().map_err(failed)
}
