//! A block of the write-intent log with any contents: an error or bits that encode to the same block, never a panic.
#![no_main]

use cygnus_format::{INTENT_REGIONS, IntentBlock};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut sound = IntentBlock::new(0, 1);
    input.iter().enumerate().for_each(|(n, &byte)| sound.set(n as u32 * 8 % INTENT_REGIONS, byte % 2 == 1));
    check(&sound.encode(7));
    check(input);
});

fn check(bytes: &[u8]) {
    let Ok(block) = IntentBlock::decode(bytes).and_then(|unverified| unverified.verify(7, 0)) else { return };
    let mut again = IntentBlock::new(0, block.session);
    (0..INTENT_REGIONS).for_each(|n| again.set(n, block.get(n)));
    assert_eq!(again, block);
}
