//! `cygnus trace list`

use crate::failure::Failure;
use crate::output::Output;
use cygnus_control::paint::{Paint, Tone};
use cygnus_control::show;
use cygnus_control::table::{Align, Table};
use cygnus_workload::recording::{SHIPPED, Shipped};
use cygnus_workload::synth::{PRESETS, Preset};
use cygnus_workload::trace::Format;
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Listed {
    formats: Vec<FormatLine>,
    synthesised: Vec<PresetLine>,
    recordings: Vec<RecordingLine>,
}

#[derive(Debug, Serialize)]
struct RecordingLine {
    name: &'static str,
    about: &'static str,
}

#[derive(Debug, Serialize)]
struct FormatLine {
    name: &'static str,
    origin: &'static str,
    columns: &'static str,
}

#[derive(Debug, Serialize)]
struct PresetLine {
    name: String,
    label: String,
    original_requests: Option<u64>,
    read_percent: f64,
    mean_read_bytes: f64,
    mean_write_bytes: f64,
    random_read_percent: f64,
    random_write_percent: f64,
    hot_regions_of_64: u64,
    hot_percent: f64,
    assumed: &'static str,
}

impl From<&Preset> for PresetLine {
    fn from(preset: &Preset) -> Self {
        Self {
            name: preset.full_name(),
            label: preset.label(),
            original_requests: preset.requests,
            read_percent: preset.read_percent,
            mean_read_bytes: preset.mean_read,
            mean_write_bytes: preset.mean_write,
            random_read_percent: preset.random_read_percent,
            random_write_percent: preset.random_write_percent,
            hot_regions_of_64: preset.hot_regions,
            hot_percent: preset.hot_percent,
            assumed: preset.table.assumed(),
        }
    }
}

pub(super) fn run(output: Output) -> Result<(), Failure> {
    let format =
        |format: Format| FormatLine { name: format.name(), origin: format.origin(), columns: format.columns() };
    let recording = |shipped: &Shipped| RecordingLine { name: shipped.name, about: shipped.about };
    let listed = Listed {
        formats: Format::ALL.map(format).into(),
        synthesised: PRESETS.iter().map(PresetLine::from).collect(),
        recordings: SHIPPED.iter().map(recording).collect(),
    };
    output.answer(&listed, |paint| text(&listed, paint))
}

fn text(listed: &Listed, paint: Paint) -> String {
    let cell = |text: String| (Tone::Normal, text);
    let mut formats = Table::new(&[("FORMAT", Align::Left), ("FROM", Align::Left), ("COLUMNS", Align::Left)]);
    for format in &listed.formats {
        formats.row([format.name, format.origin, format.columns].map(|text| cell(text.into())).into());
    }
    let right = |name| (name, Align::Right);
    let mut presets = Table::new(&[
        ("SYNTHESISED", Align::Left),
        right("REQUESTS"),
        right("READ"),
        right("READ SIZE"),
        right("WRITE SIZE"),
        right("RANDOM R/W"),
        right("HOT"),
        ("ASSUMED", Align::Left),
    ]);
    for preset in &listed.synthesised {
        let kib = |bytes: f64| cell(format!("{:.1} KiB", bytes / 1024.0));
        presets.row(vec![
            cell(preset.name.clone()),
            cell(preset.original_requests.map_or("-".into(), show::count)),
            cell(format!("{:.1} %", preset.read_percent)),
            kib(preset.mean_read_bytes),
            kib(preset.mean_write_bytes),
            cell(format!("{} / {} %", preset.random_read_percent, preset.random_write_percent)),
            cell(format!("{} % on {}/64", preset.hot_percent, preset.hot_regions_of_64)),
            (Tone::Faint, preset.assumed.into()),
        ]);
    }
    let mut recordings = Table::new(&[("RECORDING", Align::Left), ("OF", Align::Left)]);
    for recording in &listed.recordings {
        recordings.row([recording.name, recording.about].map(|text| cell(text.into())).into());
    }
    format!("{}\n{}\n{}", formats.render(paint), presets.render(paint), recordings.render(paint))
}
