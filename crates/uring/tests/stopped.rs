//! A process that is stopped (SIGSTOP) for longer than its devices may be notices that it was, and blames none of them.

mod support;

use std::cell::Cell;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use cygnus_runtime::{DeviceIo, DeviceWatch, IoError};
use cygnus_types::Nanos;
use cygnus_uring::{Access, Config, Device, Reactor, block_on, create_file};
use support::TempPath;

const NAME: &str = "a_process_that_was_stopped_blames_no_device";
/// Set in the process that is to be stopped.
const ROLE: &str = "CYGNUS_TEST_STOPPED";
const PATIENCE: Nanos = Nanos::secs(1);
const STOPPED: Duration = Duration::from_secs(3);

#[derive(Default)]
struct Told {
    stalled: Cell<Nanos>,
    longest: Cell<Nanos>,
}

impl DeviceWatch for Told {
    fn ended(self: Rc<Self>, _: DeviceIo, took: Nanos, _: Result<(), IoError>) {
        self.longest.set(self.longest.get().max(took));
    }

    fn hung(&self, io: DeviceIo, waited: Nanos) {
        panic!("{io:?} is blamed for {waited}");
    }

    fn stalled(&self, span: Nanos) {
        self.stalled.set(self.stalled.get().max(span));
    }
}

/// Reads, writes and flushes until it was stopped.
fn work_until_stopped() {
    // In memory, where nothing takes time but being stopped.
    let Ok(directory) = std::fs::canonicalize("/dev/shm") else { return println!("SKIPPED: no /dev/shm") };
    let path = TempPath::under(&directory, "stopped");
    create_file(&path, 1 << 20).unwrap();
    let device = Device::open(&path, Access::Exclusive).unwrap();
    block_on(&Config { devices: vec![device], ..Config::default() }, async |Reactor { rt, devices, .. }| {
        let told = Rc::new(Told::default());
        let watch: Rc<dyn DeviceWatch> = told.clone();
        rt.watch_devices(Rc::downgrade(&watch));
        rt.set_patience(PATIENCE);
        println!("at work");
        let dev = devices[0].ix;
        while told.stalled.get() < Nanos::millis(2_500) {
            rt.write(dev, 0, rt.alloc(4096).full()).await.expect("a file that works");
            rt.read(dev, 0, rt.alloc(4096).full()).await.expect("a file that works");
            rt.flush(dev).await.expect("a file that works");
            assert!(rt.now() < Nanos::secs(120), "nobody stops this process");
        }
        assert!(told.longest.get() < Nanos::millis(2_500), "{}", told.longest.get());
    })
    .unwrap();
}

#[test]
fn a_process_that_was_stopped_blames_no_device() {
    if std::env::var_os(ROLE).is_some() {
        return work_until_stopped();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).env(ROLE, "1").stdout(Stdio::piped());
    let mut worker = command.spawn().unwrap();
    let mut output = std::io::BufReader::new(worker.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("at work") {
        line.clear();
        if std::io::BufRead::read_line(&mut output, &mut line).unwrap() == 0 || line.contains("SKIPPED") {
            return assert!(worker.wait().unwrap().success(), "it ended before it began");
        }
    }
    std::thread::sleep(Duration::from_millis(50));
    let signal = |signal| {
        // SAFETY: no pointers involved.
        unsafe { libc::kill(worker.id() as libc::pid_t, signal) }
    };
    signal(libc::SIGSTOP);
    std::thread::sleep(STOPPED);
    signal(libc::SIGCONT);
    assert!(worker.wait().unwrap().success());
}
