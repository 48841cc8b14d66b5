//! The map: where a volume's blocks are, and in which order that changes.

pub(crate) mod grace;
pub(crate) mod l2p;
pub(crate) mod looks;
pub(crate) mod order;
pub(crate) mod volume_state;
