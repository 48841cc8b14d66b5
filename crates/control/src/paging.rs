//! How coarse the map of a volume is, in JSON.

use cygnus_types::{BLOCK, ByteSize, Paging, PagingError};
use serde::{Deserialize, Serialize};

/// `{"page_bytes":65536,"fine_bytes":0}`: a page has one entry in the map, and so much data may have entries for blocks of 4 KiB all the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pages {
    /// Bytes of the volume for which the map has one entry: 8192 to 65536.
    pub page_bytes: u64,
    /// Bytes of pages that were written in part that may have entries by 4096 bytes all the same; beyond that such
    /// pages are written whole.
    #[serde(default)]
    pub fine_bytes: u64,
}

impl Pages {
    /// How a volume is mapped by pages; `None` if it is by blocks.
    pub fn of(paging: Paging) -> Option<Self> {
        let fine_bytes = u64::from(paging.fine()) * BLOCK as u64;
        paging.is_by_pages().then_some(Self { page_bytes: paging.page().0, fine_bytes })
    }

    /// The same as the engine has it.
    ///
    /// # Errors
    /// When there is no such way to map a volume.
    pub fn paging(self) -> Result<Paging, PagingError> {
        Paging::of_sizes(ByteSize(self.page_bytes), ByteSize(self.fine_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_possible_goes_there_and_back() {
        for (blocks, fine) in [(2, 0), (16, 0), (16, 1), (4, u32::MAX)] {
            let paging = Paging::new(blocks, fine).unwrap();
            assert_eq!(Pages::of(paging).unwrap().paging(), Ok(paging));
        }
        assert_eq!(Pages::of(Paging::BLOCKS), None);
    }
}
