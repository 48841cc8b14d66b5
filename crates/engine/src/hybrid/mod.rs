//! Hybrid volumes (SALSA, section 4.2): clients' writes go to the slower of their two media, blocks that are often read move to the faster
//! one, and leave it again when others need the room and they are read no more.
//!
//! [`cygnus_policy::HybridRule`] says what is hot. Every move is one more write of a block that is where it was until the map says
//! otherwise: it is given up if anything has changed meanwhile.

pub(crate) mod demote;
pub(crate) mod promote;
pub(crate) mod room;
pub(crate) mod temperatures;
