//! What each command does. The command line is in `args`, the array itself in `backend`.

pub mod array;
pub mod cautions;
pub mod check;
pub mod create;
mod create_in_place;
pub mod destroy;
pub mod forget;
pub mod grow;
pub mod job;
pub mod new_files;
pub mod overwrite;
pub mod replace;
pub mod salvage;
pub mod scan;
pub mod scrub;
pub mod space;
pub mod status;
pub mod volume;

use crate::failure::Failure;
use crate::output::Output;
use cygnus_control::client::{self, Client, ClientError};
use cygnus_control::protocol::{Request, Response};
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_host::state::StateDir;
use std::time::Duration;

/// How long a command waits for a change that may have a whole device trimmed.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(600);

/// After what time without an answer it is looked whether the array is suspended.
const SLOW: Duration = Duration::from_secs(3);

/// What every command needs.
#[derive(Debug)]
pub struct Context {
    /// Where to say things.
    pub output: Output,
    /// What is remembered of arrays.
    pub state: StateDir,
}

impl Context {
    /// The connection to the `serve` that has this array, if one is running.
    pub fn served(&self, name: &ArrayName) -> Result<Option<Client>, Failure> {
        self.served_within(name, client::TIMEOUT)
    }

    /// The same, where the server is to answer that it is there within `patience`.
    pub fn served_within(&self, name: &ArrayName, patience: Duration) -> Result<Option<Client>, Failure> {
        Ok(Client::connect_if_served(&self.state.control_socket(name)?, patience)?)
    }

    /// The connection to the `serve` that has this array; refuses when there is none.
    pub fn require_served(&self, name: &ArrayName, to: &str) -> Result<Client, Failure> {
        if let Some(serve) = self.served(name)? {
            return Ok(serve);
        }
        // Members that cannot be found are a matter for the server that has to be started.
        let found = Assembly::at_rest(&self.state, name).ok();
        match found.and_then(|(_, assembly)| self.elsewhere(&assembly)) {
            Some(elsewhere) => {
                Err(Failure::Failed(format!("{elsewhere}; it takes a server that can be asked to {to}")))
            }
            None => {
                Err(Failure::Failed(format!("{name} is not being served: start 'cygnus serve {name}' first to {to}")))
            }
        }
    }

    /// That somebody has members of an array for itself whom this state directory does not know, and what to do.
    pub fn elsewhere(&self, assembly: &Assembly) -> Option<String> {
        let (member, holder) = assembly.holder()?;
        let (array, dir) = (&assembly.newest.state.name, self.state.path().display());
        Some(format!(
            "{}: in use by {holder}, and no server of {array} is known in {dir}: if that is its server, give the --state that it has",
            member.display()
        ))
    }

    /// Says of an array that is only looked at that somebody may be changing it.
    pub fn warn_if_elsewhere(&self, assembly: &Assembly) {
        if let Some(elsewhere) = self.elsewhere(assembly) {
            self.output.warn(&format!("{elsewhere}; what its members tell is from when they were last told"));
        }
    }

    /// Asks a running `serve` for a change. When it does not live to answer, nobody knows whether it was made.
    pub fn change(&self, serve: &mut Client, request: &Request, name: &ArrayName) -> Result<Response, Failure> {
        serve.call_noting(request, SLOW, || self.tell_if_suspended(name)).map_err(|error| match error {
            ClientError::Io { .. } | ClientError::Timeout { .. } => Failure::Unknown(format!(
                "{error}: it may have made the change or not, which 'cygnus array status {name}' tells once it is served"
            )),
            other => other.into(),
        })
    }

    /// Says whom an array waits for that has not answered for some time.
    fn tell_if_suspended(&self, name: &ArrayName) {
        let Ok(Some(serve)) = self.served_within(name, SLOW) else { return };
        let Ok(Response::Status { array: told }) = serve.with_timeout(SLOW).call(&Request::Status) else { return };
        if let Some(suspended) = told.suspended {
            self.output.warn(&format!(
                "{name} is suspended and waits for {}; the change is made when they do their work again, also if this command is ended",
                suspended.waits_for
            ));
        }
    }

    /// Refuses when the array is being served.
    pub fn require_stopped(&self, name: &ArrayName, to: &str) -> Result<(), Failure> {
        match self.served(name)? {
            None => Ok(()),
            Some(_) => Err(Failure::Failed(format!(
                "{name} is being served by another 'cygnus serve': stop that one first to {to} it"
            ))),
        }
    }
}
