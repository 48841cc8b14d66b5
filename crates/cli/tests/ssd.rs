//! `cygnus ssd serve`: killed with -9 between writes and flushes, and what it refuses.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cygnus_runtime::{Conversion, Extra, IoErrorKind};
use cygnus_types::BLOCK;
use cygnus_uring::{Access, Config, Device, Reactor, block_on};

const B: u64 = BLOCK as u64;
const SIZE: &str = "32MiB";

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("cygnus-ssd-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn member(&self) -> PathBuf {
        format!("ssd:unix:{}/d.sock", self.0.display()).into()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ssd(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cygnus"));
    command.current_dir(dir).arg("ssd").args(arguments);
    command
}

/// A drive that is killed when it is dropped.
struct Served(Child);

impl Served {
    fn start(dir: &Path) -> Self {
        let arguments = ["serve", "d", "--create", SIZE, "--sparse", "--listen", "unix:d.sock"];
        let mut child = ssd(dir, &arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready ssd:unix:/"), "{ready}");
        Self(child)
    }

    fn kill(mut self) {
        // SIGKILL.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Blocks are written over and over, with their tag beside them, and converted; the server is killed in the middle, with no flush
/// anywhere. What was answered is there, and every block has its own bytes beside it.
#[test]
fn a_killed_drive_keeps_blocks_together_with_what_is_beside_them() {
    /// Blocks of a write: so many that the server is amid one whenever it is killed.
    const EACH: usize = 256;
    const WRITES: usize = 8;
    const ROUNDS: u8 = 40;
    const CHUNK: u64 = 64;
    let scratch = Scratch::new("killed");
    let mut drive = Some(Served::start(&scratch.0));
    let device = Device::open(&scratch.member(), Access::Exclusive).unwrap();
    let config = Config { devices: vec![device], ..Config::default() };
    let mut converted = 0;
    block_on(&config, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        let put = |first: u64, blocks: usize, tag: u8| {
            let (mut data, mut oob) = (rt.alloc(blocks * BLOCK), rt.alloc(blocks * 8));
            data.bytes_mut().fill(tag);
            oob.bytes_mut().fill(tag);
            rt.extra(dev, Extra::WriteOob { offset: first * B, buf: data.full(), oob: oob.full(), transient: false })
        };
        for round in 1..=ROUNDS {
            let mut answered = [0; WRITES];
            for wave in 0..4_u8 {
                let tag = round * 4 + wave;
                let writes: Vec<_> = (0..WRITES).map(|n| (n, put((n * EACH) as u64, EACH, tag))).collect();
                if wave == 2 {
                    rt.sleep(cygnus_types::Nanos::micros(u64::from(round % 12) * 200)).await;
                    drive.take().unwrap().kill();
                }
                for (n, write) in writes {
                    match write.await {
                        Ok(_) => answered[n] = tag,
                        Err(error) => assert!(error.kind.may_pass(), "{error}"),
                    }
                }
                if drive.is_none() {
                    break;
                }
            }
            drive = Some(Served::start(&scratch.0));
            rt.reopen(dev).await.unwrap();
            for (n, answered) in answered.into_iter().enumerate() {
                let offset = (n * EACH) as u64 * B;
                let (data, beside) = (rt.alloc(EACH * BLOCK), rt.alloc(EACH * 8));
                rt.read(dev, offset, data.full()).await.unwrap();
                rt.extra(dev, Extra::ReadOob { offset, blocks: EACH as u32, into: beside.full() }).await.unwrap();
                let blocks = data.bytes().chunks_exact(BLOCK).zip(beside.bytes().chunks_exact(8));
                for (block, beside) in blocks {
                    let tag = block[0];
                    assert!(block.iter().all(|&byte| byte == tag), "round {round}: write {n} has left a torn block");
                    assert_eq!(
                        beside, [tag; 8],
                        "round {round}: write {n} has left another write's bytes beside a block"
                    );
                    assert!(tag >= answered, "round {round}: write {n} was answered and is lost");
                }
            }
            // A conversion that a kill meets: its chunks are there, or its parity.
            let place = (WRITES * EACH) as u64;
            put(place, 4 * CHUNK as usize, round).await.unwrap();
            let (source, destination) = (place * B, (place + 4 * CHUNK) * B);
            let what = Conversion { source, destination, chunk: CHUNK * B, chunks: 4, row: 1, keeps: false };
            let conversion = rt.extra(dev, Extra::Convert(what));
            rt.sleep(cygnus_types::Nanos::micros(u64::from(round % 6) * 400)).await;
            drive.take().unwrap().kill();
            let ended = conversion.await;
            drive = Some(Served::start(&scratch.0));
            rt.reopen(dev).await.unwrap();
            let (chunks, parity) = (rt.alloc(4 * CHUNK as usize * BLOCK), rt.alloc(CHUNK as usize * BLOCK));
            rt.read(dev, source, chunks.full()).await.unwrap();
            rt.read(dev, destination, parity.full()).await.unwrap();
            // Q of four equal columns: (1 + 2 + 4 + 8) times the byte, in the field.
            let all = [[round; 64]; 4];
            let (mut p, mut q) = ([0; 64], [0; 64]);
            cygnus_parity::generate(&all.each_ref().map(|one| &one[..]), &mut [&mut p[..], &mut q[..]]);
            let is_there = chunks.bytes().iter().all(|&byte| byte == round);
            let is_done = parity.bytes().iter().all(|&byte| byte == q[0]);
            assert!(is_there || is_done, "round {round}: neither chunks nor parity");
            assert!(ended.is_err() || is_done, "round {round}: it was answered");
            converted += u32::from(is_done);
        }
    })
    .unwrap();
    println!("{converted} of {ROUNDS} conversions were done when the server was killed");
}

#[test]
fn a_stopped_drive_leaves_no_socket_and_is_the_same_when_it_comes_back() {
    let scratch = Scratch::new("stopped");
    let identify = || {
        let output = ssd(&scratch.0, &["identify", "unix:d.sock", "--json"]).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let mut drive = Served::start(&scratch.0);
    let identity = identify();
    assert_eq!((&identity["oob_bytes"], &identity["converts"]), (&128.into(), &true.into()), "{identity}");
    let device = Device::open(&scratch.member(), Access::Exclusive).unwrap();
    block_on(&Config { devices: vec![device], ..Config::default() }, async |Reactor { rt, devices, .. }| {
        rt.write(devices[0].ix, 0, rt.alloc(BLOCK).full()).await.unwrap();
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(drive.0.id() as i32, libc::SIGTERM) };
        assert!(drive.0.wait().unwrap().success());
        assert!(!scratch.0.join("d.sock").exists());
        let lost = rt.flush(devices[0].ix).await.unwrap_err();
        assert_eq!(lost.kind, IoErrorKind::Path);
        let _again = Served::start(&scratch.0);
        rt.reopen(devices[0].ix).await.unwrap();
        assert_eq!(identify(), identity);
    })
    .unwrap();
}

#[test]
fn what_cannot_be_served_is_refused_with_words() {
    let scratch = Scratch::new("refused");
    std::fs::write(scratch.0.join("text"), "not a drive").unwrap();
    let says = |arguments: &[&str]| {
        let output = ssd(&scratch.0, arguments).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let serve = |more: &[&str]| says(&[&["serve", "--listen", "unix:x.sock"], more].concat());
    assert!(serve(&["none"]).contains("let --create SIZE make it"));
    assert!(serve(&["text"]).contains("it is no drive"));
    assert!(serve(&["text", "--create", SIZE]).contains("holds no drive of 32 MiB"));
    assert!(serve(&["new", "--create", SIZE, "--model", "hdd"]).contains("no such make of SSD"));
    assert!(serve(&["new", "--create", "4KiB"]).contains("can be modelled"));
    assert!(!scratch.0.join("new").exists(), "nothing is left of a drive that could not be made");
    assert!(says(&["serve", "text", "--listen", "/run/x.sock"]).contains("write unix:PATH or tcp:HOST:PORT"));
    assert!(says(&["status", "unix:none.sock"]).contains("no drive answers there"));
    let _drive = Served::start(&scratch.0);
    assert!(serve(&["d"]).contains("another process serves this drive"));
    assert!(says(&["serve", "d", "--listen", "unix:d.sock"]).contains("another server is listening here"));
    let status = ssd(&scratch.0, &["status", "unix:d.sock"]).output().unwrap();
    let text = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(text.contains("write amplification 0.00") && text.contains("free, 1 connection"), "{text}");
}
