//! Members that are not there when the array is opened. When they are where they were, the run shows them to the array, as a
//! server does that looks there; that is all it does.

use cygnus_types::{MemberIx, Nanos};

use super::state::{Run, Session};
use crate::journal;
use crate::story::Cycle;

/// How often a server looks.
const LOOK: Nanos = Nanos::secs(2);

impl Run<'_> {
    /// Shows the array its absent member's device from when that is there again.
    pub(super) fn comes_back(&mut self, session: &Session, cycle: &Cycle) {
        let Some(absent) = cycle.absent else { return };
        let (rt, array) = (session.cluster.reactor(0).clone(), session.array.home().clone());
        let name = format!("d{}", absent.member);
        let Some(device) = session.devices.iter().find(|device| device.name == name).cloned() else { return };
        self.tally.absent += 1;
        session.cluster.reactor(0).spawn(async move {
            rt.sleep(absent.until).await;
            let member = MemberIx(absent.member as u16);
            while !array.status().members[member.index()].is_online() {
                if array.sought().iter().any(|sought| sought.member == member && sought.device.is_none()) {
                    let shown = array.show(member, &device).await;
                    journal::tell(format!("{} {name} is shown: {shown:?}", rt.now()));
                }
                rt.sleep(LOOK).await;
            }
        });
    }
}
