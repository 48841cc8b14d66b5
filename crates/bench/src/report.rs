//! What a run found, as rows to print or to serialise.

use serde::Serialize;

/// One measured figure.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was done.
    pub name: String,
    /// Nanoseconds per operation (a 4 KiB block unless the name says otherwise).
    pub ns: f64,
    /// Operations per second: 10^9 by `ns`.
    pub per_second: f64,
    /// Bytes of clients' data per second, at that rate.
    pub bytes_per_second: f64,
    /// What it is compared with, and how many times that time it takes; none for the floor itself.
    pub beside: Option<(String, f64)>,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, ns: f64, bytes: usize) -> Self {
        let per_second = 1e9 / ns;
        Self { name: name.into(), ns, per_second, bytes_per_second: per_second * bytes as f64, beside: None }
    }

    pub(crate) fn beside(mut self, what: &str, ns: f64) -> Self {
        self.beside = Some((what.into(), self.ns / ns));
        self
    }
}

/// All figures of a run of the engine benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct EngineReport {
    /// Instruction set that parity uses.
    pub instruction_set: String,
    /// Members and R-groups of the array, in words.
    pub shape: String,
    /// What this machine can do at best: the parts of a write, one by one.
    pub floor: Vec<Row>,
    /// What the engine does.
    pub engine: Vec<Row>,
    /// Data blocks written per block of the clients', in the steady state of uniform random overwrites.
    pub cleaning_amplification: f64,
    /// What theory gives for the same share of live data.
    pub theoretical_amplification: f64,
}
