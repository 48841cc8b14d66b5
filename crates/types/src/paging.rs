//! How coarse the map of a volume is.

use crate::{BLOCK, ByteSize};

/// Most blocks of a page: 64 KiB.
pub const MAX_PAGE_BLOCKS: u8 = 16;

/// For how many blocks of a volume the map has one entry, and how many may have one each all the same (SALSA, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    blocks: u8,
    fine: u32,
}

/// A volume cannot be mapped like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagingError {
    /// There are no such pages.
    #[error("pages of {0} are not possible: use 4, 8, 16, 32 or 64 KiB")]
    Page(ByteSize),
    /// No page is larger than a block.
    #[error(
        "with pages of 4 KiB each block has an entry of its own anyway: leave out how many may, or use larger pages"
    )]
    FineAnyway,
    /// More than the map can count.
    #[error("{0} with entries of its own is more than a map can count: use at most {1}")]
    TooFine(ByteSize, ByteSize),
}

impl Default for Paging {
    fn default() -> Self {
        Self::BLOCKS
    }
}

impl Paging {
    /// An entry for each block.
    pub const BLOCKS: Self = Self { blocks: 1, fine: 0 };

    /// An entry for each page of `blocks` blocks. `fine` blocks of pages that were written in part may have entries of their own; with
    /// more, a page is written whole. `None` if there are no such pages: a power of two up to [`MAX_PAGE_BLOCKS`], and no fine
    /// blocks where each block has an entry anyway.
    pub fn new(blocks: u8, fine: u32) -> Option<Self> {
        let is_possible = blocks.is_power_of_two() && blocks <= MAX_PAGE_BLOCKS && (blocks > 1 || fine == 0);
        is_possible.then_some(Self { blocks, fine })
    }

    /// The same from sizes in bytes: that of a page, and that of the data whose blocks may have entries of their own.
    ///
    /// # Errors
    /// When there is no such way to map a volume.
    pub fn of_sizes(page: ByteSize, fine: ByteSize) -> Result<Self, PagingError> {
        let blocks = page.0 / BLOCK as u64;
        let is_page =
            page.0.is_multiple_of(BLOCK as u64) && blocks <= MAX_PAGE_BLOCKS.into() && blocks.is_power_of_two();
        if !is_page {
            return Err(PagingError::Page(page));
        }
        let Ok(fine_blocks) = u32::try_from(fine.0.div_ceil(BLOCK as u64)) else {
            return Err(PagingError::TooFine(fine, ByteSize::of_blocks(u32::MAX.into())));
        };
        Self::new(blocks as u8, fine_blocks).ok_or(PagingError::FineAnyway)
    }

    /// Blocks of a page; 1: each has an entry.
    #[inline]
    pub const fn blocks(self) -> u8 {
        self.blocks
    }

    /// Blocks that may have entries of their own although they are of pages.
    #[inline]
    pub const fn fine(self) -> u32 {
        self.fine
    }

    /// Whether a page is more than a block.
    #[inline]
    pub const fn is_by_pages(self) -> bool {
        self.blocks > 1
    }

    /// Bytes of the volume for which the map has one entry.
    pub const fn page(self) -> ByteSize {
        ByteSize(self.blocks as u64 * BLOCK as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_powers_of_two_up_to_64_kib() {
        let possible: Vec<u8> = (0..=255).filter(|&blocks| Paging::new(blocks, 0).is_some()).collect();
        assert_eq!(possible, [1, 2, 4, 8, 16]);
        assert_eq!(Paging::new(1, 5), None, "all blocks are fine");
        assert_eq!(Paging::new(16, 5).map(|paging| (paging.page(), paging.fine())), Some((ByteSize(65536), 5)));
        assert!(!Paging::default().is_by_pages());
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        let of = |page, fine| Paging::of_sizes(ByteSize(page), ByteSize(fine));
        assert_eq!(of(4096, 0), Ok(Paging::BLOCKS));
        assert_eq!(of(65536, 5000), Ok(Paging { blocks: 16, fine: 2 }));
        for page in [0, 1, 6000, 12288, 128 << 10, u64::MAX] {
            assert_eq!(of(page, 0), Err(PagingError::Page(ByteSize(page))));
        }
        assert_eq!(of(4096, 4096), Err(PagingError::FineAnyway));
        assert!(matches!(of(65536, u64::MAX), Err(PagingError::TooFine(..))));
    }
}
