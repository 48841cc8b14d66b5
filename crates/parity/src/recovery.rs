//! Which sum of surviving columns gives a lost one.
//!
//! With P = sum D_i and Q = sum g^i D_i, every recoverable column, data or parity, is one weighted sum
//! of the survivors. So recovery is: work out at most k + 1 coefficients here, then run one pass of the
//! same kernel that makes Q. The derivation of the two-data-lost case is in H. P. Anvin, "The
//! mathematics of RAID-6", section 4.

use crate::gf::{inverse, mul, power};
use crate::{MAX_COLUMNS, ReconstructError};

/// A column's weight in the sum; 0 = not read.
pub(crate) type Coefficients = [u8; MAX_COLUMNS];

/// The coefficients over the `k + m` columns whose sum is column `wanted`. The wanted column and every
/// absent one get 0.
///
/// # Errors
/// [`ReconstructError`] if the present columns do not determine the wanted one.
pub(crate) fn coefficients(
    k: usize,
    m: usize,
    wanted: usize,
    is_present: impl Fn(usize) -> bool,
) -> Result<Coefficients, ReconstructError> {
    let usable = |column: usize| column != wanted && is_present(column);
    let p = (m >= 1 && usable(k)).then_some(k);
    let q = (m >= 2 && usable(k + 1)).then_some(k + 1);
    let mut lost_data = (0..k).filter(|&column| !usable(column));
    let lost = (lost_data.next(), lost_data.next(), lost_data.next());
    let generator = |column: usize| power(column as isize);

    let mut c = [0; MAX_COLUMNS];
    let mut fill = |weight: &dyn Fn(usize) -> u8| {
        for column in (0..k).filter(|&column| usable(column)) {
            c[column] = weight(column);
        }
    };
    match (lost, p, q) {
        // All data at hand: the wanted column is parity, made afresh.
        ((None, ..), _, _) if wanted == k => fill(&|_| 1),
        ((None, ..), _, _) => fill(&generator),
        // One data column lost, and it is the wanted one.
        ((Some(x), None, _), Some(p), _) if x == wanted => {
            fill(&|_| 1);
            c[p] = 1;
        }
        ((Some(x), None, _), None, Some(q)) if x == wanted => {
            let unscale = inverse(generator(x));
            fill(&|i| mul(unscale, generator(i)));
            c[q] = unscale;
        }
        // One data column lost besides the wanted parity: put the lost one's sum in its place.
        ((Some(x), None, _), Some(p), _) if wanted == k + 1 => {
            fill(&|i| generator(i) ^ generator(x));
            c[p] = generator(x);
        }
        ((Some(x), None, _), None, Some(q)) if wanted == k => {
            let unscale = inverse(generator(x));
            fill(&|i| 1 ^ mul(unscale, generator(i)));
            c[q] = unscale;
        }
        // Two data columns lost, one of them wanted: solve P and Q for it.
        ((Some(a), Some(b), None), Some(p), Some(q)) if a == wanted || b == wanted => {
            let other = if a == wanted { b } else { a };
            let scale = inverse(generator(wanted) ^ generator(other));
            let from_p = mul(scale, generator(other));
            fill(&|i| from_p ^ mul(scale, generator(i)));
            c[p] = from_p;
            c[q] = scale;
        }
        _ => {
            let missing = (0..k + m).filter(|&column| !usable(column)).count();
            return Err(ReconstructError { wanted, missing, parity: m });
        }
    }
    Ok(c)
}
