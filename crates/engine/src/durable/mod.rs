//! What makes things durable, in growing order of weight: a flush, a commit of superblocks, a checkpoint. And answers that wait
//! for it, or for the members to have taken what was written.

pub(crate) mod answer;
pub(crate) mod answering;
pub(crate) mod checkpoint;
pub(crate) mod checkpoints;
pub(crate) mod clients;
pub(crate) mod commit;
pub(crate) mod flush;
pub(crate) mod flush_numbers;
pub(crate) mod records;
