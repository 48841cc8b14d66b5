//! `cargo run --release -p cygnus-target --example load -- URI [connections] [depth] [read percent] [seconds]`

use std::time::Duration;

use cygnus_target::loadgen::{LoadOptions, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let uri = args.first().ok_or("usage: load URI [connections] [depth] [read percent] [seconds]")?;
    let number = |at: usize, default: usize| args.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    let mut options = LoadOptions::new(uri.parse()?);
    options.connections = number(1, 4)?;
    options.depth = number(2, 32)?;
    options.read_percent = number(3, 100)? as u8;
    options.duration = Duration::from_secs(number(4, 3)? as u64);
    println!("{}", run(&options)?);
    Ok(())
}
