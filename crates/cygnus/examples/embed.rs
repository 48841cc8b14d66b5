//! An array in a program of one's own, without a server: made on three files, written, closed, opened again and read.
//!
//! ```text
//! cargo run -p cygnus --example embed [FOLDER]
//! ```

use std::sync::Arc;

use cygnus::{
    Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, block_on, create, create_file,
};

struct Stderr;

impl Log for Stderr {
    fn line(&self, text: &str) {
        eprintln!("{text}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let paths = [0, 1, 2].map(|n| folder.join(format!("cygnus-embed-{}-{n}", std::process::id())));
    paths.iter().try_for_each(|path| create_file(path, 64 << 20))?;
    let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
    let ended = block_on(&Config { devices, ..Config::default() }, async |reactor| {
        let (rt, devices, options) = (reactor.rt, reactor.devices, OpenOptions::new(Arc::new(Stderr)));
        create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?; // any one of three may be lost
        let array = Array::open(&rt, &devices, &options).await?;
        let volume = array.create_volume("vol0", ByteSize(16 << 20), 0).await?;
        let mut block = rt.alloc(4096);
        block.write(0, b"swans");
        volume.write(4096, block.full()).await?;
        drop(volume);
        array.close().await?; // durable from here on; so it is after `volume.flush()`

        let array = Array::open(&rt, &devices, &options).await?;
        let read = array.volume("vol0").expect("it is recorded").read(4096, rt.alloc(4096).full()).await?;
        println!("{}", String::from_utf8_lossy(&read.bytes()[..5]));
        Ok(array.close().await?)
    })?;
    paths.iter().try_for_each(std::fs::remove_file)?;
    ended
}
