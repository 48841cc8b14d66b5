//! Scenarios, sweeps and experiments. One program, so that it is linked once and its tests run side by side.

mod clients;
mod copies;
mod cores;
mod disks;
mod experiments;
mod greedy;
mod in_place;
mod mistakes;
mod pace;
mod replay;
mod same_bytes;
mod sweep;
mod turns;
