//! Programs that take what is usual give each array an identity of its own.

use cygnus::Config;

#[test]
fn no_two_programs_draw_the_same() {
    assert_ne!(Config::default().seed, Config::default().seed);
}
