//! The planner's model: how many R-groups of how many devices keep garbage collection out of the way of writes.
//!
//! SWAN section 3.5 (ATC'19). A group that was front-end comes back to that role when the `N - 1` others have been
//! filled, and must be clean by then:
//!
//! ```text
//!   N >= (Te/Tw) / (1 - u)  +  (Tr/Tw + 1) * u / (1 - u)  +  1
//! ```
//!
//! where Tw, Tr and Te are the times to write, read and erase a segment on one device and `u` is the share of a victim
//! that is still valid. In a log-structured store under uniform random writes `ud = (u - 1) / ln u`, `ud` being the share
//! of the space that holds live data. Floating point is fine here: nothing that an array does depends on it.
//!
//! The equation gives each group the whole round to be cleaned in, so all `N - 1` others may be at it side by side. The
//! paper's array cleans one at a time (its section 3.4, "inside a single back-end R-group"), which must be done within the time
//! that one front-end lasts: `erase + moves <= 1`. The engine cleans a second one while one at a time might be late, and
//! that is worth somewhat more ([`SIDE_BY_SIDE`]). From three groups on, more of them hold more data, but only wider ones
//! make room for cleaning. And garbage does not gather everywhere: not in stripe headers,
//! nor in space that is clean and waits for writers. So victims are fuller than the equation has it. [`Terms`] are the
//! paper's, [`Prospect`] says what the engine sustains.

use crate::{CleaningScope, Preset};

/// What the model needs to know of one device. Rates in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceFigures {
    /// Bytes per second of large writes in order.
    pub write_rate: f64,
    /// Bytes per second of large reads.
    pub read_rate: f64,
    /// Seconds until a trimmed segment of [`DeviceFigures::segment`] bytes is erased (Te).
    pub erase_seconds: f64,
    /// Bytes of a segment on one device.
    pub segment: f64,
    /// Bytes that the device holds.
    pub capacity: f64,
}

/// The two dimensions of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of R-groups.
    pub groups: u32,
    /// Data columns of each (k).
    pub data: u32,
    /// Parity columns of each (m).
    pub parity: u32,
    /// Devices left over.
    pub spares: u32,
}

impl Layout {
    /// Devices of a group.
    pub fn width(self) -> u32 {
        self.data + self.parity
    }
}

/// The terms of the equation, each a number of R-groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Share of a victim that is valid (u).
    pub valid_share: f64,
    /// `(Te/Tw) / (1 - u)`: erasing.
    pub erase: f64,
    /// `(Tr/Tw + 1) * u / (1 - u)`: moving what is valid.
    pub moves: f64,
}

impl Terms {
    /// Right side of the equation: both terms, and the front-end itself.
    pub fn minimum(self) -> f64 {
        self.cleaning() + 1.0
    }

    /// Groups that would have to be cleaned at once to clean as much as is written.
    pub fn cleaning(self) -> f64 {
        self.erase + self.moves
    }

    /// Fewest whole groups; never below two, since one group cannot both write and clean.
    pub fn groups(self) -> u32 {
        (self.minimum().ceil() as u32).max(2)
    }
}

/// Share of a victim that is valid when `utilisation` of the space holds live data, under uniform random writes: the
/// solution of `utilisation = (u - 1) / ln u`. `utilisation` lies strictly between 0 and 1.
pub fn valid_share(utilisation: f64) -> f64 {
    assert!(utilisation > 0.0 && utilisation < 1.0, "a utilisation of {utilisation} has no victim to speak of");
    let of = |u: f64| (u - 1.0) / u.ln();
    let (mut low, mut high) = (0.0, 1.0);
    // The function rises from 0 to 1, and 60 halvings are more than a double can tell apart.
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if of(middle) < utilisation { low = middle } else { high = middle }
    }
    low
}

/// The equation for a device and a utilisation, when the front-end is written at `share_of_rate` (at most 1) of what it
/// can take: a slower network leaves more time for cleaning.
pub fn terms(device: &DeviceFigures, utilisation: f64, share_of_rate: f64) -> Terms {
    let u = valid_share(utilisation);
    let write = device.segment / device.write_rate;
    let read = device.segment / device.read_rate;
    let available = write / share_of_rate;
    Terms {
        valid_share: u,
        erase: device.erase_seconds / available / (1.0 - u),
        moves: (read + write) / available * u / (1.0 - u),
    }
}

/// What cleaning a second group now and then is worth, in groups that are cleaned all the time. Not two: it is a help and
/// gets no more than room to spare (`CleaningScope::group_beside`). Measured: four groups of two modelled drives, 74 to 88 %
/// full, written without a pause, took 1.41 to 1.47 times what one group at a time leaves by these terms.
pub const SIDE_BY_SIDE: f64 = 1.4;

/// The same in an array of `groups` groups.
fn side_by_side(groups: u32) -> f64 {
    if groups > 2 { SIDE_BY_SIDE } else { 1.0 }
}

/// Share of the space that headers of stripes take, at their default height.
const HEADERS: f64 = 1.0 / 64.0;
/// Clean space waits in the next front-end, and half as much on average in the present one, which is being filled.
const GROUPS_WITH_CLEAN_SPACE: f64 = 1.5;
/// Above this share of live data there is no steady state to speak of.
const FULLEST: f64 = 0.995;

/// Share of all space in which garbage can gather.
fn where_garbage_gathers(groups: u32) -> f64 {
    let target = match Preset::Swan.policies().cleaning {
        CleaningScope::NextFrontEnd { target_percent, .. } => f64::from(target_percent) / 100.0,
        CleaningScope::Anywhere { .. } | CleaningScope::WholeGroup { .. } => 0.0,
    };
    let clean = target * GROUPS_WITH_CLEAN_SPACE / f64::from(groups.max(1));
    (1.0 - HEADERS) * (1.0 - clean)
}

/// Live share of that space, when `utilisation` of all is live.
fn live_among_garbage(utilisation: f64, groups: u32) -> f64 {
    (utilisation / where_garbage_gathers(groups)).min(FULLEST)
}

/// The utilisation above which nothing can be said of cleaning in an array of `groups` groups.
pub fn fullest(groups: u32) -> f64 {
    FULLEST * where_garbage_gathers(groups)
}

/// What cleaning has to do in an array of `groups` groups.
fn work(device: &DeviceFigures, utilisation: f64, groups: u32) -> Terms {
    terms(device, live_among_garbage(utilisation, groups), 1.0)
}

/// Fewest data devices of a group that take what the network brings (section 3.5, first step) and whose cleaning keeps up
/// with it in an array of `groups` groups.
pub fn data_devices(device: &DeviceFigures, groups: u32, utilisation: f64, network_rate: f64) -> u32 {
    let needed = network_rate * (work(device, utilisation, groups).cleaning() / side_by_side(groups)).max(1.0);
    // A rounding error is no device.
    ((needed / device.write_rate - 1e-9).ceil() as u32).max(1)
}

/// What a layout can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// User bytes per second that the front-end takes while nothing cleans.
    pub burst_rate: f64,
    /// User bytes per second for ever: as much is cleaned as is written to the front-end.
    pub sustained_rate: f64,
    /// Share of a victim that is valid, in this engine.
    pub valid_share: f64,
    /// Part of a front-end's time that it takes to clean as much as is written meanwhile.
    pub cleaning: f64,
    /// What is cleaned at once, in groups: with more `cleaning` than that it falls behind.
    pub side_by_side: f64,
    /// Bytes that devices write per client byte: relocation, parity and headers on top.
    pub write_amplification: f64,
    /// Live bytes at the given utilisation.
    pub usable: f64,
    /// Bytes of all devices in groups.
    pub raw: f64,
}

/// Judges a layout at a utilisation.
pub fn prospect(device: &DeviceFigures, layout: Layout, utilisation: f64) -> Prospect {
    let needed = work(device, utilisation, layout.groups);
    let burst_rate = f64::from(layout.data) * device.write_rate;
    let relocation = 1.0 / (1.0 - needed.valid_share);
    let of_drives = |drives: u32| f64::from(drives) * device.capacity;
    let data_share = f64::from(layout.data) / f64::from(layout.width());
    Prospect {
        burst_rate,
        sustained_rate: burst_rate / (needed.cleaning() / side_by_side(layout.groups)).max(1.0),
        valid_share: needed.valid_share,
        cleaning: needed.cleaning(),
        side_by_side: side_by_side(layout.groups),
        write_amplification: relocation / data_share / (1.0 - HEADERS),
        usable: of_drives(layout.groups * layout.data) * utilisation,
        raw: of_drives(layout.groups * layout.width()),
    }
}

/// Every layout of `devices` devices with at least two groups and parity `parity`, widest groups first.
pub fn layouts(devices: u32, parity: u32) -> impl Iterator<Item = Layout> {
    let widths = (parity + 1..=devices / 2).rev();
    widths.map(move |width| {
        let groups = devices / width;
        Layout { groups, data: width - parity, parity, spares: devices - groups * width }
    })
}

/// Of these layouts the one with most usable space that sustains `rate`; if none does, the one that sustains most. Of several as good as that
/// the one that sustains most, and then the one that writes least. `None`: there are none.
pub fn recommend(
    device: &DeviceFigures,
    layouts: impl Iterator<Item = Layout>,
    utilisation: f64,
    rate: f64,
) -> Option<Layout> {
    let judged = layouts.map(|layout| (layout, prospect(device, layout, utilisation)));
    judged
        .max_by(|(_, a), (_, b)| {
            let key = |p: &Prospect| (p.sustained_rate.min(rate), p.usable, p.sustained_rate, -p.write_amplification);
            key(a).partial_cmp(&key(b)).expect("rates and sizes are finite")
        })
        .map(|(layout, _)| layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 3.5: 4 ms per erase, 15.6 us and 19.5 us per 4 KiB block read and written, 256 blocks per segment.
    fn prototype() -> DeviceFigures {
        DeviceFigures {
            write_rate: 4096.0 / 19.5e-6,
            read_rate: 4096.0 / 15.6e-6,
            erase_seconds: 4e-3,
            segment: 256.0 * 4096.0,
            capacity: 120e9,
        }
    }

    #[test]
    fn valid_share_solves_its_equation() {
        for utilisation in [0.05, 0.3, 0.6, 0.7, 0.95] {
            let u = valid_share(utilisation);
            assert!(((u - 1.0) / u.ln() - utilisation).abs() < 1e-9, "{utilisation}: {u}");
        }
        assert!((valid_share(0.6) - 0.324).abs() < 0.001, "the paper rounds it to 0.33");
    }

    #[test]
    fn the_papers_example_gives_three_groups_and_not_its_two() {
        let terms = terms(&prototype(), 0.6, 1.0);
        // With the paper's rounded u = 0.33 the sum is 3.08; what it prints, 1.89, is the sum without the erase term.
        assert!((terms.minimum() - 3.05).abs() < 0.01, "{terms:?}");
        assert!((terms.moves + 1.0 - 1.89).abs() < 0.03, "{terms:?}");
        assert_eq!(terms.groups(), 4);
    }

    #[test]
    fn a_slower_network_needs_fewer_groups_in_proportion() {
        let (full, half) = (terms(&prototype(), 0.6, 1.0), terms(&prototype(), 0.6, 0.5));
        assert!(((full.minimum() - 1.0) / (half.minimum() - 1.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_sustained_depends_on_the_width_and_on_whether_two_groups_can_be_cleaned() {
        let (device, layout) = (prototype(), |groups, data| Layout { groups, data, parity: 1, spares: 0 });
        let at = |groups, data| prospect(&device, layout(groups, data), 0.6);
        // Clean space that waits is a smaller part of more groups, and that is all the difference.
        assert!(at(8, 2).sustained_rate < 1.15 * at(3, 2).sustained_rate);
        assert!(at(3, 2).sustained_rate > 1.35 * at(2, 2).sustained_rate, "only one back-end");
        assert!((at(3, 4).sustained_rate / at(3, 2).sustained_rate - 2.0).abs() < 1e-9);
        // By the equation 1.19 to erase and 0.86 to move; somewhat more with what holds no garbage.
        assert!((2.05..2.4).contains(&at(4, 2).cleaning), "{:?}", at(4, 2));
        let quick = DeviceFigures { erase_seconds: 0.0, ..device };
        let prospect = prospect(&quick, layout(3, 2), 0.5);
        assert_eq!(prospect.sustained_rate, prospect.burst_rate, "moving alone takes less time than there is");
    }

    #[test]
    fn groups_are_wide_enough_for_the_network_and_for_cleaning() {
        let device = prototype();
        for (utilisation, devices) in [(0.05, 3), (0.6, 6)] {
            let rate = 2.1 * device.write_rate;
            assert_eq!(data_devices(&device, 2, utilisation, rate), devices, "{utilisation}");
            for groups in [2, 3, 5] {
                let data = data_devices(&device, groups, utilisation, rate);
                let at = |data| prospect(&device, Layout { groups, data, parity: 1, spares: 0 }, utilisation);
                assert!(at(data).sustained_rate >= rate && at(data - 1).sustained_rate < rate);
            }
        }
    }

    #[test]
    fn layouts_use_devices_once() {
        for layout in layouts(9, 1) {
            assert_eq!(layout.groups * layout.width() + layout.spares, 9);
            assert!(layout.groups >= 2 && layout.data >= 1);
        }
        assert_eq!(layouts(1, 1).count(), 0);
    }

    #[test]
    fn the_recommendation_is_the_widest_that_still_keeps_up() {
        let device = prototype();
        let rate = 2.0 * device.write_rate;
        let best = recommend(&device, layouts(18, 1), 0.6, rate).expect("18 devices are enough");
        assert!(prospect(&device, best, 0.6).sustained_rate >= rate);
        for other in layouts(18, 1).filter(|l| prospect(&device, *l, 0.6).sustained_rate >= rate) {
            assert!(prospect(&device, other, 0.6).usable <= prospect(&device, best, 0.6).usable, "{other:?}");
        }
        assert_eq!(recommend(&device, layouts(3, 1), 0.6, rate), None);
    }

    #[test]
    fn of_layouts_that_hold_as_much_the_one_that_sustains_more_is_recommended() {
        // Three groups of 4+1 and two of 6+1 have twelve data drives each, and both take more than the network brings.
        let drive = DeviceFigures { write_rate: 470e6, read_rate: 550e6, capacity: 120e9, ..prototype() };
        let recommended = recommend(&drive, layouts(15, 1), 0.6, 1.25e9).unwrap();
        let narrower = Layout { groups: 3, data: 4, parity: 1, spares: 0 };
        let [this, other] = [recommended, narrower].map(|layout| prospect(&drive, layout, 0.6));
        assert_eq!(this.usable, other.usable);
        assert!(recommended != narrower && this.sustained_rate >= other.sustained_rate, "{recommended:?}");
    }

    #[test]
    fn nothing_is_fuller_than_what_is_kept_for_headers_and_clean_space_allows() {
        assert!(
            (2..=64).all(|groups| (0.9..0.985).contains(&fullest(groups)) && fullest(groups) <= fullest(groups + 1))
        );
    }
}
