//! Tables of 64-bit words kept small. The engine's own blocks are such tables: records of three words that say what the
//! blocks of a column are, entries of the map of one word; and a terabyte of drives has four million blocks of them.
//!
//! A field (a word of each record) is packed by itself: its first value, then groups of sixteen. A group is predicted in
//! one of three ways, whichever leaves least, and of what is left only those bits are kept that are not zero in all
//! sixteen; where most of it is nothing, only of the rest. Any contents survive; what has no such records just takes more
//! room.

/// Values of a field that are packed in the same way.
const GROUP: usize = 16;

/// How the values of a group are predicted. What is left of them is the difference, of bits or of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prediction {
    /// All are the last value of the group before: bits.
    Same = 0,
    /// Each is the one before and the field's usual step: numbers.
    Step = 1,
    /// Each has grown as much as the field before it did: numbers.
    Along = 2,
}

impl Prediction {
    const ALL: [Prediction; 3] = [Prediction::Same, Prediction::Step, Prediction::Along];

    /// Numbers have signs.
    fn is_signed(self) -> bool {
        self != Prediction::Same
    }
}

/// The bits that are kept of what is left: `length` of them, behind `skip` that are zero in all.
#[derive(Clone, Copy)]
struct Kept {
    skip: u32,
    length: u32,
}

/// Stands for all bits that are not skipped.
const TO_THE_TOP: u32 = 63;
/// Beside what is skipped: a bit for each value says whether anything is kept of it.
const SPARSE: u8 = 1 << 7;

impl Kept {
    fn of(left: &[u64; GROUP], is_signed: bool) -> Self {
        let any = left.iter().fold(0, |any, word| any | word);
        if any == 0 {
            return Self { skip: 0, length: 0 };
        }
        let magnitude = |word: &u64| if is_signed { word ^ (*word as i64 >> 63) as u64 } else { *word };
        let top = u64::BITS - left.iter().fold(0, |any, word| any | magnitude(word)).leading_zeros();
        Self::new(any.trailing_zeros(), (top + u32::from(is_signed)).saturating_sub(any.trailing_zeros()))
    }

    fn new(skip: u32, length: u32) -> Self {
        let to_the_top = u64::BITS - skip;
        Self { skip, length: if length < TO_THE_TOP.min(to_the_top) { length } else { to_the_top } }
    }

    fn code(self) -> u8 {
        self.length.min(TO_THE_TOP) as u8
    }

    /// One of what is left, from its kept bits, of which there are some, and whatever is above them.
    fn restore(self, bits: u64, is_signed: bool) -> u64 {
        let above = u64::BITS - self.length;
        let word = if is_signed { ((bits << above) as i64 >> above) as u64 } else { bits << above >> above };
        word << self.skip
    }
}

/// What both sides know of a field when they come to a group of it.
#[derive(Clone, Copy, Default)]
struct Field {
    /// Its last value.
    last: u64,
    /// By how much its values usually grow.
    step: u64,
}

impl Field {
    fn learn(&mut self, values: &[u64]) {
        if let [.., a, b, c] = *values
            && c.wrapping_sub(b) == b.wrapping_sub(a)
        {
            self.step = c.wrapping_sub(b);
        }
        self.last = values.last().copied().unwrap_or(self.last);
    }
}

/// By how much a field grew to each value of a group.
type Growth = [u64; GROUP];

fn growth(values: &[u64; GROUP], before: u64) -> Growth {
    std::array::from_fn(|n| values[n].wrapping_sub(if n == 0 { before } else { values[n - 1] }))
}

/// The values of a field in a group, or what there is of them, and zeros.
#[inline(always)]
fn column(group: &[u64], stride: usize, field: usize) -> [u64; GROUP] {
    if group.len() == GROUP * stride {
        return std::array::from_fn(|n| group[n * stride + field]);
    }
    let mut values = [0; GROUP];
    let there = group.get(field..).unwrap_or(&[]).iter().step_by(stride);
    values.iter_mut().zip(there).for_each(|(value, &word)| *value = word);
    values
}

/// Puts the values of a field back into a group.
#[inline(always)]
fn put_column(values: &[u64; GROUP], group: &mut [u64], stride: usize, field: usize) {
    if group.len() == GROUP * stride {
        (0..GROUP).for_each(|n| group[n * stride + field] = values[n]);
    } else {
        let there = group.get_mut(field..).unwrap_or(&mut []).iter_mut().step_by(stride);
        there.zip(values).for_each(|(word, value)| *word = *value);
    }
}

/// Packs `words`, records of `stride`, behind what `out` holds. The last record may be cut off.
pub(super) fn pack(words: &[u64], stride: usize, out: &mut Vec<u8>) {
    // The strides of the engine's tables, known to the compiler: most of what a simulation packs.
    match stride {
        1 => pack_records(words, 1, out),
        3 => pack_records(words, 3, out),
        _ => pack_records(words, stride, out),
    }
}

#[inline(always)]
fn pack_records(words: &[u64], stride: usize, out: &mut Vec<u8>) {
    let mut fields = vec![Field::default(); stride];
    for (field, state) in fields.iter_mut().enumerate() {
        state.last = words.get(field).copied().unwrap_or(0);
        put_value(state.last, out);
    }
    for group in words.chunks(GROUP * stride) {
        let count = group.len().div_ceil(stride);
        let mut neighbour = None;
        for (field, state) in fields.iter_mut().enumerate() {
            let values = column(group, stride, field);
            let mut best = Try::new(Prediction::Same, count, values.map(|value| value ^ state.last));
            let growth = growth(&values, state.last);
            if best.kept.length > 0 {
                best = best.or(others(count, *state, &growth, neighbour.as_ref()));
            }
            neighbour = Some(growth);
            put_group(&best, count, out);
            state.learn(&values[..count]);
        }
    }
}

/// Gives the words back that were packed into `bytes`, behind which follow [`SLACK`] more or as many that mean something else.
pub(super) fn unpack(bytes: &[u8], stride: usize, words: &mut [u64]) {
    match stride {
        1 => unpack_records(bytes, 1, words),
        3 => unpack_records(bytes, 3, words),
        _ => unpack_records(bytes, stride, words),
    }
}

#[inline(always)]
fn unpack_records(bytes: &[u8], stride: usize, words: &mut [u64]) {
    let mut fields = vec![Field::default(); stride];
    let mut from = Reader(bytes);
    fields.iter_mut().for_each(|field| field.last = from.value());
    for group in words.chunks_mut(GROUP * stride) {
        let count = group.len().div_ceil(stride);
        let mut neighbour = None;
        for (field, state) in fields.iter_mut().enumerate() {
            let values = from.group(count, *state, neighbour.as_ref());
            put_column(&values, group, stride, field);
            neighbour = Some(growth(&values, state.last));
            state.learn(&values[..count]);
        }
    }
}

/// A value by itself: which of its bytes follow, and these.
fn put_value(value: u64, out: &mut Vec<u8>) {
    let skip = if value == 0 { 0 } else { value.trailing_zeros() / 8 };
    let length = (u64::BITS - value.leading_zeros()).div_ceil(8) - skip;
    out.push((skip << 4 | length) as u8);
    out.extend_from_slice(&(value >> (8 * skip)).to_le_bytes()[..length as usize]);
}

/// One way of packing a group.
struct Try {
    bits: u32,
    prediction: Prediction,
    kept: Kept,
    left: [u64; GROUP],
    is_sparse: bool,
}

impl Try {
    fn new(prediction: Prediction, count: usize, mut left: [u64; GROUP]) -> Self {
        left[count..].fill(0);
        let kept = Kept::of(&left, prediction.is_signed());
        let some = left.iter().map(|&word| u32::from(word != 0)).sum::<u32>();
        let (all_bits, sparse_bits) = (kept.length * count as u32, kept.length * some + GROUP as u32);
        Self { bits: all_bits.min(sparse_bits), prediction, kept, left, is_sparse: sparse_bits < all_bits }
    }

    /// The one that takes less room; this one, if both take the same.
    fn or(self, other: Self) -> Self {
        if other.bits < self.bits { other } else { self }
    }
}

/// The better of the predictions by growth.
fn others(count: usize, field: Field, growth: &Growth, neighbour: Option<&Growth>) -> Try {
    let by_step = Try::new(Prediction::Step, count, growth.map(|growth| growth.wrapping_sub(field.step)));
    match neighbour {
        Some(neighbour) => {
            let left = std::array::from_fn(|n| growth[n].wrapping_sub(neighbour[n]));
            by_step.or(Try::new(Prediction::Along, count, left))
        }
        None => by_step,
    }
}

fn put_group(best: &Try, count: usize, out: &mut Vec<u8>) {
    let &Try { prediction, kept, ref left, is_sparse, .. } = best;
    out.push((prediction as u8) << 6 | kept.code());
    if kept.length == 0 {
        return;
    }
    out.push(kept.skip as u8 | if is_sparse { SPARSE } else { 0 });
    if is_sparse {
        let mask = left.iter().rev().fold(0, |mask: u16, &word| mask << 1 | u16::from(word != 0));
        out.extend_from_slice(&mask.to_le_bytes());
        put_bits(left.iter().copied().filter(|&word| word != 0), kept, out);
    } else {
        put_bits(left[..count].iter().copied(), kept, out);
    }
}

/// The kept bits, one after the other, and zeros to the end of the last byte.
fn put_bits(left: impl Iterator<Item = u64>, kept: Kept, out: &mut Vec<u8>) {
    let mask = u64::MAX >> (u64::BITS - kept.length);
    let mut words = [0; GROUP + 1];
    let mut bit = 0;
    for word in left {
        let bits = u128::from(word >> kept.skip & mask) << (bit % u64::BITS);
        let at = (bit / u64::BITS) as usize;
        words[at] |= bits as u64;
        words[at + 1] |= (bits >> u64::BITS) as u64;
        bit += kept.length;
    }
    let mut bytes = [0; (GROUP + 1) * size_of::<u64>()];
    words.iter().zip(bytes.as_chunks_mut().0).for_each(|(word, bytes)| *bytes = word.to_le_bytes());
    out.extend_from_slice(&bytes[..bit.div_ceil(8) as usize]);
}

/// Bytes that are read at once, wherever the last value ends.
pub(super) const SLACK: usize = size_of::<u128>();

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.0.split_first().expect("what was packed is whole");
        self.0 = rest;
        byte
    }

    fn value(&mut self) -> u64 {
        let head = self.byte();
        let bytes = (0..u32::from(head & 0xf)).fold(0, |value, n| value | u64::from(self.byte()) << (8 * n));
        bytes << (8 * (head >> 4))
    }

    fn group(&mut self, count: usize, field: Field, neighbour: Option<&Growth>) -> [u64; GROUP] {
        let head = self.byte();
        let prediction = Prediction::ALL[usize::from(head >> 6)];
        let skip = if head & 63 == 0 { 0 } else { self.byte() };
        let some = if skip & SPARSE == 0 { u16::MAX } else { u16::from_le_bytes([self.byte(), self.byte()]) };
        let kept = Kept::new(u32::from(skip & !SPARSE), u32::from(head & 63));
        let left = self.bits(count, some, kept, prediction.is_signed());
        let mut last = field.last;
        let mut grow = |growth: u64| {
            last = last.wrapping_add(growth);
            last
        };
        match (prediction, neighbour) {
            (Prediction::Same, _) => left.map(|left| left ^ field.last),
            (Prediction::Along, Some(neighbour)) => std::array::from_fn(|n| grow(left[n].wrapping_add(neighbour[n]))),
            (Prediction::Along | Prediction::Step, _) => left.map(|left| grow(left.wrapping_add(field.step))),
        }
    }

    /// What is left of a group's values, of those in `some`.
    fn bits(&mut self, count: usize, some: u16, kept: Kept, is_signed: bool) -> [u64; GROUP] {
        let mut left = [0; GROUP];
        if kept.length == 0 {
            return left;
        }
        let mut bit = 0;
        for (n, left) in left[..count].iter_mut().enumerate() {
            if some & 1 << n != 0 {
                let from = self.0[bit / 8..].first_chunk().expect("there is slack behind what was packed");
                *left = kept.restore((u128::from_le_bytes(*from) >> (bit % 8)) as u64, is_signed);
                bit += kept.length as usize;
            }
        }
        self.0 = &self.0[bit.div_ceil(8)..];
        left
    }
}

#[cfg(test)]
mod tests {
    use cygnus_runtime::Rng;
    use proptest::prelude::*;

    use super::*;

    /// How much it takes.
    fn packs(words: &[u64], stride: usize) -> usize {
        let mut packed = vec![7];
        pack(words, stride, &mut packed);
        let length = packed.len() - 1;
        packed.extend([0xee; SLACK]);
        let mut back = vec![1; words.len()];
        unpack(&packed[1..], stride, &mut back);
        assert_eq!(back, words);
        length
    }

    /// Words that are alike in one way or another.
    fn words() -> impl Strategy<Value = Vec<u64>> {
        let word = prop_oneof![
            3 => Just(0), 2 => any::<u64>(), 2 => 0_u64..300, 1 => Just(u64::MAX), 1 => Just(1 << 63),
            2 => (0_u64..1 << 36).prop_map(|n| n << 28), 1 => (0_u64..2).prop_map(|n| n << 56),
        ];
        let runs = prop::collection::vec((word, -3_i64..4, 1_usize..40), 1..30);
        runs.prop_map(|runs| {
            let run = |(from, step, len): (u64, i64, usize)| {
                (0..len).map(move |n| from.wrapping_add((n as i64 * step) as u64))
            };
            runs.into_iter().flat_map(run).collect()
        })
    }

    proptest! {
        #[test]
        fn gives_back_whatever_was_packed(words in words(), stride in 1_usize..20) {
            packs(&words, stride);
        }
    }

    #[test]
    fn gives_noise_back() {
        let mut rng = Rng::new(1);
        for stride in [1, 3, 16, 600] {
            let words: Vec<u64> = (0..512).map(|_| rng.next_u64()).collect();
            let length = packs(&words, stride);
            assert!(length <= 512 * 8 + 512 / 8 + 10 * stride, "{length}");
        }
        let extremes = [u64::MAX, 0, 1 << 63, 1, u64::MAX - 1, i64::MAX as u64];
        packs(&(0..512).map(|_| extremes[rng.below(6) as usize]).collect::<Vec<_>>(), 3);
    }

    #[test]
    fn records_of_random_addresses_take_their_bits() {
        let mut rng = Rng::new(2);
        let record = |n: u64| [0x1234_5678_0000_0001, 1 << 56 | rng.below(1 << 28), 1_000_000 + 7 * n];
        let length = packs(&(0..64).flat_map(record).collect::<Vec<_>>(), 3);
        assert!(length < 64 * 28 / 8 + 50, "{length}");
    }

    #[test]
    fn records_in_order_take_nearly_nothing() {
        let record = |n: u64| [0x1234_5678_0000_0001, 1 << 56 | (n + n / 6 * 122), 1_000_000 + n + n / 6 * 122];
        let length = packs(&(0..64).flat_map(record).collect::<Vec<_>>(), 3);
        assert!(length < 110, "{length}");
        let entries: Vec<u64> = (0..512).map(|n| (0x55_0000 + n + n / 16 * 4080) << 28 | 0xf9_4189).collect();
        let length = packs(&entries, 1);
        assert!(length < 260, "{length}");
    }
}
