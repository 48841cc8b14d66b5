//! What makes an unfinished stripe safe: copies of what is new in it, the parity of the rows that this lies in, or its end.

/// An open stripe whose blocks have to outlast the machine. Counts are in blocks, heights in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Columns with data, k.
    pub data: u8,
    /// Columns with parity, m.
    pub parity: u8,
    /// Blocks that are in memory only.
    pub new: u32,
    /// Blocks that are in their places and backed up already.
    pub backed_up: u32,
    /// Height at which it would be closed now.
    pub rows: u32,
    /// Blocks of header on each column.
    pub header: u32,
    /// Rows in which the new blocks lie, if their parity may be kept in place of copies.
    pub buffered_rows: Option<u32>,
    /// Whether what the copies are is said beside them, and not in a block before them.
    pub described_beside: bool,
    /// Whether drives compute the parity from copies, so that it need not be sent.
    pub is_converted: bool,
}

impl Unfinished {
    /// Blocks that closing it now writes: headers, parity, and what is not in its place yet, padding included.
    pub fn closing_writes(&self) -> u64 {
        let width = u64::from(self.data) + u64::from(self.parity);
        width * u64::from(self.header + self.rows) - u64::from(self.backed_up)
    }

    /// Blocks that backing up what is new writes if members with parity get `on_each` blocks, and `before` blocks before them that say what
    /// they are: each block to its place, theirs to each of m members, what says so to one more; and the part of the parity that
    /// is still to be sent.
    fn backing_up_writes(&self, on_each: u32, before: u32) -> u64 {
        let (new, parity) = (u64::from(self.new), u64::from(self.parity));
        let to_come = if self.is_converted { 0 } else { (parity * new).div_ceil(u64::from(self.data.max(1))) };
        new + parity * u64::from(on_each + before) + 1 + to_come
    }

    /// What to do: the one of these that writes fewest blocks. Copies are right for a few blocks (ScalaAFA, section 3.1); where more lie
    /// in several columns of the same rows, the parity of these is less (SALSA, section 3.1); of many, either is more than the headers,
    /// padding and parity of a stripe that ends here. Drives that compute the parity need copies.
    pub fn way(&self) -> Way {
        if self.parity == 0 {
            return Way::End;
        }
        let copies = (self.backing_up_writes(self.new, u32::from(!self.described_beside)), Way::Copies);
        let rows = self.buffered_rows.filter(|&rows| rows < self.new && !self.is_converted);
        let (writes, way) = rows.map_or(copies, |rows| (self.backing_up_writes(rows, 1), Way::Parity));
        if writes < self.closing_writes() { way } else { Way::End }
    }
}

/// Which stripes are made safe by copies, in arrays that make copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Those for which copies are the fewest blocks: [`Unfinished::way`].
    WhereFewest,
    /// All that have parity, whatever that costs: what the rule is measured beside.
    Always,
}

impl Copying {
    /// What to do about a stripe.
    pub fn way(self, of: Unfinished) -> Way {
        match self {
            Copying::Always if of.parity > 0 => Way::Copies,
            Copying::Always | Copying::WhereFewest => of.way(),
        }
    }
}

/// How an unfinished stripe is made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It ends here.
    End,
    /// Members that will have its parity get copies of what is new.
    Copies,
    /// These members get the parity of the rows in which new blocks lie.
    Parity,
}

/// Rows of a stripe that ends, from its first on, whose parity is better computed by the drives from copies than sent to them. It
/// was opened for `rows` rows, in bands of a chunk on each of `data` columns; its first `used` slots are taken and the first
/// `copied` copied.
///
/// What is not copied must be before a drive can convert: to each member with parity as many blocks as are missing, where the
/// parity itself would be a chunk. So a band that is full is converted if less than one of its k chunks is not copied.
pub fn rows_to_convert(data: u8, chunk: u32, rows: u32, used: u32, copied: u32) -> u32 {
    let mut top = 0;
    while top < rows {
        let height = chunk.min(rows - top);
        let end = (top + height) * u32::from(data);
        if used < end || end.saturating_sub(copied) >= height {
            break;
        }
        top += height;
    }
    top
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_converted_if_less_than_a_chunk_is_not_copied() {
        let rows = |used, copied| rows_to_convert(4, 16, 40, used, copied);
        assert_eq!((rows(160, 0), rows(160, 48), rows(160, 49), rows(160, 64)), (0, 0, 16, 16));
        assert_eq!((rows(160, 127), rows(150, 150), rows(63, 63)), (32, 32, 0));
        // The last band is half as high.
        assert_eq!((rows(160, 152), rows(160, 153), rows(160, 160)), (32, 40, 40));
        // Chunks of a block: all or nothing.
        assert_eq!((rows_to_convert(3, 1, 4, 12, 5), rows_to_convert(3, 1, 4, 12, 6)), (1, 2));
        assert_eq!(rows_to_convert(1, 1, 4, 4, 3), 3);
    }

    fn with(data: u8, parity: u8, new: u32, rows: u32) -> Unfinished {
        let (described_beside, is_converted) = (false, false);
        Unfinished {
            data,
            parity,
            new,
            backed_up: 0,
            rows,
            header: 1,
            buffered_rows: None,
            described_beside,
            is_converted,
        }
    }

    #[test]
    fn few_blocks_are_backed_up_and_many_are_not() {
        // A block with a flush: 2 (k + m) blocks if the stripe ends, 1 + m copies and what says so otherwise.
        let one = with(4, 1, 1, 1);
        assert_eq!((one.closing_writes(), one.backing_up_writes(1, 1)), (10, 5));
        assert_eq!([one, with(2, 1, 1, 1), with(8, 2, 1, 1)].map(|of| of.way()), [Way::Copies; 3]);
        // A band of chunks that is full: the stripe's end costs less.
        assert_eq!([with(4, 1, 64, 16), with(2, 1, 32, 16)].map(|of| of.way()), [Way::End; 2]);
        // What says so to the members with parity is beside their copies.
        let beside = Unfinished { described_beside: true, ..one };
        assert_eq!((beside.backing_up_writes(1, 0), beside.way()), (4, Way::Copies));
        // There is nothing to write copies to.
        assert_eq!(with(4, 0, 1, 1).way(), Way::End);
        let always = [with(4, 1, 64, 16), with(4, 0, 1, 1)].map(|of| Copying::Always.way(of));
        assert_eq!(always, [Way::Copies, Way::End]);
    }

    #[test]
    fn the_parity_of_rows_takes_the_place_of_several_copies() {
        // Two columns of 16 rows: 32 blocks and 8 of parity later, and 1 + 1 that say what 16 blocks of parity are.
        let buffered = |new, rows| Unfinished { buffered_rows: Some(rows), ..with(4, 1, new, rows) };
        let two = buffered(32, 16);
        assert_eq!((two.closing_writes(), two.backing_up_writes(32, 1), two.backing_up_writes(16, 1)), (85, 74, 58));
        assert_eq!(two.way(), Way::Parity);
        assert_eq!(Unfinished { is_converted: true, ..two }.way(), Way::Copies, "drives need the copies");
        // Copies of three columns would be more than an end. Those of one are as much as parity.
        assert_eq!((with(4, 1, 48, 16).way(), buffered(48, 16).way()), (Way::End, Way::Parity));
        assert_eq!((buffered(16, 16).way(), buffered(64, 16).way()), (Way::Copies, Way::End));
    }

    #[test]
    fn what_is_in_place_need_not_be_written_again() {
        let open = Unfinished { backed_up: 60, ..with(4, 1, 4, 16) };
        assert_eq!(open.closing_writes(), 5 * 17 - 60);
        assert_eq!(open.way(), Way::Copies);
    }
}
