//! What every test of an array on simulated disks begins with.

use std::sync::{Arc, Mutex};

use cygnus_engine::{Log, OpenOptions};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_sim::{DiskId, World};
use cygnus_types::ReactorId;

pub const MIB: u64 = 1 << 20;

/// Silent, unless `CYGNUS_TEST_LOG` is set.
struct Told;

impl Log for Told {
    fn line(&self, text: &str) {
        if std::env::var_os("CYGNUS_TEST_LOG").is_some() {
            eprintln!("{text}");
        }
    }
}

/// Keeps what was told.
#[derive(Default)]
pub struct Lines(pub Mutex<Vec<String>>);

impl Log for Lines {
    fn line(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

pub fn options() -> OpenOptions {
    OpenOptions::new(Arc::new(Told))
}

/// Runs `body` on a fresh reactor over the disks and drops the reactor afterwards, tasks and all.
pub fn session<T, F: Future<Output = T>>(
    world: &World,
    disks: &[DiskId],
    body: impl FnOnce(Runtime, Vec<DeviceInfo>) -> F,
) -> T {
    let rt = world.reactor(ReactorId(0), disks);
    let result = rt.run(body(rt.clone(), world.infos(disks)));
    rt.drop_tasks();
    result.expect("the run does not stall")
}
