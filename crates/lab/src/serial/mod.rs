//! The serial array (HotStorage'17): its figures. Each file is one.

mod fig3;

pub use fig3::Fig3;
