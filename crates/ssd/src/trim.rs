//! Pages that nobody needs any more.

use crate::ftl::Place;
use crate::state::Ssd;

impl Ssd {
    /// Carries out a trim; false if it changes nothing.
    pub(crate) fn trim_pages(&mut self, at: u32) -> bool {
        let transit = self.transits[at as usize];
        self.counters.trims += u64::from(transit.pages);
        // Zones give space back by resets only.
        let is_heeded = self.zones.is_none() && !self.config.ignores_trims;
        if is_heeded {
            self.forget_range(transit.lba, transit.pages);
        }
        self.finish_command(at);
        is_heeded
    }

    /// Pages are nowhere from now on.
    pub(crate) fn forget_range(&mut self, lba: u32, pages: u32) {
        for lpn in lba..lba + pages {
            if let Place::Cache(slot) = self.ftl.place(lpn) {
                self.cache.kill(slot);
            }
            self.ftl.trim(lpn);
        }
        if self.block_map.is_some() {
            self.drop_trimmed_blocks(lba, pages);
        }
    }
}
