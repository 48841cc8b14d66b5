use std::sync::Arc;

use cygnus_runtime::MemoryPart;
use cygnus_types::Nanos;

use crate::door::Door;

/// Limits of a server. Clones share the door and the account of memory, so that they hold for all reactors together.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// A client that has not chosen its export by then is cut off.
    pub handshake_time: Nanos,
    /// How long a session that ends waits for what it has accepted to be done and sent.
    pub grace: Nanos,
    /// Time after which a client that does not take its replies, or does not send the rest of a request, is cut off.
    pub stalled_after: Nanos,
    /// Time after which a client that asks nothing is cut off.
    pub idle_after: Option<Nanos>,
    /// How many connections there may be.
    pub door: Arc<Door>,
    /// Memory for what connections hold beyond [`ServerConfig::RESERVE`]; at least [`ServerConfig::LEAST_MEMORY`].
    pub memory: Arc<MemoryPart>,
}

impl ServerConfig {
    /// Connections there may be unless said otherwise; half of them of one peer.
    pub const CONNECTIONS: usize = 2048;
    /// With less memory than this, the largest reads might never find room.
    pub const LEAST_MEMORY: usize = 80 << 20;
    /// Bytes that each connection has to itself, beside [`ServerConfig::memory`].
    pub const RESERVE: usize = crate::purse::RESERVE;
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            handshake_time: Nanos::secs(10),
            grace: Nanos::secs(10),
            stalled_after: Nanos::secs(60),
            idle_after: None,
            door: Door::new(Self::CONNECTIONS),
            memory: Arc::new(MemoryPart::new(256 << 20)),
        }
    }
}
