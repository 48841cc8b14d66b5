//! Beyond the papers: the same comparison on drives that the papers did not have, and where SWAN must break.

mod mechanisms;
mod nvme;
mod qlc;
mod regimes;
mod rivals;
mod utilisation;

pub use mechanisms::Mechanisms;
pub use nvme::Nvme;
pub use qlc::Qlc;
pub use regimes::{Led, Regime, Regimes, nearest_regime};
pub use utilisation::Utilisation;
