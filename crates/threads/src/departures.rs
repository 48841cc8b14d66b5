//! A member leaves on one reactor while the home reactor flushes: a flush that left it out may be answered only when its
//! departure is on record.

use std::sync::Arc;

use loom::thread;

use crate::atomic::{AtomicU64, Ordering};
use crate::plant::{Plant, try_all};
use crate::service::{Service, ServiceWord};

/// What the home reactor does and remembers.
struct Home<'a> {
    member: &'a ServiceWord,
    /// A count apart from the member's word, as is planted.
    apart: Option<&'a AtomicU64>,
    recorded: u64,
    says_out: bool,
}

impl Home<'_> {
    fn membership(&self) -> u64 {
        self.apart.map_or_else(|| self.member.changes(), |count| count.load(Ordering::Acquire))
    }

    /// Writes the superblocks.
    fn commit(&mut self) {
        loop {
            let membership = self.membership();
            self.says_out = self.member.get() == Service::Out;
            self.recorded = membership;
            if self.membership() == membership {
                return;
            }
        }
    }

    fn flush(&mut self) {
        let left_out = self.member.get() == Service::Out;
        if self.membership() != self.recorded {
            self.commit();
        }
        assert!(
            !left_out || self.says_out,
            "what a member missed was told to be durable, and nobody knows that it missed it"
        );
    }
}

/// Runs the model. Swapped: the departure is counted after it has happened, in another word.
pub fn run(plant: Plant) {
    try_all(plant, move || {
        let member = Arc::new(ServiceWord::new(Service::Online));
        let count = Arc::new(AtomicU64::new(0));
        let leaver = {
            let (member, count) = (member.clone(), count.clone());
            thread::spawn(move || {
                member.turn(|service| service != Service::Out, Service::Out);
                count.fetch_add(1, Ordering::AcqRel);
            })
        };
        let apart = (plant == Plant::Swapped).then_some(&*count);
        let mut home = Home { member: &member, apart, recorded: 0, says_out: false };
        home.flush();
        home.flush();
        leaver.join().expect("it does not panic");
    });
}
