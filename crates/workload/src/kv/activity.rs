//! What a store is busy with.

/// What a request of a store is for: its [`Request::job`](crate::Request::job).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Activity {
    /// Writes the tables that the store has at the start.
    Prefill,
    /// A read of a record.
    Lookup,
    /// A scan.
    Scan,
    /// The write-ahead log.
    Log,
    /// A memtable becomes a table.
    Flush,
    /// Tables are merged.
    Compaction,
    /// The list of the store's files, and the trims of those that are no longer in it.
    Catalogue,
}

impl Activity {
    /// All of them, in the order of their numbers.
    pub const ALL: [Activity; 7] =
        [Self::Prefill, Self::Lookup, Self::Scan, Self::Log, Self::Flush, Self::Compaction, Self::Catalogue];

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Lookup => "lookup",
            Self::Scan => "scan",
            Self::Log => "log",
            Self::Flush => "flush",
            Self::Compaction => "compaction",
            Self::Catalogue => "catalogue",
        }
    }

    /// The activity that a request of a store belongs to.
    pub fn of(job: u16) -> Option<Activity> {
        Self::ALL.get(usize::from(job)).copied()
    }
}
