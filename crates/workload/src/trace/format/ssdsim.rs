//! SSDSim and MQSim: `938513000 4 264719034 16 0`.

use crate::trace::Record;
use crate::trace::line::{LineError, number, numbered, record, sectors, ticks, words};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [time, device, sector, len, kind] = words(line)?;
    let kind = numbered(kind, "1", "0")?;
    record(ticks(time, 1)?, kind, sectors("sector", sector)?, sectors("sectors", len)?, number("device", device)?)
}
