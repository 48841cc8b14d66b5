//! Why an array takes no writes any more.

use crate::error::{ArrayError, GroupError, MemberError, VolumeError};

/// The array neither takes writes nor records changes, for good: too many members have failed, it is open for reading only, or
/// it is closing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

impl From<Fault> for ArrayError {
    fn from(Fault(why): Fault) -> Self {
        Self::Faulted(why)
    }
}

impl From<Fault> for VolumeError {
    fn from(Fault(why): Fault) -> Self {
        Self::ReadOnly(why)
    }
}

impl From<Fault> for MemberError {
    fn from(fault: Fault) -> Self {
        Self::Array(fault.into())
    }
}

impl From<Fault> for GroupError {
    fn from(fault: Fault) -> Self {
        Self::Array(fault.into())
    }
}
