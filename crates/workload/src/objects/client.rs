//! One client: what it asks for, one object after the other.

use super::plan::{Operation, Plan};
use crate::{Kind, Part, Request, Source};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

/// Labels of requests: of an operation, the last one of it, and what is written when it is over.
const INNER: u16 = 0;
const LAST: u16 = 1;
const BEHIND: u16 = 2;

/// Does every n-th operation of a plan.
#[derive(Debug)]
pub(super) struct Client {
    plan: Rc<Plan>,
    next: usize,
    requests: VecDeque<Request>,
    footprint: Range<u64>,
}

impl Client {
    /// Number `n` of the plan's clients.
    pub(super) fn new(plan: Rc<Plan>, n: usize, footprint: Range<u64>) -> Self {
        Self { plan, next: n, requests: VecDeque::new(), footprint }
    }
}

/// The requests of an operation, in their order.
fn requests(operation: &Operation) -> VecDeque<Request> {
    let of = |kind, range: &Range<u64>, label| Request::new(kind, range.start, (range.end - range.start) as u32, label);
    let mut requests: VecDeque<Request> = operation.reads.iter().map(|range| of(Kind::Read, range, INNER)).collect();
    for range in operation.stored.iter().flatten() {
        requests.extend([of(Kind::Write, range, INNER), Request::flush(INNER)]);
    }
    if let Some(last) = requests.back_mut() {
        last.job = LAST;
    }
    requests.extend(operation.written_back.iter().map(|range| of(Kind::Write, range, BEHIND)));
    requests
}

impl Source for Client {
    fn next(&mut self) -> Option<Request> {
        while self.requests.is_empty() {
            self.requests = requests(self.plan.operations.get(self.next)?);
            self.next += self.plan.clients;
        }
        self.requests.pop_front()
    }

    fn depth(&self) -> u32 {
        1
    }

    fn footprint(&self) -> Range<u64> {
        self.footprint.clone()
    }

    fn phase(&self) -> Option<u16> {
        Some(self.plan.phase)
    }

    fn part(&self, label: u16) -> Option<Part> {
        match label {
            INNER => Some(Part::Inner),
            LAST => Some(Part::Last),
            _ => None,
        }
    }

    fn name(&self) -> &str {
        self.plan.name
    }

    fn jobs(&self) -> Vec<(u16, String)> {
        [(INNER, "object"), (LAST, "end of object"), (BEHIND, "behind")].map(|(job, name)| (job, name.into())).into()
    }
}
