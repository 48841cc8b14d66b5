//! How fast the model runs and what memory it takes: eight drives in turns, as in an array, so that they compete for the
//! processor's caches. Times are of the processor, as the kernel accounts them, so that other load matters less.

use std::error::Error;

use cygnus_ssd::{Command, Device, Done, Pattern, Precondition, Preset, Ssd, SsdConfig, Workload};

/// Blocks per column of a stripe, and columns per segment, of a log-structured array.
const COLUMN: u32 = 64;
const COLUMNS: u32 = 64;

/// Processor time used so far, in seconds.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux accounts for processor time");
    let nanos = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    nanos.expect("the first field is the time") / 1e9
}

/// What a load took.
#[derive(Default)]
struct Cost {
    pages: u64,
    events: u64,
    seconds: f64,
}

impl Cost {
    fn print(&self, what: &str, amplification: f64) {
        let (pages, events) = (self.pages as f64, self.events as f64);
        println!(
            "{what}: {:.0} ns per 4 KiB written, {:.2} M/s, {:.2} events each, {:.1} M events/s, write amplification {amplification:.2}",
            self.seconds * 1e9 / pages,
            pages / self.seconds / 1e6,
            events / pages,
            events / self.seconds / 1e6
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = Preset::Samsung850Pro.config().ssd().ok_or("no SSD")?;
    random(&config)?;
    segments(&config)
}

fn random(config: &SsdConfig) -> Result<(), Box<dyn Error>> {
    let (mut bytes, mut pages, mut filling) = (0, 0, 0.0);
    let mut drives = Vec::new();
    for seed in 0..8 {
        let mut drive = Ssd::new(config.clone())?;
        let started = processor_time();
        drive.precondition(Precondition::Random { share: 1.0, seed });
        filling += processor_time() - started;
        let memory = drive.memory();
        (bytes, pages) = (bytes + memory.0, pages + memory.1);
        drives.push(drive);
    }
    let tera = config.capacity as f64 * 8.0 / 1e12;
    println!("preconditioned {tera:.2} TB in {filling:.1} s");
    println!(
        "{:.2} GiB per TB, {:.2} bytes per flash page",
        bytes as f64 / tera / 1_073_741_824.0,
        bytes as f64 / pages as f64
    );
    let mut cost = Cost::default();
    for round in 0..20 {
        for drive in &mut drives {
            let load =
                Workload { pattern: Pattern::Random, blocks: 1, depth: 32, read_percent: 0, span: 1.0, seed: round };
            let (before, started) = (drive.events(), processor_time());
            let report = load.run(drive, 50_000);
            // The first rounds use up the free blocks.
            if round >= 4 {
                cost.seconds += processor_time() - started;
                cost.pages += report.commands;
                cost.events += drive.events() - before;
            }
        }
    }
    cost.print("random 4 KiB", drives[0].counters().write_amplification());
    Ok(())
}

/// What an array on top does: trims a segment, writes it anew in columns; another segment each time.
fn segments(config: &SsdConfig) -> Result<(), Box<dyn Error>> {
    let mut drives = (0..8).map(|_| Ssd::new(config.clone())).collect::<Result<Vec<_>, _>>()?;
    for drive in &mut drives {
        drive.precondition(Precondition::Sequential { share: 1.0 });
    }
    let count = drives[0].blocks() / u64::from(COLUMN * COLUMNS);
    let mut cost = Cost::default();
    let mut done = Vec::new();
    let rounds = count / 2;
    for round in 0..rounds {
        for drive in &mut drives {
            let (before, started) = (drive.events(), processor_time());
            rewrite(drive, round * 7_919 % count, &mut done);
            if round >= rounds / 4 {
                cost.seconds += processor_time() - started;
                cost.pages += u64::from(COLUMN * COLUMNS);
                cost.events += drive.events() - before;
            }
        }
    }
    cost.print("256 KiB columns of 16 MiB segments", drives[0].counters().write_amplification());
    Ok(())
}

fn rewrite(drive: &mut Ssd, segment: u64, done: &mut Vec<Done>) {
    let first = segment * u64::from(COLUMN * COLUMNS);
    drive.submit(drive.now(), 0, Command::Trim { lba: first, blocks: COLUMN * COLUMNS });
    for column in 0..COLUMNS {
        drive.submit(drive.now(), 1, Command::write(first + u64::from(column * COLUMN), COLUMN));
        while drive.outstanding() >= 8 {
            let Some(next) = drive.next_event() else { break };
            drive.advance(next, done);
        }
    }
    done.clear();
}
