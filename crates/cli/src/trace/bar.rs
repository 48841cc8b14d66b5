//! A bar on the terminal while long traces are read or written.

use crate::output::Output;
use indicatif::ProgressBar;

/// Requests between two looks at how far it is.
const STEP: u64 = 1 << 14;

/// Shows how much of a whole is done; nothing unless standard error is a terminal.
pub(super) struct Bar {
    bar: ProgressBar,
    requests: u64,
}

impl Bar {
    /// `template` is indicatif's, `whole` what 100 % is.
    pub(super) fn new(output: Output, template: &str, whole: u64) -> Bar {
        Bar { bar: output.bar(template, Some(whole)), requests: 0 }
    }

    /// For a file of `size` bytes.
    pub(super) fn bytes(output: Output, size: u64) -> Bar {
        Bar::new(output, "[{bar:30}] {percent:>3} %  {binary_bytes} of {binary_total_bytes}, {eta} left", size)
    }

    /// For `count` requests.
    pub(super) fn requests(output: Output, count: u64) -> Bar {
        Bar::new(output, "[{bar:30}] {percent:>3} %  {human_pos} of {human_len} requests, {eta} left", count)
    }

    /// One more request; now and then `position` is asked how far that is.
    pub(super) fn tick(&mut self, position: impl FnOnce(u64) -> u64) {
        self.requests += 1;
        if self.requests.is_multiple_of(STEP) {
            self.bar.set_position(position(self.requests));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
