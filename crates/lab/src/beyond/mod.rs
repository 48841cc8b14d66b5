//! Beyond the papers: the same comparison on drives that the papers did not have, where SWAN must break, what more cores
//! give, where copies stop paying, and what answers cost that wait for more than memory.

mod acknowledged;
mod cores;
mod crossover;
mod mechanisms;
mod nvme;
mod qlc;
mod regimes;
mod rivals;
mod utilisation;

pub use acknowledged::AcknowledgedAt;
pub use cores::Cores;
pub use crossover::Crossover;
pub use mechanisms::Mechanisms;
pub use nvme::Nvme;
pub use qlc::Qlc;
pub use regimes::{Led, Regime, Regimes, nearest_regime};
pub use utilisation::Utilisation;
