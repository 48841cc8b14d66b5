//! Keeps `docs/format.md` true: its tables are made from the definitions, and a test compares.

/// One field of a structure on disk.
pub(crate) struct Field {
    pub name: &'static str,
    pub offset: usize,
    pub size: usize,
    pub meaning: &'static str,
}

/// A structure declared with `on_disk!`.
pub(crate) trait DiskStruct {
    const NAME: &'static str;
    const SIZE: usize;
    const FIELDS: &'static [Field];
}
