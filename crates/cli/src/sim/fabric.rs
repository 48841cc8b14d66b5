//! `cygnus sim fabric`

use crate::args::sim::FabricArgs;
use crate::failure::Failure;
use crate::outfile;
use crate::output::Output;
use cygnus_fabric::Topology;
use cygnus_types::counted;
use serde::Serialize;
use std::io::ErrorKind;
use std::path::Path;

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
        outfile::write(path, topology.svg(None).as_bytes())?;
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
        let links = counted(*links, "link");
        format!(
            "{name}: {switches}, {clusters}, {modules}, {links}; the root complex takes {queue} requests at a time.\n"
        )
    })
}

/// The file of that name, or what the name stands for if there is no such file.
fn load(path: &Path) -> Result<Topology, Failure> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Topology::parse(&name, &text).map_err(|error| Failure::Usage(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Topology::from_shorthand(&name).map_err(|error| Failure::Usage(error.to_string()))
        }
        Err(error) => Err(Failure::Usage(format!("{name}: {error}; name a topology file, or write one such as 4x16"))),
    }
}
