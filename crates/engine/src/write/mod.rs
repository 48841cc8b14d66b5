//! The way of a write: admitted, copied into an open stripe, closed with its parity and headers, written.

pub(crate) mod admission;
pub(crate) mod beside;
pub(crate) mod by_page;
pub(crate) mod convert;
pub(crate) mod filling;
pub(crate) mod grant;
pub(crate) mod heat;
pub(crate) mod holders;
pub(crate) mod kept;
pub(crate) mod landing;
pub(crate) mod lane;
pub(crate) mod merging;
pub(crate) mod numbers;
pub(crate) mod offload;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod postponed;
pub(crate) mod replicate;
pub(crate) mod residence;
pub(crate) mod room;
pub(crate) mod streams;
pub(crate) mod stripe;
pub(crate) mod summed;
pub(crate) mod transient;
pub(crate) mod unflushed;
pub(crate) mod writer;
