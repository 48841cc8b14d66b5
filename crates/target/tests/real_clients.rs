//! The clients that people use, against our server on real sockets. A client that is not installed is skipped, loudly.

mod common;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::ram::{RamVolume, Shelf};
use cygnus_nbd::NbdUri;
use cygnus_nbd::wire::{EXPORT_NAME_REPLY_BYTES, GREETING_BYTES, OPT_EXPORT_NAME, OPTION_MAGIC};
use cygnus_runtime::Rng;
use cygnus_target::loadgen::{LoadError, LoadOptions, run};
use cygnus_target::{BoundListener, Server, ServerConfig, ServerStats};
use cygnus_types::ReactorId;
use cygnus_uring::{Config, Mailer, block_on};

const MIB: usize = 1 << 20;

/// A server on a thread of its own, with a directory for the test's files.
struct Running {
    dir: PathBuf,
    unix: NbdUri,
    tcp: NbdUri,
    mailer: Mailer,
    thread: Option<JoinHandle<ServerStats>>,
}

impl Running {
    /// Exports "vol0" (of that size in MiB) and "other".
    fn start(test: &str, mib: usize) -> Running {
        let dir = std::env::temp_dir().join(format!("cygnus-nbd-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let addresses = [format!("unix:{}/nbd.sock", dir.display()), "127.0.0.1:0".into()];
        let listeners = addresses.map(|text| BoundListener::bind(&text.parse().unwrap()).unwrap());
        let [unix, tcp] = [listeners[0].uri("vol0"), listeners[1].uri("vol0")];
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let serve = async |reactor: cygnus_uring::Reactor| {
                let shelf = Shelf::with("vol0", &RamVolume::new(mib * MIB));
                shelf.0.borrow_mut().push(("other".into(), RamVolume::new(MIB)));
                let server = Server::new(&reactor.rt, shelf, ServerConfig::default(), |event| println!("{event}"));
                for listener in &listeners {
                    let listening = listener.as_fd().try_clone_to_owned().unwrap();
                    server.listen(reactor.io.add_listener(listening).unwrap(), listener.address().to_string());
                }
                tell.send(reactor.mailer.clone()).unwrap();
                reactor.rt.recv_msg().await;
                server.shutdown().await;
                server.stats()
            };
            block_on(&Config::default(), serve).expect("io_uring works here")
        });
        let mailer = told.recv().expect("the server starts");
        Running { dir, unix, tcp, mailer, thread: Some(thread) }
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }

    /// A file of that many MiB, half of it random and the rest in holes.
    fn image(&self, name: &str, mib: usize) -> String {
        let mut bytes = vec![0; mib * MIB];
        let mut rng = Rng::new(7);
        for piece in bytes.chunks_mut(256 << 10).step_by(2) {
            rng.fill(piece);
        }
        let path = self.file(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn stop(mut self) -> ServerStats {
        self.mailer.post(ReactorId(0), Box::new(()));
        let stats = self.thread.take().unwrap().join().expect("the server ends well");
        assert!(!Path::new(&self.file("nbd.sock")).exists(), "the socket file is left behind");
        std::fs::remove_dir_all(&self.dir).unwrap();
        stats
    }
}

/// Runs a client; its output. None, with a complaint, if it is not installed.
fn client(program: &str, args: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(args).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED: {program} is not installed, nothing was tested with it");
            return None;
        }
        other => other.expect("the client starts"),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?} failed:\n{text}\n{errors}");
    Some(text)
}

fn same(a: &str, b: &str) {
    assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap(), "{a} and {b} differ");
}

#[test]
fn nbdinfo_sees_every_capability() {
    let running = Running::start("info", 4);
    for uri in [&running.unix, &running.tcp] {
        let Some(text) = client("nbdinfo", &["--json", &uri.to_string()]) else { break };
        let told: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(told["protocol"], "newstyle-fixed");
        assert_eq!(told["structured"], true);
        let export = &told["exports"][0];
        let yes =
            ["can_cache", "can_df", "can_fast_zero", "can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero"];
        yes.iter().for_each(|name| assert_eq!(export[name], true, "{name}"));
        ["is_rotational", "is_read_only"].iter().for_each(|name| assert_eq!(export[name], false, "{name}"));
        assert_eq!(export["export-name"], "vol0");
        assert_eq!(export["description"], "volume vol0");
        assert_eq!(export["contexts"], serde_json::json!(["base:allocation"]));
        assert_eq!(export["export-size"], 4 * MIB);
        let sizes = ["block_size_minimum", "block_size_preferred", "block_size_maximum"].map(|name| &export[name]);
        assert_eq!(sizes, [1, 4096, 32 * MIB]);
        let list = client("nbdinfo", &["--list", "--json", &uri.to_string()]).unwrap();
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let names: Vec<_> = list["exports"].as_array().unwrap().iter().map(|export| &export["export-name"]).collect();
        assert_eq!(names, ["vol0", "other"]);
    }
    running.stop();
}

#[test]
fn nbdcopy_round_trips_an_image() {
    let running = Running::start("copy", 64);
    let image = running.image("image", 64);
    for (n, uri) in [&running.unix, &running.tcp].into_iter().enumerate() {
        let (uri, back) = (uri.to_string(), running.file(&format!("back{n}")));
        if client("nbdcopy", &["--flush", &image, &uri]).is_none() {
            break;
        }
        client("nbdcopy", &[&uri, &back]);
        same(&image, &back);
        let map = client("nbdinfo", &["--map", "--totals", &uri]).unwrap();
        assert!(map.contains("hole"), "the holes of the image are holes of the export:\n{map}");
    }
    running.stop();
}

#[test]
fn qemu_reads_writes_converts_and_compares() {
    let running = Running::start("qemu", 32);
    let uri = running.unix.to_string();
    let commands = [
        "write -P 0x11 0 1M",
        "write -P 0x22 -f 4k 4k",
        "write -P 0x33 5000 1",
        "flush",
        "read -P 0x11 0 4k",
        "read -P 0x22 4k 904",
        "read -P 0x33 5000 1",
        "read -P 0x22 5001 3191",
        "read -P 0x11 8k 1016k",
        "write -z 64k 64k",
        "read -P 0 64k 64k",
        "write -z -u 128k 64k",
        "read -P 0 128k 64k",
        "discard 256k 256k",
        "read -P 0 256k 256k",
        "write -P 0x44 1M 31M",
        "read -P 0x44 1M 31M",
        "aio_write -P 0x55 0 128k",
        "aio_write -P 0x66 1M 128k",
        "aio_flush",
        "read -P 0x55 0 128k",
    ];
    let args: Vec<&str> =
        ["-f", "raw"].into_iter().chain(commands.iter().flat_map(|command| ["-c", command])).collect();
    if let Some(text) = client("qemu-io", &[&args[..], &[&uri]].concat()) {
        assert!(!text.contains("failed") && !text.contains("error"), "{text}");
    }
    let image = running.image("image", 32);
    if client("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &image, &uri]).is_some() {
        client("qemu-img", &["compare", "-f", "raw", "-F", "raw", &image, &uri]);
        let back = running.file("back");
        client("qemu-img", &["convert", "-f", "raw", "-O", "raw", &running.tcp.to_string(), &back]);
        same(&image, &back);
    }
    running.stop();
}

#[test]
fn fio_verifies() {
    let running = Running::start("fio", 64);
    let uri = format!("--uri={}", running.unix);
    let args = [
        "--name=verify",
        "--ioengine=nbd",
        &uri,
        "--rw=randrw",
        "--bsrange=512-1m",
        "--bs_unaligned=0",
        "--blockalign=512",
        "--size=16m",
        "--offset_increment=16m",
        "--numjobs=4",
        "--iodepth=32",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--fsync=32",
        "--group_reporting",
        "--thread",
    ];
    if let Some(engines) = client("fio", &["--enghelp"]) {
        if engines.contains("nbd") {
            client("fio", &args);
        } else {
            println!("SKIPPED: this fio has no NBD engine, nothing was tested with it");
        }
    }
    running.stop();
}

/// What libnbd can say and the command line tools do not.
const LIBNBD: &str = r#"
import nbd, sys, errno
def client(**how):
    h = nbd.NBD()
    h.set_strict_mode(0)
    for name, value in how.items(): getattr(h, 'set_' + name)(value)
    h.connect_uri(uri)
    return h
def refused(number, call, *args):
    try: call(*args)
    except nbd.Error as error: assert error.errnum == number, (error, number)
    else: assert False, (call, args)
uri = sys.argv[1]

h = nbd.NBD(); h.add_meta_context('base:allocation'); h.connect_uri(uri)
assert h.get_structured_replies_negotiated() and h.can_df() and h.can_meta_context('base:allocation')
size = h.get_size()
h.pwrite(b'x' * 4096, 4096, nbd.CMD_FLAG_FUA)
extents = []
h.block_status(65536, 0, lambda name, offset, entries, error: extents.extend(entries))
assert extents == [4096, 3, 4096, 0, 57344, 3], extents
h.zero(4096, 4096, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(4096, 4096) == bytes(4096)
chunks = []
h.pread_structured(131072, 0, lambda data, offset, status, error: chunks.append((len(data), status)), nbd.CMD_FLAG_DF)
assert chunks == [(131072, nbd.READ_HOLE)], chunks
h.cache(4096, 0); h.trim(8192, 4096, nbd.CMD_FLAG_FUA); h.flush(); h.shutdown()

h = client()
refused(errno.EINVAL, h.pread, 4096, size - 1)
refused(errno.ENOSPC, h.pwrite, b'a' * 4096, size - 1)
refused(errno.EINVAL, h.trim, 4096, size)
refused(errno.ENOTSUP, h.zero, 4096, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
refused(errno.EINVAL, h.block_status, 4096, 0, lambda *args: 0)
h.pwrite(b'still here', 17); assert h.pread(10, 17) == b'still here'
h.shutdown()

h = client(request_structured_replies=False)
assert not h.get_structured_replies_negotiated() and not h.can_df()
assert h.pread(10, 17) == b'still here'
h.shutdown()

h = nbd.NBD(); h.set_handshake_flags(nbd.HANDSHAKE_FLAG_FIXED_NEWSTYLE); h.set_opt_mode(True); h.connect_uri(uri)
h.set_export_name('nobody'); refused(errno.ENOENT, h.opt_info)
h.set_export_name('other'); h.opt_info(); assert h.get_size() == 1 << 20
h.set_export_name('vol0'); h.opt_go(); assert h.get_size() == size and h.pread(10, 17) == b'still here'
h.shutdown()

# A client that knows no fixed newstyle can only say EXPORT_NAME, and gets its padding.
h = nbd.NBD(); h.set_handshake_flags(0); h.connect_uri(uri)
assert h.get_protocol() == 'newstyle' and h.pread(10, 17) == b'still here'
h.shutdown()

h = nbd.NBD(); h.set_opt_mode(True); h.set_tls(nbd.TLS_DISABLE); h.connect_uri(uri); h.opt_abort()
crowd = [client() for n in range(64)]
for n, h in enumerate(crowd): h.pwrite(bytes([n]) * 4096, n * 4096)
crowd[5].flush()
for n, h in enumerate(crowd): assert h.pread(4096, (63 - n) * 4096) == bytes([63 - n]) * 4096
big = bytes(range(256)) * (32 << 12)
crowd[0].pwrite(big, 0); assert crowd[1].pread(32 << 20, 0) == big
crowd[2].zero(64 << 20, 0)
for h in crowd: h.shutdown()
"#;

#[test]
fn libnbd_says_everything() {
    let running = Running::start("libnbd", 64);
    // libnbd belongs to the distribution's Python, which may not be the first one found.
    let has_libnbd = |python: &&str| {
        Command::new(python).args(["-c", "import nbd"]).output().is_ok_and(|output| output.status.success())
    };
    match ["python3", "/usr/bin/python3"].into_iter().find(has_libnbd) {
        None => println!("SKIPPED: python3-libnbd is not installed, nothing was tested with it"),
        Some(python) => {
            for uri in [&running.unix, &running.tcp] {
                client(python, &["-c", LIBNBD, &uri.to_string()]);
            }
        }
    }
    running.stop();
}

#[test]
fn a_stop_does_not_wait_for_idle_connections() {
    let running = Running::start("idle", 1);
    let socket = running.file("nbd.sock");
    let mut silent: Vec<UnixStream> = (0..3).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    for stream in &mut silent {
        stream.read_exact(&mut [0; GREETING_BYTES]).unwrap();
    }
    // One of them goes on to the transmission phase, and is silent there.
    let name = b"vol0";
    let option = [&OPTION_MAGIC.to_be_bytes()[..], &OPT_EXPORT_NAME.to_be_bytes(), &[0, 0, 0, 4], name].concat();
    silent[0].write_all(&[&[0, 0, 0, 3], &option[..]].concat()).unwrap();
    silent[0].read_exact(&mut [0; EXPORT_NAME_REPLY_BYTES]).unwrap();
    let begun = Instant::now();
    assert_eq!(running.stop().accepted, 3);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    silent.iter_mut().for_each(|stream| assert_eq!(stream.read(&mut [0]).unwrap(), 0));
}

#[test]
fn the_load_generator_counts_what_the_server_counts() {
    let running = Running::start("load", 8);
    for uri in [&running.unix, &running.tcp] {
        let mut options = LoadOptions::new(uri.clone());
        (options.connections, options.depth, options.read_percent) = (3, 16, 60);
        (options.warmup, options.duration) = (Duration::from_millis(50), Duration::from_millis(300));
        let report = run(&options).unwrap();
        assert_eq!(report.errors, 0);
        assert_eq!(report.latency.count(), report.reads + report.writes);
        let share = report.reads as f64 / (report.reads + report.writes) as f64;
        assert!(report.iops() > 100.0 && (0.5..0.7).contains(&share), "{report}: {share}");
    }
    let wrong = LoadOptions { depth: 0, ..LoadOptions::new(running.unix.clone()) };
    assert!(matches!(run(&wrong), Err(LoadError::Options(_))));
    let nobody = LoadOptions::new(NbdUri { export: "nobody".into(), ..running.unix.clone() });
    assert!(matches!(run(&nobody), Err(LoadError::Protocol(_))));
    let nowhere = LoadOptions::new("nbd+unix:///?socket=/nonexistent".parse().unwrap());
    assert!(matches!(run(&nowhere), Err(LoadError::Connect { .. })));
    let stats = running.stop();
    assert_eq!((stats.connections, stats.accepted), (0, 7));
    let ops: u64 = stats.ops.iter().map(|class| class.ops).sum();
    assert!(ops > 100 && stats.ops.iter().all(|class| class.errors == 0));
}
