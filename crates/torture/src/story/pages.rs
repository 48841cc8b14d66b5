//! Volumes that are mapped by pages, with and without blocks that have entries of their own. Drawn apart from the rest, so that the
//! other seeds stay what they were.

use cygnus_runtime::Rng;
use cygnus_types::Paging;

use super::shapes::geometry_of;
use super::{Shape, Story, Tier};
use crate::array::{usable_blocks, usable_by_pages};

/// Tells the draw of pages from those of other things.
const PAGES: u64 = 0x7061_6765;
/// One array in so many of those with chunks of several blocks has such volumes.
const ONE_IN: u64 = 3;

impl Shape {
    /// Where stories are about pages, chunks are of several blocks.
    pub(super) fn has_room_for_pages(&mut self, seed: u64, tier: Tier) {
        if tier != Tier::Pages {
            return;
        }
        let mut rng = Rng::new(seed ^ PAGES);
        let chunk = [2, 4, 4, 8, 16][rng.below(5) as usize];
        let rows = chunk * [1, 2, 3, 4][rng.below(4) as usize];
        let geometry = geometry_of(self.geometry.data, self.geometry.parity, chunk, rows, &mut rng);
        let shape = Self { geometry, segments: self.segments + 6, ..self.clone() };
        if usable_by_pages(&shape, chunk as u8) > 0 {
            *self = shape;
        }
    }
}

impl Story {
    /// How the volume of this name is mapped.
    pub(crate) fn paging(&self, volume: &str) -> Paging {
        self.pages.iter().find(|(name, _)| name == volume).map_or(Paging::BLOCKS, |(_, of)| *of)
    }

    /// The size, in blocks, of a volume of this name that should have so many: whole pages.
    pub(crate) fn whole_pages(&self, volume: &str, blocks: u64) -> u64 {
        blocks.next_multiple_of(self.paging(volume).blocks().into())
    }
}

/// Most volumes of an array that can have some are mapped by pages.
pub(super) fn draw(story: &mut Story, seed: u64, tier: Tier) {
    let mut rng = Rng::new(seed ^ PAGES ^ 1);
    let chunk = story.shape.geometry.chunk_blocks;
    // A map by pages is no map for a volume with single blocks far apart.
    let is_possible = chunk > 1 && !story.is_sparse();
    if !tier.has(Tier::Pages, rng.chance(1, ONE_IN)) || !is_possible {
        return;
    }
    let of_chunk = (1..=4).map(|power| 1 << power).filter(|&page| chunk.is_multiple_of(page.into()));
    // Segments may be too small for much of them.
    let least = usable_blocks(&story.shape) / 2;
    let pages: Vec<u8> = of_chunk.filter(|&page| usable_by_pages(&story.shape, page) > least).collect();
    for n in (0..3).filter(|_| !pages.is_empty()) {
        let page = *pages.iter().rfind(|_| rng.chance(2, 3)).unwrap_or(&pages[0]);
        let fine = [0, 0, 1, 10, 60, u32::MAX][rng.below(6) as usize];
        if rng.chance(3, 4) {
            story.pages.push((format!("v{n}"), Paging::new(page, fine).expect("such pages there are")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_about_pages_have_some_and_others_now_and_then() {
        let with = |tier, of| (0..of).filter(|&seed| !Story::about(tier, seed).pages.is_empty()).count();
        let by_chance = with(Tier::All, 60);
        assert!((3..30).contains(&by_chance), "{by_chance} of 60");
        assert!(with(Tier::Pages, 20) >= 18);
        let hybrid = with(Tier::Hybrid, 60);
        assert!((3..40).contains(&hybrid), "{hybrid} of 60");
    }
}
