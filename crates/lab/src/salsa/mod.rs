//! SALSA (Ioannou et al., MASCOTS'18): tables and figures about solid state drives and a shingled disk. Each file is one.
//!
//! SALSA is the engine with preset `salsa`; beside it are the drive as it is and RAID-5 in place. Drives are modelled after the paper's,
//! whose random writes were fitted to what the paper says of the drive as it is (docs/devices.md): those numbers are shown and not judged.

mod common;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod objects;
mod table1;
mod table2;
mod table3;
mod table4;
mod video;

pub use fig3::Fig3;
pub use fig4::Fig4;
pub use fig5::Fig5;
pub use fig6::Fig6;
pub use fig7::Fig7;
pub use table1::Table1;
pub use table2::Table2;
pub use table3::Table3;
pub use table4::Table4;
