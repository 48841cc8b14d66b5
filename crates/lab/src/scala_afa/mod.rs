//! ScalaAFA (Yi et al., ATC'24): its figures. Each file is one.
//!
//! Ours is the engine with preset `scala-afa` on modelled cores that cost what its own benchmarks say, on drives modelled
//! after the paper's emulated ones. Its rivals are arrays in place on a core that costs what Figure 3 says of FusionRAID
//! ([`profiles`]). Volumes are at level `written`: a write is answered when it is on 1 + m members or in a whole stripe, as in the paper.

mod amplification;
pub(crate) mod common;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig14;
mod fig15;
mod fig16;
mod fig3;
mod fig9;
mod memory;
mod profiles;
mod traces;

pub use amplification::Amplification;
pub use fig3::Fig3;
pub use fig9::Fig9;
pub use fig10::Fig10;
pub use fig11::Fig11;
pub use fig12::Fig12;
pub use fig13::Fig13;
pub use fig14::Fig14;
pub use fig15::Fig15;
pub use fig16::Fig16;
pub use memory::Memory;
