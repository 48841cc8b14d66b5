//! Zones that are partly written: zoned flash takes only so many at a time (*active* zones), and refuses to begin one more.
//!
//! Before a write begins a zone, one that is written no more is *finished*: it counts as full then, until it is reset. The engine never
//! goes on with a segment that another session began, so that costs nothing as a rule. Is a finished zone written after all, that is a
//! patch. Zones of the head log, a zone that is rewritten, and the one that it is copied to have their own share of the limit: those who
//! wait for these may keep all others from being finished.

use cygnus_runtime::{Extra, IoError, Runtime, either};

use crate::ground::Ground;
use crate::table::{Once, Pointer};
use crate::turn::{POLL, Turn};

/// Whether a zone may be begun.
enum Room {
    Made,
    /// When this zone, of which the turn is taken, is written no more.
    After(u32, u64),
    /// When somebody has done with a zone. Nobody who has one waits for this, but for room to begin that very zone.
    Later,
}

impl Ground {
    fn active_limit(&self) -> u32 {
        self.zoned().shape.beneath.as_ref().map_or(0, |beneath| beneath.active_limit)
    }

    /// Whether a zone can be written without asking: it is partly written already, or there is no limit.
    pub(crate) fn may_be_written(&self, zone: u32) -> bool {
        if self.active_limit() == 0 {
            return true;
        }
        let mut table = self.zoned().table();
        table.counted == Once::Done && table.active.touch(zone)
    }

    /// A zone was reset. Its place among the active ones stays its own, unless there are more of these than may be: a power cut can take
    /// the end of full ones.
    pub(crate) fn was_reset(&self, zone: u32) {
        let limit = self.active_limit() as usize;
        let mut table = self.zoned().table();
        if table.active.count() > limit {
            table.active.remove(zone);
        }
    }

    /// Waits until a zone may be begun.
    pub(crate) async fn activate(&self, rt: &Runtime, zone: u32) -> Result<(), IoError> {
        let limit = self.active_limit();
        if limit == 0 {
            return Ok(());
        }
        loop {
            self.count_active(rt).await?;
            let changed = self.changed().wait();
            match self.make_room(rt, limit, zone) {
                Room::Made => return Ok(()),
                Room::After(idle, turn) => self.retire(rt, Turn::joined(self, idle, turn)).await?,
                Room::Later => either(changed, rt.sleep(POLL)).await,
            }
        }
    }

    fn make_room(&self, rt: &Runtime, limit: u32, zone: u32) -> Room {
        let mut table = self.zoned().table();
        let Err(can_end) = table.active.admit(&self.zoned().shape, limit, zone) else { return Room::Made };
        match can_end.into_iter().find(|&zone| !table.is_held(zone)) {
            Some(idle) => Room::After(idle, table.join_first(idle, rt.id())),
            None => Room::Later,
        }
    }

    /// A zone that nobody writes counts as partly written no more.
    async fn retire(&self, rt: &Runtime, turn: Turn) -> Result<(), IoError> {
        turn.come(rt).await;
        let (zone, blocks) = (turn.zone, self.zoned().shape.blocks_of(turn.zone));
        let opening = self.zoned().table().opening;
        let written = self.written_of(rt, zone).await?;
        let is_partly_written = !written.is_empty() && written.end < blocks.end;
        if is_partly_written {
            self.command(rt, Extra::Finish { zone }).await?;
        }
        {
            let mut table = self.zoned().table();
            if table.opening != opening {
                return Ok(());
            }
            table.active.remove(zone);
            table.zone(zone).pointer = Pointer::At(if is_partly_written { blocks.end } else { written.end });
        }
        turn.close();
        Ok(())
    }

    /// Nothing more goes to a zone of the head log until it is reset.
    pub(crate) async fn finish_zone(&self, rt: &Runtime, zone: u32) -> Result<(), IoError> {
        if self.active_limit() > 0 {
            self.command(rt, Extra::Finish { zone }).await?;
            self.zoned().table().active.remove(zone);
        }
        Ok(())
    }

    /// Sees to it that it is known which zones are partly written.
    async fn count_active(&self, rt: &Runtime) -> Result<(), IoError> {
        while let Some(mut doing) = self.undertake(rt, |table| &mut table.counted).await {
            let mut zones = Vec::new();
            let all = 0..self.zoned().shape.zones() as u32;
            for (zone, written) in all.clone().zip(self.written_of_all(rt, all).await?) {
                let blocks = self.zoned().shape.blocks_of(zone);
                if !written.is_empty() && written.end < blocks.end {
                    zones.push(zone);
                }
            }
            let mut table = self.zoned().table();
            if table.opening == doing.opening() {
                table.active.are(zones.into_iter());
                doing.is_done();
            }
        }
        Ok(())
    }
}
