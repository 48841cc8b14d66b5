//! The way of a read: from memory, from a device, or from the other columns; and how stripes are read back.

pub(crate) mod client_tally;
pub(crate) mod columns;
pub(crate) mod delivered;
pub(crate) mod got;
pub(crate) mod of_page;
pub(crate) mod pace;
pub(crate) mod page_check;
pub(crate) mod parallel;
pub(crate) mod path;
pub(crate) mod reconstruct;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod slow;
