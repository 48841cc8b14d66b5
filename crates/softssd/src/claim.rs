//! Who may write: one host at a time, as long as its connection lasts.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use cygnus_ssdlink::Stream;

/// How long a host waits for the end of its own earlier connection.
const HANDOVER: Duration = Duration::from_secs(5);

struct Holder {
    host: [u8; 16],
    stream: Arc<Stream>,
}

/// The claim to a drive.
#[derive(Default)]
pub(crate) struct Claims {
    holder: Mutex<Option<Holder>>,
    released: Condvar,
}

impl Claims {
    /// Claims the drive for a connection. The same host's earlier connection is ended first, and everything that it had
    /// under way has ended before this says yes. Another host's is left alone.
    pub(crate) fn claim(&self, host: [u8; 16], stream: &Arc<Stream>) -> bool {
        let mut holder = self.holder.lock().expect("no holder panics");
        match &*holder {
            Some(other) if other.host != host => return false,
            Some(earlier) => {
                earlier.stream.hang_up();
                let waited = self.released.wait_timeout_while(holder, HANDOVER, |holder| holder.is_some());
                holder = waited.expect("no holder panics").0;
            }
            None => {}
        }
        if holder.is_some() {
            return false;
        }
        *holder = Some(Holder { host, stream: stream.clone() });
        true
    }

    /// The connection has ended, with all that it had under way.
    pub(crate) fn release(&self, stream: &Arc<Stream>) {
        let mut holder = self.holder.lock().expect("no holder panics");
        if holder.take_if(|holder| Arc::ptr_eq(&holder.stream, stream)).is_some() {
            self.released.notify_all();
        }
    }

    /// Whether anybody has it.
    pub(crate) fn is_held(&self) -> bool {
        self.holder.lock().expect("no holder panics").is_some()
    }
}
