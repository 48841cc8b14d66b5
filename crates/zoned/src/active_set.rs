//! Which zones count as partly written, and whether one more may be begun.

use std::collections::BTreeMap;

use crate::shape::Shape;

/// The zones that count as partly written, each with the number of the last write to it. Some may be full or empty by now.
#[derive(Debug, Default)]
pub(crate) struct Active {
    zones: BTreeMap<u32, u64>,
    writes: u64,
    /// The zone that is being rewritten.
    rewritten: Option<u32>,
}

impl Active {
    /// These are partly written.
    pub(crate) fn are(&mut self, zones: impl Iterator<Item = u32>) {
        self.zones = zones.map(|zone| (zone, 0)).collect();
    }

    pub(crate) fn count(&self) -> usize {
        self.zones.len()
    }

    /// A zone is written: whether it counts as partly written anyway.
    pub(crate) fn touch(&mut self, zone: u32) -> bool {
        self.writes += 1;
        let writes = self.writes;
        self.zones.get_mut(&zone).map(|last| *last = writes).is_some()
    }

    pub(crate) fn remove(&mut self, zone: u32) {
        self.zones.remove(&zone);
    }

    /// A zone is rewritten from now on, or none is.
    pub(crate) fn rewrites(&mut self, zone: Option<u32>) {
        self.rewritten = zone;
    }

    /// Whether a zone has its share of the limit in any case.
    fn is_own(&self, shape: &Shape, zone: u32) -> bool {
        u64::from(zone) * shape.zone < shape.lead() || self.rewritten == Some(zone)
    }

    /// A zone is to be begun: from now on it counts.
    ///
    /// # Errors
    /// When there are too many: the zones of which one has to be ended before, that which was not written for longest first.
    pub(crate) fn admit(&mut self, shape: &Shape, limit: u32, zone: u32) -> Result<(), Vec<u32>> {
        if self.touch(zone) {
            return Ok(());
        }
        let mut of_segments: Vec<(u64, u32)> = {
            let all = self.zones.iter().filter(|&(&zone, _)| !self.is_own(shape, zone));
            all.map(|(&zone, &last)| (last, zone)).collect()
        };
        let limit = limit as usize;
        let most = shape.active_for_segments().map_or(limit, |most| most as usize);
        if self.zones.len() >= limit || !self.is_own(shape, zone) && of_segments.len() >= most {
            of_segments.sort_unstable();
            return Err(of_segments.into_iter().map(|(_, zone)| zone).collect());
        }
        self.zones.insert(zone, self.writes);
        Ok(())
    }
}
