//! The x86-64 vectors. Every method is `#[inline(always)]` into a loop that enables the features the
//! intrinsics need; none is ever called elsewhere.

use std::arch::x86_64::*;

use crate::gf::{BIT_MATRIX, NIBBLE_PRODUCTS};
use crate::kernel::Lane;

/// 64 bytes; multiplication is one GF2P8AFFINEQB.
pub(crate) struct Avx512Gfni;

impl Lane for Avx512Gfni {
    type V = __m512i;
    const WIDTH: usize = 64;

    #[inline(always)]
    unsafe fn zero() -> Self::V {
        // SAFETY: the CPU has AVX-512 (contract of `Lane`).
        unsafe { _mm512_setzero_si512() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::V {
        // SAFETY: as above; the caller gives 64 readable bytes.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, value: Self::V) {
        // SAFETY: as above; the caller gives 64 writable bytes.
        unsafe { _mm512_storeu_si512(to.cast(), value) }
    }

    #[inline(always)]
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the CPU has AVX-512.
        unsafe { _mm512_xor_si512(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(value: Self::V, coefficient: u8) -> Self::V {
        // SAFETY: the CPU has AVX-512 and GFNI.
        unsafe {
            let matrix = _mm512_set1_epi64(BIT_MATRIX[coefficient as usize] as i64);
            _mm512_gf2p8affine_epi64_epi8::<0>(value, matrix)
        }
    }
}

/// 32 bytes; multiplication is one GF2P8AFFINEQB.
pub(crate) struct Avx2Gfni;

impl Lane for Avx2Gfni {
    type V = __m256i;
    const WIDTH: usize = 32;

    #[inline(always)]
    unsafe fn zero() -> Self::V {
        // SAFETY: the CPU has AVX2 (contract of `Lane`).
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::V {
        // SAFETY: as above; the caller gives 32 readable bytes.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, value: Self::V) {
        // SAFETY: as above; the caller gives 32 writable bytes.
        unsafe { _mm256_storeu_si256(to.cast(), value) }
    }

    #[inline(always)]
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the CPU has AVX2.
        unsafe { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(value: Self::V, coefficient: u8) -> Self::V {
        // SAFETY: the CPU has AVX2 and GFNI.
        unsafe {
            let matrix = _mm256_set1_epi64x(BIT_MATRIX[coefficient as usize] as i64);
            _mm256_gf2p8affine_epi64_epi8::<0>(value, matrix)
        }
    }
}

/// 32 bytes; multiplication is two shuffles through tables of nibble products.
pub(crate) struct Avx2;

impl Lane for Avx2 {
    type V = __m256i;
    const WIDTH: usize = 32;

    #[inline(always)]
    unsafe fn zero() -> Self::V {
        // SAFETY: the CPU has AVX2 (contract of `Lane`).
        unsafe { Avx2Gfni::zero() }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self::V {
        // SAFETY: as above; the caller gives 32 readable bytes.
        unsafe { Avx2Gfni::load(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut u8, value: Self::V) {
        // SAFETY: as above; the caller gives 32 writable bytes.
        unsafe { Avx2Gfni::store(to, value) }
    }

    #[inline(always)]
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: the CPU has AVX2.
        unsafe { Avx2Gfni::xor(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(value: Self::V, coefficient: u8) -> Self::V {
        let products = NIBBLE_PRODUCTS[coefficient as usize].as_ptr();
        // SAFETY: the CPU has AVX2; a row of the table is 32 bytes.
        unsafe {
            let low = _mm256_broadcastsi128_si256(_mm_loadu_si128(products.cast()));
            let high = _mm256_broadcastsi128_si256(_mm_loadu_si128(products.add(16).cast()));
            let mask = _mm256_set1_epi8(0x0F);
            let low_nibbles = _mm256_and_si256(value, mask);
            let high_nibbles = _mm256_and_si256(_mm256_srli_epi64::<4>(value), mask);
            _mm256_xor_si256(_mm256_shuffle_epi8(low, low_nibbles), _mm256_shuffle_epi8(high, high_nibbles))
        }
    }
}
