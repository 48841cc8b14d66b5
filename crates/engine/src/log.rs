//! How the engine tells people what it does.

use cygnus_types::{Lba, Nanos, VolumeId};

/// Where the engine tells people what it does. The lines are for reading, not for parsing.
pub trait Log: Send + Sync {
    /// One line, without a line end.
    fn line(&self, text: &str);

    /// How far a long step of an opening is, and how long the rest may take. It comes each ten seconds while somebody may be waiting, so
    /// whoever shows other lines only on request shows these all the same.
    fn progress(&self, text: &str) {
        self.line(text);
    }

    /// What an operator has to know, whoever asked for details and whoever did not.
    fn warning(&self, text: &str) {
        self.line(text);
    }

    /// A line that may come for each of very many blocks: whoever shows it shows some of `kind` about `subject`, and counts
    /// the others.
    fn repeated(&self, _kind: &'static str, _subject: &str, text: &str) {
        self.line(text);
    }

    /// A block was written anew because others were in its way where it was.
    fn rehomed(&self, _volume: VolumeId, _lba: Lba, _at: Nanos) {}

    /// A step begins or ends: a flush round, cleaning of a victim, a checkpoint, a part of recovery and the like. Several
    /// may go on at once, also of one name. A rotation has no length and only begins.
    fn step(&self, _name: &'static str, _begins: bool) {}
}

/// A step that lasts as long as this is kept; see [`Log::step`].
pub(crate) struct During<'a> {
    log: &'a dyn Log,
    name: &'static str,
}

impl<'a> During<'a> {
    pub(crate) fn new(log: &'a dyn Log, name: &'static str) -> Self {
        log.step(name, true);
        Self { log, name }
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.log.step(self.name, false);
    }
}
