//! Software SSDs as devices: the suite every driver passes, the commands that files lack, and connections that are lost.

mod support;

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use cygnus_runtime::conformance::{self, Fixture, MIN_DEVICE};
use cygnus_runtime::{Capabilities, Conversion, DeviceClass, Extra, IoErrorKind, Outcome};
use cygnus_softssd::{Listener, Options, Server, file_bytes, format};
use cygnus_ssdlink::{Admission, HELLO_BYTES, REQUEST_BYTES, Reply, Request, Status, VERSION, Welcome};
use cygnus_types::BLOCK;
use cygnus_uring::{Access, Config, Device, OpenError, Reactor, block_on, drive_at, single_reactor, spawn_reactors};
use support::TempPath;

const B: u64 = BLOCK as u64;
const SIZE: u64 = 2 * MIN_DEVICE;

/// A drive in a file, with a socket.
struct Drive {
    file: TempPath,
    socket: TempPath,
    server: Option<Server>,
}

impl Drive {
    fn new(name: &str) -> Self {
        let file = TempPath::file(name, file_bytes(SIZE));
        format(&file, SIZE, true, "scalaafa-femu").unwrap();
        let mut drive = Self { file, socket: TempPath::new(&format!("{name}.sock")), server: None };
        drive.start();
        drive
    }

    fn start(&mut self) {
        let _ = std::fs::remove_file(&*self.socket);
        let listener = Listener::Unix(UnixListener::bind(&*self.socket).unwrap());
        let options = Options { file: self.file.to_path_buf(), timed: false };
        self.server = Some(Server::start(&options, listener).unwrap());
    }

    fn stop(&mut self) {
        self.server.take().unwrap().stop().unwrap();
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn path(&self) -> PathBuf {
        format!("ssd:unix:{}", self.socket.display()).into()
    }

    fn open(&self) -> Device {
        Device::open(&self.path(), Access::Exclusive).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.stop();
        }
    }
}

fn on<T>(device: &Device, main: impl AsyncFnOnce(Reactor) -> T) -> T {
    block_on(&Config { devices: vec![device.clone()], ..Config::default() }, main).unwrap()
}

#[test]
fn conformance() {
    let drives = [Drive::new("suite-a"), Drive::new("suite-b")];
    let devices = drives.each_ref().map(Drive::open);
    for config in [Config::default(), Config { arena_bytes: 0, spin: cygnus_types::Nanos::ZERO, ..Config::default() }] {
        conformance::run_all(|| {
            let reactor = single_reactor(&Config { devices: devices.to_vec(), ..config.clone() }).unwrap();
            Fixture { rt: reactor.rt, devices: reactor.devices }
        });
    }
}

#[test]
fn it_says_what_it_can_do_and_does_it() {
    let drive = Drive::new("extra");
    let device = drive.open();
    let wanted = Capabilities {
        class: DeviceClass::Flash,
        trim: true,
        convert: true,
        oob_bytes: 128,
        ..Capabilities::default()
    };
    assert_eq!((device.capabilities(), device.size()), (wanted, SIZE));
    on(&device, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        // More than one request may carry, with bytes beside each block.
        let blocks = 600;
        let (mut data, mut oob) = (rt.alloc(blocks * BLOCK), rt.alloc(blocks * 8));
        for n in 0..blocks {
            data.bytes_mut()[n * BLOCK..(n + 1) * BLOCK].fill(n as u8);
            oob.bytes_mut()[n * 8..(n + 1) * 8].fill(!n as u8);
        }
        let write = Extra::WriteOob { offset: 8 * B, buf: data.full(), oob: oob.full(), transient: false };
        rt.extra(dev, write).await.unwrap();
        let (read, beside) = (rt.alloc(blocks * BLOCK), rt.alloc(blocks * 8));
        rt.read(dev, 8 * B, read.full()).await.unwrap();
        rt.extra(dev, Extra::ReadOob { offset: 8 * B, blocks: blocks as u32, into: beside.full() }).await.unwrap();
        assert!(read.bytes() == data.bytes() && beside.bytes() == oob.bytes());
        // P of blocks 1, 2 and 3.
        let what = Conversion { source: 9 * B, destination: 700 * B, chunk: B, chunks: 3, row: 0, keeps: false };
        assert_eq!(rt.extra(dev, Extra::Convert(what)).await, Ok(Outcome::Done));
        let parity = rt.alloc(BLOCK);
        rt.read(dev, 700 * B, parity.full()).await.unwrap();
        assert_eq!(parity.bytes(), [1 ^ 2 ^ 3; BLOCK]);
        let into = rt.alloc(8);
        rt.extra(dev, Extra::ReadOob { offset: 700 * B, blocks: 1, into: into.full() }).await.unwrap();
        assert_eq!(into.bytes(), [!1_u8 ^ !2 ^ !3; 8]);
        for wrong in [
            Extra::Convert(Conversion { row: 3, ..what }),
            Extra::Convert(Conversion { source: SIZE, ..what }),
            Extra::WriteOob { offset: 0, buf: parity.full(), oob: rt.alloc(129).full(), transient: false },
            Extra::ReadOob { offset: 1, blocks: 1, into: into.full() },
        ] {
            let name = format!("{wrong:?}");
            assert_eq!(rt.extra(dev, wrong).await.unwrap_err().kind, IoErrorKind::Range, "{name}");
        }
    });
    let report = drive.server().report();
    assert_eq!((report.conversions, report.parity_writes, report.host_writes), (1, 1, 600));
}

#[test]
fn a_drive_is_told_what_will_soon_be_invalid() {
    let drive = Drive::new("transient");
    let device = drive.open();
    on(&device, async |Reactor { rt, devices, .. }| {
        // More than one request may carry.
        let copies = rt.alloc(600 * BLOCK);
        rt.write_transient(devices[0].ix, 8 * B, copies.full()).await.unwrap();
        rt.write(devices[0].ix, 700 * B, rt.alloc(5 * BLOCK).full()).await.unwrap();
    });
    let report = drive.server().report();
    assert_eq!((report.transient_writes, report.host_writes), (600, 605));
}

#[test]
fn one_host_at_a_time_writes_and_others_look() {
    let drive = Drive::new("claims");
    let first = drive.open();
    let second = Device::open(&drive.path(), Access::Exclusive);
    assert!(matches!(second, Err(OpenError::InUse { .. })));
    let looker = Device::open(&drive.path(), Access::ReadOnly).unwrap();
    assert_eq!(looker.read_now(0, 3 << 20).unwrap(), vec![0; 3 << 20]);
    on(&looker, async |Reactor { rt, devices, .. }| {
        let write = rt.write(devices[0].ix, 0, rt.alloc(BLOCK).full()).await;
        assert_eq!(write.unwrap_err().kind, IoErrorKind::Refused);
    });
    drop(first);
    let again = drive.open();
    assert_eq!(drive_at(&drive.path()).unwrap().unwrap(), drive.server().store().drive());
    assert!(drive_at(Path::new("/dev/null")).is_none());
    drop((again, looker));
}

#[test]
fn what_a_lost_connection_had_under_way_fails_and_passes() {
    let mut drive = Drive::new("lost");
    let device = drive.open();
    on(&device, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        let tagged = |tag: u8| {
            let mut buf = rt.alloc(64 * BLOCK);
            buf.bytes_mut().fill(tag);
            buf
        };
        for round in 1..4_u8 {
            rt.write(dev, 0, tagged(round).full()).await.unwrap();
            let writes: Vec<_> = (1..20).map(|n| rt.write(dev, n * 64 * B, tagged(round).full())).collect();
            drive.server().hang_up();
            for write in writes {
                if let Err(error) = write.await {
                    assert_eq!((error.kind, error.kind.may_pass()), (IoErrorKind::Path, true), "{error}");
                }
            }
            // Nothing comes back by itself.
            let lost = rt.flush(dev).await;
            assert_eq!(lost.unwrap_err().kind, IoErrorKind::Path);
            rt.reopen(dev).await.unwrap();
            let read = rt.alloc(64 * BLOCK);
            rt.read(dev, 0, read.full()).await.unwrap();
            assert!(read.bytes().iter().all(|&byte| byte == round));
        }
        drive.stop();
        assert!(rt.flush(dev).await.unwrap_err().kind.may_pass());
        assert!(rt.reopen(dev).await.unwrap_err().kind.may_pass());
        drive.start();
        rt.reopen(dev).await.unwrap();
        rt.flush(dev).await.unwrap();
    });
}

#[test]
fn another_drive_at_the_same_address_is_not_taken() {
    let mut drive = Drive::new("same");
    let device = drive.open();
    on(&device, async |Reactor { rt, devices, .. }| {
        drive.stop();
        std::fs::rename(&*drive.file, drive.file.with_extension("away")).unwrap();
        cygnus_uring::create_file(&drive.file, file_bytes(SIZE)).unwrap();
        format(&drive.file, SIZE, true, "scalaafa-femu").unwrap();
        drive.start();
        assert_eq!(rt.reopen(devices[0].ix).await.unwrap_err().kind, IoErrorKind::Gone);
        drive.stop();
        std::fs::rename(drive.file.with_extension("away"), &*drive.file).unwrap();
        drive.start();
        rt.reopen(devices[0].ix).await.unwrap();
    });
}

#[test]
fn a_drive_at_a_port_is_one_too() {
    let mut drive = Drive::new("tcp");
    drive.stop();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let path = PathBuf::from(format!("ssd:tcp:{}", listener.local_addr().unwrap()));
    let options = Options { file: drive.file.to_path_buf(), timed: true };
    drive.server = Some(Server::start(&options, Listener::Tcp(listener)).unwrap());
    let device = Device::open(&path, Access::Exclusive).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let mut written = rt.alloc(700 * BLOCK);
        cygnus_types::Rng::new(1).fill(written.bytes_mut());
        rt.write(devices[0].ix, 3 * B, written.full()).await.unwrap();
        rt.flush(devices[0].ix).await.unwrap();
        let read = rt.alloc(700 * BLOCK);
        rt.read(devices[0].ix, 3 * B, read.full()).await.unwrap();
        assert!(read.bytes() == written.bytes());
    });
}

#[test]
fn reactors_share_a_connection() {
    let drive = Drive::new("shared");
    let config = Config { reactors: 2, devices: vec![drive.open()], ..Config::default() };
    let idle = std::sync::Arc::new(std::sync::Barrier::new(2));
    let reactors = spawn_reactors(&config, async move |Reactor { rt, devices, .. }| {
        let (dev, own) = (devices[0].ix, u64::from(rt.id().0));
        for n in 0..200 {
            let mut buf = rt.alloc(BLOCK);
            buf.bytes_mut().fill((own * 100 + n % 100) as u8);
            rt.write(dev, (own * 500 + n) * B, buf.full()).await.unwrap();
        }
        rt.flush(dev).await.unwrap();
        // As the engine does it: when nothing is under way, each opens it anew, and one connection comes of it.
        idle.wait();
        rt.reopen(dev).await.unwrap();
        let read = rt.alloc(BLOCK);
        rt.read(dev, own * 500 * B, read.full()).await.unwrap();
        assert_eq!(read.bytes(), [(own * 100) as u8; BLOCK]);
    });
    reactors.unwrap().join();
    assert_eq!(drive.server().report().connections, 1);
}

/// What a drive that is none answers to a read of one block.
type Lie = fn(&Request) -> Vec<u8>;

fn answer(id: u64, payload: &[u8]) -> Vec<u8> {
    [&Reply::new(id, Status::Done, 0, payload).encode()[..], payload].concat()
}

#[test]
fn answers_that_cannot_be_are_errors_and_nothing_worse() {
    const CHANGED: Lie = |request| {
        let mut bytes = answer(request.id, &[7; BLOCK]);
        bytes[100] ^= 1;
        bytes
    };
    let lies: [(Lie, IoErrorKind); 6] = [
        (|_| vec![99; 200], IoErrorKind::Path),
        (|request| answer(request.id + 1, &[7; BLOCK]), IoErrorKind::Path),
        (CHANGED, IoErrorKind::Path),
        (|_| Vec::new(), IoErrorKind::Path),
        (|request| answer(request.id, &[]), IoErrorKind::Unclear),
        (|request| answer(request.id, &[7; 3 * BLOCK]), IoErrorKind::Unclear),
    ];
    for (n, (lie, wanted)) in lies.into_iter().enumerate() {
        let socket = TempPath::new(&format!("liar-{n}.sock"));
        let listener = UnixListener::bind(&*socket).unwrap();
        let liar = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; HELLO_BYTES]).unwrap();
            let welcome = Welcome {
                version: VERSION,
                admission: Admission::Admitted,
                drive: cygnus_types::Uuid([1; 16]),
                size: SIZE,
                oob_bytes: 0,
                converts: false,
                trims: false,
                depth: 1,
                model: "liar".into(),
            };
            stream.write_all(&welcome.encode()).unwrap();
            let mut header = [0; REQUEST_BYTES];
            stream.read_exact(&mut header).unwrap();
            stream.write_all(&lie(&Request::decode(&header).unwrap())).unwrap();
            // One that says nothing hangs up.
        });
        let path = PathBuf::from(format!("ssd:unix:{}", socket.display()));
        let device = Device::open(&path, Access::Exclusive).unwrap();
        on(&device, async |Reactor { rt, devices, .. }| {
            let (buf, decoy) = (rt.alloc(BLOCK), rt.alloc(BLOCK));
            let error = rt.read(devices[0].ix, 0, buf.full()).await.unwrap_err();
            assert_eq!(error.kind, wanted, "lie {n}: {error}");
            assert!(error.kind.may_pass() && decoy.bytes().iter().all(|&byte| byte != 7));
        });
        liar.join().unwrap();
    }
}

#[test]
fn what_is_no_drive_is_refused_with_words() {
    let says = |path: &str| Device::open(Path::new(path), Access::Exclusive).err().unwrap().to_string();
    assert!(says("ssd:/dev/sda").contains("write ssd:unix:PATH"));
    let nobody = says("ssd:unix:/no/such.sock");
    assert!(nobody.contains("no drive answers there") && nobody.contains("cygnus ssd serve"), "{nobody}");
    assert!(says("ssd:tcp:127.0.0.1:1").contains("no drive answers there"));
}
