//! A server of one volume, "vol0", on a 4+1 array of memory devices: the whole way of a request but for the disks.
//! `cargo run --release -p cygnus-target --example array_server -- DEVICE_MIB ADDRESS...`

use std::os::fd::AsFd;
use std::sync::Arc;

use cygnus_engine::{Array, CreateOptions, Log, OpenOptions, create};
use cygnus_policy::Preset;
use cygnus_target::{ArrayExports, BoundListener, Server, ServerConfig};
use cygnus_types::ByteSize;
use cygnus_uring::{Config, Device, Signals, block_on};

struct Stderr;

impl Log for Stderr {
    fn line(&self, line: &str) {
        eprintln!("{line}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let size = args.next().ok_or("usage: array_server DEVICE_MIB ADDRESS...")?.parse::<u64>()? << 20;
    let addresses = args.map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
    let listeners = addresses.iter().map(BoundListener::bind).collect::<Result<Vec<_>, _>>()?;
    let devices = (0..5).map(|n| Device::memory(&format!("memory{n}"), size, true)).collect::<Result<Vec<_>, _>>()?;
    block_on(&Config { devices, ..Config::default() }, async |reactor| {
        let (rt, devices) = (&reactor.rt, &reactor.devices);
        let shape = CreateOptions::new("tank", Preset::LogRaid, 1, 4, 1);
        create(rt, devices, &CreateOptions { force: true, ..shape }).await?;
        let open = OpenOptions::new(Arc::new(Stderr));
        let array = Array::open(rt, devices, &open).await?;
        // Half of the space, so that cleaning costs little: this is about the way there, not about cleaning.
        let size = ((array.status().usable.0 / 2) >> 20) << 20;
        let volume = array.create_volume("vol0", ByteSize(size), 0).await?;
        // Written throughout, so that reads have something to read.
        let piece = rt.alloc(1 << 20).full();
        piece.zero(0..piece.len());
        for at in (0..size).step_by(piece.len()) {
            volume.write(at, piece.clone()).await?;
        }
        volume.flush().await?;
        let exports = ArrayExports { volumes: array.volumes(), array: "tank".into(), taps: Default::default() };
        let server = Server::new(rt, exports, ServerConfig::default(), |event| eprintln!("{event}"));
        for listener in &listeners {
            let socket = listener.as_fd().try_clone_to_owned()?;
            server.listen(reactor.io.add_listener(socket)?, listener.address().to_string());
            println!("{}", listener.uri("vol0"));
        }
        Signals::install(&reactor.io)?.next(rt).await.map_err(std::io::Error::other)?;
        server.shutdown().await;
        Ok::<_, Box<dyn std::error::Error>>(())
    })?
}
