//! A server of one volume in plain memory, "vol0": what the NBD side costs without an array behind it.
//! `cargo run --release -p cygnus-target --example ram_server -- SIZE_MIB ADDRESS...`

#[path = "../tests/common/ram.rs"]
#[allow(dead_code, reason = "tests use the rest")]
mod ram;

use cygnus_target::{BoundListener, Server, ServerConfig};
use cygnus_uring::{Config, Pinning, Signals, block_on};
use ram::{RamVolume, Shelf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let size = args.next().ok_or("usage: ram_server SIZE_MIB ADDRESS...")?.parse::<usize>()? << 20;
    let addresses = args.map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
    let listeners = addresses.iter().map(BoundListener::bind).collect::<Result<Vec<_>, _>>()?;
    block_on(&Config { pinning: Pinning::Free, ..Config::default() }, async |reactor| {
        let volume = RamVolume::new(size);
        volume.fill(0xc7);
        let log = |event| eprintln!("{event}");
        let server = Server::new(&reactor.rt, Shelf::with("vol0", &volume), ServerConfig::default(), log);
        for listener in &listeners {
            let duplicate = std::os::fd::AsFd::as_fd(listener).try_clone_to_owned()?;
            server.listen(reactor.io.add_listener(duplicate)?, listener.address().to_string());
            println!("{}", listener.uri("vol0"));
        }
        Signals::install(&reactor.io)?.next(&reactor.rt).await.map_err(std::io::Error::other)?;
        server.shutdown().await;
        Ok::<_, Box<dyn std::error::Error>>(())
    })?
}
