//! Beyond the papers: the same comparison on drives that the papers did not have, and where SWAN must break.

mod nvme;
mod qlc;
mod rivals;
mod utilisation;

pub use nvme::Nvme;
pub use qlc::Qlc;
pub use utilisation::Utilisation;
