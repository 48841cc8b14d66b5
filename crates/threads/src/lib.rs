//! Models of what threads share, tried in every order of events that the memory model allows.
//!
//! The reactors share little: the map, the turns in which it is written, tables that grow, the state of segments and
//! members, the numbers of stripes, blocks that are unmapped beside a checkpoint, whether the array is ending, and what tells whether one
//! that may sleep must be woken. Each of these is a small file of its own in the engine or its driver, written against `crate::atomic`. Here the same files are compiled once more, with
//! [loom](https://docs.rs/loom)'s types in that place, and a model uses them as the engine does, on two or three threads, while
//! loom goes through all interleavings and all values that a load may see.
//!
//! A model that cannot fail shows nothing. So each is also run with something planted, and must fail then: with
//! [`Plant::Relaxed`] every atomic operation of the shared code is as weak as can be, and each model has a wrong order of
//! its own to offer.

mod atomic;
mod plant;
mod post;

#[path = "../../engine/src/space/changed.rs"]
#[allow(dead_code)]
mod changed;
#[path = "../../engine/src/ending.rs"]
#[allow(dead_code)]
mod ending;
#[path = "../../engine/src/space/grown.rs"]
#[allow(dead_code)]
mod grown;
#[path = "../../engine/src/space/meanwhile.rs"]
#[allow(dead_code)]
mod meanwhile;
#[path = "../../engine/src/write/numbers.rs"]
#[allow(dead_code)]
mod numbers;
#[path = "../../engine/src/lsa/order.rs"]
#[allow(dead_code)]
mod order;
#[path = "../../engine/src/write/residence.rs"]
#[allow(dead_code)]
mod residence;
#[path = "../../engine/src/care/service.rs"]
#[allow(dead_code)]
mod service;
#[path = "../../uring/src/wake.rs"]
#[allow(dead_code)]
mod wake;

pub mod changes;
pub mod closing;
pub mod departures;
pub mod leaving;
pub mod mail;
pub mod room;
pub mod rows;
pub mod stripes;
pub mod tables;
pub mod turns;

pub use plant::Plant;
