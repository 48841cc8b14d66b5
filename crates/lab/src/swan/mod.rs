//! SWAN (Kim et al., ATC'19): its figures. Each file is one.
//!
//! Drives are modelled after the paper's 850 PRO of 120 GB. As in its section 5, they are trimmed and then the array is
//! written to 60 % of its capacity; user writes have 8 KiB and no cache stands before the array.

mod common;
mod fig4a;
mod fig5;

pub use fig4a::Fig4a;
pub use fig5::Fig5;
