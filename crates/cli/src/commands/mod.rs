//! What each command does. The command line is in `args`, the array itself in `backend`.

pub mod array;
pub mod cautions;
pub mod check;
pub mod create;
mod create_in_place;
pub mod destroy;
pub mod grow;
pub mod job;
pub mod replace;
pub mod salvage;
pub mod scan;
pub mod scrub;
pub mod status;
pub mod volume;

use crate::failure::Failure;
use crate::output::Output;
use crate::state::StateDir;
use cygnus_control::client::Client;

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
    pub fn served(&self, name: &crate::args::values::ArrayName) -> Result<Option<Client>, Failure> {
        Ok(Client::connect_if_served(&self.state.control_socket(name)?)?)
    }

    /// The connection to the `serve` that has this array; refuses when there is none.
    pub fn require_served(&self, name: &crate::args::values::ArrayName, to: &str) -> Result<Client, Failure> {
        self.served(name)?.ok_or_else(|| {
            Failure::Failed(format!("{name} is not being served: start 'cygnus serve {name}' first to {to}"))
        })
    }

    /// Refuses when the array is being served.
    pub fn require_stopped(&self, name: &crate::args::values::ArrayName, to: &str) -> Result<(), Failure> {
        match self.served(name)? {
            None => Ok(()),
            Some(_) => Err(Failure::Failed(format!(
                "{name} is being served by another 'cygnus serve': stop that one first to {to} it"
            ))),
        }
    }
}
