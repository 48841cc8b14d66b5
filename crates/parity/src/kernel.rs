//! The inner loops: sums of products of columns, written once over [`Lane`] and instantiated for each
//! instruction set. The set is chosen once per process (CPUID traps into the hypervisor on a virtual
//! machine and costs microseconds there), and no code outside these loops is compiled for more than
//! the baseline CPU.

use std::sync::OnceLock;

/// Every length handed to a kernel is a multiple of this (bytes): one cache line, the widest vector.
pub(crate) const GRAIN: usize = 64;

/// One term of a sum: `coefficient * column`.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    /// Start of the column.
    pub(crate) column: *const u8,
    /// Bytes readable from `column`.
    pub(crate) len: usize,
    /// What each byte is multiplied by.
    pub(crate) coefficient: u8,
}

/// A vector of bytes and what the loops do with it.
///
/// # Safety
/// Implementations run on a CPU that has the instruction set they stand for.
pub(crate) trait Lane {
    /// The register.
    type V: Copy;
    /// Width of `V` in bytes; divides [`GRAIN`].
    const WIDTH: usize;
    /// All zeros.
    unsafe fn zero() -> Self::V;
    /// Unaligned load.
    unsafe fn load(from: *const u8) -> Self::V;
    /// Unaligned store.
    unsafe fn store(to: *mut u8, value: Self::V);
    /// Addition in the field.
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V;
    /// Multiplication of each byte by a coefficient.
    unsafe fn mul(value: Self::V, coefficient: u8) -> Self::V;
}

/// Bytes each round of a loop covers: four cache lines, enough independent chains to hide latency.
const ROUND: usize = 4 * GRAIN;

/// P and Q of one cache-line-multiple stretch.
///
/// # Safety
/// The CPU has `L`'s instructions; `[offset, offset + SPAN)` is inside every term's column and inside
/// `p` and `q`.
#[inline(always)]
unsafe fn pq_step<L: Lane, const N: usize>(terms: &[Term], p: *mut u8, q: *mut u8, offset: usize) {
    // SAFETY: the caller's promise; N * WIDTH is the stretch's length.
    unsafe {
        let mut sum_p = [L::zero(); N];
        let mut sum_q = [L::zero(); N];
        for term in terms {
            for lane in 0..N {
                let data = L::load(term.column.add(offset + lane * L::WIDTH));
                sum_p[lane] = L::xor(sum_p[lane], data);
                sum_q[lane] = L::xor(sum_q[lane], L::mul(data, term.coefficient));
            }
        }
        for lane in 0..N {
            L::store(p.add(offset + lane * L::WIDTH), sum_p[lane]);
            L::store(q.add(offset + lane * L::WIDTH), sum_q[lane]);
        }
    }
}

/// P, Q and R of one stretch. R is made by multiplying what goes into Q once more: its coefficient is the square of Q's, so one
/// table serves both.
///
/// # Safety
/// As [`pq_step`], with `r` too.
#[inline(always)]
unsafe fn pqr_step<L: Lane, const N: usize>(terms: &[Term], p: *mut u8, q: *mut u8, r: *mut u8, offset: usize) {
    // SAFETY: the caller's promise; N * WIDTH is the stretch's length.
    unsafe {
        let mut sums = [[L::zero(); N]; 3];
        for term in terms {
            for lane in 0..N {
                let data = L::load(term.column.add(offset + lane * L::WIDTH));
                let once = L::mul(data, term.coefficient);
                let twice = L::mul(once, term.coefficient);
                for (sum, part) in sums.iter_mut().zip([data, once, twice]) {
                    sum[lane] = L::xor(sum[lane], part);
                }
            }
        }
        for (sum, out) in sums.iter().zip([p, q, r]) {
            for (lane, &value) in sum.iter().enumerate() {
                L::store(out.add(offset + lane * L::WIDTH), value);
            }
        }
    }
}

/// The sum of one stretch, multiplied by the coefficients unless `PLAIN`.
///
/// # Safety
/// As [`pq_step`], with `out` for `p` and `q`.
#[inline(always)]
unsafe fn sum_step<L: Lane, const N: usize, const PLAIN: bool>(terms: &[Term], out: *mut u8, offset: usize) {
    // SAFETY: the caller's promise; N * WIDTH is the stretch's length.
    unsafe {
        let mut sum = [L::zero(); N];
        for term in terms {
            for (lane, sum) in sum.iter_mut().enumerate() {
                let data = L::load(term.column.add(offset + lane * L::WIDTH));
                let product = if PLAIN { data } else { L::mul(data, term.coefficient) };
                *sum = L::xor(*sum, product);
            }
        }
        for (lane, &value) in sum.iter().enumerate() {
            L::store(out.add(offset + lane * L::WIDTH), value);
        }
    }
}

/// Writes the sum of the terms to `p` and the coefficient-weighted sum to `q`, from byte `from` to
/// byte `to`.
type PqFn = unsafe fn(terms: &[Term], p: *mut u8, q: *mut u8, from: usize, to: usize);

/// As [`PqFn`], and the sum weighted by the squares of the coefficients to `r`.
type PqrFn = unsafe fn(terms: &[Term], p: *mut u8, q: *mut u8, r: *mut u8, from: usize, to: usize);

/// Writes one (plain or weighted) sum of the terms to `out`, from byte `from` to byte `to`.
type SumFn = unsafe fn(terms: &[Term], out: *mut u8, from: usize, to: usize);

/// The loops of one instruction set.
///
/// Contract of all four: `from` and `to` are multiples of [`GRAIN`], every column is readable and
/// every output writable over `[from, to)`, and no output overlaps a column or another output.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    /// For reports and tests.
    pub(crate) name: &'static str,
    /// P and Q in one pass over the data.
    pub(crate) pq: PqFn,
    /// P, Q and R in one pass over the data.
    pub(crate) pqr: PqrFn,
    /// Sum with coefficients.
    pub(crate) weighted: SumFn,
    /// Sum with every coefficient 1.
    pub(crate) plain: SumFn,
}

/// Instantiates the loops for a [`Lane`] under a set of CPU features.
macro_rules! kernel {
    ($constant:ident, $name:literal, $lane:ty, $width:literal $(, $feature:literal)?) => {
        pub(crate) const $constant: Kernel = {
            const SMALL: usize = GRAIN / $width;
            const LARGE: usize = ROUND / $width;
            const { assert!(<$lane as Lane>::WIDTH == $width) };

            $(#[target_feature(enable = $feature)])?
            unsafe fn pq(terms: &[Term], p: *mut u8, q: *mut u8, from: usize, to: usize) {
                // SAFETY: the contract of `Kernel`.
                unsafe {
                    let mut offset = from;
                    while to - offset >= GRAIN * 2 {
                        pq_step::<$lane, { 2 * SMALL }>(terms, p, q, offset);
                        offset += GRAIN * 2;
                    }
                    if offset < to {
                        pq_step::<$lane, SMALL>(terms, p, q, offset);
                    }
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn pqr(terms: &[Term], p: *mut u8, q: *mut u8, r: *mut u8, from: usize, to: usize) {
                // SAFETY: the contract of `Kernel`.
                unsafe {
                    let mut offset = from;
                    while to - offset >= GRAIN * 2 {
                        pqr_step::<$lane, { 2 * SMALL }>(terms, p, q, r, offset);
                        offset += GRAIN * 2;
                    }
                    if offset < to {
                        pqr_step::<$lane, SMALL>(terms, p, q, r, offset);
                    }
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn sum<const PLAIN: bool>(
                terms: &[Term],
                out: *mut u8,
                from: usize,
                to: usize,
            ) {
                // SAFETY: the contract of `Kernel`.
                unsafe {
                    let mut offset = from;
                    while to - offset >= ROUND {
                        sum_step::<$lane, LARGE, PLAIN>(terms, out, offset);
                        offset += ROUND;
                    }
                    while offset < to {
                        sum_step::<$lane, SMALL, PLAIN>(terms, out, offset);
                        offset += GRAIN;
                    }
                }
            }

            Kernel { name: $name, pq, pqr, weighted: sum::<false>, plain: sum::<true> }
        };
    };
}

#[cfg(target_arch = "x86_64")]
mod sets {
    use super::*;
    use crate::x86::{Avx2, Avx2Gfni, Avx512Gfni};

    kernel!(AVX512_GFNI, "avx512+gfni", Avx512Gfni, 64, "avx512f,avx512bw,gfni");
    kernel!(AVX2_GFNI, "avx2+gfni", Avx2Gfni, 32, "avx2,gfni");
    kernel!(AVX2, "avx2", Avx2, 32, "avx2");
}

kernel!(SCALAR, "scalar", crate::scalar::Words, 16);

/// Every kernel this CPU can run, the fastest first.
pub(crate) fn available() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let gfni = has!("gfni");
        if gfni && has!("avx512f") && has!("avx512bw") {
            kernels.push(sets::AVX512_GFNI);
        }
        if gfni && has!("avx2") {
            kernels.push(sets::AVX2_GFNI);
        }
        if has!("avx2") {
            kernels.push(sets::AVX2);
        }
    }
    kernels.push(SCALAR);
    kernels
}

/// The fastest kernel, looked up on the first call.
#[inline]
pub(crate) fn best() -> &'static Kernel {
    static BEST: OnceLock<Kernel> = OnceLock::new();
    BEST.get_or_init(|| available()[0])
}
