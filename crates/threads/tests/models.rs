//! Each model holds, and fails with what is planted in it.

use cygnus_threads::{Plant, changes, closing, departures, leaving, mail, room, rows, stripes, tables, turns};

/// Runs a model with something planted, and wants it to fail.
fn must_fail(model: fn(Plant), plant: Plant) {
    let failed = std::panic::catch_unwind(|| model(plant)).is_err();
    assert!(failed, "the model does not notice what was planted: {plant:?}");
}

macro_rules! models {
    ($($name:ident: $model:path $(, $plant:ident)*;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn holds() {
                $model(Plant::Nothing);
            }

            $(#[test]
            #[allow(non_snake_case)]
            fn $plant() {
                must_fail($model, Plant::$plant);
            })*
        }
    )*};
}

models! {
    the_map_ends_with_the_newest_write: turns::writers, Relaxed, Swapped;
    a_move_brings_nothing_back: turns::cleaner, Relaxed, Swapped;
    a_table_grows_while_others_read: tables::run, Relaxed;
    no_flush_passes_a_departure: departures::run, Swapped;
    a_row_is_found_wherever_it_is: rows::run, Relaxed, Swapped;
    no_change_is_missed: changes::run, Relaxed, Swapped;
    what_is_told_to_be_written_is: stripes::run, Relaxed, Swapped;
    no_message_is_left_lying: mail::run, Relaxed, Swapped;
    nobody_writes_in_a_group_that_has_left: leaving::run, Relaxed, Swapped;
    a_helper_hears_that_the_array_closes: closing::helper, Relaxed, Swapped;
    room_comes_back_when_a_checkpoint_ends: room::run, Swapped;
    a_clean_end_covers_what_was_taken: closing::writer, Relaxed, Swapped;
}
