//! A software SSD whose process has ended is noticed by the next request to it, and an array that nobody uses makes none: it would be
//! "healthy" until somebody needs it. So members behind a socket are asked for a block now and then. Other devices are left alone: disks
//! that sleep are not woken, and what became of a path `array status` tells.

use crate::devices::asks_in_vain;
use crate::home::Home;
use crate::served::Served;
use cygnus_runtime::DeviceInfo;
use cygnus_types::Nanos;
use cygnus_uring::is_drive;
use std::path::Path;
use std::rc::Rc;

/// How often each of them is asked.
const BEAT: Nanos = Nanos::secs(5);

/// Asks as long as the array is served. What comes of it the array notes as of any read.
pub async fn ask_drives<A: Served>(home: Rc<Home<A>>) {
    while !home.is_stopping() {
        home.rt.sleep(BEAT).await;
        let in_service = home.array.online_paths();
        let is_asked = |info: &DeviceInfo| is_drive(Path::new(&info.name)) && in_service.contains(&info.name);
        let known = home.devices.known.borrow();
        // One that has something to answer is heard of anyway.
        let asked = known.iter().filter(|(_, info)| is_asked(info) && home.rt.in_flight(info.ix) == 0);
        for info in asked.map(|(_, info)| info.clone()) {
            let rt = home.rt.clone();
            home.rt.spawn(async move {
                asks_in_vain(&rt, info.ix).await;
            });
        }
    }
}
