//! An array in a program of one's own, without a server: made on six files, written, closed, opened again and read.
//!
//! ```text
//! cargo run -p cygnus --example embed [FOLDER]
//! ```

use std::error::Error;
use std::sync::Arc;

use cygnus::{
    Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, Reactor, block_on, create,
    create_file,
};

struct Stderr;

impl Log for Stderr {
    fn line(&self, text: &str) {
        eprintln!("{text}");
    }
}

async fn store_and_recall(Reactor { rt, devices, .. }: Reactor) -> Result<(), Box<dyn Error>> {
    // Two R-groups of 2 + 1: any member of each may be lost.
    create(&rt, &devices, &CreateOptions::new("tank", Preset::Swan, 2, 2, 1)).await?;
    let options = OpenOptions::new(Arc::new(Stderr));

    let array = Array::open(&rt, &devices, &options).await?;
    array.create_volume("vol0", ByteSize(16 << 20), 0).await?;
    let volume = array.volume("vol0").expect("it was just made");
    let mut block = rt.alloc(4096);
    block.bytes_mut()[..5].copy_from_slice(b"swans");
    volume.write(4096, block.full()).await?;
    volume.flush().await?;
    drop(volume);
    array.close().await?;

    let array = Array::open(&rt, &devices, &options).await?;
    let volume = array.volume("vol0").expect("it is durable");
    let read = volume.read(4096, rt.alloc(4096).full()).await?;
    println!("{}", String::from_utf8_lossy(&read.bytes()[..5]));
    drop(volume);
    Ok(array.close().await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let paths: Vec<_> = (0..6).map(|n| folder.join(format!("cygnus-embed-{}-{n}", std::process::id()))).collect();
    for path in &paths {
        create_file(path, 64 << 20)?;
    }
    let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
    let ended = block_on(&Config { devices, ..Config::default() }, store_and_recall)?;
    paths.iter().try_for_each(std::fs::remove_file)?;
    ended
}
