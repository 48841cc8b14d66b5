//! What the tests share: a network of byte queues, a volume in memory, a client over the same reactor.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod client;
pub mod loopback;
pub mod ram;
pub mod world;
