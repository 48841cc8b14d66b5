//! Arrays that update in place, on simulated disks. One program, so that it is linked once and its tests run side by side.

mod alone;
mod dropped;
mod levels;
mod oracle;
mod power;
mod shortened;
mod suspended;
mod unpowered;
