//! Starting, pinning and waking reactors.

use std::time::{Duration, Instant};

use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Config, Device, Pinning, Reactor, StartError, block_on, spawn_reactors};

fn current_core() -> usize {
    // SAFETY: no arguments.
    unsafe { libc::sched_getcpu() as usize }
}

#[test]
fn reactors_are_pinned_and_return_by_number() {
    let config = Config { reactors: 3, pinning: Pinning::EachOwnCore, ..Config::default() };
    let body = async |Reactor { rt, .. }: Reactor| {
        let before = current_core();
        rt.sleep(Nanos::millis(5)).await;
        (rt.id(), before, current_core())
    };
    let ended = spawn_reactors(&config, body).unwrap().join();
    for (number, (id, before, after)) in ended.into_iter().enumerate() {
        assert_eq!(id, ReactorId(number as u16));
        assert_eq!(before, after, "a pinned reactor does not move");
    }
}

#[test]
fn a_core_that_does_not_exist_is_named() {
    for core in [1000, 1 << 40] {
        let config = Config { reactors: 2, pinning: Pinning::Cores(vec![0, core]), ..Config::default() };
        let error = spawn_reactors(&config, async |_| ()).err().unwrap();
        assert!(matches!(error, StartError::Pin { reactor: 1, .. }), "{error}");
        assert!(error.to_string().contains(&core.to_string()), "{error}");
    }
}

#[test]
fn too_many_devices_are_refused() {
    let devices = vec![Device::null("null", 1 << 20, 4096).unwrap(); 257];
    let error = block_on(&Config { devices, ..Config::default() }, async |_| ()).unwrap_err();
    assert!(matches!(error, StartError::TooManyDevices { max: 256 }));
}

/// A message must wake a reactor that has blocked for good, however the moments fall.
#[test]
fn no_wake_up_is_lost() {
    let config = Config { reactors: 1, spin: Nanos::micros(3), ..Config::default() };
    let reactors = spawn_reactors(&config, async |Reactor { rt, .. }| {
        for expected in 0..20_000_u32 {
            assert_eq!(*rt.recv_msg().await.downcast::<u32>().unwrap(), expected);
        }
    })
    .unwrap();
    for n in 0..20_000_u32 {
        reactors.mailer().post(ReactorId(0), Box::new(n));
        // Pauses around the reactor's spin, so that it is met spinning, falling asleep and asleep.
        let pause = Duration::from_nanos(u64::from(n % 97) * 100);
        let start = Instant::now();
        while start.elapsed() < pause {
            std::hint::spin_loop();
        }
    }
    reactors.join();
}

#[test]
fn messages_to_a_reactor_that_has_ended_are_dropped() {
    let reactors = spawn_reactors(&Config { reactors: 2, ..Config::default() }, async |Reactor { rt, .. }| {
        if rt.id() == ReactorId(1) {
            rt.sleep(Nanos::millis(20)).await;
            rt.send_msg(ReactorId(0), Box::new(1));
        }
    });
    reactors.unwrap().join();
}

#[test]
fn sleeps_are_neither_early_nor_late() {
    block_on(&Config::default(), async |Reactor { rt, .. }| {
        for micros in [1, 50, 200, 2_000, 20_000] {
            let start = rt.precise_now();
            rt.sleep_until(start + Nanos::micros(micros)).await;
            let slept = rt.precise_now().since(start);
            assert!(slept >= Nanos::micros(micros), "{slept} instead of {micros} us");
            assert!(slept < Nanos::micros(micros) + Nanos::millis(200), "{slept} instead of {micros} us");
        }
    })
    .unwrap();
}
