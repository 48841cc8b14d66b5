//! The serial array (HotStorage'17): its figures. Each file is one.

mod common;
mod fig3;
mod fig6;
mod fig7;

pub use fig3::Fig3;
pub use fig6::Fig6;
pub use fig7::Fig7;
