//! A pool on flash and disks: a volume on flash alone, one whose map has an entry for each 64 KiB, and one that is written to disks and comes to
//! flash where it is often read. Six files play the drives, the first three flash and the others disks.
//!
//! ```text
//! cargo run -p cygnus --example media [FOLDER]
//! ```

use std::error::Error;
use std::sync::Arc;

use cygnus::{
    Access, Array, ByteSize, Config, Constraint, CreateOptions, Device, Log, Medium, OpenOptions, Paging, Preset,
    Reactor, Tiers, VolumeOptions, block_on, create, create_file,
};

struct Quiet;

impl Log for Quiet {
    fn line(&self, _: &str) {}
}

async fn make_volumes(Reactor { rt, devices, .. }: Reactor) -> Result<(), Box<dyn Error>> {
    // Two R-groups of 2 + 1. Without `media`, each is on what its members say that they are.
    let pool = CreateOptions::new("pool", Preset::Salsa, 2, 2, 1);
    create(&rt, &devices, &CreateOptions { media: vec![Medium::Flash, Medium::Disk], ..pool }).await?;
    let array = Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Quiet))).await?;

    let plain = VolumeOptions::default();
    let only_flash = VolumeOptions { constraint: Constraint::Only(Medium::Flash), ..plain };
    // Of a megabyte, blocks may have entries of their own: small writes do not make the array read the rest of a page.
    let by_pages = VolumeOptions { paging: Paging::of_sizes(ByteSize(64 << 10), ByteSize(1 << 20))?, ..plain };
    let hybrid = VolumeOptions { constraint: Constraint::Hybrid(Tiers::FLASH_AND_DISK), ..plain };
    for (name, options) in [("journal", only_flash), ("images", by_pages), ("archive", hybrid)] {
        let volume = array.create_volume_with(name, ByteSize(16 << 20), options, 0).await?;
        let mut data = rt.alloc(64 << 10);
        data.bytes_mut().fill(7);
        volume.write(0, data.full()).await?;
        volume.flush().await?;
    }
    for volume in array.status().volumes {
        println!(
            "{}: {} mapped in pages of {}, {}",
            volume.name,
            volume.mapped,
            volume.paging.page(),
            volume.constraint
        );
    }
    for medium in array.status().media {
        println!("{}: {} of {} taken", medium.medium, medium.mapped, medium.usable);
    }
    Ok(array.close().await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, Into::into);
    let paths = [0, 1, 2, 3, 4, 5].map(|n| folder.join(format!("cygnus-media-{}-{n}", std::process::id())));
    paths.iter().try_for_each(|path| create_file(path, 64 << 20))?;
    let devices = paths.iter().map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
    let ended = block_on(&Config { devices, ..Config::default() }, make_volumes)?;
    paths.iter().try_for_each(std::fs::remove_file)?;
    ended
}
