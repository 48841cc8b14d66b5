//! Keys and values on an array of three files, any one of which may be lost.
//!
//! ```text
//! cargo run -p cygnus-kv --example kv -- FOLDER put KEY VALUE | get KEY | delete KEY | list | load COUNT | compact
//! ```

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use cygnus::{
    Access, Array, ByteSize, Config, CreateOptions, Device, Log, OpenOptions, Preset, Reactor, Volume, block_on,
    create, create_file,
};
use cygnus_kv::Store;

const USAGE: &str = "usage: kv FOLDER put KEY VALUE | get KEY | delete KEY | list | load COUNT | compact";

struct Quiet;

impl Log for Quiet {
    fn line(&self, _: &str) {}
}

async fn act(store: &mut Store<Volume>, words: &[&str]) -> Result<(), Box<dyn Error>> {
    match words {
        ["put", key, value] => store.put(key.as_bytes(), value.as_bytes()).await?,
        ["get", key] => match store.get(key.as_bytes()).await? {
            Some(value) => println!("{}", String::from_utf8_lossy(&value)),
            None => return Err(format!("{key} is not there").into()),
        },
        ["delete", key] => drop(store.delete(key.as_bytes()).await?),
        ["list"] => store.keys().for_each(|key| println!("{}", String::from_utf8_lossy(key))),
        ["load", count] => {
            for n in 0..count.parse::<u64>()? {
                store.put(format!("{:08}", n % 1000).as_bytes(), n.to_string().repeat(100).as_bytes()).await?;
            }
        }
        ["compact"] => store.compact().await?,
        _ => return Err(USAGE.into()),
    }
    let usage = store.usage();
    eprintln!("{} of {} bytes are current, {} may be", usage.live, usage.used, usage.capacity);
    Ok(())
}

async fn run(Reactor { rt, devices, .. }: Reactor, is_new: bool, words: &[&str]) -> Result<(), Box<dyn Error>> {
    if is_new {
        create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?;
    }
    let array = Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Quiet))).await?;
    if is_new {
        array.create_volume("kv", ByteSize(32 << 20), 0).await?;
    }
    let volume = array.volume("kv").ok_or("the array has no volume kv")?;
    let mut store = if is_new { Store::format(&rt, volume).await? } else { Store::open(&rt, volume).await? };
    let done = act(&mut store, words).await;
    store.close().await?;
    array.close().await?;
    done
}

fn kv() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [folder, words @ ..] = &words[..] else { return Err(USAGE.into()) };
    let paths = ["d0", "d1", "d2"].map(|name| Path::new(folder).join(name));
    let is_new = !paths.iter().any(|path| path.exists());
    if is_new {
        paths.iter().try_for_each(|path| create_file(path, 64 << 20))?;
    }
    let there = paths.iter().filter(|path| path.exists());
    let devices = there.map(|path| Device::open(path, Access::Exclusive)).collect::<Result<_, _>>()?;
    block_on(&Config { devices, ..Config::default() }, |reactor| run(reactor, is_new, words))?
}

fn main() -> ExitCode {
    match kv() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
