//! The server under test, driven through a script so that any NBD server can take its place.
//!
//! The script is called with one word, and with `CRASH_DIR` (its working directory, on a real disk) and
//! `CRASH_SOCKET` in the environment:
//!
//! - `fresh`: create a new, empty array and volume in place of any earlier one;
//! - `serve`: `exec` the server in the foreground;
//! - `lose I...`: destroy members number I, counted from 0; the server is not running;
//! - `check`: verify the stopped array offline; the server has been stopped cleanly.

use crate::nbd::{self, Export};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a start or a clean stop may take before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// What can go wrong with the server itself, as opposed to with its data.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The script or the socket could not be used at all.
    #[error("{doing}: {source}; see {log}")]
    Io {
        /// The step that failed.
        doing: String,
        /// Why.
        source: io::Error,
        /// The server's output.
        log: PathBuf,
    },
    /// A step of the script, or the server, exited with a failure.
    #[error("{doing} ended with {status}; see {log}")]
    Failed {
        /// The step that failed.
        doing: String,
        /// How it ended.
        status: ExitStatus,
        /// The server's output.
        log: PathBuf,
    },
    /// Nothing happened for [`PATIENCE`].
    #[error("{doing} took more than {PATIENCE:?}; see {log}")]
    Hung {
        /// The step that hangs.
        doing: String,
        /// The server's output.
        log: PathBuf,
    },
}

/// Where the script, its files and the socket are.
#[derive(Clone, Debug)]
pub struct Site {
    /// The script described at the module's head.
    pub script: PathBuf,
    /// Directory for the files of the server, which the script gets as `CRASH_DIR`.
    pub dir: PathBuf,
    /// Unix socket on which it has to serve, which the script gets as `CRASH_SOCKET`.
    pub socket: PathBuf,
    /// Name of the export that it has to serve.
    pub export: String,
}

impl Site {
    /// The file that collects the output of the script and the server.
    pub fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    /// Runs a step that ends by itself.
    pub fn step(&self, args: &[String]) -> Result<(), ServerError> {
        let doing = format!("{} {}", self.script.display(), args.join(" "));
        let status = self.command(args).and_then(|mut c| c.status());
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(ServerError::Failed { doing, status, log: self.log() }),
            Err(source) => Err(ServerError::Io { doing, source, log: self.log() }),
        }
    }

    /// Starts the server without waiting for it.
    pub fn spawn(&self) -> Result<Server, ServerError> {
        let _ = std::fs::remove_file(&self.socket);
        let spawned = self.command(&["serve".to_owned()]).and_then(|mut c| c.spawn());
        match spawned {
            Ok(child) => Ok(Server { child, site: self.clone() }),
            Err(source) => Err(ServerError::Io { doing: "starting the server".to_owned(), source, log: self.log() }),
        }
    }

    fn command(&self, args: &[String]) -> io::Result<Command> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.script);
        command.args(args).env("CRASH_DIR", &self.dir).env("CRASH_SOCKET", &self.socket);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }
}

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    site: Site,
}

impl Server {
    /// Waits until the export can be negotiated.
    pub fn ready(&mut self) -> Result<Export, ServerError> {
        let doing = || "starting the server".to_owned();
        let started = Instant::now();
        loop {
            match nbd::connect(&self.site.socket, &self.site.export) {
                Ok((_, export)) => return Ok(export),
                Err(_) if started.elapsed() < PATIENCE => {}
                Err(_) => return Err(ServerError::Hung { doing: doing(), log: self.site.log() }),
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(ServerError::Failed { doing: doing(), status, log: self.site.log() });
            }
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Reads the whole export.
    pub fn read_all(&self, size: u64, mut each: impl FnMut(u64, &[u8])) -> Result<(), ServerError> {
        let io_error = |offset: u64| {
            let log = self.site.log();
            move |source| ServerError::Io { doing: format!("reading back at byte {offset:#x}"), source, log }
        };
        let (mut stream, _) = nbd::connect(&self.site.socket, &self.site.export).map_err(io_error(0))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(io_error(0))?;
        let mut buf = vec![0u8; 1 << 20];
        let mut offset = 0;
        while offset < size {
            let len = buf.len().min((size - offset) as usize);
            nbd::read_at(&mut stream, offset, &mut buf[..len]).map_err(io_error(offset))?;
            each(offset, &buf[..len]);
            offset += len as u64;
        }
        Ok(())
    }

    /// Fails if the server has already ended by itself.
    pub fn alive(&mut self) -> Result<(), ServerError> {
        match self.child.try_wait() {
            Ok(Some(status)) => {
                Err(ServerError::Failed { doing: "serving under load".to_owned(), status, log: self.site.log() })
            }
            _ => Ok(()),
        }
    }

    /// The error of a server that lives but does nothing; kills it.
    pub fn hung(self, doing: &str) -> ServerError {
        ServerError::Hung { doing: doing.to_owned(), log: self.site.log() }
    }

    /// Kills the server with SIGKILL and waits until it is gone.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and a clean exit expected.
    pub fn stop(mut self) -> Result<(), ServerError> {
        let doing = "stopping the server with SIGTERM".to_owned();
        // SAFETY: kill(2) takes plain numbers; the child has not been waited for, so its pid is still its own.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(ServerError::Failed { doing, status, log: self.site.log() }),
                _ => std::thread::sleep(Duration::from_millis(3)),
            }
        }
        Err(ServerError::Hung { doing, log: self.site.log() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
