//! Growing and shrinking by R-groups.

pub(crate) mod grow;
pub(crate) mod regroup;
pub(crate) mod retire;
