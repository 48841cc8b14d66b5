//! Whole arrays on simulated disks. One program, so that the engine is compiled into its tests once.

mod absent;
mod check;
mod common;
mod drain;
mod dropped;
mod grow;
mod hung;
mod life;
mod reactors;
mod newer;
mod readmit;
mod rebuild;
mod retire;
mod reuse;
mod rot;
mod salvage;
mod sample;
mod scrub;
mod serial;
mod sessions;
mod slots;
mod slow;
mod sparse;
mod stopped;
mod suspended;
mod unpowered;
