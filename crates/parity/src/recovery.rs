//! Which sum of surviving columns gives a lost one.
//!
//! Parity column t is the sum of g^(t i) times data column i, so every recoverable column, data or parity, is one weighted sum of
//! the survivors. Recovery is: work out at most k + 3 coefficients here, then run one pass of the same kernel that makes Q.
//!
//! The wanted column is the sum of w_s times parity column s, over as many surviving parity columns as data columns are lost,
//! and of whatever is needed to make the surviving data columns fit. The w_s are such that of each lost data column l just
//! that remains which the wanted one has of it: sum over s of w_s g^(s l) = 1 or 0 if a data column is wanted, g^(t l) if
//! parity column t is.

use crate::gf::{inverse, mul, power};
use crate::{MAX_COLUMNS, MAX_PARITY_COLUMNS, ReconstructError};

/// A column's weight in the sum; 0 = not read.
pub(crate) type Coefficients = [u8; MAX_COLUMNS];

/// One equation: what the weights are multiplied by, and last what the sum must be.
type Equation = [u8; MAX_PARITY_COLUMNS + 1];

/// The weight of data column `i` in parity column `t`.
fn generator(t: usize, i: usize) -> u8 {
    power((t * i) as isize)
}

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
    let lost = (0..k).filter(|&column| !usable(column));
    // Of a data column, how much of it the wanted one has.
    let share = |i: usize| if wanted < k { u8::from(i == wanted) } else { generator(wanted - k, i) };

    let mut parity = [0; MAX_PARITY_COLUMNS];
    let mut at_hand = (0..m).filter(|t| usable(k + t));
    let mut equations = [Equation::default(); MAX_PARITY_COLUMNS];
    let mut unknown = 0;
    for column in lost.clone() {
        let Some(next) = at_hand.next() else {
            let missing = (0..k + m).filter(|&column| !usable(column)).count();
            return Err(ReconstructError { wanted, missing, parity: m });
        };
        parity[unknown] = next;
        equations[unknown][MAX_PARITY_COLUMNS] = share(column);
        unknown += 1;
    }
    let parity = &parity[..unknown];
    for (equation, column) in equations.iter_mut().zip(lost) {
        for (factor, &t) in equation.iter_mut().zip(parity) {
            *factor = generator(t, column);
        }
    }
    let weights = solve(&mut equations[..unknown]);

    let mut c = [0; MAX_COLUMNS];
    for i in (0..k).filter(|&i| usable(i)) {
        c[i] = parity.iter().zip(weights).fold(share(i), |sum, (&t, weight)| sum ^ mul(weight, generator(t, i)));
    }
    for (&t, weight) in parity.iter().zip(weights) {
        c[k + t] = weight;
    }
    Ok(c)
}

/// Solves as many equations as there are unknowns, by Gauss's elimination. They have one solution, as the crate's text says.
fn solve(equations: &mut [Equation]) -> [u8; MAX_PARITY_COLUMNS] {
    for unknown in 0..equations.len() {
        let pivot = (unknown..equations.len()).find(|&row| equations[row][unknown] != 0);
        equations.swap(unknown, pivot.expect("the rows are independent"));
        let scale = inverse(equations[unknown][unknown]);
        equations[unknown] = equations[unknown].map(|factor| mul(scale, factor));
        let solved = equations[unknown];
        for (_, other) in equations.iter_mut().enumerate().filter(|(row, _)| *row != unknown) {
            let times = other[unknown];
            for (factor, by) in other.iter_mut().zip(solved) {
                *factor ^= mul(times, by);
            }
        }
    }
    let mut weights = [0; MAX_PARITY_COLUMNS];
    for (weight, equation) in weights.iter_mut().zip(equations) {
        *weight = equation[MAX_PARITY_COLUMNS];
    }
    weights
}
