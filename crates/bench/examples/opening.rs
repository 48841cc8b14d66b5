//! What an opening after a clean stop costs for each block that is mapped, step by step.
//!
//! The devices are in memory and keep no blocks of zeros, which is what is written: so an array of hundreds of gigabytes fits,
//! with all of its headers and checkpoints. The blocks are written in order, as one large file has them, and in an order that is
//! as good as random: then neighbours in the map lie in different segments. All times are the processor's, the devices' copying
//! among them: other work on the machine counts for little.
//!
//! Takes the number of blocks as a power of two: `cargo run --release -p cygnus-bench --example opening -- 25`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;

use cygnus_bench::{AtOnce, Contents};
use cygnus_engine::{Array, CreateOptions, Log, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_runtime::{BufPool, DeviceInfo, DeviceIx, Op, Runtime};
use cygnus_types::{BLOCK, ByteSize, Nanos, ReactorId};

/// Data and parity columns.
const SHAPE: (u8, u8) = (4, 1);
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

struct Memory(Blocks);

impl Contents for Memory {
    fn now(&self) -> Nanos {
        processor_time()
    }

    fn carry_out(&mut self, op: &Op) {
        let mut devices = self.0.borrow_mut();
        match op {
            Op::Read { dev, offset, buf } => {
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
    let size = (blocks / u64::from(k) * BLOCK as u64 * 3 / 2).next_multiple_of(1 << 30);
    let contents: Blocks = Rc::new(RefCell::new(vec![HashMap::new(); usize::from(k + m)]));
    session(&contents, size, async |rt, devices| {
        create(rt, devices, &CreateOptions::new("bench", Preset::LogRaid, 1, k, m)).await?;
        let array = Array::open(rt, devices, &options()).await?;
        let volume = array.create_volume("v", ByteSize::of_blocks(blocks), 0).await?;
        let block = rt.alloc(BLOCK).full();
        block.zero(0..BLOCK);
        for n in 0..blocks {
            let at = n.wrapping_mul(stride) % blocks;
            volume.write(at * BLOCK as u64, block.clone()).await?;
        }
        Ok(array.close().await?)
    })?;
    for _ in 0..TIMES {
        session(&contents, size, async |rt, devices| {
            let begun = processor_time();
            let array = Array::open(rt, devices, &options()).await?;
            let all = processor_time().since(begun);
            let each = |time: Nanos| time.0 as f64 / blocks as f64;
            print!("{blocks} blocks {order}: {:.1} ns each, {:.2} s;", each(all), all.as_secs_f64());
            for &(step, took) in &array.recovery().steps {
                print!(" {step} {:.2}", each(took));
            }
            println!();
            Ok(array.close().await?)
        })?;
    }
    Ok(())
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
    body: impl AsyncFnOnce(&Runtime, &[DeviceInfo]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let devices: Vec<DeviceInfo> = (0..contents.borrow().len() as u16)
        .map(|n| DeviceInfo { ix: DeviceIx(n), name: format!("memory{n}"), size, logical_block: BLOCK as u32 })
        .collect();
    let driver = AtOnce::new(Memory(contents.clone()));
    let rt = Runtime::new(ReactorId(0), Box::new(driver), BufPool::new(64 << 20), 0);
    rt.run(body(&rt, &devices))??;
    rt.drop_tasks();
    Ok(())
}
