//! SALSA (Ioannou et al., MASCOTS'18): what of its tables and figures is about solid state drives. Each file is one.
//!
//! SALSA is the engine with preset `salsa`; beside it are the drive as it is and RAID-5 in place. Drives are modelled after the paper's,
//! whose random writes were fitted to what its Table 1 says of the drive as it is (docs/devices.md): that number is shown and not judged.

mod common;
mod fig3;
mod table1;
mod table2;

pub use fig3::Fig3;
pub use table1::Table1;
pub use table2::Table2;
