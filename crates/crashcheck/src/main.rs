//! Command line of the crash checker; see `tests/README.md`.

mod flags;

use cygnus_crashcheck::rounds::{self, Ack, Geometry, Plan};
use cygnus_crashcheck::server::Site;
use flags::{Flags, UsageError};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: cygnus-crashcheck --server SCRIPT --dir DIR [--socket PATH] [--export NAME] [--rounds N]
    [--seed N] [--lose M] [--groups N] [--width N] [--parity N] [--rounds-per-array N]
    [--min-ms N] [--max-ms N] [--keeps 0|1] [--ack memory|written|durable] [--trims 0|1] [--stop-percent N] [--interrupt-percent N]
exit code: 0 every round right, 1 something wrong, 2 usage";

fn main() -> ExitCode {
    let (site, plan) = match parse(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(why) => {
            eprintln!("{why}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    println!("crash check: {} rounds, {} members lost at each restart, --seed {}", plan.rounds, plan.lose, plan.seed);
    let started = Instant::now();
    match rounds::run(&site, &plan, |line| println!("{line}")) {
        Ok(tally) => {
            println!(
                "PASS: {} rounds in {:.0} s: {} sectors that had to survive did; unflushed {} kept, {} gone; {} live reads right",
                plan.rounds,
                started.elapsed().as_secs_f64(),
                tally.durable,
                tally.unflushed_kept,
                tally.unflushed_lost,
                tally.live
            );
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("FAIL (--seed {}; files left in {}): {e}", plan.seed, site.dir.display());
            ExitCode::FAILURE
        }
    }
}

fn parse(args: impl Iterator<Item = String>) -> Result<(Site, Plan), UsageError> {
    let mut flags = Flags::collect(args)?;
    let script = PathBuf::from(flags.needed("server")?);
    let dir = PathBuf::from(flags.needed("dir")?);
    let socket = flags.text("socket").map_or_else(|| dir.join("nbd.sock"), PathBuf::from);
    let export = flags.text("export").unwrap_or_else(|| "vol0".to_owned());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    let plan = Plan {
        rounds: flags.number("rounds", 20)?,
        seed: flags.number("seed", now)?,
        rounds_per_array: flags.number("rounds-per-array", 10)?,
        lose: flags.number("lose", 0)? as usize,
        geometry: Geometry {
            groups: flags.number("groups", 3)? as usize,
            width: flags.number("width", 3)? as usize,
            parity: flags.number("parity", 1)? as usize,
        },
        keeps: flags.number("keeps", 0)? != 0,
        ack: flags.text("ack").map_or(Ok(Ack::Memory), |level| level.parse())?,
        trims: flags.number("trims", 1)? != 0,
        load_ms: (flags.number("min-ms", 200)?, flags.number("max-ms", 1500)?),
        stop_percent: flags.number("stop-percent", 10)?,
        interrupt_percent: flags.number("interrupt-percent", 20)?,
    };
    flags.none_left()?;
    if plan.load_ms.0 > plan.load_ms.1 {
        return Err(UsageError::Contradiction("--min-ms is larger than --max-ms"));
    }
    if plan.lose > plan.geometry.parity || plan.geometry.parity >= plan.geometry.width {
        return Err(UsageError::Contradiction("--lose must not exceed --parity, nor --parity reach --width"));
    }
    Ok((Site { script, dir, socket, export }, plan))
}
