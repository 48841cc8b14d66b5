//! The fallback: two machine words at a time, on any CPU.

use crate::kernel::Lane;

/// Sixteen bytes as two words (which the compiler may well keep in one SSE2 or NEON register).
pub(crate) struct Words;

/// Multiplies eight packed field elements by the generator.
#[inline(always)]
fn double(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let overflow = (word & HIGH) >> 7;
    ((word & !HIGH) << 1) ^ overflow.wrapping_mul(0x1D)
}

impl Lane for Words {
    type V = [u64; 2];
    const WIDTH: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self::V {
        [0; 2]
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::V {
        // SAFETY: the caller gives 16 readable bytes; the read is unaligned.
        unsafe { from.cast::<Self::V>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, value: Self::V) {
        // SAFETY: the caller gives 16 writable bytes; the write is unaligned.
        unsafe { to.cast::<Self::V>().write_unaligned(value) }
    }

    #[inline(always)]
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V {
        [a[0] ^ b[0], a[1] ^ b[1]]
    }

    #[inline(always)]
    unsafe fn mul(mut value: Self::V, mut coefficient: u8) -> Self::V {
        let mut product = [0; 2];
        while coefficient != 0 {
            if coefficient & 1 != 0 {
                product[0] ^= value[0];
                product[1] ^= value[1];
            }
            value = [double(value[0]), double(value[1])];
            coefficient >>= 1;
        }
        product
    }
}
