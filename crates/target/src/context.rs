use std::rc::Rc;

use cygnus_runtime::Runtime;

use crate::config::ServerConfig;
use crate::event::Journal;
use crate::exports::Export;
use crate::nbd::Agreed;
use crate::pace::Pace;
use crate::queue::Queue;
use crate::stats::Totals;

/// What a connection needs to know of its server.
pub(crate) struct Context<'a, E> {
    pub(crate) rt: &'a Runtime,
    pub(crate) exports: &'a E,
    pub(crate) config: &'a ServerConfig,
    pub(crate) totals: &'a Rc<Totals>,
    pub(crate) journal: &'a Rc<Journal>,
    pub(crate) pace: &'a Rc<Pace>,
    pub(crate) queue: &'a Rc<Queue>,
}

/// A client that has entered an export.
pub(crate) struct Entered<V> {
    pub(crate) agreed: Agreed,
    pub(crate) export: Export<V>,
    /// The server's last words of the negotiation, not sent yet.
    pub(crate) answer: Vec<u8>,
}
