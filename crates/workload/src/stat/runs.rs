//! Sequential or random?

use crate::trace::Record;
use std::collections::VecDeque;

/// Streams that a drive or file system would follow at once.
const STREAMS: usize = 16;

/// Remembers where the last requests ended, so that several interleaved streams are each seen to be sequential.
#[derive(Debug, Default)]
pub(super) struct Runs {
    ends: VecDeque<(u32, u64)>,
}

impl Runs {
    /// Whether a request begins where one of the last 16 ended; a flush begins nowhere.
    pub(super) fn continues(&mut self, record: &Record) -> bool {
        if !record.kind.has_range() {
            return false;
        }
        let found = self.ends.iter().position(|&end| end == (record.volume, record.offset));
        match found {
            Some(index) => drop(self.ends.remove(index)),
            None if self.ends.len() == STREAMS => drop(self.ends.pop_front()),
            None => {}
        }
        self.ends.push_back((record.volume, record.end()));
        found.is_some()
    }
}
