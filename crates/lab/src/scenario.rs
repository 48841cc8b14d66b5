//! A scenario file: what it may say, and checking that it makes sense.

use cygnus_engine::{Autonomics, CreateOptions, Link};
use cygnus_format::{Raid, Raids};
use cygnus_inplace::{Layout, LayoutError, Level};
use cygnus_policy::{AutonomicsRule, FrontEnd, Migration, Preset, Rules, Streams, UntilFull};
use cygnus_sim::CpuModel;
use cygnus_types::{BLOCK, ByteSize, Medium, Nanos, counted};
use cygnus_workload::recording::Shipped;
use cygnus_workload::{Percent, Size, Span, WorkloadConfig};
use serde::Deserialize;
use serde::de::{self, Deserializer};
use std::fmt::Display;
use std::num::NonZeroU32;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;

use crate::drive::{DevicesSection, Drive};
use crate::error::ScenarioError;
use crate::fabric::{FabricSection, Modules, Network, NoNetwork};
use crate::places;

mod moves;
mod sharing;
mod volume;
mod wrong_array;

pub(crate) use sharing::drive_name;
pub(crate) use volume::{VolumeSection, VolumeSize};
use wrong_array::WrongArray;

/// Cores that an array may have.
const MAX_CORES: u16 = 64;

/// A scenario, as read from its file and checked as far as can be without running it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it came from, for messages.
    pub file: String,
    /// The text of the file.
    pub text: String,
    /// What it says.
    pub(crate) spec: Spec,
    /// What lies between the array and its drives.
    pub(crate) network: Option<Network>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Spec {
    pub name: String,
    #[serde(default)]
    pub about: String,
    #[serde(default = "one")]
    pub seed: u64,
    pub devices: Spanned<DevicesSection>,
    /// The drives of R-groups on disks, of arrays that have some; the others if not given.
    pub disks: Option<Spanned<DevicesSection>>,
    /// Those of R-groups on shingled disks; the same as those on disks if not given.
    pub smr: Option<Spanned<DevicesSection>>,
    /// Those of R-groups on faster flash.
    pub nvm: Option<Spanned<DevicesSection>>,
    pub fabric: Option<Spanned<FabricSection>>,
    pub array: Vec<Spanned<ArraySection>>,
    #[serde(default)]
    pub volume: VolumeSection,
    pub aging: Option<Spanned<AgingSection>>,
    pub workload: Spanned<WorkloadConfig>,
    pub cpu: Option<Spanned<CpuSection>>,
    pub network: Option<Spanned<NetworkSection>>,
    pub cache: Option<Spanned<CacheSection>>,
    pub run: Spanned<RunSection>,
}

fn one() -> u64 {
    1
}

/// An array of the scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArraySection {
    /// Name in results; the preset's if not given.
    name: Option<String>,
    preset: String,
    #[serde(default = "one_group")]
    groups: u16,
    /// Of presets that write logs: "4+1", or by what R-groups store on, "flash:2+1,disk:4+2".
    #[serde(default, deserialize_with = "raids")]
    raid: Option<Raids>,
    /// Of levels that update in place, instead of `raid`.
    drives: Option<u16>,
    chunk: Option<Size>,
    segment: Option<Size>,
    stripe_rows: Option<u32>,
    over_provision: Option<Percent>,
    /// Which segments are cleaned first; the preset's rule if not given.
    #[serde(default, deserialize_with = "word")]
    cleaning: Option<Rules>,
    /// Whether no second R-group is cleaned beside the first one, as SWAN's paper has it in section 3. Of R-groups that take turns.
    #[serde(default)]
    one_group_at_a_time: bool,
    /// Which writes share segments; as the preset has it if not given.
    #[serde(default, deserialize_with = "word")]
    streams: Option<Streams>,
    /// What the R-groups store on, of all of them or of each; as their drives say if not given.
    #[serde(default, deserialize_with = "places::media")]
    media: Vec<Medium>,
    /// What makes safe what a stripe holds before it is full; the preset's if not given.
    #[serde(default, deserialize_with = "word")]
    protection: Option<UntilFull>,
    /// Space of each drive for the copies that do so; by its size if not given.
    transient: Option<Size>,
    /// Whether copies are made where ending a stripe would be fewer bytes too. Of arrays that make copies.
    #[serde(default)]
    copies_always: bool,
    /// How many full stripes of a core may wait for the parity that drives compute from copies; 0, as usual: none.
    #[serde(default)]
    postponed_stripes: u32,
    /// Whether data moves out of the way of contention; the preset's if not given. Modules of a cluster of the fabric share a link.
    autonomics: Option<bool>,
    /// The flash that pays for moves, where modelled drives are smaller than those that they stand for: the budget is that of an array of
    /// so much. The array's own if not given.
    budget_of: Option<Size>,
    /// How data that moves gets elsewhere; shadow-cloning if not given.
    #[serde(default, deserialize_with = "word")]
    migration: Option<Migration>,
    /// Operations under way with which the queue counts as full, so that data leaves the module that most are for; the rule's if not given.
    queue: Option<NonZeroU32>,
    /// Groups to which data may move at a time; 0: it goes to where clients write. The rule's if not given.
    #[serde(default, deserialize_with = "moves::targets")]
    targets: Option<u32>,
    /// Which of its drives share a link, such as "nic0:d0,d1", where there is no fabric.
    #[serde(default)]
    links: Vec<Spanned<String>>,
}

/// A word that names a choice.
fn word<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(de::Error::custom)
}

fn raids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Raids>, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(|error| de::Error::custom(format!("\"{text}\" is no RAID shape: {error}")))
}

fn one_group() -> u16 {
    1
}

/// What an array is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrayKind {
    /// The engine.
    Log(Preset),
    /// A baseline.
    InPlace(Level),
}

/// What is written before the clock starts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct AgingSection {
    /// Share of the volume that is written once, from its start.
    pub fill: Percent,
    /// Writes at once, of this and of what is overwritten; 32 if not given. With one at a time a log fills its segments in the order of the
    /// volume.
    pub depth: Option<u32>,
    /// Then this multiple of the volume in uniformly random blocks of the filled part (of all of it, if none was filled).
    pub overwrite: f64,
    /// Size of each of these; 4 KiB if not given.
    pub overwrite_block: Option<Size>,
    /// Then the requests of this recording, as fast as the array answers [`REPLAY_DEPTH`] of them at once.
    pub recording: Option<&'static Shipped>,
}

/// Requests at once while aging plays a recording.
pub(crate) const REPLAY_DEPTH: u32 = 8;

/// What the array's cores cost. The defaults are of the order of what `cygnus bench engine` measures.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct CpuSection {
    /// How many there are, a reactor on each. Clients are dealt out to them in turn.
    pub cores: u16,
    pub turn: Span,
    pub submit: Span,
    pub complete: Span,
    pub copy: Span,
    pub checksum: Span,
    pub parity: Span,
    /// Each request of a client: protocol, map, allocation.
    pub request: Span,
}

impl Default for CpuSection {
    fn default() -> Self {
        let ns = |n| Span(Nanos(n));
        Self {
            cores: 1,
            turn: ns(100),
            submit: ns(400),
            complete: ns(200),
            copy: ns(200),
            checksum: ns(60),
            parity: ns(60),
            request: ns(800),
        }
    }
}

impl CpuSection {
    pub fn model(&self) -> CpuModel {
        CpuModel {
            turn: self.turn.0,
            submit: self.submit.0,
            complete: self.complete.0,
            copy: self.copy.0,
            checksum: self.checksum.0,
            parity: self.parity.0,
        }
    }
}

/// The link between all clients and the array; full duplex.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct NetworkSection {
    /// Bytes per second in each direction.
    pub rate: Size,
    /// Time of a message that needs no room, one way.
    #[serde(default)]
    pub latency: Span,
}

/// A file system's cache between clients and array.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CacheSection {
    /// Memory that it may fill.
    pub memory: Size,
}

/// How long, and how often to look.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RunSection {
    pub duration: Span,
    /// The first part of the duration, which latencies and totals leave out; time series have it.
    #[serde(default)]
    pub ramp: Span,
    /// Distance of the samples of time series.
    #[serde(default = "one_second")]
    pub sample: Span,
}

fn one_second() -> Span {
    Span(Nanos::secs(1))
}

impl ArraySection {
    /// The name in results.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.preset)
    }

    /// Devices it takes.
    pub fn devices(&self) -> usize {
        match (&self.raid, self.drives) {
            (Some(_), _) => self.widths().sum(),
            (None, drives) => usize::from(drives.unwrap_or(0)),
        }
    }

    /// What a group stores on, as far as the section says.
    fn medium_of_group(&self, group: usize) -> Option<Medium> {
        self.media.get(if self.media.len() == 1 { 0 } else { group }).copied()
    }

    /// The shape of each group of an array that writes a log.
    fn shapes(&self) -> impl Iterator<Item = Raid> {
        let raids = self.raid.as_ref().expect("checked when the scenario was read");
        (0..usize::from(self.groups)).map(|group| raids.on(self.medium_of_group(group)))
    }

    fn widths(&self) -> impl Iterator<Item = usize> {
        self.shapes().map(|raid| raid.width().into())
    }

    /// What a device of that number is to be, as far as the section says.
    pub(crate) fn medium_of(&self, device: usize) -> Option<Medium> {
        self.raid.as_ref()?;
        let mut behind = 0;
        let group = self.widths().position(|width| {
            behind += width;
            device < behind
        });
        self.medium_of_group(group?)
    }

    /// Share of its devices that holds data, as a fraction.
    pub(crate) fn data_share(&self) -> (u64, u64) {
        match self.kind() {
            ArrayKind::Log(_) => {
                let data: u64 = self.shapes().map(|raid| u64::from(raid.data)).sum();
                (data, self.devices() as u64)
            }
            ArrayKind::InPlace(level) => {
                let layout = self.layout(level, u64::MAX / BLOCK as u64).expect("checked when the scenario was read");
                (layout.data_columns() as u64, layout.devices() as u64)
            }
        }
    }

    /// What it is made of.
    pub(crate) fn kind(&self) -> ArrayKind {
        self.checked_kind().expect("checked when the scenario was read")
    }

    /// Chunks of levels that update in place are of 64 KiB unless the file says otherwise.
    pub(crate) fn layout(&self, level: Level, device_blocks: u64) -> Result<Layout, LayoutError> {
        let chunk = self.chunk.map_or(16, |size| size.0 / BLOCK as u64);
        Layout::new(level, self.devices(), u32::try_from(chunk).unwrap_or(u32::MAX), device_blocks)
    }

    fn checked_kind(&self) -> Result<ArrayKind, WrongArray> {
        let log = self.preset.parse::<Preset>().map(ArrayKind::Log);
        let in_place = self.preset.parse::<Level>().map(ArrayKind::InPlace);
        log.or(in_place).map_err(|_| WrongArray::Preset { preset: self.preset.clone() })
    }

    /// Whether preset and shape go together.
    fn check(&self) -> Result<(), WrongArray> {
        let log_only = self.groups != 1
            || self.raid.is_some()
            || self.segment.is_some()
            || self.stripe_rows.is_some()
            || self.protection.is_some()
            || self.transient.is_some()
            || self.cleaning.is_some()
            || self.one_group_at_a_time
            || self.copies_always
            || self.postponed_stripes > 0
            || self.streams.is_some()
            || !self.media.is_empty()
            || self.autonomics.is_some()
            || self.of_moves().is_some()
            || !self.links.is_empty()
            || self.over_provision.is_some();
        match self.checked_kind()? {
            ArrayKind::Log(_) if self.groups == 0 => Err(WrongArray::NoGroups),
            ArrayKind::Log(_) if self.raid.is_none() || self.drives.is_some() => {
                Err(WrongArray::LogShape(self.preset.clone()))
            }
            ArrayKind::Log(_) if self.is_by_medium() && self.media.is_empty() => Err(WrongArray::NoMedia),
            ArrayKind::Log(_) if !self.moves_data() && self.of_moves().is_some() => {
                Err(WrongArray::Stays(self.of_moves().expect("just seen")))
            }
            ArrayKind::Log(preset)
                if self.one_group_at_a_time && preset.policies().front_end != FrontEnd::RotatingGroup =>
            {
                Err(WrongArray::NoTurns)
            }
            ArrayKind::Log(_) if self.of_copies().is_some() && !self.has_transient_area() => {
                Err(WrongArray::NoCopies(self.of_copies().expect("just seen")))
            }
            ArrayKind::Log(_) if self.postponed_stripes > 0 && self.until_full() != UntilFull::Offload => {
                Err(WrongArray::NoConversions)
            }
            ArrayKind::Log(_) => Ok(()),
            ArrayKind::InPlace(_) if self.drives.is_none() || log_only => {
                Err(WrongArray::InPlaceShape(self.preset.clone()))
            }
            ArrayKind::InPlace(level) => Ok(self.layout(level, u64::MAX / BLOCK as u64).map(drop)?),
        }
    }

    /// What makes safe what a stripe holds before it is full.
    fn until_full(&self) -> UntilFull {
        let of_preset = || match self.kind() {
            ArrayKind::Log(preset) => UntilFull::of(preset, self.shapes().all(|raid| raid.parity > 0)),
            ArrayKind::InPlace(_) => UntilFull::FullStripe,
        };
        self.protection.unwrap_or_else(of_preset)
    }

    /// Whether drives have an area for that.
    fn has_transient_area(&self) -> bool {
        self.until_full().has_transient_area()
    }

    /// A key that is about copies, and so is of use only where these are made.
    fn of_copies(&self) -> Option<&'static str> {
        let given = [self.transient.is_some(), self.copies_always];
        given.into_iter().zip(["transient", "copies-always"]).find_map(|(given, key)| given.then_some(key))
    }

    /// Whether copies are made where ending a stripe would be fewer bytes too.
    pub(crate) fn copies_always(&self) -> bool {
        self.copies_always
    }

    /// How many full stripes of a core may wait for the parity that drives compute.
    pub(crate) fn postponed_stripes(&self) -> u32 {
        self.postponed_stripes
    }

    fn is_by_medium(&self) -> bool {
        self.raid.as_ref().is_some_and(|raids| !raids.by_medium().is_empty())
    }

    /// Whether no second R-group is cleaned beside the first one.
    pub(crate) fn cleans_one_group_at_a_time(&self) -> bool {
        self.one_group_at_a_time
    }

    /// Whether data moves out of the way of contention.
    fn moves_data(&self) -> bool {
        let is_preset = matches!(self.kind(), ArrayKind::Log(preset) if preset.policies().autonomics);
        self.autonomics.unwrap_or(is_preset)
    }

    /// A key that says how data moves, and so is of use only where data does.
    fn of_moves(&self) -> Option<&'static str> {
        let given = [self.budget_of.is_some(), self.migration.is_some(), self.queue.is_some(), self.targets.is_some()];
        given
            .into_iter()
            .zip(["budget-of", "migration", "queue", "targets"])
            .find_map(|(given, key)| given.then_some(key))
    }

    /// Whether data of an array of so many bytes of drives moves, and by which rule.
    pub(crate) fn autonomics(&self, raw: u64) -> Autonomics {
        match self.autonomics {
            _ if self.of_moves().is_some() => Autonomics::By(self.rule_of_moves(raw)),
            None => Autonomics::AsPreset,
            Some(true) => Autonomics::On,
            Some(false) => Autonomics::Off,
        }
    }

    fn rule_of_moves(&self, raw: u64) -> AutonomicsRule {
        let flash = self.budget_of.map_or(raw, |flash| flash.0);
        let usual = AutonomicsRule::for_blocks(flash / BLOCK as u64);
        AutonomicsRule {
            migration: self.migration.unwrap_or(usual.migration),
            queue: self.queue.map_or(usual.queue, NonZeroU32::get),
            targets: self.targets.unwrap_or(usual.targets),
            ..usual
        }
    }

    /// Which drives share links, where that matters: modules of a cluster do.
    pub(crate) fn shared_links(&self, modules: Option<&Modules<'_>>) -> Vec<Link> {
        match modules.filter(|_| self.moves_data()) {
            Some(modules) => modules.links(self.devices() as u32),
            None => sharing::declared(&self.links).expect("checked when the scenario was read"),
        }
    }

    pub(crate) fn options(&self) -> CreateOptions {
        let ArrayKind::Log(preset) = self.kind() else { unreachable!("only arrays that write logs have options") };
        let raids = self.raid.as_ref().expect("checked when the scenario was read");
        let Raid { data, parity } = raids.on(None);
        let defaults = CreateOptions::new(self.name(), preset, usize::from(self.groups), data, parity);
        let rules = self.cleaning.clone().unwrap_or_default();
        let over_provision = self.over_provision.map(|percent| (percent.0 * 10.0).round() as u16);
        CreateOptions {
            chunk: self.chunk.map_or(defaults.chunk, |size| ByteSize(size.0)),
            victim: rules.all,
            victim_on: rules.on,
            streams: self.streams,
            media: self.media.clone(),
            raid_on: raids.by_medium().to_vec(),
            segment: self.segment.map(|size| ByteSize(size.0)),
            stripe_rows: self.stripe_rows,
            over_provision_permille: over_provision.unwrap_or(defaults.over_provision_permille),
            until_full: self.protection,
            transient: self.transient.map(|size| ByteSize(size.0)),
            ..defaults
        }
    }
}

impl Scenario {
    /// Reads a scenario from the text of a file of that name.
    ///
    /// # Errors
    /// With line, column and remedy, when the text is no scenario or one that cannot be.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut spec = toml::from_str::<Spec>(text).map_err(|error| {
            let message = error.message().trim_end().replace('\n', "; ");
            ScenarioError::at(file, text, error.span(), message)
        })?;
        // What TOML takes for a number is less than what fields take: a run's own scenario is written as TOML again.
        text.parse::<toml::Table>().map_err(|error| {
            ScenarioError::at(file, text, error.span(), format!("{}: at most {}", error.message().trim_end(), i64::MAX))
        })?;
        let directory = Path::new(file).parent().unwrap_or(Path::new(""));
        spec.workload.get_mut().relative_to(directory);
        let mut scenario = Self { file: file.into(), text: text.into(), spec, network: None };
        scenario.network = scenario.find_network(directory)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether something between clients and array may answer reads.
    pub(crate) fn has_cache(&self) -> bool {
        self.spec.cache.is_some()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// What is written down of one run, so that it can be run again: this scenario with the array of that number alone, the seed,
    /// and a trace by the name of its file, which is to lie beside it.
    ///
    /// # Panics
    /// If there is no array of that number.
    pub fn of_run(&self, which: usize, seed: u64) -> Self {
        let mut table: toml::Table = self.whole_text().parse().expect("it was read");
        table.insert("seed".into(), toml::Value::Integer(seed as i64));
        let arrays = table["array"].as_array_mut().expect("it was read");
        *arrays = vec![arrays.swap_remove(which)];
        if let Some(name) = self.trace().and_then(Path::file_name) {
            table["workload"]["replay"]["file"] = name.to_string_lossy().into_owned().into();
        }
        let text = toml::to_string(&table).expect("what was read can be written");
        Self { text, ..self.clone() }
    }

    /// Its text, with that of the topology file that it names.
    pub(crate) fn whole_text(&self) -> String {
        let Some(topology) = self.network.as_ref().and_then(|network| network.read.as_ref()) else {
            return self.text.clone();
        };
        let mut table: toml::Table = self.text.parse().expect("it was read");
        let section = table["fabric"].as_table_mut().expect("it was read");
        section.remove("file");
        section.insert("description".into(), topology.clone().into());
        toml::to_string(&table).expect("what was read can be written")
    }

    /// The trace that it plays, if that is a file.
    pub fn trace(&self) -> Option<&Path> {
        self.spec.workload.as_ref().file()
    }

    /// What it is about, in a sentence; may be empty.
    pub fn about(&self) -> &str {
        &self.spec.about
    }

    /// The seed that it names.
    pub fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// Its arrays, in order.
    pub fn arrays(&self) -> impl ExactSizeIterator<Item = &ArraySection> {
        self.spec.array.iter().map(Spanned::as_ref)
    }

    /// Virtual time that is measured and shown, without the aging.
    pub fn duration(&self) -> Nanos {
        self.spec.run.as_ref().duration.0
    }

    /// An error about a part of the file.
    pub(crate) fn wrong<T>(&self, part: &Spanned<T>, message: impl ToString) -> ScenarioError {
        ScenarioError::at(&self.file, &self.text, Some(part.span()), message)
    }

    fn find_network(&self, directory: &Path) -> Result<Option<Network>, ScenarioError> {
        let Some(part) = &self.spec.fabric else { return Ok(None) };
        part.as_ref().network(directory).map(Some).map_err(|why| match why {
            NoNetwork::Section(why) => self.wrong(part, why),
            NoNetwork::File(error) => {
                ScenarioError { file: error.file, line: error.line, column: error.column, message: error.message }
            }
        })
    }

    /// That the drives can hang on the network, and that there is room for them.
    fn check_fabric(&self) -> Result<(), ScenarioError> {
        let (Some(network), Some(part)) = (&self.network, &self.spec.fabric) else { return Ok(()) };
        if !self.drive()?.is_flash() {
            return Err(self.wrong(
                part,
                "only modelled drives of flash can be behind a fabric; choose a preset such as \"fimm\"",
            ));
        }
        let modules = network.topology.modules() as usize;
        match self.spec.array.iter().find(|array| array.as_ref().devices() > modules) {
            Some(array) => {
                let devices = counted(array.as_ref().devices(), "device");
                let modules = counted(modules, "module");
                Err(self.wrong(array, format!("{devices}, and the fabric has {modules}; take fewer devices")))
            }
            None => Ok(()),
        }
    }

    fn wrong_volume(&self, message: impl ToString) -> ScenarioError {
        const SECTION: &str = "[volume]";
        let span = self.text.find(SECTION).map(|at| at..at + SECTION.len());
        ScenarioError::at(&self.file, &self.text, span, message)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        self.drive().map(drop)?;
        self.check_volumes()?;
        self.other_drives().map(drop)?;
        self.check_fabric()?;
        self.spec.workload.as_ref().check().map_err(|why| self.wrong(&self.spec.workload, why))?;
        if self.spec.array.is_empty() {
            return Err(self.wrong(&self.spec.devices, "there is no [[array]]: describe at least one"));
        }
        for (n, array) in self.spec.array.iter().enumerate() {
            array.as_ref().check().map_err(|why| self.wrong(array, why))?;
            self.check_links(array.as_ref())?;
            let name = array.as_ref().name();
            let fine = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
            if !fine || name.starts_with('.') {
                let rule = "letters, digits, dots, dashes and underlines, as it becomes the name of a directory";
                return Err(self.wrong(array, format!("an array cannot be named \"{name}\": {rule}")));
            }
            if self.arrays().take(n).any(|earlier| earlier.name() == name) {
                return Err(self.wrong(array, format!("there is another array \"{name}\": give this one a name = ...")));
            }
        }
        self.check_run()
    }

    /// That an array's declared links are of use, and go together.
    fn check_links(&self, array: &ArraySection) -> Result<(), ScenarioError> {
        let Some(first) = array.links.first() else { return Ok(()) };
        if self.network.is_some() {
            let why = "with a [fabric], drives share the links of its endpoints; leave this out, or [fabric]";
            return Err(self.wrong(first, format!("links: {why}")));
        }
        if let Some((text, error)) = sharing::wrong(&array.links, array.devices()) {
            return Err(self.wrong(text, error));
        }
        if !array.moves_data() {
            let why = "data does not move out of the way of contention here; set autonomics = true, or leave this out";
            return Err(self.wrong(first, format!("links: {why}")));
        }
        Ok(())
    }

    fn check_volumes(&self) -> Result<(), ScenarioError> {
        if self.spec.volume.next.iter().any(|volume| !volume.next.is_empty()) {
            return Err(self.wrong_volume("next: volumes that follow stand side by side, as [[volume.next]]"));
        }
        for volume in self.spec.volume.all() {
            if volume.places() > 1 {
                return Err(self.wrong_volume("give one of media, prefer and hybrid: each says where the volume is"));
            }
            volume.paging().map_err(|error| self.wrong_volume(error))?;
        }
        Ok(())
    }

    fn check_run(&self) -> Result<(), ScenarioError> {
        let part = &self.spec.run;
        let run = part.as_ref();
        if run.duration.0 == Nanos::ZERO || run.ramp.0 >= run.duration.0 {
            return Err(self.wrong(part, "the duration must be longer than the ramp (and than nothing)"));
        }
        if run.sample.0 < Nanos::micros(10) || run.duration.0.0 / run.sample.0.0 > 1_000_000 {
            return Err(self.wrong(part, "sample: at least 10us, and at most a million samples in the duration"));
        }
        let fine = |aging: &&Spanned<AgingSection>| (0.0..=1000.0).contains(&aging.as_ref().overwrite);
        if let Some(aging) = self.spec.aging.as_ref().filter(|aging| !fine(aging)) {
            return Err(self.wrong(aging, "overwrite: how often to write the volume over, from 0 to 1000"));
        }
        if let Some(aging) = self
            .spec
            .aging
            .as_ref()
            .filter(|aging| aging.as_ref().depth.is_some_and(|depth| !(1..=1024).contains(&depth)))
        {
            return Err(self.wrong(aging, "depth: from 1 to 1024 writes at once"));
        }
        let whole = |size: &Size| (1..=1 << 20).contains(&size.0) && size.0.is_multiple_of(BLOCK as u64);
        let fine = |aging: &&Spanned<AgingSection>| aging.as_ref().overwrite_block.as_ref().is_none_or(whole);
        if let Some(aging) = self.spec.aging.as_ref().filter(|aging| !fine(aging)) {
            return Err(self.wrong(aging, "overwrite-block: a multiple of 4KiB, up to 1MiB"));
        }
        let fine = |cpu: &&Spanned<CpuSection>| (1..=MAX_CORES).contains(&cpu.as_ref().cores);
        if let Some(cpu) = self.spec.cpu.as_ref().filter(|cpu| !fine(cpu)) {
            return Err(self.wrong(cpu, format!("cores: from 1 to {MAX_CORES}, each with a reactor of its own")));
        }
        let in_place = |array: &ArraySection| matches!(array.kind(), ArrayKind::InPlace(_));
        let several = self.spec.cpu.as_ref().filter(|cpu| cpu.as_ref().cores > 1);
        if let Some(cpu) = several.filter(|_| self.arrays().any(in_place)) {
            return Err(self.wrong(cpu, "cores: arrays that update in place work on one core; leave it out, or them"));
        }
        if let Some(network) = self.spec.network.as_ref().filter(|network| network.as_ref().rate.0 == 0) {
            return Err(self.wrong(network, "rate: bytes per second, such as \"1250MB\" for 10 GbE, not 0"));
        }
        if let Some(cache) = self.spec.cache.as_ref().filter(|cache| cache.as_ref().memory.0 == 0) {
            return Err(self.wrong(cache, "memory: bytes, such as \"64GiB\", not 0; leave [cache] out for none"));
        }
        Ok(())
    }

    /// The drive that is meant.
    pub(crate) fn drive(&self) -> Result<Drive, ScenarioError> {
        let part = &self.spec.devices;
        part.as_ref().drive().map_err(|why| self.wrong(part, why))
    }

    /// The drives that are meant where R-groups are on other media than flash, by their sections.
    pub(crate) fn other_drives(&self) -> Result<Vec<(&DevicesSection, Drive)>, ScenarioError> {
        let parts = [&self.spec.nvm, &self.spec.disks, &self.spec.smr].into_iter().flatten();
        let drive =
            |part: &'_ Spanned<DevicesSection>| match self.network {
                Some(_) => Err(self
                    .wrong(part, "only modelled drives of flash can be behind a fabric: leave [fabric] out, or this")),
                None => part.as_ref().drive().map_err(|why| self.wrong(part, why)),
            };
        parts.map(|part| Ok((part.as_ref(), drive(part)?))).collect()
    }

    /// Names of the sections that describe modelled drives of flash.
    pub(crate) fn flash_sections(&self) -> Vec<&'static str> {
        let Spec { devices, disks, smr, nvm, .. } = &self.spec;
        let parts =
            [("devices", Some(devices)), ("disks", disks.as_ref()), ("smr", smr.as_ref()), ("nvm", nvm.as_ref())];
        let is_flash = |part: &Spanned<DevicesSection>| part.as_ref().drive().is_ok_and(|drive| drive.is_flash());
        parts.into_iter().filter(|(_, part)| part.is_some_and(is_flash)).map(|(name, _)| name).collect()
    }

    /// The section that describes a device of an array.
    pub(crate) fn devices_of(&self, array: &ArraySection, device: usize) -> &DevicesSection {
        let part = match array.medium_of(device) {
            Some(Medium::Disk) => &self.spec.disks,
            Some(Medium::Smr) if self.spec.smr.is_some() => &self.spec.smr,
            Some(Medium::Smr) => &self.spec.disks,
            Some(Medium::Nvm) => &self.spec.nvm,
            Some(Medium::Flash) | None => &None,
        };
        part.as_ref().unwrap_or(&self.spec.devices).as_ref()
    }

    /// What is written before the clock starts; nothing if the file does not say.
    pub(crate) fn aging(&self) -> AgingSection {
        self.spec.aging.as_ref().map(Spanned::as_ref).copied().unwrap_or_default()
    }
}
