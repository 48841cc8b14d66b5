//! Measuring the presets against what was published.

use crate::config::ConfigError;
use crate::device::{Device, Precondition};
use crate::model::{Model, ModelConfig};
use crate::preset::{Figure, Preset};

use crate::workload::{Pattern, Report, Workload};

/// One figure of a preset, as the model gives it and, where it was, as published.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// What.
    pub figure: Figure,
    /// As published, and by whom.
    pub published: Option<(f64, &'static str)>,
    /// As measured on the model.
    pub measured: f64,
}

impl Calibration {
    /// Measures a figure of a preset. Takes seconds.
    ///
    /// # Errors
    /// The preset cannot be built, which the tests exclude.
    pub fn measure(preset: Preset, figure: Figure) -> Result<Calibration, ConfigError> {
        let of_figure = |&(published, _, _): &(Figure, f64, &'static str)| published == figure;
        let published = preset.published().into_iter().find(of_figure).map(|(_, value, source)| (value, source));
        Ok(Calibration { figure, published, measured: figure.measure(preset)? })
    }

    /// Deviation from what was published, in percent.
    pub fn residual(&self) -> Option<f64> {
        self.published.map(|(published, _)| 100.0 * (self.measured / published - 1.0))
    }

    /// What was published, the measurement, the deviation and the source, as tables show them.
    pub fn cells(&self) -> [String; 4] {
        let digits = if self.measured < 1.0 { 3 } else { 0 };
        let measured = format!("{:.digits$}", self.measured);
        match (self.published, self.residual()) {
            (Some((published, source)), Some(residual)) => {
                [format!("{published:.digits$}"), measured, format!("{residual:+.0} %"), source.to_owned()]
            }
            _ => ["-".to_owned(), measured, "-".to_owned(), "model only".to_owned()],
        }
    }

    /// Measurements as a Markdown table.
    pub fn table(rows: &[Calibration]) -> String {
        let mut table = String::from("| figure | published | model | residual | source |\n|---|--:|--:|--:|---|\n");
        for row in rows {
            table += &format!("| {} | {} |\n", row.figure.label(), row.cells().join(" | "));
        }
        table
    }
}

impl Figure {
    /// How far a preset may be from what was published, in percent.
    pub fn tolerance(self) -> f64 {
        match self {
            Figure::SequentialRead
            | Figure::SequentialWrite
            | Figure::SequentialWriteAfterSlc
            | Figure::SequentialWriteSteady => 10.0,
            _ => 20.0,
        }
    }

    /// What it is, with its unit, for tables.
    pub fn label(self) -> &'static str {
        match self {
            Figure::SequentialRead => "sequential read 128 KiB, MB/s",
            Figure::SequentialWrite => "sequential write 128 KiB, fresh, MB/s",
            Figure::SequentialWriteAfterSlc => "sequential write 128 KiB, SLC buffer full, MB/s",
            Figure::SequentialWriteSteady => "sequential write 128 KiB, after random writes for long, MB/s",
            Figure::RandomRead => "random read 4 KiB, k/s",
            Figure::RandomWrite => "random write 4 KiB, fresh, k/s",
            Figure::RandomWriteSteady => "random write 4 KiB, steady, k/s",
            Figure::RandomWriteSteady8k => "random write 8 KiB, steady, MB/s",
            Figure::RandomWriteSteady80 => "random write 4 KiB, steady, 80 % span, MB/s",
            Figure::RandomMixSteady80 => "random 4 KiB, 80 % reads, steady, 80 % span, MB/s",
            Figure::RandomWrite64k => "random write 64 KiB, depth 1, persistent cache empty, MB/s",
            Figure::RandomWriteSteady64k => "random write 64 KiB, depth 1, persistent cache full, MB/s",
            Figure::SingleRead => "random read 4 KiB, depth 1, k/s",
        }
    }

    /// Measures it on a new drive made smaller by the preset's divisor.
    pub fn measure(self, preset: Preset) -> Result<f64, ConfigError> {
        let config = preset.config().scaled_down(preset.calibration_divisor());
        let depth = if config.queue_depth() > 32 { 128 } else { 32 };
        let slc_commands = config.slc_bytes() / (128 << 10);
        let mut ssd = Model::new(config)?;
        let ssd_blocks = ssd.blocks();
        let load = |pattern, blocks, depth, read_percent| Workload {
            pattern,
            blocks,
            depth,
            read_percent,
            span: 1.0,
            seed: 1,
        };
        let mega = |report: Report| report.rate() / 1e6;
        let kilo = |report: Report| report.iops() / 1e3;
        use Pattern::{Random, Sequential};
        Ok(match self {
            Figure::SequentialRead => {
                ssd.precondition(Precondition::Sequential { share: 0.9 });
                mega(load(Sequential, 32, 32, 100).run(&mut ssd, 20_000))
            }
            Figure::SequentialWrite => {
                mega(load(Sequential, 32, 32, 0).run(&mut ssd, sequential_commands(slc_commands)))
            }
            Figure::SequentialWriteAfterSlc => {
                let fill = load(Sequential, 32, 32, 0);
                // Well past the buffer; then without a pause, which would let it fold.
                let all = fill.run(&mut ssd.clone(), slc_commands * 3 / 2 + 8_000);
                let first = fill.run(&mut ssd, slc_commands * 3 / 2);
                let seconds = all.elapsed.as_secs_f64() - first.elapsed.as_secs_f64();
                (all.bytes - first.bytes) as f64 / seconds / 1e6
            }
            Figure::SequentialWriteSteady => {
                ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
                mega(load(Sequential, 32, 32, 0).run(&mut ssd, (ssd_blocks / 32 / 4).min(20_000)))
            }
            Figure::RandomRead => {
                ssd.precondition(Precondition::Random { share: 0.9, seed: 1 });
                kilo(load(Random, 1, depth, 100).run(&mut ssd, 100_000))
            }
            Figure::SingleRead => {
                ssd.precondition(Precondition::Random { share: 0.9, seed: 1 });
                kilo(load(Random, 1, 1, 100).run(&mut ssd, 10_000))
            }
            Figure::RandomWrite => {
                let span = (8e9 / preset.config().capacity() as f64).min(1.0);
                kilo(Workload { span, ..load(Random, 1, depth, 0) }.run(&mut ssd, 400_000))
            }
            Figure::RandomWrite64k | Figure::RandomWriteSteady64k => {
                ssd.precondition(Precondition::Random { share: 1.0, seed: 1 });
                let load = load(Random, 16, 1, 0);
                // Past the write buffer, or past the persistent cache too.
                let (first, commands) = if self == Figure::RandomWrite64k { (4_000, 8_000) } else { (30_000, 3_000) };
                load.run(&mut ssd, first);
                mega(Workload { seed: 2, ..load }.run(&mut ssd, commands))
            }
            Figure::RandomWriteSteady => kilo(steady(&mut ssd, &load(Random, 1, depth, 0), 1.0)),
            Figure::RandomWriteSteady8k => mega(steady(&mut ssd, &load(Random, 2, 32, 0), 1.0)),
            Figure::RandomMixSteady80 => mega(steady(&mut ssd, &load(Random, 1, 32, 80), 0.8)),
            Figure::RandomWriteSteady80 => mega(steady(&mut ssd, &load(Random, 1, 32, 0), 0.8)),
        })
    }
}

/// Enough to leave the write cache behind, and too little to fill an SLC buffer.
fn sequential_commands(slc_commands: u64) -> u64 {
    if slc_commands == 0 { 20_000 } else { (slc_commands * 3 / 4).min(20_000) }
}

/// Steady random writes: preconditioned, then run in until collection has settled around its watermark.
fn steady(ssd: &mut Model, load: &Workload, span: f64) -> Report {
    ssd.precondition(Precondition::Random { share: span, seed: 1 });
    let load = Workload { span, ..load.clone() };
    // A tenth of the drive: a few victims per die.
    let commands = (ssd.blocks() / 10 / u64::from(load.blocks)).min(1_000_000);
    // As many writes, however rare they are, as far as patience goes.
    load.run(ssd, (commands * 100 / u64::from(100 - load.read_percent)).min(3_000_000));
    // Other addresses than before: the same ones again would be no random load.
    Workload { seed: load.seed + 1, ..load }.run(ssd, commands)
}

impl Preset {
    /// What its calibration run measures: the same for all drives of flash and for all disks, and what else was published.
    pub fn figures(self) -> Vec<Figure> {
        use Figure::*;
        let mut figures = match self.config() {
            ModelConfig::Ssd(config) => {
                let buffer = config.slc.is_some().then_some(SequentialWriteAfterSlc);
                let writes = [SequentialWriteSteady, RandomRead, RandomWrite, RandomWriteSteady];
                [SequentialRead, SequentialWrite].into_iter().chain(buffer).chain(writes).collect()
            }
            ModelConfig::Disk(_) => vec![SequentialRead, SequentialWrite, SingleRead, RandomRead],
        };
        let published = self.published().into_iter().map(|(figure, _, _)| figure);
        let others: Vec<Figure> = published.filter(|figure| !figures.contains(figure)).collect();
        figures.extend(others);
        figures
    }

    /// Measures all of them. Takes from seconds to a minute.
    ///
    /// # Errors
    /// As [`Calibration::measure`].
    pub fn calibrate(self) -> Result<Vec<Calibration>, ConfigError> {
        self.figures().into_iter().map(|figure| Calibration::measure(self, figure)).collect()
    }
}
