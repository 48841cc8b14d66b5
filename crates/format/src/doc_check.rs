//! Keeps `docs/format.md` true: its tables and constants are made from the definitions, and a test compares.
//!
//! A block between `<!-- generated: NAME -->` and `<!-- end -->` belongs to this test; all else to its author.

use std::fmt::Write;

use crate::*;

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

fn table<T: DiskStruct>() -> (&'static str, String) {
    let mut text = String::from("| offset | bytes | field | meaning |\n|---:|---:|---|---|\n");
    let mut next = 0;
    for field in T::FIELDS {
        assert_eq!(field.offset, next, "{} has a hole before {}", T::NAME, field.name);
        next += field.size;
        let Field { name, offset, size, meaning } = field;
        writeln!(text, "| {offset} | {size} | `{name}` | {} |", meaning.trim()).unwrap();
    }
    assert_eq!(next, T::SIZE);
    writeln!(text, "| {next} | | | end |").unwrap();
    (T::NAME, text)
}

fn constants() -> (&'static str, String) {
    let mut text = String::from("| constant | value |\n|---|---:|\n");
    macro_rules! rows {
        ($($name:ident),+ $(,)?) => { $( writeln!(text, "| `{}` | {} |", stringify!($name), $name).unwrap(); )+ };
    }
    rows!(
        FORMAT_VERSION,
        SUPERBLOCK_SLOT,
        DATA_START,
        MAX_PARITY,
        MAX_WIDTH,
        MAX_STRIPE_ROWS,
        MAX_SEGMENT_BLOCKS,
        MAX_SEGMENTS,
        MAX_EXTENTS,
        MAX_GROUPS,
        MAX_MEMBERS,
        MAX_SPARES,
        MAX_VOLUMES,
        MAX_VOLUME_NAME,
        MAX_ARRAY_NAME,
        MAX_PRESET_NAME,
        MAX_POLICIES,
        MAX_POLICY_NAME,
        MAX_CHECKPOINT_SEGMENTS,
        MAP_PAGE_ENTRIES,
        PACKED_ENTRIES,
        STRIPE_FIXED,
        ENTRY_BYTES,
        MIN_DISCARDS,
        MIN_DISCARDS_OF_TRIPLE,
        MAX_HEADER_BLOCKS,
    );
    ("constants", text)
}

/// Header lengths for some stripes, and what they cost of the stripe's space.
fn header_sizes() -> (&'static str, String) {
    let mut text = String::from(
        "| full height, rows | m = 0 | m = 1 | m = 2 | m = 3 | 1+0 | 1+1 |\n|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for rows in [0, 1, 16, 32, 48, 64, 128, 256, MAX_STRIPE_ROWS] {
        write!(text, "| {rows} |").unwrap();
        for (data, parity) in [(2, 0), (2, 1), (2, 2), (2, 3), (1, 0), (1, 1)] {
            let g = Geometry {
                data,
                parity,
                chunk_blocks: 1,
                stripe_rows: rows,
                segment_blocks: MAX_SEGMENT_BLOCKS,
                transient_blocks: 0,
                lead_blocks: 0,
            };
            let blocks = g.header_blocks(rows);
            let share = 100.0 * f64::from(blocks) / f64::from(blocks + rows);
            write!(text, " {blocks} ({share:.1} %) |").unwrap();
        }
        text.push('\n');
    }
    ("header sizes", text)
}

/// `document` with the body of each generated block replaced.
fn regenerated(document: &str, blocks: &[(&str, String)]) -> String {
    let mut text = document.to_owned();
    for (name, body) in blocks {
        let marker = format!("<!-- generated: {name} -->\n");
        assert_eq!(text.matches(&marker).count(), 1, "docs/format.md needs one block \"{name}\"");
        let start = text.find(&marker).unwrap() + marker.len();
        let length = text[start..].find("<!-- end -->").expect("the block ends");
        text.replace_range(start..start + length, body);
    }
    let known = text.matches("<!-- generated: ").count();
    assert_eq!(known, blocks.len(), "docs/format.md has a generated block that nothing generates");
    text
}

#[test]
fn the_document_says_what_the_code_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/format.md");
    let document = std::fs::read_to_string(path).expect("docs/format.md is there");
    let blocks = [
        constants(),
        header_sizes(),
        table::<raw_superblock::RawSuperblock>(),
        table::<raw_superblock::RawPolicy>(),
        table::<raw_superblock::RawGroup>(),
        table::<raw_superblock::RawExtent>(),
        table::<raw_superblock::RawMember>(),
        table::<raw_superblock::RawSpare>(),
        table::<raw_superblock::RawVolume>(),
        table::<raw_superblock::RawRoot>(),
        table::<raw_superblock::RawRootSegment>(),
        table::<stripe::RawStripe>(),
        table::<Entry>(),
        table::<Discard>(),
        table::<packed::PackedHead>(),
        table::<packed::PackedEntry>(),
        table::<intent::RawIntent>(),
        table::<backup::RawBackup>(),
        table::<kept::RawKept>(),
        table::<kept::RawRecord>(),
    ];
    let wanted = regenerated(&document, &blocks);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).expect("docs/format.md can be written");
    } else {
        let differs = || document.lines().zip(wanted.lines()).find(|(is, should)| is != should);
        assert!(document == wanted, "docs/format.md is out of date at {:?}: run with UPDATE_DOCS=1", differs());
    }
}

#[test]
fn stale_blocks_are_replaced() {
    let blocks = [("a", "new\n".to_owned())];
    let old = "x\n<!-- generated: a -->\nold\n<!-- end -->\ny\n";
    assert_eq!(regenerated(old, &blocks), "x\n<!-- generated: a -->\nnew\n<!-- end -->\ny\n");
}
