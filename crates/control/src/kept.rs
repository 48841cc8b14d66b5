//! What a server that is killed leaves for the next one, and what may be missing of it.

use cygnus_types::Acknowledged;
use serde::{Deserialize, Serialize};

use crate::status::ArrayStatus;

/// What a server that is killed leaves for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptStatus {
    /// Path of the file, on a file system in memory.
    pub place: String,
    /// Bytes of memory that the file takes.
    pub bytes: u64,
    /// Whether there was too little memory for all that was on its way at some moment.
    pub short: bool,
    /// Whether somebody has removed the file: the next server finds nothing.
    #[serde(default)]
    pub removed: bool,
}

impl ArrayStatus {
    /// Whether a kill of the server may take what volumes have acknowledged, for want of room to keep it: a sentence of that.
    pub fn may_forget(&self) -> Option<String> {
        let kept = self.kept.as_ref().filter(|kept| kept.short)?;
        self.volumes.iter().any(|volume| volume.ack.0 == Acknowledged::Memory).then(|| {
            format!(
                "There was no room in {} for all that is on its way to the members: if this server is killed, some of what it has \
                 acknowledged and no flush has covered may be lost. Make room there and start the server anew, or give volumes \
                 another level ('cygnus volume set {}/VOLUME ack=written').",
                kept.place, self.name
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ack::Ack;
    use crate::render::complaints;
    use crate::render::tests::tank;
    use crate::status::Condition;

    #[test]
    fn too_little_room_to_keep_what_is_acknowledged_needs_a_hand() {
        let mut status = tank(&[]);
        status.volumes.iter_mut().for_each(|volume| volume.ack = Ack(Acknowledged::Memory));
        let kept = |short| KeptStatus { place: "/dev/shm/x".into(), bytes: 1, short, removed: false };
        status.kept = Some(kept(false));
        assert_eq!((status.may_forget(), status.condition()), (None, Condition::Well));
        status.kept = Some(kept(true));
        let told = complaints(&status).concat();
        assert!(told.contains("no room in /dev/shm/x") && status.condition() == Condition::Attention, "{told}");
        status.volumes.iter_mut().for_each(|volume| volume.ack = Ack(Acknowledged::Written));
        assert_eq!(
            (status.may_forget(), status.condition()),
            (None, Condition::Well),
            "nothing is answered from memory"
        );
    }
}
