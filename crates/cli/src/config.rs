//! The TOML file given with `--config`, an alternative to flags.
//!
//! ```toml
//! state = "/srv/cygnus"
//!
//! [array.tank]            # what 'array create tank' would be told
//! preset = "swan"
//! groups = 3
//! raid = "2+1"
//! create = "1GiB"
//! sparse = true
//! chunk = "256KiB"
//! segment = "auto"
//! over-provision = "20%"
//! parity = "rotate"
//! members = ["d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8"]
//!
//! [array.tank.serve]      # what 'serve tank' would be told
//! nbd = ["unix:tank.sock", "127.0.0.1:10809"]
//! reactors = 2
//! pin = true
//! scrub-every = "30d"
//! memory = "4GiB"
//! max-connections = 500
//! stalled-after = "60s"
//! idle-after = "never"
//! hung-after = "75s"
//! suspended-for = "10m"
//! kept-in = "/dev/shm"
//! autonomics = true
//! link = ["nic0:/dev/sda,/dev/sdb", "auto"]
//! log-time = "auto"
//! ```
//!
//! What is meant for one start, as `--force` and `--record`, has no key.
//!
//! Flags win over the environment, the environment over the file, the file over the defaults. A list given by flags
//! replaces the file's list, it does not add to it. Relative paths are relative to the file, so that it means the same
//! from wherever it is used. An unknown key is an error: it is a typing mistake.

use crate::args::array::CreateArgs;
use crate::args::serve::{LinkChoice, LogTime, ServeArgs};
use crate::args::values::{
    Cleaning, Interval, KeptIn, Parity, Percent, Preset, Protection, SegmentSize, Size, Span, Streams, ValueError,
    check_hung_after, check_stalled_after, whole_blocks,
};
use crate::infile;
use cygnus_control::media::MediumName;
use cygnus_format::Raids;
use cygnus_host::{ArrayName, BadName, place};
use cygnus_target::{ListenAddress, ListenError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;

/// Why a configuration file cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It says something that is not understood.
    #[error("{path}: {why}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where in it, and what.
        why: WrongConfig,
    },
}

/// What is wrong in a configuration file, and in which section.
#[derive(Debug, Error)]
pub enum WrongConfig {
    /// A line is no TOML, or a key or value is none that is known; the words have the line.
    #[error("{}", .0.to_string().trim_end())]
    Text(#[from] toml::de::Error),
    /// No array can have this name.
    #[error("[array.{name}]: {error}")]
    Name {
        /// What is there.
        name: String,
        /// What names are.
        error: BadName,
    },
    /// A size is not of whole blocks.
    #[error("[array.{name}] {key}: {error}")]
    Size {
        /// The array.
        name: String,
        /// Which size.
        key: &'static str,
        /// What sizes are.
        error: ValueError,
    },
    /// Nobody can listen there.
    #[error("[array.{name}.serve] nbd: {error}")]
    Address {
        /// The array.
        name: String,
        /// What addresses are.
        error: ListenError,
    },
    /// A patience that members or clients may need more than.
    #[error("[array.{name}.serve] {key}: {error}")]
    TooShort {
        /// The array.
        name: String,
        /// Which patience.
        key: &'static str,
        /// What it may be.
        error: ValueError,
    },
    /// Something that an array needs is 0.
    #[error("[array.{0}]: groups, reactors and max-connections are at least 1")]
    Zero(String),
}

/// What the file says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The state directory, where `--state` does not name another one.
    pub state: Option<PathBuf>,
    /// Arrays by name.
    #[serde(default)]
    array: BTreeMap<String, ArrayConfig>,
}

fn raids<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Raids>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ArrayConfig {
    preset: Option<Preset>,
    groups: Option<u16>,
    #[serde(default, deserialize_with = "raids")]
    raid: Option<Raids>,
    create: Option<Size>,
    sparse: Option<bool>,
    chunk: Option<Size>,
    segment: Option<SegmentSize>,
    over_provision: Option<Percent>,
    parity: Option<Parity>,
    cleaning: Option<Cleaning>,
    streams: Option<Streams>,
    #[serde(default)]
    media: Vec<MediumName>,
    protection: Option<Protection>,
    transient: Option<Size>,
    #[serde(default)]
    members: Vec<PathBuf>,
    #[serde(default)]
    serve: ServeConfig,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ServeConfig {
    #[serde(default)]
    nbd: Vec<String>,
    reactors: Option<u16>,
    pin: Option<bool>,
    scrub_every: Option<Interval>,
    memory: Option<Size>,
    max_connections: Option<u32>,
    stalled_after: Option<Span>,
    idle_after: Option<Interval>,
    hung_after: Option<Span>,
    suspended_for: Option<Span>,
    kept_in: Option<KeptIn>,
    autonomics: Option<bool>,
    #[serde(default)]
    link: Vec<Spanned<LinkChoice>>,
    log_time: Option<LogTime>,
}

impl Config {
    /// Reads the file at `path`; no file is an empty configuration.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = infile::read(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        let mut config = Self::parse(&text).map_err(|why| ConfigError::Content { path: path.into(), why })?;
        config.resolve(path.parent().unwrap_or(Path::new("")));
        config.place_links(path, &text);
        Ok(config)
    }

    /// Notes at which line each link stands: whether it makes sense shows when the array is opened.
    fn place_links(&mut self, path: &Path, text: &str) {
        for link in self.array.values_mut().flat_map(|array| &mut array.serve.link) {
            let line = text[..link.span().start].matches('\n').count() + 1;
            if let LinkChoice::Declared(link) = link.get_mut() {
                link.declared_at = Some(format!("{}:{line}", path.display()));
            }
        }
    }

    fn parse(text: &str) -> Result<Self, WrongConfig> {
        let config: Self = toml::from_str(text)?;
        for (name, array) in &config.array {
            let of = || name.clone();
            name.parse::<ArrayName>().map_err(|error| WrongConfig::Name { name: of(), error })?;
            for (key, size) in [("create", array.create), ("chunk", array.chunk), ("transient", array.transient)] {
                let checked = size.map_or(Ok(()), |size| whole_blocks(size.0).map(drop));
                checked.map_err(|error| WrongConfig::Size { name: of(), key, error })?;
            }
            let ServeConfig { hung_after, stalled_after, .. } = array.serve;
            for (key, checked) in [
                ("hung-after", hung_after.map_or(Ok(()), |span| check_hung_after(span).map(drop))),
                ("stalled-after", stalled_after.map_or(Ok(()), |span| check_stalled_after(span).map(drop))),
            ] {
                checked.map_err(|error| WrongConfig::TooShort { name: of(), key, error })?;
            }
            for address in &array.serve.nbd {
                address.parse::<ListenAddress>().map_err(|error| WrongConfig::Address { name: of(), error })?;
            }
            if array.groups == Some(0) || array.serve.reactors == Some(0) || array.serve.max_connections == Some(0) {
                return Err(WrongConfig::Zero(of()));
            }
        }
        Ok(config)
    }

    /// Makes relative paths relative to the file's directory.
    fn resolve(&mut self, dir: &Path) {
        if let Some(state) = &mut self.state {
            *state = dir.join(&state);
        }
        for array in self.array.values_mut() {
            for member in &mut array.members {
                *member = place::from_directory(dir, member);
            }
            for address in &mut array.serve.nbd {
                if let Some(path) = address.strip_prefix("unix:") {
                    *address = format!("unix:{}", dir.join(path).display());
                }
            }
        }
    }

    /// Fills in what the flags of `array create` left open.
    pub fn complete_create(&mut self, args: &mut CreateArgs) {
        let Some(file) = self.array.remove(args.name.as_str()) else { return };
        args.preset = args.preset.or(file.preset);
        args.groups = args.groups.or(file.groups);
        args.raid = args.raid.take().or(file.raid);
        args.create = args.create.or(file.create);
        args.sparse |= file.sparse.unwrap_or(false);
        args.chunk = args.chunk.or(file.chunk);
        args.segment = args.segment.or(file.segment);
        args.over_provision = args.over_provision.or(file.over_provision);
        args.parity = args.parity.or(file.parity);
        args.cleaning = args.cleaning.take().or(file.cleaning);
        args.streams = args.streams.or(file.streams);
        if args.media.is_empty() {
            args.media = file.media.iter().map(|name| name.0).collect();
        }
        args.protection = args.protection.or(file.protection);
        args.transient = args.transient.or(file.transient);
        if args.members.is_empty() {
            args.members = file.members;
        }
    }

    /// Fills in what the flags of `serve` left open.
    pub fn complete_serve(&mut self, args: &mut ServeArgs) {
        let Some(file) = self.array.remove(args.name.as_str()) else { return };
        args.reactors = args.reactors.or(file.serve.reactors);
        args.pin |= file.serve.pin.unwrap_or(false);
        args.scrub_every = args.scrub_every.or(file.serve.scrub_every);
        args.memory = args.memory.or(file.serve.memory);
        args.max_connections = args.max_connections.or(file.serve.max_connections);
        args.stalled_after = args.stalled_after.or(file.serve.stalled_after);
        args.idle_after = args.idle_after.or(file.serve.idle_after);
        args.hung_after = args.hung_after.or(file.serve.hung_after);
        args.suspended_for = args.suspended_for.or(file.serve.suspended_for);
        args.kept_in = args.kept_in.take().or(file.serve.kept_in);
        args.autonomics |= file.serve.autonomics.unwrap_or(false);
        args.log_time = args.log_time.or(file.serve.log_time);
        if args.link.is_empty() {
            args.link = file.serve.link.into_iter().map(Spanned::into_inner).collect();
        }
        if args.nbd.is_empty() {
            let checked = |address: &String| address.parse().expect("checked when the file was read");
            args.nbd = file.serve.nbd.iter().map(checked).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command, array::ArrayCommand};
    use clap::Parser;

    /// The example in this module's documentation, so that it cannot go stale.
    fn documented() -> String {
        let lines = include_str!("config.rs").lines().skip_while(|line| *line != "//! ```toml").skip(1);
        lines.take_while(|line| *line != "//! ```").map(|line| line[3..].trim_start().to_string() + "\n").collect()
    }

    fn create_args(line: &str) -> CreateArgs {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Array(ArrayCommand::Create(args)) => args,
            _ => unreachable!("the line is a create"),
        }
    }

    fn serve_args(line: &str) -> ServeArgs {
        match Cli::try_parse_from(line.split(' ')).unwrap().command {
            Command::Serve(args) => args,
            _ => unreachable!("the line is a serve"),
        }
    }

    #[test]
    fn the_file_fills_in_what_flags_leave_open() {
        let mut config = Config::parse(&documented()).unwrap();
        config.resolve(Path::new("/etc/cygnus"));
        assert_eq!(config.state.as_deref(), Some(Path::new("/srv/cygnus")));
        let mut args = create_args("cygnus array create tank --raid 3+0 --groups 2");
        config.complete_create(&mut args);
        assert_eq!(args.raid, Some("3+0".parse().unwrap()), "flags win");
        assert_eq!(args.groups, Some(2));
        assert_eq!((args.over_provision, args.sparse), (Some(Percent(20)), true));
        assert_eq!(args.members.len(), 9);
        assert_eq!(args.members[0], Path::new("/etc/cygnus/d0"));
    }

    #[test]
    fn lists_are_replaced_not_joined() {
        let mut config = Config::parse(&documented()).unwrap();
        let mut args = create_args("cygnus array create tank x y");
        config.complete_create(&mut args);
        assert_eq!(args.members, ["x", "y"].map(PathBuf::from));

        let mut config = Config::parse(&documented()).unwrap();
        let mut args = serve_args("cygnus serve tank --nbd unix:other.sock");
        config.complete_serve(&mut args);
        assert_eq!((args.nbd.len(), args.reactors, args.pin), (1, Some(2), true));
        assert_eq!(args.scrub_every, Some("720h".parse().unwrap()));
        assert_eq!((args.memory, args.max_connections), (Some("4GiB".parse().unwrap()), Some(500)));
        assert_eq!(args.stalled_after, Some("1m".parse().unwrap()));
        assert_eq!(args.idle_after, Some("never".parse().unwrap()));
        assert_eq!((args.hung_after, args.suspended_for), (Some("75s".parse().unwrap()), Some("10m".parse().unwrap())));
        assert_eq!(args.kept_in, Some("/dev/shm".parse().unwrap()));
        assert_eq!((args.autonomics, args.link.len(), args.log_time), (true, 2, Some(LogTime::Auto)));
    }

    #[test]
    fn links_of_the_file_know_their_lines() {
        let text = "[array.tank.serve]\nlink = [\n  'auto',\n  'n:a', 'm:b',\n  'o:c',\n]\n";
        let mut config = Config::parse(text).unwrap();
        config.place_links(Path::new("/etc/tank.toml"), text);
        let mut args = serve_args("cygnus serve tank");
        config.complete_serve(&mut args);
        let places: Vec<_> = args.link.iter().filter_map(LinkChoice::declared).map(|link| link.declared_at).collect();
        assert_eq!(places, [4, 4, 5].map(|line| Some(format!("/etc/tank.toml:{line}"))));
    }

    #[test]
    fn an_array_that_the_file_does_not_name_is_left_alone() {
        let mut config = Config::parse(&documented()).unwrap();
        let mut args = create_args("cygnus array create other");
        config.complete_create(&mut args);
        assert!(args.members.is_empty() && args.preset.is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("stat = 'x'", "unknown field `stat`"),
            ("[array.tank]\nraid = '2+9'", "parity is 0"),
            ("[array.tank]\ncreate = '100'", "not a multiple of 4096"),
            ("[array.tank]\ncreate = '5 apples'", "is not a unit"),
            ("[array.'a/b']\n", "an array's name is"),
            ("[array.tank]\ngroups = 0", "at least 1"),
            ("[array.tank]\nmedia = ['tape']", "use nvm, flash, disk or smr"),
            ("[array.tank.serve]\nnbd = ['a b']", "is not an address"),
            ("[array.tank.serve]\nscrub-every = '30 days'", "such as 90s"),
            ("[array.tank.serve]\nhung-after = '1ms'", "healthy drive may take longer"),
            ("[array.tank.serve]\nstalled-after = '0s'", "write 1s or more"),
            ("[array.tank.serve]\nkept-in = 'shm'", "is no absolute path"),
            ("[array.tank.serve]\nlink = ['sda,sdb']", "write NAME:DEVICE"),
            ("[array.tank", "TOML parse error at line 1"),
        ] {
            let error = Config::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
