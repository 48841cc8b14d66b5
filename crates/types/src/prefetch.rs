//! Memory fetched before it is needed.

/// Has the core fetch the cache line of a value that will be looked at or changed soon, where the processor can be told.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction is part of SSE, which every x86-64 processor has. It loads nothing that a program could see
        // and never faults, whatever the address; this one is that of a live value besides.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
