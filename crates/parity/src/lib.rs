//! Parity and checksums: everything Cygnus computes over the bytes of a stripe.
//!
//! A stripe has `k` data columns and `m` parity columns, `m` from 0 to 3. All arithmetic is in GF(2^8) over 0x11D, with g = 2:
//! * P, the XOR of the data columns (RAID-5);
//! * Q, the sum of g^i times data column i (Linux's RAID-6);
//! * R, the sum of g^2i times data column i (ZFS's RAID-Z3).
//!
//! Any m columns can be lost. The weights 1, x, x^2 of a data column (x = g^i) are a row of a Vandermonde matrix, so three lost
//! data columns and P, Q, R are solvable. Two lost ones are with any two parity columns too: their determinants are x + y for
//! P and Q, (x + y)^2 for P and R, xy(x + y) for Q and R, none of which is zero for x != y.
//!
//! A column may be handed in **shorter than its stripe**: the bytes it lacks are zeros, so a partly
//! filled stripe needs no zero fill and an empty column is `&[]`. All lengths are multiples of
//! [`ALIGNMENT`].
//!
//! Panics mark bugs of the caller (lengths that do not fit); only the loss of too many columns is an
//! error, since disks cause it.

pub mod checksum;
mod gf;
mod kernel;
mod recovery;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use kernel::{Kernel, Term};

/// Columns are multiples of this many bytes long.
pub const ALIGNMENT: usize = kernel::GRAIN;

/// The most data columns a stripe may have.
///
/// Q and R tell up to 255 columns apart; 64 keeps the bookkeeping of a call on a small stack frame and is
/// several times the width at which losing two devices stays improbable.
pub const MAX_DATA_COLUMNS: usize = 64;

/// The most parity columns a stripe may have.
pub const MAX_PARITY_COLUMNS: usize = 3;

const MAX_COLUMNS: usize = MAX_DATA_COLUMNS + MAX_PARITY_COLUMNS;

/// A column cannot be rebuilt: more columns are missing than parity covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "column {wanted} cannot be rebuilt: {missing} columns are missing (it included) and parity covers {parity}; \
     bring a missing device back"
)]
pub struct ReconstructError {
    /// The column asked for.
    pub wanted: usize,
    /// How many columns could not be used, the wanted one included.
    pub missing: usize,
    /// Parity columns in the layout.
    pub parity: usize,
}

/// The name of the instruction set in use, for logs and benchmark reports.
pub fn instruction_set() -> &'static str {
    kernel::best().name
}

/// Computes the parity columns of a stripe: `parity[0]` = P, `parity[1]` = Q, `parity[2]` = R; no parity column means
/// nothing to do. Data columns shorter than the parity count as continued with zeros.
///
/// # Panics
/// If a length is not a multiple of [`ALIGNMENT`], the parity columns differ in length, a data column
/// is longer than them, or there are too many columns.
pub fn generate(data: &[&[u8]], parity: &mut [&mut [u8]]) {
    generate_with(kernel::best(), data, parity);
}

fn generate_with(kernel: &Kernel, data: &[&[u8]], parity: &mut [&mut [u8]]) {
    assert!(parity.len() <= MAX_PARITY_COLUMNS, "{} parity columns", parity.len());
    let Some(height) = parity.first().map(|p| p.len()) else { return };
    assert!(parity.iter().all(|column| column.len() == height), "parity columns differ in length");
    let mut terms = Terms::new(height);
    for (index, column) in data.iter().enumerate() {
        terms.push(column, gf::power(index as isize));
    }
    match parity {
        [p] => terms.each_stretch(|terms, from, to| {
            // SAFETY: `each_stretch` gives grain-aligned bounds within every term; `p` is `height`
            // bytes, exclusively borrowed, so it overlaps no column.
            unsafe { (kernel.plain)(terms, p.as_mut_ptr(), from, to) }
        }),
        [p, q] => terms.each_stretch(|terms, from, to| {
            // SAFETY: as above, for both outputs.
            unsafe { (kernel.pq)(terms, p.as_mut_ptr(), q.as_mut_ptr(), from, to) }
        }),
        [p, q, r] => terms.each_stretch(|terms, from, to| {
            // SAFETY: as above, for all three outputs.
            unsafe { (kernel.pqr)(terms, p.as_mut_ptr(), q.as_mut_ptr(), r.as_mut_ptr(), from, to) }
        }),
        _ => unreachable!("at most three parity columns, checked above"),
    }
}

/// Rebuilds column `wanted` of a stripe into `out`.
///
/// `columns` holds the k data columns, then P, Q and R, as far as the layout has them (`k` data columns,
/// `columns.len() - k` parity columns). `None` is a column that cannot be read; `Some` of a short slice
/// continues with zeros. What stands in `columns[wanted]` is not looked at, so it may be a block just
/// found to be corrupt. Any columns not needed are not read.
///
/// # Errors
/// [`ReconstructError`] if the columns at hand do not determine the wanted one.
///
/// # Panics
/// If a length is not a multiple of [`ALIGNMENT`], a needed column is longer than `out`, or the number
/// of columns is out of bounds.
pub fn reconstruct(k: usize, columns: &[Option<&[u8]>], wanted: usize, out: &mut [u8]) -> Result<(), ReconstructError> {
    reconstruct_with(kernel::best(), k, columns, wanted, out)
}

fn reconstruct_with(
    kernel: &Kernel,
    k: usize,
    columns: &[Option<&[u8]>],
    wanted: usize,
    out: &mut [u8],
) -> Result<(), ReconstructError> {
    let width = columns.len();
    assert!(k <= MAX_DATA_COLUMNS && width >= k && width - k <= MAX_PARITY_COLUMNS, "{k} of {width} columns");
    assert!(wanted < width, "column {wanted} of {width}");
    let weights = recovery::coefficients(k, width - k, wanted, |column| columns[column].is_some())?;

    let mut terms = Terms::new(out.len());
    for (column, &weight) in columns.iter().zip(&weights) {
        if let (Some(column), 1..) = (column, weight) {
            terms.push(column, weight);
        }
    }
    let sum = if weights.iter().all(|&weight| weight <= 1) { kernel.plain } else { kernel.weighted };
    terms.each_stretch(|terms, from, to| {
        // SAFETY: `each_stretch` gives grain-aligned bounds within every term; `out` is as long as the
        // stripe is high, exclusively borrowed, so it overlaps no column.
        unsafe { sum(terms, out.as_mut_ptr(), from, to) }
    });
    Ok(())
}

/// Whether `parity` is what [`generate`] would make of `data`.
///
/// # Panics
/// As [`generate`].
pub fn verify(data: &[&[u8]], parity: &[&[u8]]) -> bool {
    /// Compared per round: small enough that both sides stay in the first-level cache.
    const WINDOW: usize = 4096;
    assert!(parity.len() <= MAX_PARITY_COLUMNS, "{} parity columns", parity.len());
    assert!(data.len() <= MAX_DATA_COLUMNS, "{} data columns", data.len());
    let Some(height) = parity.first().map(|p| p.len()) else { return true };
    assert!(parity.iter().all(|p| p.len() == height), "parity columns differ in length");
    assert!(data.iter().all(|column| column.len() <= height), "a data column is longer than the parity");

    let mut scratch = [0; MAX_PARITY_COLUMNS * WINDOW];
    (0..height).step_by(WINDOW).all(|from| {
        let to = height.min(from + WINDOW);
        let mut window = [&[] as &[u8]; MAX_DATA_COLUMNS];
        for (part, column) in window.iter_mut().zip(data) {
            *part = &column[from.min(column.len())..to.min(column.len())];
        }
        let mut made = scratch.chunks_exact_mut(WINDOW).map(|column| &mut column[..to - from]);
        let expected = &mut std::array::from_fn::<_, MAX_PARITY_COLUMNS, _>(|_| made.next().expect("one for each"))
            [..parity.len()];
        generate(&window[..data.len()], expected);
        expected.iter().zip(parity).all(|(expected, found)| **expected == found[from..to])
    })
}

/// The terms of a sum over columns of unequal length.
struct Terms {
    terms: [Term; MAX_COLUMNS],
    count: usize,
    /// Length of the result; no term is longer.
    height: usize,
}

impl Terms {
    fn new(height: usize) -> Self {
        assert_eq!(height % ALIGNMENT, 0, "a column of {height} bytes is not a multiple of {ALIGNMENT}");
        let none = Term { column: std::ptr::null(), len: 0, coefficient: 0 };
        Self { terms: [none; MAX_COLUMNS], count: 0, height }
    }

    fn push(&mut self, column: &[u8], coefficient: u8) {
        let len = column.len();
        assert_eq!(len % ALIGNMENT, 0, "a column of {len} bytes is not a multiple of {ALIGNMENT}");
        assert!(len <= self.height, "a column of {len} bytes in a stripe of {}", self.height);
        assert!(self.count < MAX_COLUMNS, "more than {MAX_COLUMNS} columns");
        self.terms[self.count] = Term { column: column.as_ptr(), len, coefficient };
        self.count += 1;
    }

    /// Cuts the stripe where columns end and calls `work(terms, from, to)` for each stretch with only
    /// those terms that reach across it.
    fn each_stretch(mut self, mut work: impl FnMut(&[Term], usize, usize)) {
        let terms = &mut self.terms[..self.count];
        // Longest first, so the terms of each stretch are a prefix. Usually all are equal already.
        if terms.iter().any(|term| term.len < self.height) {
            terms.sort_unstable_by_key(|term| std::cmp::Reverse(term.len));
        }
        let mut live = terms.len();
        let mut from = 0;
        while from < self.height {
            while live > 0 && terms[live - 1].len <= from {
                live -= 1;
            }
            let to = if live > 0 { terms[live - 1].len } else { self.height };
            work(&terms[..live], from, to);
            from = to;
        }
    }
}

#[cfg(test)]
mod tests;
