//! Figures of a plan, as people read them.

use cygnus_types::ByteSize;

pub(super) fn rate(bytes: f64) -> String {
    format!("{:.2} GB/s", bytes / 1e9)
}

pub(super) fn size(bytes: f64) -> String {
    ByteSize(bytes as u64).to_string()
}

pub(super) fn terabytes(bytes: f64) -> String {
    format!("{:.2} TB", bytes / 1e12)
}
