//! Which of many modelled devices does something next: a tournament whose leaves are the devices' next events.

use cygnus_types::Nanos;

/// Nothing will happen.
const NEVER: u64 = u64::MAX;

/// Device numbers 0, 1, .. with the time of the next event of each. Changing one takes log2 of their number.
#[derive(Default)]
pub(crate) struct Agenda {
    times: Vec<u64>,
    /// Winner of each match; the root is at 1, the leaves' matches are the second half. A power of two.
    winners: Vec<u32>,
}

impl Agenda {
    /// Adds a device to which nothing will happen; its number is the count so far.
    pub(crate) fn add(&mut self) {
        self.times.push(NEVER);
        let leaves = self.times.len().next_power_of_two().max(2);
        // Everything is played anew: devices are added before anything runs.
        self.winners = vec![u32::MAX; leaves];
        for leaf in 0..self.times.len() {
            self.play(leaf);
        }
    }

    pub(crate) fn set(&mut self, device: usize, at: Option<Nanos>) {
        let at = at.map_or(NEVER, |at| at.0);
        if std::mem::replace(&mut self.times[device], at) != at {
            self.play(device);
        }
    }

    /// The earliest event, and whose; the lowest number of equals.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Nanos, usize)> {
        let first = *self.winners.get(1)?;
        let at = self.time(first);
        (at != NEVER).then_some((Nanos(at), first as usize))
    }

    fn time(&self, device: u32) -> u64 {
        self.times.get(device as usize).copied().unwrap_or(NEVER)
    }

    fn play(&mut self, device: usize) {
        let leaves = self.winners.len();
        let mut at = (leaves + device) / 2;
        let (mut left, mut right) = (device as u32 & !1, device as u32 | 1);
        loop {
            self.winners[at] = if self.time(right) < self.time(left) { right } else { left };
            if at == 1 {
                return;
            }
            (left, right) = (self.winners[at & !1], self.winners[at | 1]);
            at /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::Rng;

    use super::*;

    #[test]
    fn agrees_with_looking_at_all() {
        for count in [1, 2, 3, 5, 8, 9] {
            let (mut agenda, mut rng) = (Agenda::default(), Rng::new(count));
            let mut all = vec![None; count as usize];
            all.iter().for_each(|_| agenda.add());
            for _ in 0..500 {
                let device = rng.below(count) as usize;
                all[device] = rng.chance(4, 5).then(|| Nanos(rng.below(20)));
                agenda.set(device, all[device]);
                let expected = (0..all.len()).filter_map(|n| Some((all[n]?, n))).min();
                assert_eq!(agenda.next(), expected);
            }
        }
        assert_eq!(Agenda::default().next(), None);
    }
}
