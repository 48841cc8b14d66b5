//! Beyond the papers: the same comparison on drives that the papers did not have, where SWAN must break, and what more cores give.

mod cores;
mod mechanisms;
mod nvme;
mod qlc;
mod regimes;
mod rivals;
mod utilisation;

pub use cores::Cores;
pub use mechanisms::Mechanisms;
pub use nvme::Nvme;
pub use qlc::Qlc;
pub use regimes::{Led, Regime, Regimes, nearest_regime};
pub use utilisation::Utilisation;
