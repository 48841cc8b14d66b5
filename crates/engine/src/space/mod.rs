//! Space: the segments, their states, and who gets them.

pub(crate) mod ages;
pub(crate) mod changed;
pub(crate) mod crew;
pub(crate) mod evacuation;
pub(crate) mod grace;
pub(crate) mod grants;
pub(crate) mod grown;
pub(crate) mod held;
pub(crate) mod looks;
pub(crate) mod manager;
pub(crate) mod meanwhile;
pub(crate) mod newest;
pub(crate) mod pins;
pub(crate) mod protections;
pub(crate) mod ranking;
pub(crate) mod release;
pub(crate) mod role;
pub(crate) mod segments;
pub(crate) mod shortage;
pub(crate) mod urn;
pub(crate) mod usable;
