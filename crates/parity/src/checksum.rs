//! CRC32C (Castagnoli): the checksum of every 4 KiB block and of every structure on disk.
//!
//! On CPUs with AVX-512 and VPCLMULQDQ the work is our own loop, because one pass can then copy a block
//! and checksum it for about the price of the copy. Elsewhere `crc-fast` does it. Which of the two is
//! settled once per process.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// The CRC32C of `data`: initial value and final inversion as in iSCSI, so `"123456789"` gives
/// 0xE3069283.
#[inline]
pub fn crc32c(data: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if data.len() >= wide::MIN_LEN && has_wide() {
        // SAFETY: the CPU has the features (`has_wide`); `data` is at least `MIN_LEN` long.
        return unsafe { wide::crc(data) };
    }
    crc_fast::crc32_iscsi(data)
}

/// Copies `src` to `dst` and returns the CRC32C of what was copied, touching the bytes once.
///
/// # Panics
/// If the lengths differ.
#[inline]
pub fn copy_crc32c(dst: &mut [u8], src: &[u8]) -> u32 {
    assert_eq!(dst.len(), src.len(), "copy between slices of different lengths");
    #[cfg(target_arch = "x86_64")]
    if src.len() >= wide::MIN_LEN && has_wide() {
        // SAFETY: the CPU has the features (`has_wide`); `dst` is as long as `src`, and being borrowed
        // exclusively does not overlap it.
        return unsafe { wide::copy_crc(src, dst.as_mut_ptr()) };
    }
    dst.copy_from_slice(src);
    crc_fast::crc32_iscsi(src)
}

/// Whether the loops of [`wide`] may run here. Detected once: CPUID is slow under a hypervisor.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_wide() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        use std::arch::is_x86_feature_detected as has;
        has!("avx512f") && has!("vpclmulqdq") && has!("sse4.2")
    })
}

/// CRC32C by carry-less multiplication over 64-byte vectors.
///
/// A CRC is the remainder of the message, read as a polynomial, by P. Bytes `d` bits before the end of
/// what is still to come count x^d times their value, so a vector can be "folded" forward over `d` bits:
/// each of its 64-bit halves is multiplied by a precomputed x^(d +- 32) mod P and added to the data it
/// lands on. Several independent accumulators hide the latency of the multiplication. At the end 64
/// bytes are left whose remainder is the message's; the CRC32 instruction takes it. See V. Gopal et al.,
/// "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// Vectors in flight.
    const CHAINS: usize = 8;
    const VECTOR: usize = 64;
    const STRIDE: usize = CHAINS * VECTOR;

    /// Shortest message the loop takes, in bytes.
    pub(super) const MIN_LEN: usize = STRIDE;

    /// The polynomial, bit-reflected.
    const POLYNOMIAL: u32 = 0x82F6_3B78;

    /// x^n mod P, reflected, shifted left by one as the reflected product needs.
    const fn power_of_x(n: usize) -> i64 {
        let mut value: u32 = 1 << 31;
        let mut i = 0;
        while i < n {
            value = (value >> 1) ^ (if value & 1 != 0 { POLYNOMIAL } else { 0 });
            i += 1;
        }
        (value as i64) << 1
    }

    /// Multipliers (for the low and the high half) that fold a vector over `bytes`.
    const fn fold_by(bytes: usize) -> (i64, i64) {
        (power_of_x(bytes * 8 + 32), power_of_x(bytes * 8 - 32))
    }

    const FOLD_STRIDE: (i64, i64) = fold_by(STRIDE);
    const FOLD_VECTOR: (i64, i64) = fold_by(VECTOR);

    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn multipliers((low, high): (i64, i64)) -> __m512i {
        _mm512_set_epi64(high, low, high, low, high, low, high, low)
    }

    /// Folds `sum` forward and adds `data`.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn fold(sum: __m512i, by: __m512i, data: __m512i) -> __m512i {
        let low = _mm512_clmulepi64_epi128::<0x00>(sum, by);
        let high = _mm512_clmulepi64_epi128::<0x11>(sum, by);
        const XOR3: i32 = 0x96;
        _mm512_ternarylogic_epi64::<XOR3>(low, high, data)
    }

    /// Loads the vector at `at`, also storing it at the same place of `dst` if `COPY`.
    ///
    /// # Safety
    /// 64 bytes at `src + at` are readable and, if `COPY`, at `dst + at` writable.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    unsafe fn take<const COPY: bool>(src: *const u8, dst: *mut u8, at: usize) -> __m512i {
        // SAFETY: the caller's promise; both accesses are unaligned ones.
        unsafe {
            let data = _mm512_loadu_si512(src.add(at).cast());
            if COPY {
                _mm512_storeu_si512(dst.add(at).cast(), data);
            }
            data
        }
    }

    /// # Safety
    /// The CPU has AVX-512F, VPCLMULQDQ and SSE4.2; `message` is at least [`MIN_LEN`] long; if `COPY`,
    /// `dst` is writable over the message's length and does not overlap it.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
    unsafe fn run<const COPY: bool>(message: &[u8], dst: *mut u8) -> u32 {
        let src = message.as_ptr();
        let len = message.len();
        let mut at = STRIDE;
        let mut sums = [_mm512_setzero_si512(); CHAINS];
        for (chain, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the message has at least `STRIDE` bytes.
            *sum = unsafe { take::<COPY>(src, dst, chain * VECTOR) };
        }
        // The CRC's initial value is added to the first four bytes.
        sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(-1)));

        let by_stride = multipliers(FOLD_STRIDE);
        while len - at >= STRIDE {
            for (chain, sum) in sums.iter_mut().enumerate() {
                // SAFETY: `at + STRIDE <= len`.
                *sum = fold(*sum, by_stride, unsafe { take::<COPY>(src, dst, at + chain * VECTOR) });
            }
            at += STRIDE;
        }

        let by_vector = multipliers(FOLD_VECTOR);
        let mut sum = sums[0];
        for &next in &sums[1..] {
            sum = fold(sum, by_vector, next);
        }
        while len - at >= VECTOR {
            // SAFETY: `at + VECTOR <= len`.
            sum = fold(sum, by_vector, unsafe { take::<COPY>(src, dst, at) });
            at += VECTOR;
        }

        let mut words = [0u64; VECTOR / 8];
        // SAFETY: `words` is 64 bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), sum) };
        let crc = words.iter().fold(0, |crc, &word| _mm_crc32_u64(crc, word));
        let tail = &message[at..];
        if COPY {
            // SAFETY: `dst` is writable over the message's length and overlaps nothing of it.
            unsafe { dst.add(at).copy_from_nonoverlapping(tail.as_ptr(), tail.len()) };
        }
        !tail.iter().fold(crc as u32, |crc, &byte| _mm_crc32_u8(crc, byte))
    }

    /// # Safety
    /// As [`run`]; nothing is written.
    #[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
    pub(super) unsafe fn crc(message: &[u8]) -> u32 {
        // SAFETY: passed on; nothing is copied.
        unsafe { run::<false>(message, std::ptr::null_mut()) }
    }

    /// # Safety
    /// As [`run`].
    #[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
    pub(super) unsafe fn copy_crc(message: &[u8], dst: *mut u8) -> u32 {
        // SAFETY: passed on.
        unsafe { run::<true>(message, dst) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bit by bit.
    fn reference(data: &[u8]) -> u32 {
        !data.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| {
                (crc >> 1) ^ if crc & 1 != 0 { 0x82F6_3B78 } else { 0 }
            })
        })
    }

    fn bytes(len: usize, seed: u64) -> Vec<u8> {
        let mut x = seed | 1;
        (0..len)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x as u8
            })
            .collect()
    }

    #[test]
    fn known_values() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[]), 0);
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
    }

    #[test]
    fn every_short_length_agrees_with_the_definition() {
        let data = bytes(3000, 7);
        for len in 0..data.len() {
            let mut copy = vec![0xA5; len + 1];
            let crc = copy_crc32c(&mut copy[..len], &data[..len]);
            assert_eq!(crc, reference(&data[..len]), "length {len}");
            assert_eq!(crc, crc32c(&data[..len]), "length {len}");
            assert_eq!(copy[..len], data[..len]);
            assert_eq!(copy[len], 0xA5, "wrote past the end at length {len}");
        }
    }

    #[test]
    #[should_panic(expected = "different lengths")]
    fn copy_needs_equal_lengths() {
        copy_crc32c(&mut [0; 2], &[0; 3]);
    }

    proptest! {
        #[test]
        fn agrees_at_any_alignment(len in 0usize..20_000, skew in 0usize..64, seed: u64) {
            let data = bytes(len + skew, seed);
            let data = &data[skew..];
            prop_assert_eq!(crc32c(data), reference(data));
            prop_assert_eq!(crc32c(data), crc_fast::crc32_iscsi(data));
            let mut copy = vec![0; len];
            prop_assert_eq!(copy_crc32c(&mut copy, data), reference(data));
            prop_assert_eq!(copy, data);
        }
    }
}
