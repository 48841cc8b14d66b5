//! Care of the members: trouble, suspension, catch-up, rebuild, replacement, scrubbing.

pub(crate) mod came_back;
pub(crate) mod drain;
pub(crate) mod fill;
pub(crate) mod guardian;
pub(crate) mod health;
pub(crate) mod member;
pub(crate) mod member_state;
pub(crate) mod membership;
pub(crate) mod notice;
pub(crate) mod places;
pub(crate) mod prepare;
pub(crate) mod rebuild;
pub(crate) mod replace;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod scrub;
pub(crate) mod seats;
pub(crate) mod service;
pub(crate) mod sought;
pub(crate) mod spoils;
pub(crate) mod succession;
pub(crate) mod suspect;
pub(crate) mod suspension;
pub(crate) mod trouble;
pub(crate) mod watch;
