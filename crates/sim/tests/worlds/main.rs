//! Worlds of devices in virtual time. One program, so that it is linked once and its tests run side by side.

mod conformance;
mod deadlines;
mod extra;
mod fabric;
mod faults;
mod model;
mod sockets;
mod zoned;
