//! Which pages of volumes are being merged on a reactor.

use std::cell::RefCell;
use std::collections::BTreeSet;

use cygnus_runtime::Event;
use cygnus_types::{Lba, VolumeId};

/// Pages that are being read to be written whole. Whoever would write to one waits: else one of both would read in vain.
#[derive(Default)]
pub(crate) struct Merging {
    pages: RefCell<BTreeSet<(VolumeId, Lba)>>,
    ended: Event,
}

/// A page that is being merged.
pub(crate) struct Merge<'a> {
    of: &'a Merging,
    page: (VolumeId, Lba),
}

impl Merging {
    pub(crate) async fn begin(&self, page: (VolumeId, Lba)) -> Merge<'_> {
        loop {
            let ended = self.ended.wait();
            if self.pages.borrow_mut().insert(page) {
                return Merge { of: self, page };
            }
            ended.await;
        }
    }
}

impl Drop for Merge<'_> {
    fn drop(&mut self) {
        self.of.pages.borrow_mut().remove(&self.page);
        self.of.ended.notify();
    }
}
