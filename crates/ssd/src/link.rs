//! The host's side of the drive: its links, which move pages in chunks, and the way of a completion.

use cygnus_types::BLOCK;

use crate::clock::Stage;
use crate::device::Command;
use crate::rate::{time_of, transfer_time};
use crate::state::Ssd;

impl Ssd {
    /// Puts a command in the queue of its link.
    pub(crate) fn link_up(&mut self, at: u32) {
        let is_read = matches!(self.transits[at as usize].command, Command::Read { .. } | Command::ReadOob { .. });
        let link = usize::from(is_read && !self.config.host.shared);
        self.links[link].push_back(at);
        if self.links[link].len() == 1 {
            self.begin_chunk(link);
        }
    }

    fn begin_chunk(&mut self, link: usize) {
        let transit = &self.transits[self.links[link][0] as usize];
        let pages = (transit.pages - transit.moved).min(self.link_chunk);
        let host = &self.config.host;
        let takes = match transit.command {
            Command::Read { .. } => transfer_time(pages, host.read_rate),
            Command::ReadOob { .. } => time_of(u64::from(pages) * u64::from(self.config.oob), host.read_rate),
            Command::Write { hint, .. } if hint.oob > 0 => {
                time_of(u64::from(pages) * (BLOCK as u64 + u64::from(hint.oob)), host.write_rate)
            }
            _ => transfer_time(pages, host.write_rate),
        };
        self.clock.begin(takes, Stage::Link(link as u8));
    }

    /// A link moved a chunk; true if that brought pages to be written.
    pub(crate) fn link_done(&mut self, link: u8) -> bool {
        let link = usize::from(link);
        let at = self.links[link].pop_front().expect("the link moved something");
        let transit = &mut self.transits[at as usize];
        let pages = (transit.pages - transit.moved).min(self.link_chunk);
        transit.moved += pages;
        let all = transit.moved == transit.pages;
        let is_write = matches!(transit.command, Command::Write { .. } | Command::Append { .. });
        if !all {
            self.links[link].push_back(at);
        }
        if !self.links[link].is_empty() {
            self.begin_chunk(link);
        }
        if is_write {
            self.admitting.push_back((at, pages));
        } else if all {
            self.finish_command(at);
        }
        is_write
    }

    /// The drive is done with a command; the host learns of it after the interface's latency.
    pub(crate) fn finish_command(&mut self, at: u32) {
        self.clock.begin(self.config.host.latency, Stage::Complete(at));
    }
}
