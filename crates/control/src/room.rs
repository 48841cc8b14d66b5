//! Room that is left for data, where volumes could ask for more than there is.

use cygnus_types::{BLOCK, ByteSize, Medium};

use crate::media::{HybridOn, Media, MediumName};
use crate::status::{ArrayStatus, VolumeStatus};

/// Less than this share of what is usable is little: a twentieth.
const LITTLE: u64 = 20;

/// There is little room, or none, and volumes could hold more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LittleRoom {
    /// For volumes that are bound to this medium; else for all.
    pub on: Option<Medium>,
    /// Bytes that volumes can hold there.
    pub usable: u64,
    /// Bytes of these that they do not hold yet.
    pub left: u64,
    /// Bytes of volumes that hold nothing yet, and may be written.
    pub unwritten: u64,
    /// Writes there of what holds nothing yet are refused.
    pub is_full: bool,
}

impl ArrayStatus {
    /// Where volumes find little room. Volumes that together are no larger than what is usable always find some.
    pub fn little_room(&self) -> Vec<LittleRoom> {
        let all = self.capacity_bytes.zip(self.live_bytes).map(|(usable, live)| (None, usable, live));
        let media = self.media.iter().map(|of| (Some(of.medium.0), of.capacity_bytes, of.live_bytes));
        all.into_iter().chain(media).filter_map(|(on, usable, live)| self.room(on, usable, live)).collect()
    }

    /// Bytes that volumes which may be on these media can hold. Of a stopped array that is a bound: what R-groups on one medium keep for
    /// themselves is known of served ones.
    pub fn usable_for(&self, media: Media) -> Option<u64> {
        let may_be = |medium: MediumName| match media {
            Media::Only(only) => medium == only,
            Media::Hybrid(Some(HybridOn(tiers))) => medium.0 == tiers.fast() || medium.0 == tiers.slow(),
            Media::Any | Media::Prefers(_) | Media::Hybrid(None) => true,
        };
        let groups =
            self.groups.iter().filter(|group| group.medium.is_none_or(may_be)).map(|group| group.capacity_bytes);
        let told = self.media.iter().filter(|of| may_be(of.medium)).map(|of| of.capacity_bytes);
        let usable = if self.media.is_empty() { groups.sum() } else { told.sum::<u64>() };
        self.capacity_bytes.map(|all| all.min(usable))
    }

    fn room(&self, on: Option<Medium>, usable: u64, live: u64) -> Option<LittleRoom> {
        let is_of = |volume: &&VolumeStatus| on.is_none_or(|on| volume.media == Media::Only(MediumName(on)));
        let unwritten_of = |volume: &VolumeStatus| {
            volume.size_bytes - volume.used_bytes.unwrap_or(volume.size_bytes).min(volume.size_bytes)
        };
        let wanting = || self.volumes.iter().filter(is_of).filter(|volume| unwritten_of(volume) > 0);
        let (left, unwritten) = (usable.saturating_sub(live), wanting().map(unwritten_of).sum());
        let largest = wanting().map(|volume| volume.pages.map_or(BLOCK as u64, |pages| pages.page_bytes)).max()?;
        let is_little = unwritten > left && left < usable / LITTLE;
        is_little.then_some(LittleRoom { on, usable, left, unwritten, is_full: left < largest })
    }
}

impl LittleRoom {
    /// What an operator should know of it.
    pub fn sentence(&self, array: &str) -> String {
        let Self { on, usable, left, unwritten, is_full } = *self;
        let (there, bound) = match on {
            Some(medium) => (format!(" on {medium}"), " that are bound to it"),
            None => (String::new(), ""),
        };
        let (usable, left, unwritten) = (ByteSize(usable), ByteSize(left), ByteSize(unwritten));
        let is_so = match is_full {
            true => format!(
                "There is no room{there}: all of {usable} usable is live, and volumes{bound} have {unwritten} that hold nothing yet: writes of those get ENOSPC"
            ),
            false => format!(
                "There is little room{there}: {left} of {usable} usable, and volumes{bound} have {unwritten} that hold nothing yet: when the room is gone, writes of those get ENOSPC"
            ),
        };
        format!(
            "{is_so}. Trim or delete data, or add an R-group ('cygnus array add {array} DEVICE ...'). Reads, overwrites and discards go on."
        )
    }
}

#[cfg(test)]
mod tests {
    use cygnus_types::Tiers;

    use super::*;
    use crate::paging::Pages;
    use crate::render::tests::tank;
    use crate::status::{Condition, MediumStatus};

    #[test]
    fn volumes_that_ask_for_more_than_there_is_are_told_in_time() {
        let mut status = tank(&[]);
        let mut with = |live: u64, size: u64| {
            (status.live_bytes, status.volumes[0].size_bytes, status.volumes[0].used_bytes) =
                (Some(live), size, Some(live));
            (status.little_room().iter().map(|room| room.is_full).collect::<Vec<_>>(), status.condition())
        };
        let usable = 4 << 30;
        assert_eq!(with(usable, usable), (vec![], Condition::Well), "nothing can be written that has no room");
        assert_eq!(with(usable / 2, 2 * usable), (vec![], Condition::Well));
        assert_eq!(with(usable / 100 * 97, 2 * usable), (vec![false], Condition::Attention));
        assert_eq!(with(usable / 100 * 97, usable), (vec![], Condition::Well), "there is room for all");
        assert_eq!(with(usable, 2 * usable), (vec![true], Condition::Unavailable));
        assert_eq!(with(usable - 8192, 2 * usable), (vec![false], Condition::Attention), "a block has room");
        status.volumes[0].pages = Some(Pages { page_bytes: 16384, fine_bytes: 0 });
        assert!(status.little_room()[0].is_full, "a page has not");
        let text = status.little_room()[0].sentence("tank");
        assert!(text.contains("4 GiB") && text.contains("cygnus array add tank"), "{text}");
    }

    #[test]
    fn what_a_volume_can_hold_follows_from_where_it_may_be() {
        let mut status = tank(&[]);
        let of = |medium, capacity_bytes| MediumStatus { medium: MediumName(medium), capacity_bytes, live_bytes: 0 };
        let media = [of(Medium::Flash, 1 << 30), of(Medium::Disk, 2 << 30), of(Medium::Smr, 1 << 29)];
        (status.media, status.capacity_bytes) = (media.to_vec(), Some(7 << 29));
        let flash = MediumName(Medium::Flash);
        let tiers = Tiers::new(Medium::Flash, Medium::Disk).unwrap();
        let asked = [Media::Any, Media::Prefers(flash), Media::Only(flash), Media::Hybrid(Some(HybridOn(tiers)))];
        let expected = [7 << 29, 7 << 29, 1 << 30, 3 << 30].map(Some);
        assert_eq!(asked.map(|media| status.usable_for(media)), expected);
        // A stopped one knows what its R-groups have.
        status.media.clear();
        let groups: u64 = status.groups.iter().map(|group| group.capacity_bytes).sum();
        assert_eq!(status.usable_for(Media::Any), Some(groups.min(7 << 29)));
        status.groups.iter_mut().for_each(|group| group.medium = Some(MediumName(Medium::Disk)));
        assert_eq!(status.usable_for(Media::Only(flash)), Some(0));
    }

    #[test]
    fn volumes_that_are_bound_to_a_medium_have_room_there_or_not() {
        let mut status = tank(&[]);
        let of = |medium, live_bytes| MediumStatus { medium: MediumName(medium), capacity_bytes: 1 << 30, live_bytes };
        status.media = vec![of(Medium::Flash, 1 << 30), of(Medium::Disk, 0)];
        assert!(status.little_room().is_empty(), "others go to the disk");
        status.volumes[0].media = Media::Only(MediumName(Medium::Flash));
        let rooms = status.little_room();
        assert_eq!(rooms.iter().map(|room| room.on).collect::<Vec<_>>(), [Some(Medium::Flash)]);
        assert!(rooms[0].sentence("tank").contains("no room on flash"), "{}", rooms[0].sentence("tank"));
    }
}
