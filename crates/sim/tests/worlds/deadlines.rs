//! What the runtime does when a device takes its time, or for ever.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_runtime::{DeviceIo, DeviceIx, DeviceWatch, IoError, IoErrorKind, Outcome, Runtime};
use cygnus_sim::{Cluster, DiskConfig, DiskId, World};
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
    fn ended(self: Rc<Self>, io: DeviceIo, took: Nanos, result: Result<(), IoError>) {
        let late = took > Nanos::secs(1);
        self.0.borrow_mut().push(format!("{:?} {} late {late} ok {}", io.class, io.bytes, result.is_ok()));
    }

    fn hung(&self, io: DeviceIo, waited: Nanos) {
        self.0.borrow_mut().push(format!("{:?} hangs: no answer to {} for {waited}", io.dev, io.class.words()));
    }

    fn stalled(&self, span: Nanos) {
        self.0.borrow_mut().push(format!("stalled for {span}"));
    }
}

#[test]
fn an_answer_that_is_long_in_coming_is_told_before_the_device_is_given_up() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let run = rt.run(async {
        world.hang(disk, None);
        let read = rt.read(DEV, 0, rt.alloc(BLOCK).full());
        rt.sleep(Nanos::secs(100)).await;
        assert_eq!(rt.slow_to_answer(DEV), None, "nobody has said how long it may take");
        world.release(disk);
        read.await.expect("it is answered in the end");
        rt.set_patience(Nanos::secs(30));
        world.hang(disk, None);
        let flush = rt.flush(DEV);
        rt.sleep(Nanos::secs(1)).await;
        let read = rt.read(DEV, 0, rt.alloc(BLOCK).full());
        rt.sleep(Nanos::millis(2_900)).await;
        assert_eq!(rt.slow_to_answer(DEV), None, "3.9 s of the flush's 60 s, 2.9 s of the read's 30 s");
        rt.sleep(Nanos::millis(200)).await;
        let owed = rt.slow_to_answer(DEV).expect("a tenth of what the read may take has passed");
        assert!(owed >= Nanos::millis(3_100) && owed < Nanos::millis(3_200), "of the read, not of the flush: {owed}");
        read.await.expect_err("the device hangs");
        assert_eq!(rt.slow_to_answer(DEV), None, "it is given up, which is told otherwise");
        drop(flush);
    });
    assert_eq!(run, Ok(()));
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
            "DeviceIx(0) hangs: no answer to a read for 30.0 s",
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

/// What happens to requests of a device that takes `device` for a read when the reactor is stopped for `stop`.
fn stopped(patience: Nanos, device: Nanos, stop: Nanos) -> Vec<String> {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    let told = Rc::new(Told::default());
    let watch: Rc<dyn DeviceWatch> = told.clone();
    rt.watch_devices(Rc::downgrade(&watch));
    rt.set_patience(patience);
    let run = rt.run(async {
        world.pause(ReactorId(0), stop);
        world.hang(disk, Some(stop + device));
        let mut read = rt.read(DEV, 0, rt.alloc(BLOCK).full());
        let in_time = read.within(Nanos::millis(500)).await;
        let late = in_time.is_none();
        let result = if let Some(result) = in_time { result } else { read.await }.map(|_| ());
        told.0.borrow_mut().push(format!("late {late}, {result:?}"));
    });
    assert_eq!(run, Ok(()));
    told.0.take()
}

#[test]
fn a_reactor_that_was_stopped_holds_it_against_no_device() {
    let (patience, quick) = (Nanos::secs(30), Nanos::millis(1));
    assert_eq!(
        stopped(patience, quick, Nanos::secs(33)),
        ["stalled for 33.0 s", "Read 4096 late false ok true", "late false, Ok(())"]
    );
    // The device is not forgiven what it takes after that.
    let hangs = stopped(patience, Nanos::secs(1_000), Nanos::secs(33));
    assert_eq!(hangs[..2], ["stalled for 33.0 s", "DeviceIx(0) hangs: no answer to a read for 29.9 s"]);
    assert!(hangs[2].starts_with("late true, Err("), "{hangs:?}");
    // Nor was anything the matter with a reactor that merely waited.
    assert_eq!(stopped(patience, Nanos::secs(2), Nanos::ZERO), ["Read 4096 late true ok true", "late true, Ok(())"]);
}

#[test]
fn other_reactors_go_on_while_one_is_paused() {
    let (world, disk) = one_disk(1);
    let cluster = Cluster::new(&world, 2, &[disk]);
    let (paused, other) = (cluster.reactor(1).clone(), cluster.reactor(0).clone());
    let looked = Rc::new(RefCell::new(Vec::new()));
    let seen = looked.clone();
    paused.clone().spawn(async move {
        for _ in 0..3 {
            paused.sleep(Nanos::secs(1)).await;
            seen.borrow_mut().push(paused.now().0 / 1_000_000_000);
        }
    });
    let pausing = world.clone();
    let run = cluster.run(async move {
        other.sleep(Nanos::millis(1_500)).await;
        pausing.pause(ReactorId(1), Nanos::secs(10));
        other.sleep(Nanos::secs(1)).await;
        assert!(other.now() < Nanos::secs(3), "its own time goes on: {}", other.now());
        write(&other, 0, 1, 1).await;
        other.sleep(Nanos::secs(20)).await;
    });
    assert_eq!(run, Ok(()));
    assert_eq!(*looked.borrow(), [1, 11, 12]);
}

#[test]
fn what_takes_long_by_nature_has_its_own_patience() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.set_patience(Nanos::secs(30));
    for (span, expected) in [(45, [true, true]), (100, [false, true]), (130, [false, false])] {
        let run = rt.run(async {
            for (op, expected) in ["flush", "trim"].into_iter().zip(expected) {
                world.hang(disk, Some(Nanos::secs(span)));
                let op = if op == "flush" { rt.flush(DEV) } else { rt.trim(DEV, 0, BLOCK as u64) };
                assert_eq!(op.await.is_ok(), expected, "{span} s");
                rt.sleep(Nanos::secs(span)).await;
            }
        });
        assert_eq!(run, Ok(()));
    }
}

#[test]
fn operations_that_nobody_waits_for_are_in_flight_until_they_end() {
    let (world, disk) = one_disk(1);
    let rt = world.reactor(ReactorId(0), &[disk]);
    rt.set_patience(Nanos::secs(30));
    let run = rt.run(async {
        world.hang(disk, Some(Nanos::secs(100)));
        drop(rt.flush(DEV));
        let write = rt.write(DEV, 0, rt.alloc(BLOCK).full());
        assert_eq!(write.await.expect_err("it hangs").kind, IoErrorKind::Hung);
        assert_eq!(rt.in_flight(DEV), 2);
        rt.sleep(Nanos::secs(100)).await;
        assert_eq!(rt.in_flight(DEV), 0);
    });
    assert_eq!(run, Ok(()));
}
