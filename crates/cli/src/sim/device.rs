//! `cygnus sim device`

use crate::args::sim::DeviceArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::progress::{Bar, Counts};
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_ssd::{Arithmetic, Calibration, DeviceSpec, ModelConfig, Preset};
use serde::Serialize;

/// What `sim device` answers.
#[derive(Debug, Serialize)]
struct Answer {
    devices: Vec<Described>,
}

#[derive(Debug, Serialize)]
struct Described {
    name: &'static str,
    construction: ModelConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    arithmetic: Option<Sums>,
    /// Empty when nothing was run.
    calibration: Vec<Row>,
}

/// [`Arithmetic`] under the names of the answer.
#[derive(Debug, Serialize)]
struct Sums {
    dies: u32,
    program_unit_bytes: u64,
    program_bytes_per_second: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    slc_program_bytes_per_second: Option<u64>,
    sequential_write_bytes_per_second: u64,
    sequential_read_bytes_per_second: u64,
    random_reads_per_second: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_write_amplification: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Row {
    figure: &'static str,
    measured: f64,
    published: Option<f64>,
    source: Option<&'static str>,
    residual_percent: Option<f64>,
    /// As the table shows them.
    #[serde(skip)]
    cells: [String; 4],
}

impl From<Arithmetic> for Sums {
    fn from(sums: Arithmetic) -> Sums {
        Sums {
            dies: sums.dies,
            program_unit_bytes: sums.unit,
            program_bytes_per_second: sums.program_rate,
            slc_program_bytes_per_second: sums.slc_rate,
            sequential_write_bytes_per_second: sums.sequential_write,
            sequential_read_bytes_per_second: sums.sequential_read,
            random_reads_per_second: sums.random_reads,
            random_write_amplification: sums.amplification,
        }
    }
}

impl From<Calibration> for Row {
    fn from(row: Calibration) -> Row {
        Row {
            figure: row.figure.label(),
            measured: row.measured,
            published: row.published.map(|(value, _)| value),
            source: row.published.map(|(_, source)| source),
            residual_percent: row.residual(),
            cells: row.cells(),
        }
    }
}

pub(super) fn run(args: &DeviceArgs, output: Output) -> Result<(), Failure> {
    let presets = chosen(args)?;
    let figures = if args.no_run { 0 } else { presets.iter().map(|preset| preset.figures().len() as u64).sum() };
    let bar = Bar::new(output, Counts::Things("figures"), Some(figures));
    let mut devices = Vec::new();
    for preset in presets {
        devices.push(described(preset, args.no_run, &bar)?);
    }
    drop(bar);
    let answer = Answer { devices };
    output.answer(&answer, |paint| text(&answer, paint))
}

fn chosen(args: &DeviceArgs) -> Result<Vec<Preset>, Failure> {
    match &args.name {
        None => Ok(Preset::ALL.to_vec()),
        Some(name) => match Preset::by_name(name) {
            Some(preset) => Ok(vec![preset]),
            None => Err(Failure::Usage(format!(
                "there is no device preset \"{name}\"; there are {}",
                Preset::ALL.map(Preset::name).join(", ")
            ))),
        },
    }
}

fn described(preset: Preset, no_run: bool, bar: &Bar) -> Result<Described, Failure> {
    let failed = |error: cygnus_ssd::ConfigError| Failure::Failed(error.to_string());
    let construction = preset.config();
    let sums = construction.clone().ssd().map(|config| config.arithmetic()).transpose().map_err(failed)?;
    let mut calibration = Vec::new();
    for figure in if no_run { Vec::new() } else { preset.figures() } {
        bar.say(&format!("{}: {}", preset.name(), figure.label()));
        calibration.push(Calibration::measure(preset, figure).map_err(failed)?.into());
        bar.advance(1);
    }
    Ok(Described { name: preset.name(), construction, arithmetic: sums.map(Sums::from), calibration })
}

fn text(answer: &Answer, paint: Paint) -> String {
    let parts: Vec<String> = answer.devices.iter().map(|device| one(device, paint)).collect();
    parts.join("\n")
}

fn one(device: &Described, paint: Paint) -> String {
    let spec = DeviceSpec { construction: Some(device.construction.clone()), ..DeviceSpec::default() };
    let construction = toml::to_string(&spec).expect("every preset can be written down");
    let mut text = format!("{}\n\n{construction}\n", paint.tone(Tone::Good, device.name));
    if let Some(sums) = &device.arithmetic {
        text += &arithmetic(sums);
    }
    if !device.calibration.is_empty() {
        text += &format!("\n{}", calibration(&device.calibration, paint));
    }
    text
}

fn arithmetic(sums: &Sums) -> String {
    let rate = |bytes: u64| show::rate(bytes as f64);
    let mut lines = vec![format!(
        "programs         {} dies x {} KiB: {}",
        sums.dies,
        sums.program_unit_bytes >> 10,
        rate(sums.program_bytes_per_second)
    )];
    if let Some(slc) = sums.slc_program_bytes_per_second {
        lines.push(format!("in SLC mode      {}", rate(slc)));
    }
    lines.push(format!(
        "sequential       {} written, {} read",
        rate(sums.sequential_write_bytes_per_second),
        rate(sums.sequential_read_bytes_per_second)
    ));
    lines.push(format!("random reads     {} a second", show::count(sums.random_reads_per_second)));
    if let Some(amplification) = sums.random_write_amplification {
        lines.push(format!("random writes    amplified {amplification:.2} times in steady state"));
    }
    lines.join("\n") + "\n"
}

fn calibration(rows: &[Row], paint: Paint) -> String {
    let heads = [
        ("FIGURE", Align::Left),
        ("PUBLISHED", Align::Right),
        ("MODEL", Align::Right),
        ("RESIDUAL", Align::Right),
        ("SOURCE", Align::Left),
    ];
    let mut table = Table::new(&heads);
    for row in rows {
        let cells = std::iter::once(row.figure.to_owned()).chain(row.cells.iter().cloned());
        table.row(cells.map(|text| (Tone::Normal, text)).collect());
    }
    table.render(paint)
}
