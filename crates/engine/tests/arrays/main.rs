//! Whole arrays on simulated disks. One program, so that the engine is compiled into its tests once.

mod check;
mod common;
mod drain;
mod grow;
mod life;
mod reactors;
mod rebuild;
mod retire;
mod salvage;
mod sample;
mod scrub;
mod serial;
mod sessions;
mod slow;
