//! Cleaning: which group and which victims, what moves out of them, and how fast.

pub(crate) mod candidates;
pub(crate) mod cleaner;
pub(crate) mod cleaning;
pub(crate) mod clogged;
pub(crate) mod damage;
pub(crate) mod emptied;
pub(crate) mod evacuate;
pub(crate) mod gained;
pub(crate) mod haste;
pub(crate) mod helpers;
pub(crate) mod helping;
pub(crate) mod moves;
pub(crate) mod of_page;
pub(crate) mod orphans;
pub(crate) mod quiet;
pub(crate) mod relocate;
pub(crate) mod standing;
mod stream;
pub(crate) mod sweep;
pub(crate) mod throttle;
pub(crate) mod through;
pub(crate) mod turn;
pub(crate) mod victims;
