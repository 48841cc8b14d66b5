//! What every [`Driver`](crate::Driver) must do, as checks that each driver's tests run against themselves.
//!
//! A driver's test builds a fresh [`Fixture`] per check and calls [`run_all`]; what needs two reactors is given as two
//! `async` bodies ([`ping`] and [`pong`]), because only the driver's own test knows how its reactors run side by side.
//! Every check panics with a reason when the driver breaks the contract.

use std::cell::RefCell;
use std::rc::Rc;

use cygnus_types::{BLOCK, Nanos, ReactorId};

use crate::executor::UNWANTED_TIMERS;
use crate::{Buf, Conversion, DeviceInfo, Extra, IoErrorKind, Rng, Runtime, either};

/// Bytes every device given to the suite must have at least.
pub const MIN_DEVICE: u64 = 4 << 20;

/// A reactor with at least one device of [`MIN_DEVICE`] bytes whose contents the suite may destroy.
pub struct Fixture {
    /// The reactor, with nothing running on it yet.
    pub rt: Runtime,
    /// Its devices.
    pub devices: Vec<DeviceInfo>,
}

/// A named check of one driver.
pub type Check = (&'static str, fn(&Fixture));

/// Every single-reactor check, with its name.
pub const CHECKS: &[Check] = &[
    ("unwritten blocks can be read", unwritten_reads),
    ("a read returns what was written", read_after_write),
    ("many operations in flight, awaited in any order", many_in_flight),
    ("what will soon be invalid is kept until then", transient_write),
    ("flush completes and keeps data", flush),
    ("a trimmed range can be written again", trim_then_write),
    ("a device is opened anew under its number", reopen),
    ("timers fire in order and never early", timers),
    ("dropped sleeps leave few timers", dropped_sleeps),
    ("a dropped future keeps its buffer", dropped_future_keeps_buffer),
    ("I/O outside the device is a range error", out_of_range),
    ("what a device says it lacks it refuses", lacked),
    ("a reactor can write to itself", message_to_self),
    ("yielding tasks share the reactor with I/O", fairness),
    ("the clock never runs backwards", monotonic),
];

/// Runs every check, each on a fixture of its own, and prints each name.
pub fn run_all(mut make: impl FnMut() -> Fixture) {
    for (name, check) in CHECKS {
        println!("conformance: {name}");
        let fixture = make();
        assert!(fixture.devices.iter().all(|d| d.size >= MIN_DEVICE), "the suite needs devices of 4 MiB or more");
        check(&fixture);
        fixture.rt.drop_tasks();
    }
}

fn lacked(fixture: &Fixture) {
    let rt = fixture.rt.clone();
    let device = fixture.devices[0].clone();
    let result = rt.run(async {
        let can = rt.capabilities(device.ix);
        let page = rt.alloc(2 * BLOCK);
        write_pattern(&rt, &device, 3, 2, 7).await;
        let mut lacked = Vec::new();
        if !can.zones.is_some_and(|zones| zones.commands) {
            lacked.push(Extra::Append { zone: 0, buf: page.slice(0..BLOCK) });
            lacked.extend([Extra::Reset { zone: 0 }, Extra::Report { zone: 0 }]);
        }
        if !can.convert {
            let block = BLOCK as u64;
            let (source, destination) = (at(3), at(9));
            lacked.push(Extra::Convert(Conversion {
                source,
                destination,
                chunk: block,
                chunks: 2,
                row: 0,
                keeps: false,
            }));
        }
        if can.oob_bytes == 0 {
            lacked.push(Extra::WriteOob {
                offset: at(3),
                buf: page.slice(0..BLOCK),
                oob: page.slice(BLOCK..BLOCK + 8),
                transient: false,
            });
            lacked.push(Extra::ReadOob { offset: at(3), blocks: 1, into: page.slice(0..8) });
        }
        for what in lacked {
            let name = format!("{what:?}");
            let error = rt.extra(device.ix, what).await.expect_err("it has said that it cannot");
            assert_eq!(error.kind, IoErrorKind::Unsupported, "{name}: {error}");
        }
        // Nothing has come of it.
        expect_pattern(&rt, &device, 3, 2, 7).await;
    });
    result.expect("it ends");
}

/// A buffer of whole blocks filled with a pattern that is different for every `tag`.
fn patterned(rt: &Runtime, blocks: usize, tag: u64) -> Buf {
    let mut buf = rt.alloc(blocks * BLOCK);
    Rng::new(tag).fill(buf.bytes_mut());
    buf
}

fn at(block: u64) -> u64 {
    block * BLOCK as u64
}

async fn write_pattern(rt: &Runtime, device: &DeviceInfo, block: u64, blocks: usize, tag: u64) {
    let buf = patterned(rt, blocks, tag);
    rt.write(device.ix, at(block), buf.full()).await.expect("a write inside the device succeeds");
}

async fn expect_pattern(rt: &Runtime, device: &DeviceInfo, block: u64, blocks: usize, tag: u64) {
    let buf = rt.alloc(blocks * BLOCK);
    rt.read(device.ix, at(block), buf.full()).await.expect("a read inside the device succeeds");
    let same = buf.bytes() == patterned(rt, blocks, tag).bytes();
    assert!(same, "{}: block {block} does not hold what was written there (pattern {tag})", device.name);
}

fn transient_write(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            write_pattern(rt, device, 20, 4, 1).await;
            let copy = patterned(rt, 3, 2);
            rt.write_transient(device.ix, at(21), copy.full()).await.expect("it is a write like any other");
            rt.flush(device.ix).await.expect("a flush succeeds");
            expect_pattern(rt, device, 21, 3, 2).await;
            write_pattern(rt, device, 21, 3, 3).await;
            expect_pattern(rt, device, 21, 3, 3).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn unwritten_reads(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            for block in [0, 1, device.size / BLOCK as u64 - 1] {
                rt.read(device.ix, at(block), rt.alloc(BLOCK).full()).await.expect("unwritten blocks are readable");
            }
        }
    });
    ended.expect("the reactor reaches the end");
}

fn read_after_write(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for (n, device) in fixture.devices.iter().enumerate() {
            let last = device.size / BLOCK as u64 - 1;
            for (block, blocks, tag) in [(0, 1, 1), (1, 7, 2), (8, 64, 3), (last, 1, 4)] {
                write_pattern(rt, device, block, blocks, tag + 100 * n as u64).await;
            }
        }
        for (n, device) in fixture.devices.iter().enumerate() {
            let last = device.size / BLOCK as u64 - 1;
            for (block, blocks, tag) in [(last, 1, 4), (8, 64, 3), (1, 7, 2), (0, 1, 1)] {
                expect_pattern(rt, device, block, blocks, tag + 100 * n as u64).await;
            }
            write_pattern(rt, device, 3, 2, 5).await;
            expect_pattern(rt, device, 3, 2, 5).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn many_in_flight(fixture: &Fixture) {
    const COUNT: u64 = 256;
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            let write = |n: u64| rt.write(device.ix, at(n), patterned(rt, 1, n).full());
            let mut writes: Vec<_> = (0..COUNT).map(|n| Some(write(n))).collect();
            // An odd stride visits every index once, in an order unlike that of submission.
            for n in 0..COUNT {
                let write = writes[(n * 101 % COUNT) as usize].take().expect("the stride visits each index once");
                write.await.expect("a write inside the device succeeds");
            }
            let bufs: Vec<Buf> = (0..COUNT).map(|_| rt.alloc(BLOCK)).collect();
            let reads: Vec<_> = (0..COUNT).map(|n| rt.read(device.ix, at(n), bufs[n as usize].full())).collect();
            for read in reads.into_iter().rev() {
                read.await.expect("a read inside the device succeeds");
            }
            for n in 0..COUNT {
                let same = bufs[n as usize].bytes() == patterned(rt, 1, n).bytes();
                assert!(same, "{}: reads or writes in flight together were mixed up at block {n}", device.name);
            }
        }
    });
    ended.expect("the reactor reaches the end");
}

fn flush(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            rt.flush(device.ix).await.expect("a flush with nothing to do succeeds");
            write_pattern(rt, device, 5, 4, 9).await;
            let (first, second) = (rt.flush(device.ix), rt.flush(device.ix));
            second.await.expect("flushes may overlap");
            first.await.expect("flushes may overlap");
            expect_pattern(rt, device, 5, 4, 9).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn trim_then_write(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            write_pattern(rt, device, 0, 8, 1).await;
            write_pattern(rt, device, 8, 256, 2).await;
            rt.trim(device.ix, at(8), at(256)).await.expect("trim succeeds or is accepted as a no-op");
            rt.read(device.ix, at(8), rt.alloc(256 * BLOCK).full()).await.expect("a trimmed range is readable");
            expect_pattern(rt, device, 0, 8, 1).await;
            write_pattern(rt, device, 16, 3, 3).await;
            expect_pattern(rt, device, 16, 3, 3).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn reopen(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            write_pattern(rt, device, 3, 5, 1).await;
            for tag in 2..5 {
                rt.reopen(device.ix).await.expect("a device that is there can be opened anew");
                expect_pattern(rt, device, 3, 5, tag - 1).await;
                write_pattern(rt, device, 3, 5, tag).await;
                rt.flush(device.ix).await.expect("a device opened anew is flushed");
            }
            // Not that anybody should: whatever comes of it, no memory is written to that serves another purpose.
            let writes: Vec<_> = (0..32).map(|n| rt.write(device.ix, at(8 + n), patterned(rt, 1, n).full())).collect();
            let (first, second) = (rt.reopen(device.ix), rt.reopen(device.ix));
            second.await.expect("it may be asked for twice");
            first.await.expect("it may be asked for twice");
            for write in writes {
                // It may have been cut short.
                let _ = write.await;
            }
            assert_eq!(rt.in_flight(device.ix), 0, "everything has ended");
            expect_pattern(rt, device, 3, 5, 4).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn timers(fixture: &Fixture) {
    let rt = &fixture.rt;
    let fired = Rc::new(RefCell::new(Vec::new()));
    let start = rt.now();
    for millis in [7, 1, 5, 3, 3] {
        let (rt, fired) = (rt.clone(), fired.clone());
        let due = start + Nanos::millis(millis);
        rt.clone().spawn(async move {
            rt.sleep_until(due).await;
            assert!(rt.now() >= due, "a timer for {due} fired at {}", rt.now());
            fired.borrow_mut().push(millis);
        });
    }
    rt.run(rt.sleep_until(start + Nanos::millis(12))).expect("the reactor reaches the end");
    assert_eq!(*fired.borrow(), [1, 3, 3, 5, 7], "timers fire in the order of their times");
    rt.run(rt.sleep_until(start)).expect("a time in the past is no wait at all");
}

/// Whoever waits for something else as well sets a timer each time, and drops it when the other thing has come.
fn dropped_sleeps(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        let before = rt.timers();
        for n in 0..100_000 {
            let far = rt.sleep(Nanos::secs(10 + n % 7));
            either(far, rt.yield_now()).await;
        }
        assert!(rt.timers() <= before + UNWANTED_TIMERS, "{} timers that nobody waits for", rt.timers());
        rt.sleep(Nanos::millis(1)).await;
        assert!(rt.timers() <= before + UNWANTED_TIMERS, "the timer of a sleep that has ended");
    });
    ended.expect("the reactor reaches the end");
}

fn dropped_future_keeps_buffer(fixture: &Fixture) {
    let rt = &fixture.rt;
    let device = &fixture.devices[0];
    let ended = rt.run(async {
        write_pattern(rt, device, 0, 1, 1).await;
        drop(rt.write(device.ix, at(1), patterned(rt, 1, 2).full()));
        drop(rt.read(device.ix, at(0), rt.alloc(BLOCK).full()));
        // If the memory of either had been recycled, one of these would get it: the write would store their bytes, or
        // the read would change them.
        let decoys: Vec<Buf> = (0..4).map(|_| patterned(rt, 1, 3)).collect();
        rt.sleep(Nanos::millis(50)).await;
        for n in 0..8 {
            expect_pattern(rt, device, 0, 1, 1).await;
            write_pattern(rt, device, 10 + n, 1, n).await;
        }
        expect_pattern(rt, device, 1, 1, 2).await;
        let untouched = decoys.iter().all(|d| d.bytes() == patterned(rt, 1, 3).bytes());
        assert!(untouched, "a read whose future was dropped wrote into a buffer that was handed out again");
    });
    ended.expect("the reactor reaches the end");
}

fn out_of_range(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for device in &fixture.devices {
            let end = device.size / BLOCK as u64 * BLOCK as u64;
            for (offset, blocks) in [(end, 1), (end - at(1), 2), (end + at(1000), 1), (at(1 << 40), 1)] {
                let read = rt.read(device.ix, offset, rt.alloc(blocks * BLOCK).full()).await;
                let write = rt.write(device.ix, offset, rt.alloc(blocks * BLOCK).full()).await;
                for (what, result) in [("read", read), ("write", write)] {
                    let error = result.expect_err("I/O beyond the end fails");
                    assert_eq!(
                        error.kind,
                        IoErrorKind::Range,
                        "{what} of {blocks} blocks at {offset} of {}",
                        device.size
                    );
                }
            }
            write_pattern(rt, device, 0, 1, 1).await;
            expect_pattern(rt, device, 0, 1, 1).await;
        }
    });
    ended.expect("the reactor reaches the end");
}

fn message_to_self(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        for n in 0..100_u32 {
            rt.send_msg(rt.id(), Box::new(n));
        }
        for n in 0..100 {
            assert_eq!(received(rt).await, n, "messages of one sender keep their order");
        }
    });
    ended.expect("the reactor reaches the end");
}

fn fairness(fixture: &Fixture) {
    let rt = &fixture.rt;
    let device = &fixture.devices[0];
    let turns = Rc::new(RefCell::new([0_u64; 2]));
    for n in 0..2 {
        let (rt, turns) = (rt.clone(), turns.clone());
        rt.clone().spawn(async move {
            loop {
                turns.borrow_mut()[n] += 1;
                rt.yield_now().await;
            }
        });
    }
    // Neither I/O nor a timer may starve behind tasks that are always ready.
    let ended = rt.run(async {
        for n in 0..10 {
            write_pattern(rt, device, n, 1, n).await;
            expect_pattern(rt, device, n, 1, n).await;
        }
        rt.sleep(Nanos::millis(1)).await;
    });
    ended.expect("the reactor reaches the end");
    let [a, b] = *turns.borrow();
    assert!(a.abs_diff(b) <= 1 && a > 10, "two yielding tasks had {a} and {b} turns");
}

fn monotonic(fixture: &Fixture) {
    let rt = &fixture.rt;
    let ended = rt.run(async {
        let mut last = rt.now();
        for n in 0..50 {
            write_pattern(rt, &fixture.devices[0], n, 1, n).await;
            assert!(rt.now() >= last && rt.precise_now() >= rt.now(), "the clock ran backwards");
            last = rt.now();
        }
        rt.sleep(Nanos::millis(1)).await;
        assert!(rt.now() >= last + Nanos::millis(1), "a sleep was too short");
    });
    ended.expect("the reactor reaches the end");
}

async fn received(rt: &Runtime) -> u32 {
    *rt.recv_msg().await.downcast::<u32>().expect("the suite only sends numbers")
}

/// How many messages [`ping`] and [`pong`] exchange in each direction.
pub const PINGS: u32 = 1000;

/// One end of the message check: sends numbers to `peer` in bursts and expects each back, in order.
pub async fn ping(rt: Runtime, peer: ReactorId) {
    const BURST: u32 = 10;
    for start in (0..PINGS).step_by(BURST as usize) {
        for n in start..start + BURST {
            rt.send_msg(peer, Box::new(n));
        }
        for n in start..start + BURST {
            assert_eq!(received(&rt).await, n, "messages of one sender keep their order");
        }
    }
}

/// The other end: returns every number to `peer`, and ends after [`PINGS`] of them.
pub async fn pong(rt: Runtime, peer: ReactorId) {
    for expected in 0..PINGS {
        let n = received(&rt).await;
        assert_eq!(n, expected, "messages of one sender keep their order");
        rt.send_msg(peer, Box::new(n));
    }
}
