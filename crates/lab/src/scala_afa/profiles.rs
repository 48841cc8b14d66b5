//! What a write costs the hosts of other engines, from Figure 3 alone. `docs/decisions/043-scala-afa-in-the-lab.md` has the
//! arithmetic in words.
//!
//! Figure 3a: FusionRAID writes 4.8 GB/s of 64 KiB with one thread, so a write takes 65536 / 4.8 = 13.65 us of it. 54.4 % of that, 7.43 us,
//! is the kernel's way in and out (`preAFA`, `postAFA`), passed by the client's request and by each of two copies: 2.48 us
//! a time. The other 6.22 us are the engine, its locks and its waits for drives, 3.11 us for each copy. With two threads it
//! is 7.2 GB/s instead of 9.6: a write takes each of them 1 + 1/3 as long.

/// Time of 64 KiB with one thread, in nanoseconds, and the share of it in the kernel's layers.
const WRITE: f64 = 65_536.0 / 4.8;
const KERNEL: f64 = 0.544;
/// A write passes them once, and once more for each of its two copies.
const PASS: f64 = WRITE * KERNEL / 3.0;
/// What is left, for each copy.
const ENGINE: f64 = WRITE * (1.0 - KERNEL) / 2.0;
/// By how much longer a write takes for each thread besides the first: 2 x 4.8 / 7.2 - 1.
const CONTENTION: f64 = 2.0 * 4.8 / 7.2 - 1.0;

/// An engine's host.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Nanoseconds of a client's request.
    request: f64,
    /// Nanoseconds of a request to a drive.
    device: f64,
    /// By how much longer both take for each thread besides the first.
    contention: f64,
}

/// FusionRAID: what Figure 3 measured.
pub const FUSION_RAID: Profile = Profile { request: PASS, device: PASS + ENGINE, contention: CONTENTION };
/// mdraid: FusionRAID is built on it, and a request to a drive costs it the same.
pub const MDRAID: Profile = FUSION_RAID;
/// ScalaRAID and stRAID: mdraid as it would be if locks cost nothing. Figure 3 does not tell them apart.
pub const UNLOCKED: Profile = Profile { contention: 0.0, ..MDRAID };
/// RAID5F: no kernel, no locks.
pub const RAID5F: Profile = Profile { request: 0.0, device: ENGINE, contention: 0.0 };

impl Profile {
    /// The `[cpu]` section of so many threads. They are one core that is as fast as all of them: arrays in place have no
    /// more than one.
    pub fn cpu(self, threads: u32) -> String {
        self.cpu_with(threads, 0)
    }

    /// The same with more copies of each request than the array writes.
    pub fn cpu_with(self, threads: u32, copies: u32) -> String {
        let threads = f64::from(threads);
        let pooled = |ns: f64| (ns * (1.0 + self.contention * (threads - 1.0)) / threads).round() as u64;
        let (request, device) = (self.request + f64::from(copies) * self.device, self.device);
        format!(
            "[cpu]\nturn = \"0ns\"\ncomplete = \"0ns\"\ncopy = \"0ns\"\nchecksum = \"0ns\"\nparity = \"0ns\"\n\
             request = \"{}ns\"\nsubmit = \"{}ns\"\n",
            pooled(request),
            pooled(device)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_write_takes_what_figure_3_says() {
        let rate = |threads: f64| {
            let write = FUSION_RAID.request + 2.0 * FUSION_RAID.device;
            65_536.0 * threads / (write * (1.0 + FUSION_RAID.contention * (threads - 1.0)))
        };
        assert!((rate(1.0) - 4.8).abs() < 1e-9 && (rate(2.0) - 7.2).abs() < 1e-9);
        // Not fitted: 12.2 was published.
        assert!((rate(8.0) - 11.52).abs() < 1e-9);
        assert!(FUSION_RAID.cpu(1).contains("request = \"2476ns\"\nsubmit = \"5589ns\""), "{}", FUSION_RAID.cpu(1));
    }
}
