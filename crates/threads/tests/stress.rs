//! Real reactors on real threads: one array over memory devices, all reactors writing and reading the same volume at once,
//! with flushes, discards, checkpoints and cleaning beside. For the thread sanitizer (`make threads`), and without it for
//! what goes wrong by itself.
//!
//! Each block has one writer, whose versions of it count up. Whatever a reactor reads must be at least as new as what was
//! acknowledged before it asked, and no newer than what was begun when it heard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use cygnus_engine::{Array, ArrayHandle, ArrayPeer, CreateOptions, Log, OpenOptions, Volume, create};
use cygnus_policy::Preset;
use cygnus_runtime::Runtime;
use cygnus_types::{ByteSize, Nanos, ReactorId};
use cygnus_uring::{Config, Device, Reactor, spawn_reactors};

const REACTORS: usize = 3;
const MEMBERS: usize = 6;
const BLOCKS: u64 = 3000;
/// Requests of each reactor, unless `CYGNUS_STRESS` says how many.
const REQUESTS: u64 = 10_000;

struct Quiet;

impl Log for Quiet {
    fn line(&self, _text: &str) {}
}

/// What is known of a block; version 0 is zeros.
#[derive(Default)]
struct Known {
    begun: AtomicU64,
    acknowledged: AtomicU64,
}

/// What the threads of the test share.
struct Plan {
    requests: u64,
    blocks: Vec<Known>,
    working: AtomicUsize,
    closed: AtomicBool,
}

fn fill(bytes: &mut [u8], at: u64, version: u64) {
    for (n, word) in bytes.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&(at << 44 | version << 12 | n as u64).to_le_bytes());
    }
}

fn version_of(bytes: &[u8], at: u64) -> u64 {
    let first = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    if first == 0 {
        assert!(bytes.iter().all(|&byte| byte == 0), "block {at} begins with zeros and goes on otherwise");
        return 0;
    }
    let version = first >> 12 & 0xffff_ffff;
    let mut wanted = vec![0; bytes.len()];
    fill(&mut wanted, at, version);
    assert!(bytes == wanted, "block {at} is not of one piece, or another one's");
    version
}

async fn write(rt: &Runtime, volume: &Volume, plan: &Plan, at: u64) {
    let known = &plan.blocks[at as usize];
    let version = known.begun.fetch_add(1, Ordering::SeqCst) + 1;
    let mut buf = rt.alloc(4096);
    fill(buf.bytes_mut(), at, version);
    volume.write(at * 4096, buf.full()).await.expect("the array takes writes");
    known.acknowledged.store(version, Ordering::SeqCst);
}

async fn read(rt: &Runtime, volume: &Volume, plan: &Plan, first: u64, blocks: u64) {
    let range = first as usize..(first + blocks) as usize;
    let least: Vec<u64> = plan.blocks[range].iter().map(|known| known.acknowledged.load(Ordering::SeqCst)).collect();
    let data = volume.read(first * 4096, rt.alloc(blocks as usize * 4096).full()).await.expect("all can be read");
    for (i, bytes) in data.bytes().chunks_exact(4096).enumerate() {
        let at = first + i as u64;
        let (version, most) = (version_of(bytes, at), plan.blocks[at as usize].begun.load(Ordering::SeqCst));
        assert!((least[i]..=most).contains(&version), "block {at} has version {version} of {} to {most}", least[i]);
    }
}

/// What every reactor does.
async fn work(rt: &Runtime, volume: &Volume, plan: &Plan) {
    let me = rt.id().index() as u64;
    for _ in 0..plan.requests {
        let at = rt.rng_u64() % (BLOCKS / REACTORS as u64) * REACTORS as u64 + me;
        match rt.rng_u64() % 1000 {
            0..400 => write(rt, volume, plan, at).await,
            // What others are writing just now.
            400..995 => {
                let first = rt.rng_u64() % (BLOCKS - 8);
                read(rt, volume, plan, first, 1 + rt.rng_u64() % 8).await;
            }
            _ => volume.flush().await.expect("all members are there"),
        }
        if rt.rng_u64().is_multiple_of(64) {
            rt.yield_now().await;
        }
    }
    plan.working.fetch_sub(1, Ordering::SeqCst);
}

async fn until(rt: &Runtime, is_so: impl Fn() -> bool) {
    while !is_so() {
        rt.sleep(Nanos::millis(1)).await;
    }
}

fn options() -> OpenOptions {
    // The groups are small: with some segments for each, all reactors clean.
    OpenOptions { reactors: REACTORS, segments_per_helper: 8, ..OpenOptions::new(Arc::new(Quiet)) }
}

async fn home(Reactor { rt, devices, .. }: Reactor, plan: &Plan) {
    let shape = CreateOptions::new("tank", Preset::Swan, 2, 2, 1);
    let shape = CreateOptions { segment: Some(ByteSize(512 << 10)), ..shape };
    create(&rt, &devices, &shape).await.expect("it can be made");
    let array = Array::open(&rt, &devices, &options()).await.expect("it opens");
    array.create_volume("v", ByteSize(BLOCKS * 4096), 0).await.expect("there is room");
    let (mailbox, receiver) = (array.clone(), rt.clone());
    rt.spawn(async move {
        loop {
            assert!(mailbox.handle_message(receiver.recv_msg().await).is_none(), "nobody else sends any");
        }
    });
    for peer in 1..REACTORS {
        rt.send_msg(ReactorId(peer as u16), Box::new(array.handle(REACTORS)));
    }
    let volume = array.volume("v").expect("it was made");
    let (beside, sleeper) = (array.clone(), rt.clone());
    let checkpoints = async move {
        loop {
            sleeper.sleep(Nanos::millis(50)).await;
            beside.checkpoint().await.expect("it can be written");
        }
    };
    cygnus_runtime::either(checkpoints, async {
        work(&rt, &volume, plan).await;
        until(&rt, || plan.working.load(Ordering::SeqCst) == 0).await;
    })
    .await;
    volume.flush().await.expect("all members are there");
    for at in 0..BLOCKS {
        read(&rt, &volume, plan, at, 1).await;
    }
    let traffic = array.traffic();
    assert!(traffic.asked > 0, "some blocks were read from another reactor's memory");
    assert!(traffic.checkpoints > 0, "checkpoints were taken meanwhile");
    assert_eq!((traffic.unreadable, traffic.repaired), (0, 0), "nothing was ever found wrong");
    println!("{} messages asked for blocks, of {} blocks read", traffic.asked, traffic.user_read);
    println!(
        "{} segments emptied, {} of them by other reactors than the first",
        traffic.victims, traffic.victims_helped
    );
    array.invariants().expect("counts and maps agree");
    array.close().await.expect("it closes");
    plan.closed.store(true, Ordering::SeqCst);
}

async fn peer(Reactor { rt, .. }: Reactor, plan: &Plan) {
    let handle = rt.recv_msg().await.downcast::<ArrayHandle>().expect("home speaks first");
    let peer: ArrayPeer = handle.attach(&rt);
    let volume = peer.volume("v").expect("it was made");
    let receiver = rt.clone();
    rt.spawn(async move {
        loop {
            assert!(peer.handle_message(receiver.recv_msg().await).is_none(), "nobody else sends any");
        }
    });
    work(&rt, &volume, plan).await;
    until(&rt, || plan.closed.load(Ordering::SeqCst)).await;
}

#[test]
fn what_any_reactor_acknowledged_all_reactors_read() {
    let device = |n| Device::memory(&format!("memory{n}"), 24 << 20, false).expect("there is memory");
    let config = Config { reactors: REACTORS, devices: (0..MEMBERS).map(device).collect(), ..Config::default() };
    let plan = Arc::new(Plan {
        requests: std::env::var("CYGNUS_STRESS").map_or(REQUESTS, |text| text.parse().expect("a number of requests")),
        blocks: (0..BLOCKS).map(|_| Known::default()).collect(),
        working: AtomicUsize::new(REACTORS),
        closed: AtomicBool::new(false),
    });
    let main = async move |reactor: Reactor| match reactor.rt.id().index() {
        0 => home(reactor, &plan).await,
        _ => peer(reactor, &plan).await,
    };
    spawn_reactors(&config, main).expect("they start").join();
}
