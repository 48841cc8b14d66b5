//! What SCSI commands do.

use crate::Kind;

/// What a command of this operation code does to data; nothing for those that do nothing to it.
pub(super) fn kind(operation: u16) -> Option<Kind> {
    match operation {
        0x08 | 0x28 | 0xA8 | 0x88 => Some(Kind::Read),
        0x0A | 0x2A | 0xAA | 0x8A | 0x2E | 0x8E => Some(Kind::Write),
        0x35 | 0x91 => Some(Kind::Flush),
        _ => None,
    }
}
