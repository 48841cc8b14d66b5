//! When a serial array keeps its pace for ever (HotStorage'17).
//!
//! While the front-end is filled, one group must become clean. To gain the room of one group by emptying groups of which a
//! share `u` is valid takes `1 / (1 - u)` of them; each is read, written elsewhere, and discarded:
//!
//! ```text
//!   (u C / min(Br, Bw) + Ttrim) / (1 - u)  <=  C / Bfront
//! ```
//!
//! with C the bytes that a group holds, Br and Bw its rates, and Bfront the rate at which clients write. The paper says
//! that this must hold and not how; the rule is ours.

use crate::planner::{DeviceFigures, valid_share};

/// What the rule judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialArray {
    /// Figures of each drive; all are alike.
    pub device: DeviceFigures,
    /// R-groups, one of which is in reserve: at least three.
    pub groups: u32,
    /// Data columns of each.
    pub data: u32,
}

/// Both sides of the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sustained {
    /// Share of the group being emptied that is valid (u).
    pub valid_share: f64,
    /// Seconds until the room of one group is gained.
    pub cleaning_seconds: f64,
    /// Seconds until the front-end is full.
    pub filling_seconds: f64,
}

impl Sustained {
    /// Whether cleaning keeps up.
    pub fn holds(self) -> bool {
        self.cleaning_seconds <= self.filling_seconds
    }

    /// The part of the clients' rate that lasts.
    pub fn share(self) -> f64 {
        (self.filling_seconds / self.cleaning_seconds).min(1.0)
    }
}

impl SerialArray {
    /// Share of an emptied group that is valid when live data fills `utilisation` of the array, under uniform random writes:
    /// what is not in reserve is a log over the other groups. `None`: the other groups cannot hold that.
    pub fn victim_valid_share(&self, utilisation: f64) -> Option<f64> {
        let fill = utilisation * f64::from(self.groups) / f64::from(self.groups - 1);
        (fill < 1.0).then(|| valid_share(fill))
    }

    /// The rule at a utilisation and a rate of clients' writes; `None` as in [`SerialArray::victim_valid_share`].
    pub fn sustained(&self, utilisation: f64, front_rate: f64) -> Option<Sustained> {
        let u = self.victim_valid_share(utilisation)?;
        let (data, device) = (f64::from(self.data), &self.device);
        let capacity = data * device.capacity;
        let trim = device.erase_seconds * device.capacity / device.segment;
        let moving = u * capacity / (data * device.read_rate.min(device.write_rate));
        Some(Sustained {
            valid_share: u,
            cleaning_seconds: (moving + trim) / (1.0 - u),
            filling_seconds: capacity / front_rate,
        })
    }

    /// The rate at which a front-end takes writes.
    pub fn front_end_rate(&self) -> f64 {
        f64::from(self.data) * self.device.write_rate
    }
}

/// The share of all groups but the reserve that volumes may fill before an array whose drives read as fast as they write,
/// and discard at once, loses pace under uniform random writes at the full rate of its front-end: u is one half then.
pub fn full_pace_fill() -> f64 {
    0.5 / std::f64::consts::LN_2
}

/// The part of a front-end's rate that such an array keeps when volumes fill this share of all groups but the reserve.
pub fn pace_at(fill: f64) -> f64 {
    let u = valid_share(fill);
    ((1.0 - u) / u).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Intel 750 of the paper: 400 GB, 2.2 GB/s and 900 MB/s.
    fn papers() -> SerialArray {
        let device =
            DeviceFigures { write_rate: 900e6, read_rate: 2200e6, erase_seconds: 0.0, segment: 64e6, capacity: 400e9 };
        SerialArray { device, groups: 4, data: 1 }
    }

    #[test]
    fn at_the_full_rate_half_a_victim_may_be_valid() {
        let array = papers();
        let at = |fill: f64| array.sustained(fill * 3.0 / 4.0, 900e6).expect("it fits");
        assert!((at(full_pace_fill()).valid_share - 0.5).abs() < 1e-9);
        assert!(at(0.72).holds() && !at(0.73).holds());
        assert!((at(0.8).share() - pace_at(0.8)).abs() < 1e-9);
    }

    #[test]
    fn slower_clients_and_emptier_arrays_are_kept_up_with() {
        let array = papers();
        assert!(!array.sustained(0.65, 900e6).expect("it fits").holds());
        assert!(array.sustained(0.65, 100e6).expect("it fits").holds());
        assert!(array.sustained(0.76, 1e6).is_none(), "one of four groups is in reserve");
    }
}
