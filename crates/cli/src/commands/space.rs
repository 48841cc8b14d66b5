//! Where the bytes of new members come from: set aside at once, or taken from the file system as they are written.

use crate::args::values::Size;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use cygnus_types::ByteSize;
use cygnus_uring::{allocate_file, create_file};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often to say how far a file is that takes long to make.
const TELL_EVERY: Duration = Duration::from_secs(3);

/// What to say of sparse members.
const SPARSE: &str = "the new members are sparse files: should their file system be full one day, the array can write nothing \
                      until there is room again; watch its free space";

/// How large new files are, and whether their space is set aside.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    size: ByteSize,
    sparse: bool,
}

impl Space {
    /// As the flags say; `None` if no files are to be made.
    pub fn of(create: Option<Size>, sparse: bool) -> Option<Self> {
        create.map(|size| Self { size: size.0, sparse })
    }

    /// Makes the file at `path`, with all its space allocated unless it is to be sparse. A signal that
    /// [`interrupt`] notes breaks it off, and nothing is left of the file.
    pub fn make(self, path: &Path, output: &Output) -> Result<(), Failure> {
        if self.sparse {
            return create_file(path, self.size.0).map_err(Failure::of);
        }
        let mut told = Instant::now();
        let progress = |done| {
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                output.remark(&format!("{}: {} of {} are set aside", path.display(), ByteSize(done), self.size));
            }
            if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        allocate_file(path, self.size.0, progress).map_err(Failure::of)
    }

    /// Warns of what was made so, if there is anything to warn of.
    pub fn warn(self, output: &Output) {
        if self.sparse {
            output.warn(SPARSE);
        }
    }
}
