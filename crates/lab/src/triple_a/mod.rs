//! Triple-A (Jung et al., ASPLOS'14): its tables and figures. Each file is one, or several that look at the same runs.
//!
//! Both arrays are the engine with preset `triple-a` on modelled flash modules behind a modelled network; one has autonomics off. The
//! paper's baseline puts each address into one cluster, which a log does not: aging fills a segment of each cluster in turn, so that a
//! sixty-fourth of the volume lies in one cluster until it is overwritten.

mod common;
mod fig1;
mod fig10;
mod fig11;
mod fig12;
mod fig13;
mod fig16;
mod fig9;
mod table2;

pub use fig1::Fig1;
pub use fig9::Fig9;
pub use fig10::Fig10;
pub use fig11::Fig11;
pub use fig12::Fig12;
pub use fig13::{Fig13, Fig14, Fig15};
pub use fig16::Fig16;
pub use table2::Table2;
