//! A member whose file system gives no answer delays nobody but itself: neither the reactor nor the other members.

mod support;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cygnus_runtime::{DeviceIx, IoErrorKind, OpFuture, Runtime};
use cygnus_uring::{Access, Config, Device, Reactor, block_on};
use support::TempPath;

const SIZE: u64 = 64 << 20;

/// A file whose file system is a process that can be stopped.
struct Fuse {
    server: Child,
    mountpoint: TempPath,
}

impl Fuse {
    /// `None`, said loudly, where the system has none.
    fn new() -> Option<Self> {
        let mountpoint = TempPath::new("fuse");
        std::fs::create_dir(&*mountpoint).unwrap();
        let file = mountpoint.join("disk");
        let server = Command::new("nbdfuse").arg(&file).args(["[", "nbdkit", "-f", "memory", "64M", "]"]).spawn();
        let Ok(server) = server else {
            println!("SKIPPED: no nbdfuse");
            return None;
        };
        let fuse = Self { server, mountpoint };
        let began = Instant::now();
        while !fuse.path().exists() {
            if began.elapsed() > Duration::from_secs(10) {
                println!("SKIPPED: nbdfuse mounts nothing");
                return None;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(fuse)
    }

    fn path(&self) -> std::path::PathBuf {
        self.mountpoint.join("disk")
    }

    fn pid(&self) -> libc::pid_t {
        self.server.id() as libc::pid_t
    }
}

/// Stops a child. Its threads go on for a moment after the signal, on a busy machine for longer.
fn stop(child: libc::pid_t) {
    signal(child, libc::SIGSTOP);
    let mut status = 0;
    // SAFETY: the kernel writes one C int through the pointer, which is to a live variable of this type that nothing else
    // borrows. The process is our child and nobody has waited for it yet, so its number is not another one's.
    let stopped = unsafe { libc::waitpid(child, &raw mut status, libc::WUNTRACED) };
    assert!(stopped == child && libc::WIFSTOPPED(status), "the server of the file system has stopped");
}

fn signal(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no pointers involved.
    unsafe { libc::kill(pid, signal) };
}

impl Drop for Fuse {
    fn drop(&mut self) {
        signal(self.pid(), libc::SIGCONT);
        let unmounted = Command::new("fusermount3").arg("-uz").arg(&*self.mountpoint).stderr(Stdio::null()).status();
        drop(unmounted);
        let _ = self.server.wait();
        let _ = std::fs::remove_dir(&*self.mountpoint);
    }
}

/// Everything that can be asked of a device, `count` times.
fn ask(rt: &Runtime, dev: DeviceIx, count: u64) -> Vec<OpFuture> {
    let mut ops = Vec::new();
    for n in 0..count {
        let at = n * 65_536;
        ops.push(rt.read(dev, at, rt.alloc(4096).full()));
        ops.push(rt.write(dev, at + 4096, rt.alloc(4096).full()));
        ops.push(rt.flush(dev));
        ops.push(rt.trim(dev, at + 8192, 4096));
    }
    ops
}

#[test]
fn a_file_system_that_gives_no_answer_holds_up_neither_the_reactor_nor_other_members() {
    let Some(fuse) = Fuse::new() else { return };
    let healthy = TempPath::file("healthy", SIZE);
    let devices = [&*healthy, &fuse.path()].map(|path| Device::open(path, Access::Exclusive).unwrap());
    let config = Config { devices: devices.to_vec(), ..Config::default() };
    // Should the reactor be held up, it goes on when the server does.
    let (pid, released) = (fuse.pid(), Arc::new(AtomicBool::new(false)));
    let rescued = released.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(30));
        rescued.store(true, Ordering::SeqCst);
        signal(pid, libc::SIGCONT);
    });
    block_on(&config, async |Reactor { rt, devices, .. }| {
        let [healthy, hanging] = [devices[0].ix, devices[1].ix];
        for op in ask(&rt, hanging, 2) {
            op.await.expect("it works");
        }
        stop(pid);
        let stuck = ask(&rt, hanging, 100);
        let again = rt.reopen(hanging);
        for round in 0..20 {
            for (n, op) in ask(&rt, healthy, 4).into_iter().enumerate() {
                op.await.expect("it works");
                assert!(!released.load(Ordering::SeqCst), "operation {n} of round {round} waited for another device");
            }
            rt.yield_now().await;
        }
        assert!(rt.in_flight(hanging) > 200, "more than the kernel is given: {}", rt.in_flight(hanging));
        signal(pid, libc::SIGCONT);
        for op in stuck {
            // Whichever comes first: an operation's own turn, or the new opening, which refuses what still waits for its turn.
            let ended = op.await;
            let refused = ended.as_ref().is_err_and(|error| error.kind == IoErrorKind::Gone);
            assert!(ended.is_ok() || refused, "it works again, or its opening is gone: {ended:?}");
        }
        again.await.expect("it is there again");
        for op in ask(&rt, hanging, 2) {
            op.await.expect("the new opening works");
        }
    })
    .unwrap();
}
