//! What one reactor does for all that have a device open.

use cygnus_runtime::{Runtime, either};

use crate::ground::Ground;
use crate::table::{Once, Table};
use crate::turn::POLL;

/// What one reactor does for all. Unless it came to its end, the next one begins anew.
pub(crate) struct Doing<'a> {
    device: &'a Ground,
    which: fn(&mut Table) -> &mut Once,
    opening: u64,
    outcome: Once,
}

impl Doing<'_> {
    /// The opening of the device in which it was begun.
    pub(crate) fn opening(&self) -> u64 {
        self.opening
    }

    /// It came to its end.
    pub(crate) fn is_done(&mut self) {
        self.outcome = Once::Done;
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        let mut table = self.device.zoned().table();
        // Did somebody open the device anew meanwhile, that counts.
        if table.opening == self.opening {
            *(self.which)(&mut table) = self.outcome;
        }
        drop(table);
        self.device.changed().notify();
    }
}

impl Ground {
    /// `None`: it is done. Else the caller is to do it.
    pub(crate) async fn undertake(&self, rt: &Runtime, which: fn(&mut Table) -> &mut Once) -> Option<Doing<'_>> {
        loop {
            let changed = self.changed().wait();
            {
                let mut table = self.zoned().table();
                match *which(&mut table) {
                    Once::Done => return None,
                    Once::Not => {
                        *which(&mut table) = Once::UnderWay;
                        return Some(Doing { device: self, which, opening: table.opening, outcome: Once::Not });
                    }
                    Once::UnderWay => {}
                }
            }
            either(changed, rt.sleep(POLL)).await;
        }
    }
}
