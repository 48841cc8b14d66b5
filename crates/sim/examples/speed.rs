//! How many modelled 4 KiB writes per second one core makes, on a footprint of 8 MiB.
use std::time::Instant;

use cygnus_runtime::DeviceIx;
use cygnus_sim::{DiskConfig, World};
use cygnus_types::{BLOCK, ByteSize, ReactorId};

const DEPTH: u64 = 32;
const EACH: u64 = 30_000;

#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn main() {
    let world = World::new(1);
    let disk = world.add_disk(DiskConfig::new("d", ByteSize::gib(1).bytes()));
    let rt = world.reactor(ReactorId(0), &[disk]);
    let start = Instant::now();
    let (done, finished) = (std::rc::Rc::new(std::cell::Cell::new(0)), std::rc::Rc::new(cygnus_runtime::Event::new()));
    for _ in 0..DEPTH {
        let (rt, done, finished) = (rt.clone(), done.clone(), finished.clone());
        rt.clone().spawn(async move {
            let buf = rt.alloc(BLOCK);
            for n in 0..EACH {
                let offset = rt.rng_u64() % (1 << 11) * BLOCK as u64;
                rt.write(DeviceIx(0), offset, buf.full()).await.expect("the write succeeds");
                if n % 32 == 0 {
                    rt.flush(DeviceIx(0)).await.expect("the flush succeeds");
                }
            }
            done.set(done.get() + 1);
            finished.notify();
        });
    }
    let all = async {
        while done.get() < DEPTH {
            finished.wait().await;
        }
    };
    rt.run(all).expect("the writers end");
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.2} M writes/s", (DEPTH * EACH) as f64 / seconds / 1e6);
}
