//! What is demanded when trouble is over: the array serves again without an operator, in a bounded time.

use cygnus_engine::{Array as Engine, ArrayHealth};
use cygnus_format::MemberState;
use cygnus_runtime::Runtime;
use cygnus_types::Nanos;

use crate::failure::RunFailure;

/// So long after the end of all trouble requests are served again. Members are asked once a second, a probe that was on its
/// way may have to be given up first, and a flush after it.
pub(crate) const SERVES_AGAIN: Nanos = Nanos::secs(20);
/// So long after that whoever was away is up to date: one that has come and gone is asked once a minute.
const WHOLE_AGAIN: Nanos = Nanos::secs(80);
/// How often to look.
const LOOK: Nanos = Nanos::millis(5);

/// Waits for that; an error says what did not come about. `over`: when the trouble ends. Members that are `lost` do not come
/// back.
pub(crate) async fn serves_again(rt: Runtime, array: Engine, over: Nanos, lost: Vec<usize>) -> Result<(), RunFailure> {
    rt.sleep_until(over).await;
    let until = rt.now() + SERVES_AGAIN;
    while array.status().health == ArrayHealth::Suspended {
        if rt.now() > until {
            let waits_for = array.status().suspended.map_or_else(String::new, |suspended| suspended.words());
            return Err(RunFailure::StillSuspended { after: SERVES_AGAIN, waits_for });
        }
        rt.sleep(LOOK).await;
    }
    let until = rt.now() + WHOLE_AGAIN;
    loop {
        let status = array.status();
        let there = |member: &&cygnus_engine::MemberStatus| {
            let away = matches!(member.state, MemberState::Missing | MemberState::Rebuilding);
            away && !lost.contains(&member.member.index())
                && status.groups[member.group.index()].state != cygnus_format::GroupState::Retired
        };
        match status.members.iter().find(there) {
            None => return Ok(()),
            Some(member) if rt.now() > until => {
                return Err(RunFailure::StillAway { member: member.name.clone(), state: member.state });
            }
            Some(_) => rt.sleep(LOOK).await,
        }
    }
}
