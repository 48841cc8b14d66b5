//! Modelled drives as those who use them see them. One program, so that it is linked once and its tests run side by side.

mod block;
mod convert;
mod devices_doc;
mod disk;
mod every_mapping;
mod model;
mod power;
mod slc;
mod spec;
mod stalls;
mod steady;
mod zones;
