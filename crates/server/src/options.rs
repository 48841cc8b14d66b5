use cygnus_engine::Link;
use cygnus_host::ArrayName;
use cygnus_target::ListenAddress;
use cygnus_types::{ByteSize, Nanos};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What a server is told. `None` is the server's own choice.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the array.
    pub name: ArrayName,
    /// Where NBD clients come; none is a socket in the state directory.
    pub nbd: Vec<ListenAddress>,
    /// Reactors, each a thread of its own; at least one.
    pub reactors: usize,
    /// Whether each reactor has a core of its own.
    pub pin: bool,
    /// After what time a device that answers nothing is given up.
    pub hung_after: Option<Nanos>,
    /// How long requests wait for members while the array is suspended; `None`: for as long as it takes.
    pub suspended_for: Option<Nanos>,
    /// How often to scrub; `None`: never.
    pub scrub_every: Option<Duration>,
    /// Bytes of memory that the server takes at most.
    pub memory: Option<ByteSize>,
    /// Directory, in memory, where what is on its way to the members outlasts a server that is killed; `None`: nothing does.
    pub kept_in: Option<PathBuf>,
    /// Connections that may be open at once.
    pub max_connections: Option<u32>,
    /// After what time a client is not waited for any more.
    pub stalled_after: Option<Nanos>,
    /// After what time a client that asks nothing is disconnected; `None`: never.
    pub idle_after: Option<Nanos>,
    /// Whether data moves out of the way of contention; else it does if that is of the preset.
    pub autonomics: bool,
    /// Which members share links.
    pub links: Vec<Link>,
    /// Whether to look for links that members share, besides those, by what Linux tells of this machine.
    pub find_links: bool,
    /// Whether what may be concerned by a loss is given up.
    pub by_force: bool,
    /// Volumes whose requests are recorded, and where to.
    pub record: Vec<RecordTo>,
    /// Whether each line of the log begins with the time.
    pub log_times: bool,
    /// A descriptor that gets a newline when clients may come, and is closed.
    pub ready_fd: Option<i32>,
}

impl Options {
    /// A month between scrubs: a sector that rots is found before a second one of its row does, and the reading, once a month,
    /// wears nothing and hardly takes a thousandth of what the devices can do.
    pub const SCRUB_EVERY: Duration = Duration::from_secs(30 * 24 * 3600);
}

/// A volume, and the new file that its requests go to.
#[derive(Clone, Debug)]
pub struct RecordTo {
    /// The volume's name.
    pub volume: String,
    /// The file, which must not exist.
    pub file: PathBuf,
}

/// What a server says when clients may come.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Name of the array.
    pub array: String,
    /// Where: addresses as URIs without an export's name.
    pub nbd: Vec<String>,
}

/// Where a server's words go.
pub trait Voice: Send + Sync {
    /// A line of the log.
    fn say(&self, line: &str);

    /// A line for those who want to know more.
    fn detail(&self, line: &str);

    /// Says that clients may come.
    ///
    /// # Errors
    /// When the words can be written nowhere, which stops the server.
    fn ready(&self, ready: &Ready) -> io::Result<()>;
}
