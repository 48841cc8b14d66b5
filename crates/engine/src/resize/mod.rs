//! Growing and shrinking by R-groups.

pub(crate) mod grow;
pub(crate) mod regroup;
pub(crate) mod request;
pub(crate) mod retire;
pub(crate) mod turn;
