//! How long the file is that a device is, once somebody has shortened it: reads behind its end fail, and a write behind its end makes it
//! longer, with zeros in between. Where the length is guarded, nothing is read or written any more.

use std::ops::Range;

use cygnus_runtime::{IoError, IoErrorKind};

/// See the module's text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Length {
    /// Where the file ends, in blocks, if it was shortened.
    pub end: Option<u64>,
    pub is_guarded: bool,
}

impl Length {
    /// Whether these blocks can be read.
    pub(crate) fn read(self, blocks: &Range<u64>) -> Result<(), IoError> {
        match self.end {
            Some(end) if self.is_guarded || blocks.end > end => Err(IoError::new(IoErrorKind::CutShort)),
            _ => Ok(()),
        }
    }

    /// These blocks are written, if they can be.
    pub(crate) fn write(&mut self, blocks: &Range<u64>) -> Result<(), IoError> {
        match &mut self.end {
            Some(_) if self.is_guarded => Err(IoError::new(IoErrorKind::CutShort)),
            end => {
                end.iter_mut().for_each(|end| *end = (*end).max(blocks.end));
                Ok(())
            }
        }
    }
}
