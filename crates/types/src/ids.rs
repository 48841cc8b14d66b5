//! Identifiers of the parts of an array.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $word:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl $name {
            /// The identifier as an index into a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($word, " {}"), self.0)
            }
        }
    };
}

id! {
    /// A segment within its R-group: the same segment column of each of the group's members.
    SegmentId(u32), "segment"
}
id! {
    /// An R-group (redundancy group): k + m members that protect each other.
    GroupId(u16), "group"
}
id! {
    /// A volume; never reused within the life of an array, so a stale summary entry cannot name a newer volume.
    VolumeId(u32), "volume"
}
id! {
    /// A member device, counted over all groups of the array.
    MemberIx(u16), "member"
}
id! {
    /// A reactor: one single-threaded executor, one core.
    ReactorId(u16), "reactor"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_what_they_are() {
        assert_eq!(SegmentId(7).to_string(), "segment 7");
        assert_eq!(GroupId(1).to_string(), "group 1");
        assert_eq!(MemberIx(8).index(), 8);
    }
}
