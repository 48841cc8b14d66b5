//! What the engine and its driver have from the standard library, as loom has it; and weaker if that is planted.

pub(crate) use loom::hint::spin_loop;
pub(crate) use std::sync::atomic::Ordering;

use crate::plant::is_relaxed;

/// How many of something there are: few in a model, in which each costs time in each of thousands of runs.
pub(crate) const fn few(_many: usize) -> usize {
    2
}

fn weak(order: Ordering) -> Ordering {
    if is_relaxed() { Ordering::Relaxed } else { order }
}

pub(crate) fn fence(order: Ordering) {
    if !is_relaxed() {
        loom::sync::atomic::fence(order);
    }
}

/// Does a change, with a fence behind it if it is sequentially consistent: loom knows such an order only of fences. A load has
/// none before it, as a fence there would put other changes in order too.
fn change<T>(order: Ordering, operation: impl FnOnce() -> T) -> T {
    let result = operation();
    if order == Ordering::SeqCst {
        fence(order);
    }
    result
}

macro_rules! atomic {
    ($($name:ident $value:ty),*) => {$(
        #[derive(Debug, Default)]
        pub(crate) struct $name(loom::sync::atomic::$name);

        #[allow(dead_code)]
        impl $name {
            pub(crate) fn new(value: $value) -> Self {
                Self(loom::sync::atomic::$name::new(value))
            }

            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(weak(order))
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                change(order, || self.0.store(value, weak(order)));
            }

            pub(crate) fn swap(&self, value: $value, order: Ordering) -> $value {
                change(order, || self.0.swap(value, weak(order)))
            }

            pub(crate) fn compare_exchange(
                &self,
                from: $value,
                to: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange(from, to, weak(success), weak(failure))
            }

            pub(crate) fn compare_exchange_weak(
                &self,
                from: $value,
                to: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                self.0.compare_exchange_weak(from, to, weak(success), weak(failure))
            }
        }
    )*};
}

macro_rules! number {
    ($($name:ident $value:ty),*) => {$(
        atomic!($name $value);

        #[allow(dead_code)]
        impl $name {
            pub(crate) fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                change(order, || self.0.fetch_add(value, weak(order)))
            }

            pub(crate) fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                change(order, || self.0.fetch_or(value, weak(order)))
            }

            pub(crate) fn fetch_max(&self, value: $value, order: Ordering) -> $value {
                change(order, || self.0.fetch_max(value, weak(order)))
            }

            pub(crate) fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                next: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                self.0.fetch_update(weak(success), weak(failure), next)
            }
        }
    )*};
}

atomic!(AtomicBool bool);
number!(AtomicU8 u8, AtomicU16 u16, AtomicU32 u32, AtomicU64 u64, AtomicUsize usize);

/// A value that is set once. That nobody looks before it was is for the orderings of others to see to; loom tells if not.
#[derive(Debug)]
pub(crate) struct OnceLock<T>(loom::cell::UnsafeCell<Option<T>>);

// SAFETY: loom itself fails a model in which one thread sets the value while another looks at it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self(loom::cell::UnsafeCell::new(None))
    }

    pub(crate) fn set(&self, value: T) -> Result<(), T> {
        // SAFETY: loom has checked that nobody else is at the value.
        self.0.with_mut(|slot| unsafe { *slot = Some(value) });
        Ok(())
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // SAFETY: loom has checked that nobody writes the value, and it is written once.
        self.0.with(|slot| unsafe { (*slot).as_ref() })
    }
}
