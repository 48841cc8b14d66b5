//! What stands at the paths of members: a file that was deleted is there for whoever has it open, and nobody notices before
//! the next start; one that was truncated lacks what lay behind.
//!
//! A path may be on a file system that gives no answer, so only a thread of its own looks there, and a status says what was
//! there when all paths were last seen.

use crate::aside::aside;
use cygnus_host::moved::BlockDevices;
use cygnus_runtime::Runtime;
use cygnus_types::{ByteSize, Nanos};
use cygnus_uring::{beneath, drive_at, is_drive};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a status waits for a look at all paths.
const PATIENCE: Nanos = Nanos::millis(200);

const DELETED: &str = "its path does not exist any more, so what it holds is gone when the server stops";
const UNPLUGGED: &str = "there is no device of its name any more: it was unplugged, and may be here by another name";

/// What tells a file, block device or software SSD from all others, whatever its path.
pub type FileId = (u64, u64);

/// What is at a path; blocking.
pub fn file_id(path: &Path) -> std::io::Result<FileId> {
    let Some(drive) = drive_at(path) else {
        return std::fs::metadata(beneath(path)).map(|metadata| (metadata.dev(), metadata.ino()));
    };
    // A software SSD has a random number for itself, and nobody else has that.
    let id = u128::from_be_bytes(drive?.0);
    Ok(((id >> 64) as u64, id as u64))
}

/// What was at a path.
#[derive(Clone, Copy)]
enum Seen {
    Nothing,
    File(u64),
    Other,
}

fn look(path: &str) -> Seen {
    if is_drive(Path::new(path)) {
        return Seen::Other;
    }
    match std::fs::metadata(beneath(Path::new(path))) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Seen::Nothing,
        Ok(file) if file.is_file() => Seen::File(file.len()),
        _ => Seen::Other,
    }
}

/// The last look at all paths.
#[derive(Default)]
pub struct Files {
    seen: RefCell<BTreeMap<String, Seen>>,
    /// Somebody is looking, and may not be back for long.
    looking: Arc<AtomicBool>,
}

impl Files {
    /// Looks at all these paths, unless somebody who does has not come back from there yet.
    pub async fn look(&self, rt: &Runtime, paths: Vec<String>) {
        if self.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let looking = self.looking.clone();
        let work = move || {
            let seen = paths.into_iter().map(|path| (path.clone(), look(&path))).collect();
            looking.store(false, Ordering::Relaxed);
            seen
        };
        match aside(rt, PATIENCE, work).await {
            Ok(Some(seen)) => drop(self.seen.replace(seen)),
            // What was seen before still counts.
            Ok(None) => {}
            Err(_) => self.looking.store(false, Ordering::Relaxed),
        }
    }

    /// What is wrong with what stands where a member of this size is.
    pub fn odd(&self, path: &str, size: ByteSize) -> Option<String> {
        match *self.seen.borrow().get(path)? {
            Seen::Nothing if BlockDevices::of_this_machine().may_name(Path::new(path)) => Some(UNPLUGGED.into()),
            Seen::Nothing => Some(DELETED.into()),
            Seen::File(len) if len < size.0 => {
                Some(format!("its file is {} long and was {size}, so what lay behind is gone", ByteSize(len)))
            }
            Seen::File(_) | Seen::Other => None,
        }
    }
}
