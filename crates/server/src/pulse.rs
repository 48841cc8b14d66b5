//! A software SSD whose process has ended is noticed by the next request to it, and an array that nobody uses makes none: it would be
//! "healthy" until somebody needs it. So members behind a socket are asked for a block now and then. Other devices are left alone: disks
//! that sleep are not woken, and what became of a path `array status` tells.

use crate::devices::asks_in_vain;
use cygnus_runtime::{DeviceIx, Runtime};
use cygnus_types::Nanos;

/// How often each of them is asked.
const BEAT: Nanos = Nanos::secs(5);

/// Asks those that `drives` names, until it says that there is nobody to ask for any more. What comes of it the array notes as of any read.
pub async fn ask_drives(rt: Runtime, drives: impl Fn() -> Option<Vec<DeviceIx>>) {
    loop {
        rt.sleep(BEAT).await;
        let Some(drives) = drives() else { return };
        // One that has something to answer is heard of anyway.
        for drive in drives.into_iter().filter(|&drive| rt.in_flight(drive) == 0) {
            let asks = rt.clone();
            rt.spawn(async move {
                asks_in_vain(&asks, drive).await;
            });
        }
    }
}
