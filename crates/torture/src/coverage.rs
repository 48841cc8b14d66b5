//! Which faults met which steps of the engine: counted, so that a campaign can say what it has tried.
//!
//! A fault counts for every step that is going on in the moment in which an operation meets it. Steps are those that
//! the engine tells of, the clients' requests, and two that have no length of their own: *rotation* lasts from the change of
//! the front-end until the next flush has ended, *idle* is when nothing else goes on.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use cygnus_sim::FaultKind;

/// A step without a length: see the module's text.
const ROTATION: &str = "rotation";

/// How often each fault met each step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    met: BTreeMap<(FaultKind, &'static str), u64>,
    /// Steps that went on at all, faults or not.
    steps: BTreeMap<&'static str, u64>,
    faults: u64,
}

#[derive(Default)]
struct Now {
    coverage: Coverage,
    going_on: BTreeMap<&'static str, u32>,
}

thread_local! {
    static NOW: RefCell<Now> = RefCell::default();
}

/// Forgets what was counted before in this thread.
pub(crate) fn begin() {
    NOW.take();
}

/// What this thread has counted since [`begin`].
pub(crate) fn end() -> Coverage {
    NOW.take().coverage
}

/// A step begins or ends.
pub(crate) fn step(name: &'static str, begins: bool) {
    NOW.with_borrow_mut(|now| {
        let count = now.going_on.entry(name).or_default();
        if begins {
            *count = if name == ROTATION { 1 } else { *count + 1 };
            *now.coverage.steps.entry(name).or_default() += 1;
        } else {
            *count = count.saturating_sub(1);
            if name == "flush" {
                now.going_on.remove(ROTATION);
            }
        }
    });
}

/// The steps that are going on, for people.
pub(crate) fn going_on() -> String {
    let names = |now: &Now| {
        let names = now.going_on.iter().filter(|(_, count)| **count > 0).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    NOW.with_borrow(names)
}

/// An operation met a fault.
pub(crate) fn met(fault: FaultKind) {
    NOW.with_borrow_mut(|now| {
        let Now { coverage, going_on } = now;
        coverage.faults += 1;
        let mut going_on = going_on.iter().filter(|(_, count)| **count > 0).map(|(name, _)| *name).peekable();
        let idle = going_on.peek().is_none().then_some("idle");
        for step in going_on.chain(idle) {
            *coverage.met.entry((fault, step)).or_default() += 1;
        }
    });
}

/// A step that lasts as long as this is kept.
pub(crate) struct During(&'static str);

impl During {
    pub(crate) fn new(name: &'static str) -> Self {
        step(name, true);
        Self(name)
    }
}

impl Drop for During {
    fn drop(&mut self) {
        step(self.0, false);
    }
}

impl Coverage {
    /// Adds another run's counts.
    pub fn add(&mut self, other: &Coverage) {
        for (key, count) in &other.met {
            *self.met.entry(*key).or_default() += count;
        }
        self.faults += other.faults;
        for (step, count) in &other.steps {
            *self.steps.entry(step).or_default() += count;
        }
    }

    /// How often a fault met a step.
    pub fn of(&self, fault: FaultKind, step: &str) -> u64 {
        self.met.iter().filter(|((f, s), _)| *f == fault && *s == step).map(|(_, count)| count).sum()
    }

    /// How many faults operations met.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// The steps that went on, in the order of their names.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.steps.iter().map(|(step, count)| (*step, *count))
    }

    /// Every pair of fault and step that met, with how often.
    pub fn pairs(&self) -> impl Iterator<Item = (FaultKind, &'static str, u64)> {
        self.met.iter().map(|((fault, step), count)| (*fault, *step, *count))
    }

    /// A table for people: a line for each step, a column for each fault; a dot where they never met.
    pub fn table(&self) -> String {
        let steps: BTreeSet<&str> = self.steps.keys().copied().chain(self.met.keys().map(|(_, step)| *step)).collect();
        let wide = steps.iter().map(|step| step.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (n, fault) in FaultKind::ALL.into_iter().enumerate() {
            let _ = writeln!(out, "{:wide$}  {}{}", "", "|".repeat(n).replace('|', "      | "), fault.name());
        }
        for step in steps {
            let _ = write!(out, "{step:wide$}");
            for fault in FaultKind::ALL {
                let count = self.of(fault, step);
                let text = if count == 0 { ".".into() } else { short(count) };
                let _ = write!(out, " {text:>7}");
            }
            out.push('\n');
        }
        out
    }
}

/// At most five characters.
fn short(count: u64) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=9_999_999 => format!("{}k", count / 1000),
        _ => format!("{}M", count / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_counts_for_every_step_going_on() {
        begin();
        met(FaultKind::Slow);
        step("rotation", true);
        {
            let _read = During::new("read");
            met(FaultKind::BitFlip);
            step("flush", true);
            met(FaultKind::BitFlip);
        }
        step("flush", false);
        met(FaultKind::BitFlip);
        let seen = end();
        let of = |step| seen.of(FaultKind::BitFlip, step);
        assert_eq!((of("read"), of("flush"), of("rotation"), of("idle")), (2, 1, 2, 1));
        assert_eq!(seen.of(FaultKind::Slow, "idle"), 1);
        let table = seen.table();
        assert!(table.lines().any(|line| line.starts_with("read") && line.contains(" 2 ")), "{table}");
        assert!(end().pairs().next().is_none());
    }
}
