//! SWAN (Kim et al., ATC'19): its figures. Each file is one.
//!
//! Drives are modelled after the paper's 850 PRO of 120 GB. As in its section 5, they are trimmed, and then each is aged by
//! random writes to 60 % of its capacity; arrays are made of drives like that. User writes have 8 KiB and no cache stands
//! before the array.

pub(crate) mod common;
mod fig1;
mod fig10;
mod fig11;
mod fig12;
mod fig4a;
mod fig4b;
mod fig5;
mod fig6;
mod fig7;
mod fig8;
mod fig9;
mod model;
mod recorded;
mod table4;
mod ycsb;

pub use fig1::Fig1;
pub use fig4a::Fig4a;
pub use fig4b::Fig4b;
pub use fig5::Fig5;
pub use fig6::Fig6;
pub use fig7::Fig7;
pub use fig8::Fig8;
pub use fig9::Fig9;
pub use fig10::Fig10;
pub use fig11::Fig11;
pub use fig12::Fig12;
pub use model::Model;
pub use table4::Table4;
