//! What the runtime does when a device takes its time, or for ever.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_runtime::{DeviceIo, DeviceIx, DeviceWatch, IoErrorKind, Outcome, Runtime};
use cygnus_sim::{DiskConfig, DiskId, World};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

const DEV: DeviceIx = DeviceIx(0);

fn one_disk(seed: u64) -> (World, DiskId) {
    let world = World::new(seed);
    let disk = world.add_disk(DiskConfig::new("d", ByteSize::mib(8).bytes()));
    (world, disk)
}

async fn write(rt: &Runtime, block: u64, blocks: usize, tag: u8) {
    let mut buf = rt.alloc(blocks * BLOCK);
    buf.bytes_mut().fill(tag);
    rt.write(DEV, block * BLOCK as u64, buf.full()).await.expect("the write succeeds");
}

/// What a reactor was told of its devices.
#[derive(Default)]
struct Told(RefCell<Vec<String>>);

impl DeviceWatch for Told {
    fn ended(&self, io: DeviceIo, took: Nanos, ok: bool) {
        let late = took > Nanos::secs(1);
        self.0.borrow_mut().push(format!("{:?} {} late {late} ok {ok}", io.class, io.bytes));
    }

    fn hung(&self, dev: DeviceIx) {
        self.0.borrow_mut().push(format!("{dev:?} hangs"));
    }
}

#[test]
fn a_device_that_hangs_is_given_up_and_keeps_its_buffers_until_it_answers() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let told = Rc::new(Told::default());
    let watch: Rc<dyn DeviceWatch> = told.clone();
    rt.watch_devices(Rc::downgrade(&watch));
    rt.set_patience(Nanos::secs(30));
    let run = rt.run(async {
        write(&rt, 0, 1, 1).await;
        world.hang(disk, None);
        let buf = rt.alloc(BLOCK);
        let mut read = rt.read(DEV, 0, buf.full());
        let dropped = rt.flush(DEV);
        drop(dropped);
        assert_eq!(read.within(Nanos::millis(5)).await, None);
        assert_eq!(rt.now(), world.now());
        assert!(rt.now().0.abs_diff(Nanos::millis(5).0) < Nanos::millis(1).0, "{}", rt.now());
        assert_eq!(read.await.expect_err("the device hangs").kind, IoErrorKind::Hung);
        assert!(rt.now() >= Nanos::secs(30) && rt.now() < Nanos::secs(31), "{}", rt.now());
        assert!(!buf.is_unshared(), "the device may still write into it");
        world.release(disk);
        rt.sleep(Nanos::secs(1)).await;
        assert!(buf.is_unshared());
        write(&rt, 1, 1, 2).await;
    });
    assert_eq!(run, Ok(()));
    assert_eq!(
        *told.0.borrow(),
        [
            "Write 4096 late false ok true",
            "DeviceIx(0) hangs",
            "Read 4096 late true ok true",
            "Flush 0 late true ok true",
            "Write 4096 late false ok true",
        ]
    );
}

#[test]
fn a_read_that_is_in_time_is_not_late_and_leaves_no_deadline_behind() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.set_patience(Nanos::secs(30));
    let run = rt.run(async {
        let buf = rt.alloc(BLOCK);
        let mut read = rt.read(DEV, 0, buf.full());
        assert_eq!(read.within(Nanos::secs(1)).await, Some(Ok(Outcome::Done)));
        assert_eq!(rt.next_timer(), None);
    });
    assert_eq!(run, Ok(()));
}
