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
use cygnus_control::client::{Client, ClientError};
use cygnus_control::protocol::{Request, Response};
use cygnus_host::ArrayName;
use cygnus_host::state::StateDir;
use std::time::Duration;

/// How long a command waits for a change that may have a whole device trimmed.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(600);

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
        Ok(Client::connect_if_served(&self.state.control_socket(name)?)?)
    }

    /// The connection to the `serve` that has this array; refuses when there is none.
    pub fn require_served(&self, name: &ArrayName, to: &str) -> Result<Client, Failure> {
        self.served(name)?.ok_or_else(|| {
            Failure::Failed(format!("{name} is not being served: start 'cygnus serve {name}' first to {to}"))
        })
    }

    /// Asks a running `serve` for a change. When it does not live to answer, nobody knows whether it was made.
    pub fn change(&self, serve: &mut Client, request: &Request, name: &ArrayName) -> Result<Response, Failure> {
        serve.call(request).map_err(|error| match error {
            ClientError::Io { .. } | ClientError::Timeout { .. } => Failure::Unknown(format!(
                "{error}: it may have made the change or not, which 'cygnus array status {name}' tells once it is served"
            )),
            other => other.into(),
        })
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
