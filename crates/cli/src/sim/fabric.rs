//! `cygnus sim fabric`

use crate::args::sim::FabricArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::{infile, outfile};
use cygnus_fabric::Topology;
use cygnus_types::counted;
use serde::Serialize;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const REMEDY: &str = "name a topology file, or write SWITCHESxCLUSTERS, such as 4x16";

/// What `sim fabric` answers.
#[derive(Debug, Serialize)]
struct Answer {
    name: String,
    queue: u32,
    switches: usize,
    links: usize,
    modules: u32,
    clusters: Vec<Described>,
}

#[derive(Debug, Serialize)]
struct Described {
    name: String,
    first_module: u32,
    modules: u32,
    bus_bytes_per_second: u64,
}

pub(super) fn run(args: &FabricArgs, output: Output) -> Result<(), Failure> {
    let topology = load(&args.topology)?;
    if let Some(path) = &args.svg {
        draw(&topology, path, args)?;
    }
    let clusters = (0..topology.clusters().len()).map(|n| Described {
        name: topology.cluster_name(n).into(),
        first_module: topology.modules_of(n).start,
        modules: topology.clusters()[n].modules,
        bus_bytes_per_second: topology.clusters()[n].bus_rate,
    });
    let answer = Answer {
        name: topology.name().into(),
        queue: topology.queue(),
        switches: topology.switches(),
        links: topology.links(),
        modules: topology.modules(),
        clusters: clusters.collect(),
    };
    output.answer(&answer, |_| {
        let Answer { name, queue, switches, links, modules, clusters } = &answer;
        let switches = counted(*switches, "switch").or("switches");
        let [clusters, modules] = [counted(clusters.len(), "cluster"), counted(*modules, "module")];
        let [links, requests] = [counted(*links, "link"), counted(*queue, "request")];
        format!("{name}: {switches}, {clusters}, {modules}, {links}; the root complex takes {requests} at a time.\n")
    })
}

/// Writes the picture, but never in place of the topology that it shows.
fn draw(topology: &Topology, path: &Path, args: &FabricArgs) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if is_same(path, &args.topology) {
        let message = "is the topology itself: name another file for the picture";
        return Err(Failure::Usage(format!("{} {message}", path.display())));
    }
    let svg = topology.to_svg(None);
    outfile::create(path, args.force, |mut file| {
        file.write_all(svg.as_bytes()).and_then(|()| file.flush()).map_err(failed)
    })
}

/// Whether two paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    id(one).is_some_and(|found| Some(found) == id(other))
}

/// The file of that name, or what the name stands for if there is no such file.
fn load(path: &Path) -> Result<Topology, Failure> {
    let name = path.display().to_string();
    let usage = |message: String| Failure::Usage(message);
    match infile::read(path) {
        Ok(text) => Topology::parse(&name, &text).map_err(|error| usage(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Topology::from_shorthand(&name).map_err(|word| {
            if word.has_other_form() { usage(format!("{name}: {error}; {REMEDY}")) } else { usage(word.to_string()) }
        }),
        Err(error) => Err(usage(format!("{name}: {error}; {REMEDY}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    #[test]
    fn pictures_replace_files_only_if_wanted_and_never_their_topology() {
        let scratch = Scratch::new("sim-fabric");
        let [mine, note, link] = ["mine.toml", "note.txt", "link"].map(|name| scratch.path().join(name));
        let text = include_str!("../../../../scenarios/topology.toml");
        fs::write(&mine, text).unwrap();
        fs::write(&note, "a note").unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        let topology = load(&mine).unwrap();
        let draw = |path: &Path, force| {
            draw(&topology, path, &FabricArgs { topology: mine.clone(), svg: Some(path.into()), force })
        };
        for path in [&mine, &link] {
            assert!(draw(path, true).unwrap_err().to_string().contains("is the topology itself"));
        }
        assert!(draw(&note, false).unwrap_err().to_string().contains("--force"));
        assert_eq!(
            (fs::read_to_string(&mine).unwrap().as_str(), fs::read_to_string(&note).unwrap().as_str()),
            (text, "a note")
        );
        draw(&note, true).unwrap();
        assert!(fs::read_to_string(&note).unwrap().starts_with("<svg"));
    }
}
