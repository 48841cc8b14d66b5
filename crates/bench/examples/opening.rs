//! What an opening costs, step by step: after a clean stop for each block that is mapped, and after a crash for each block that
//! was written since the checkpoint, where all that is found is held at once, and where a quarter and a sixteenth of it are.
//!
//! The devices are in memory and keep no blocks of zeros, which is what is written: so an array of hundreds of gigabytes fits,
//! with all of its headers and checkpoints. The blocks are written in order, as one large file has them, and in an order that is
//! as good as random: then neighbours in the map lie in different segments. All times are the processor's, the devices' copying
//! among them: other work on the machine counts for little.
//!
//! Takes the number of blocks as a power of two: `cargo run --release -p cygnus-bench --example opening -- 25`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_bench::{AtOnce, Contents};
use cygnus_engine::{Array, CreateOptions, Log, MapRule, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::{BufPool, BufSlice, DeviceInfo, DeviceIx, Op, Runtime};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

/// Data and parity columns.
const SHAPE: (u8, u8) = (4, 1);
/// Blocks that are written after a checkpoint, and then there is a crash.
const FOUND: u64 = 1 << 20;
/// Openings of each array.
const TIMES: usize = 3;
/// A large odd number: its multiples come by all numbers below a power of two.
const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The blocks of each device that are not zeros.
type Blocks = Rc<RefCell<Vec<HashMap<u64, Box<[u8]>>>>>;

struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

struct Memory(Blocks, Rc<Cell<u64>>);

impl Contents for Memory {
    fn now(&self) -> Nanos {
        processor_time()
    }

    fn carry_out(&mut self, op: &Op) {
        let mut devices = self.0.borrow_mut();
        match op {
            Op::Read { dev, offset, buf } => {
                self.1.set(self.1.get() + buf.len() as u64);
                for (at, block) in (0..buf.len()).step_by(BLOCK).zip(offset / BLOCK as u64..) {
                    match devices[usize::from(dev.0)].get(&block) {
                        Some(bytes) => buf.copy_from(at, bytes),
                        None => buf.zero(at..at + BLOCK),
                    }
                }
            }
            Op::Write { dev, offset, buf, .. } => {
                for (bytes, block) in buf.bytes().chunks_exact(BLOCK).zip(offset / BLOCK as u64..) {
                    match bytes == [0; BLOCK] {
                        true => drop(devices[usize::from(dev.0)].remove(&block)),
                        false => drop(devices[usize::from(dev.0)].insert(block, bytes.into())),
                    }
                }
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let power = std::env::args().nth(1).map_or(Ok(24), |power| power.parse::<u32>())?;
    let blocks = 1 << power;
    for (order, stride) in [("in order", 1), ("at random", STRIDE)] {
        measure(blocks, order, stride)?;
    }
    Ok(())
}

fn measure(blocks: u64, order: &str, stride: u64) -> Result<(), Box<dyn Error>> {
    let (k, m) = SHAPE;
    let size = (blocks / u64::from(k) * BLOCK as u64 * 4).next_multiple_of(1 << 30);
    let contents: Blocks = Rc::new(RefCell::new(vec![HashMap::new(); usize::from(k + m)]));
    session(&contents, size, async |rt, devices, _| {
        create(rt, devices, &CreateOptions::new("bench", Preset::LogRaid, 1, k, m)).await?;
        let array = Array::open(rt, devices, &options()).await?;
        array.create_volume("v", ByteSize::of_blocks(blocks), 0).await?;
        fill(rt, &array, blocks, stride).await?;
        Ok(array.close().await?)
    })?;
    for _ in 0..TIMES {
        session(&contents, size, async |rt, devices, read| {
            show(rt, devices, &options(), read, &format!("{blocks} blocks {order}, clean")).await
        })?;
    }
    for part in [1, 4, 16] {
        session(&contents, size, async |rt, devices, _| {
            let array = Array::open(rt, devices, &options()).await?;
            array.checkpoint().await?;
            fill(rt, &array, blocks.min(FOUND), stride).await?;
            let volume = array.volume("v").expect("it was made");
            volume.flush().await?;
            // A stripe that tells that all of this was flushed.
            volume.write(0, zeros(rt)).await?;
            // And no close: to the devices this is a crash.
            Ok(volume.flush().await?)
        })?;
        session(&contents, size, async |rt, devices, read| {
            let at_once = if part == 1 { u64::MAX } else { FOUND / part };
            let how = OpenOptions { map: MapRule { at_once, ..MapRule::default() }, ..options() };
            show(rt, devices, &how, read, &format!("{blocks} blocks {order}, crashed, {at_once} blocks at once")).await
        })?;
    }
    Ok(())
}

/// Writes each block once.
async fn fill(rt: &Runtime, array: &Array, blocks: u64, stride: u64) -> Result<(), Box<dyn Error>> {
    let volume = array.volume("v").expect("it was made");
    let block = zeros(rt);
    for n in 0..blocks {
        let at = n.wrapping_mul(stride) % blocks;
        volume.write(at * BLOCK as u64, block.clone()).await?;
    }
    Ok(())
}

fn zeros(rt: &Runtime) -> BufSlice {
    let block = rt.alloc(BLOCK).full();
    block.zero(0..BLOCK);
    block
}

/// Opens the array and tells what that cost: nanoseconds for each block that is mapped, or was found behind the checkpoint.
async fn show(
    rt: &Runtime,
    devices: &[DeviceInfo],
    how: &OpenOptions,
    read: &Cell<u64>,
    what: &str,
) -> Result<(), Box<dyn Error>> {
    let (begun, read_before) = (processor_time(), read.get());
    let array = Array::open(rt, devices, how).await?;
    let all = processor_time().since(begun);
    let report = array.recovery();
    let mapped = array.status().volumes[0].mapped.blocks();
    let of = if report.was_clean { mapped } else { report.replayed_blocks as u64 };
    let each = |time: Nanos| time.0 as f64 / of as f64;
    let mib = (read.get() - read_before) >> 20;
    print!(
        "{what}: {of} blocks, {} passes, {:.2} s, {mib} MiB read; ns each:",
        report.replay_passes,
        all.as_secs_f64()
    );
    for &(step, took) in &report.steps {
        print!(" {step} {:.2}", each(took));
    }
    println!();
    Ok(array.close().await?)
}

/// That this thread has used so far.
fn processor_time() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, to a local variable of that type.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "a thread has a clock");
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn options() -> OpenOptions {
    OpenOptions::new(Arc::new(Silent))
}

fn session(
    contents: &Blocks,
    size: u64,
    body: impl AsyncFnOnce(&Runtime, &[DeviceInfo], &Cell<u64>) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let devices: Vec<DeviceInfo> = (0..contents.borrow().len() as u16)
        .map(|n| DeviceInfo { ix: DeviceIx(n), name: format!("memory{n}"), size, logical_block: BLOCK as u32 })
        .collect();
    let read = Rc::new(Cell::new(0));
    let driver = AtOnce::new(Memory(contents.clone(), read.clone()));
    let rt = Runtime::new(ReactorId(0), Box::new(driver), BufPool::new(64 << 20), 0);
    rt.run(body(&rt, &devices, &read))??;
    rt.drop_tasks();
    Ok(())
}
