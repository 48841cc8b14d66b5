//! The loop: load, kill, damage, restart, read back, judge.

use crate::history::{Ending, Settled, Tally, Violation};
use crate::load::{self, Aim, Clock, Control, Outcome, Style};
use crate::rng::Rng;
use crate::sector::{self, SECTOR, Seen};
use crate::server::{Server, ServerError, Site};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Violations printed in full; more of them say the same thing again.
const SHOWN: usize = 12;

/// How long the load may wait for its first answer before the server counts as hung.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// What a run does.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rounds of load and crash.
    pub rounds: u64,
    /// Chooses operations and timings.
    pub seed: u64,
    /// Rounds after which the array is created anew.
    pub rounds_per_array: u64,
    /// Members destroyed at each restart, in one group; 0 for none.
    pub lose: usize,
    /// How the array's members are grouped.
    pub geometry: Geometry,
    /// Load period, milliseconds, from and to.
    pub load_ms: (u64, u64),
    /// Whether a kill may lose nothing that was answered.
    pub keeps: bool,
    /// Where a write is when it is answered.
    pub ack: Ack,
    /// Whether what is trimmed reads back as zeros, so that it may be trimmed.
    pub trims: bool,
    /// Rounds that end in a clean stop instead of a kill.
    pub stop_percent: u64,
    /// Restarts that are themselves killed once while under way.
    pub interrupt_percent: u64,
}

/// Where a write is when the server answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// In its memory.
    Memory,
    /// On the members: a kill may lose nothing that was answered.
    Written,
    /// Durable there: nobody flushes, and the server must offer no flush.
    Durable,
}

/// A word that names no such place.
#[derive(Debug, thiserror::Error)]
#[error("--ack {0:?}: use memory, written or durable")]
pub struct UnknownAck(String);

impl FromStr for Ack {
    type Err = UnknownAck;

    fn from_str(word: &str) -> Result<Self, UnknownAck> {
        match word {
            "memory" => Ok(Self::Memory),
            "written" => Ok(Self::Written),
            "durable" => Ok(Self::Durable),
            other => Err(UnknownAck(other.into())),
        }
    }
}

/// Members `g*width..(g+1)*width` form group g, which survives the loss of `parity` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// R-groups of the array.
    pub groups: usize,
    /// Members of each group, those with parity counted.
    pub width: usize,
    /// Members each may lose.
    pub parity: usize,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The server could not be started, died, or hung.
    #[error("round {round}: {source}")]
    Server {
        /// Round, from 1.
        round: u64,
        /// What happened.
        source: ServerError,
    },
    /// The server answered errors or dropped connections while it was healthy.
    #[error("round {round}: the server failed requests: {}", complaints.join("; "))]
    Complaints {
        /// Round, from 1.
        round: u64,
        /// What happened.
        complaints: Vec<String>,
    },
    /// The data was wrong.
    #[error("round {round}: {} sectors wrong:\n{}", violations.len(), shown(violations))]
    Wrong {
        /// Round, from 1.
        round: u64,
        /// All of them.
        violations: Vec<Violation>,
    },
    /// The server does not offer what the checker relies on.
    #[error("the server does not {0}: its flushes cannot be judged")]
    Unfit(&'static str),
    /// The run proved nothing.
    #[error("no flushed write was there to be checked: the run proved nothing")]
    Vacuous,
}

/// The violations, neighbours with the same fault and the same version shown folded into one line.
fn shown(violations: &[Violation]) -> String {
    let alike = |a: &Violation, b: &Violation| b.sector == a.sector + 1 && (a.fault, a.seen) == (b.fault, b.seen);
    let runs = violations.chunk_by(alike);
    let line = |run: &[Violation]| format!("  {} sectors from here: {}", run.len(), run[0]);
    let lines: Vec<String> = runs.take(SHOWN).map(line).collect();
    lines.join("\n")
}

/// Runs the plan, telling `report` about each round; returns what was checked in all.
pub fn run(site: &Site, plan: &Plan, mut report: impl FnMut(&str)) -> Result<Tally, RunError> {
    let mut rng = Rng::new(plan.seed);
    let clock = Clock::new();
    let mut total = Tally::default();
    let mut serving: Option<(Array, Server)> = None;
    for round in 1..=plan.rounds {
        let mut this = Round { site, plan, clock: &clock, rng: &mut rng, number: round };
        let (mut array, server) = match serving.take() {
            Some((array, server)) if !array.is_spent(plan) => (array, server),
            old => {
                drop(old);
                this.fresh()?
            }
        };
        let (server, tally, line) = this.run(&mut array, server)?;
        report(&format!("round {round:4}: {line}"));
        total += tally;
        serving = Some((array, server));
    }
    if total.durable == 0 && plan.rounds > 0 { Err(RunError::Vacuous) } else { Ok(total) }
}

/// What is known of an array, from its creation until it has lived long enough or has no redundancy left to lose.
struct Array {
    settled: Settled,
    run: u64,
    sectors: u64,
    lost: Vec<Vec<usize>>,
    rounds: u64,
}

impl Array {
    fn is_spent(&self, plan: &Plan) -> bool {
        let nothing_left = plan.lose > 0 && self.lost.iter().all(|l| l.len() >= plan.geometry.parity);
        self.rounds >= plan.rounds_per_array || nothing_left
    }

    /// Chooses members to destroy: `count` of one group, or as many as it can still lose.
    fn choose_losses(&mut self, geometry: Geometry, count: usize, rng: &mut Rng) -> Vec<usize> {
        let whole_enough = |g: &usize| self.lost[*g].len() < geometry.parity;
        let groups: Vec<usize> = (0..geometry.groups).filter(whole_enough).collect();
        if groups.is_empty() || count == 0 {
            return Vec::new();
        }
        let group = groups[rng.below(groups.len() as u64) as usize];
        let lost = &mut self.lost[group];
        let mut chosen = Vec::new();
        while chosen.len() < count && lost.len() < geometry.parity {
            let member = group * geometry.width + rng.below(geometry.width as u64) as usize;
            if !lost.contains(&member) {
                lost.push(member);
                chosen.push(member);
            }
        }
        chosen
    }
}

/// One round's means.
struct Round<'a> {
    site: &'a Site,
    plan: &'a Plan,
    clock: &'a Clock,
    rng: &'a mut Rng,
    number: u64,
}

impl Round<'_> {
    fn failed(&self, source: ServerError) -> RunError {
        RunError::Server { round: self.number, source }
    }

    fn fresh(&mut self) -> Result<(Array, Server), RunError> {
        self.site.step(&["fresh".to_owned()]).map_err(|e| self.failed(e))?;
        let mut server = self.site.spawn().map_err(|e| self.failed(e))?;
        let export = server.ready().map_err(|e| self.failed(e))?;
        if !export.multi_conn {
            return Err(RunError::Unfit("advertise MULTI_CONN"));
        }
        if export.min_block as usize > SECTOR {
            return Err(RunError::Unfit("take requests of 512 bytes"));
        }
        if export.flush != (self.plan.ack != Ack::Durable) {
            return Err(RunError::Unfit("offer FLUSH where it is needed, and there alone"));
        }
        let sectors = export.size / SECTOR as u64;
        let lost = vec![Vec::new(); self.plan.geometry.groups];
        Ok((Array { settled: Settled::blank(sectors), run: self.rng.draw(), sectors, lost, rounds: 0 }, server))
    }

    fn run(&mut self, array: &mut Array, server: Server) -> Result<(Server, Tally, String), RunError> {
        let keeps = self.plan.keeps || self.plan.ack != Ack::Memory;
        let killed = if keeps { Ending::KilledKept } else { Ending::Killed };
        let ending = if self.rng.percent(self.plan.stop_percent) { Ending::Stopped } else { killed };
        let (from, to) = self.plan.load_ms;
        let period = Duration::from_millis(from + self.rng.below(to - from + 1));
        let outcome = self.load(array, server, period, ending)?;
        let lost = array.choose_losses(self.plan.geometry, self.plan.lose, self.rng);
        self.destroy(&lost)?;
        self.interrupt_recovery()?;

        let restart = Instant::now();
        let mut server = self.site.spawn().map_err(|e| self.failed(e))?;
        server.ready().map_err(|e| self.failed(e))?;
        let restart = restart.elapsed();
        let readback = self.read_back(array, &server)?;
        let (violations, tally) = array.settled.judge(&outcome.log, ending, &readback);
        if !violations.is_empty() {
            return Err(RunError::Wrong { round: self.number, violations });
        }
        array.rounds += 1;
        let line = format!(
            "{ending:?} after {:.2} s, {} writes, {} flushes; lost members {lost:?}; restart {:.2} s; \
             sectors durable {}, unflushed kept {} gone {}, live reads {}",
            period.as_secs_f64(),
            outcome.log.ops.len(),
            outcome.log.flushes.len(),
            restart.as_secs_f64(),
            tally.durable,
            tally.unflushed_kept,
            tally.unflushed_lost,
            tally.live,
        );
        Ok((server, tally, line))
    }

    /// Loads the server for `period` from its first answer on, ends it, and returns what was logged.
    fn load(
        &mut self,
        array: &Array,
        mut server: Server,
        period: Duration,
        ending: Ending,
    ) -> Result<Outcome, RunError> {
        let style = Style::random(self.rng, self.plan.trims, self.plan.ack != Ack::Durable);
        let seed = self.rng.draw();
        let aim = Aim { socket: &self.site.socket, export: &self.site.export, run: array.run, sectors: array.sectors };
        let (clock, control) = (self.clock, Control::new());
        let (outcome, ended) = std::thread::scope(|scope| {
            let load = scope.spawn(|| load::run(&aim, &style, clock, &control, seed));
            let hung = !first_answer(&control, FIRST_ANSWER);
            std::thread::sleep(period);
            let early = server.alive();
            control.end();
            let ended = match (hung, early, ending) {
                (_, Err(e), _) => Err(e),
                (true, ..) => Err(server.hung("answering the first request")),
                (_, _, Ending::Killed | Ending::KilledKept) => {
                    server.kill();
                    Ok(())
                }
                (_, _, Ending::Stopped) => server.stop(),
            };
            (load.join().expect("load does not panic"), ended)
        });
        ended.map_err(|e| self.failed(e))?;
        if !outcome.complaints.is_empty() {
            return Err(RunError::Complaints { round: self.number, complaints: outcome.complaints });
        }
        if ending == Ending::Stopped {
            self.site.step(&["check".to_owned()]).map_err(|e| self.failed(e))?;
        }
        Ok(outcome)
    }

    fn destroy(&self, members: &[usize]) -> Result<(), RunError> {
        if members.is_empty() {
            return Ok(());
        }
        let mut args = vec!["lose".to_owned()];
        args.extend(members.iter().map(usize::to_string));
        self.site.step(&args).map_err(|e| self.failed(e))
    }

    /// Sometimes kills a restart under way: recovery must be repeatable from wherever it stopped.
    fn interrupt_recovery(&mut self) -> Result<(), RunError> {
        if self.rng.percent(self.plan.interrupt_percent) {
            let server = self.site.spawn().map_err(|e| self.failed(e))?;
            std::thread::sleep(Duration::from_millis(self.rng.below(150)));
            server.kill();
        }
        Ok(())
    }

    fn read_back(&self, array: &Array, server: &Server) -> Result<Vec<Seen>, RunError> {
        let mut seen = Vec::with_capacity(array.sectors as usize);
        let result = server.read_all(array.sectors * SECTOR as u64, |offset, data| {
            let first = offset / SECTOR as u64;
            let sectors = (first..).zip(data.chunks_exact(SECTOR));
            seen.extend(sectors.map(|(n, s)| sector::inspect(s, array.run, n)));
        });
        result.map(|()| seen).map_err(|e| self.failed(e))
    }
}

/// Waits until the load has had an answer; false if none came.
fn first_answer(control: &Control, patience: Duration) -> bool {
    let started = Instant::now();
    while control.answered() == 0 {
        if started.elapsed() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_stay_within_the_parity_of_each_group() {
        let geometry = Geometry { groups: 3, width: 4, parity: 2 };
        let mut rng = Rng::new(1);
        let settled = Settled::blank(0);
        let mut array = Array { settled, run: 0, sectors: 0, lost: vec![Vec::new(); 3], rounds: 0 };
        let mut all = Vec::new();
        for _ in 0..3 {
            let lost = array.choose_losses(geometry, 2, &mut rng);
            assert_eq!(lost.len(), 2);
            assert_eq!(lost[0] / 4, lost[1] / 4, "both from one group");
            all.extend(lost);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 6);
        assert!(array.choose_losses(geometry, 2, &mut rng).is_empty());
    }
}
