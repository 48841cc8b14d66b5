//! What outlasts a process that is killed, and goes when the machine does.

use std::io;
use std::sync::Mutex;

use cygnus_runtime::{Keeper, KeptFile};

/// The memory of a machine on which processes come and go.
#[derive(Default)]
pub struct Machine {
    place: &'static str,
    kept: Mutex<Option<KeptFile>>,
}

impl Machine {
    /// One directory of several.
    pub fn at(place: &'static str) -> Self {
        Self { place, ..Self::default() }
    }

    /// The machine is without power for a moment.
    pub fn goes_down(&self) {
        self.kept.lock().expect("no holder panics").take();
    }
}

impl Keeper for Machine {
    fn left(&self) -> io::Result<Option<KeptFile>> {
        self.kept.lock().expect("no holder panics").as_ref().map(KeptFile::another).transpose()
    }

    fn begin(&self) -> io::Result<KeptFile> {
        let new = KeptFile::anonymous()?;
        let another = new.another()?;
        // What was there before is gone for good.
        *self.kept.lock().expect("no holder panics") = Some(new);
        Ok(another)
    }

    fn end(&self) {
        self.goes_down();
    }

    fn is_there(&self, _: &KeptFile) -> bool {
        true
    }

    fn place(&self) -> String {
        format!("memory{}", self.place)
    }
}
