//! An array from its devices: made, found, opened, replayed; salvaged if it does not open any more.

pub(crate) mod apply;
pub(crate) mod assemble;
pub(crate) mod backups;
pub(crate) mod behind;
pub(crate) mod create;
pub(crate) mod discards;
pub(crate) mod give_up;
pub(crate) mod gone;
pub(crate) mod load;
pub(crate) mod lost;
pub(crate) mod made_good;
pub(crate) mod media;
pub(crate) mod open;
pub(crate) mod origins;
pub(crate) mod progress;
pub(crate) mod readmit;
pub(crate) mod remains;
pub(crate) mod replay;
pub(crate) mod rescue;
pub(crate) mod room;
pub(crate) mod salvage;
pub(crate) mod slots;
pub(crate) mod stays;
pub(crate) mod tail;
pub(crate) mod window;
pub(crate) mod zones;
