//! What an array of drives that nobody has yet would offer.

use cygnus_engine::{ArrayError, CreateOptions, Offer, offer};
use cygnus_sim::{DiskConfig, World};
use cygnus_types::{ByteSize, ReactorId};

/// What `options` would make of as many drives of that size as they ask for. Nothing is written, and no time passes.
///
/// # Errors
/// When no such array can be made.
pub fn offered(options: &CreateOptions, drive: ByteSize) -> Result<Offer, ArrayError> {
    let world = World::new(0);
    let width = usize::from(options.data) + usize::from(options.parity);
    let drives = options.groups.unwrap_or(1) * width;
    let disks: Vec<_> = (0..drives).map(|n| world.add_disk(DiskConfig::new(format!("d{n}"), drive.0))).collect();
    offer(&world.reactor(ReactorId(0), &disks), &world.infos(&disks), options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_policy::Preset;

    fn of(drive: u64, groups: usize, held_back: u16) -> Result<Offer, ArrayError> {
        let shape = CreateOptions::new("tank", Preset::Swan, groups, 2, 1);
        offered(&CreateOptions { over_provision_permille: held_back, ..shape }, ByteSize(drive))
    }

    #[test]
    fn less_is_offered_where_more_is_held_back() {
        let capacity = |held_back| of(1_920_000_000_000, 3, held_back).expect("it can be made").capacity.0;
        let space = 3 * 2 * 1_920_000_000_000;
        assert!((770..800).contains(&(capacity(200) * 1000 / space)), "{}", capacity(200));
        assert!(capacity(200) < capacity(100) && capacity(100) < capacity(30));
    }

    #[test]
    fn arrays_of_many_large_drives_get_larger_segments() {
        let segment = |drive, groups| of(drive, groups, 200).map(|offer| offer.segment);
        assert_eq!(segment(1_920_000_000_000, 3).unwrap(), ByteSize(64 << 20));
        assert_eq!(segment(7_680_000_000_000, 3).unwrap(), ByteSize(128 << 20));
        assert_eq!(segment(30_000_000_000_000, 2).unwrap(), ByteSize(256 << 20));
    }

    #[test]
    fn what_cannot_be_made_is_an_error_that_says_why() {
        let error = of(100 << 20, 1, 200).expect_err("one group is too few").to_string();
        assert!(error.contains("at least 2 groups"), "{error}");
    }
}
