//! A table that grows while others read it.

use std::sync::Arc;

use loom::thread;

use crate::grown::Grown;
use crate::plant::{Plant, try_all};

/// Runs the model. Here nothing can be swapped from outside.
pub fn run(plant: Plant) {
    try_all(plant, || {
        let table = Arc::new(Grown::new(3, [10]));
        let reader = {
            let table = table.clone();
            thread::spawn(move || {
                let seen: Vec<u64> = table.iter().copied().collect();
                assert_eq!(seen, [10, 20, 30][..seen.len()], "whoever sees the length sees the entries");
            })
        };
        table.push(20);
        table.push(30);
        reader.join().expect("it does not panic");
    });
}
