//! Devices are free as soon as nobody uses them. Alone in its process: a child that another test starts has all open files
//! for a moment, and with them their locks.

mod support;

use cygnus_runtime::DeviceIx;
use cygnus_uring::{Access, Config, Device, block_on};
use support::TempPath;

const MIB: u64 = 1 << 20;

#[test]
fn a_device_is_free_as_soon_as_its_reactor_is_gone() {
    let path = TempPath::file("released", MIB);
    for n in 0..50 {
        let device = Device::open(&path, Access::Exclusive).unwrap();
        block_on(&Config { devices: vec![device.clone()], ..Config::default() }, async |reactor| {
            let buf = reactor.rt.alloc(4096).full();
            reactor.rt.read(DeviceIx(0), 0, buf).await.unwrap();
        })
        .unwrap();
        drop(device);
        // Without the patience that opening a device has.
        std::fs::File::open(&*path).unwrap().try_lock().unwrap_or_else(|error| panic!("the {n}th time: {error}"));
    }
}
