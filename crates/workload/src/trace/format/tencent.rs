//! Tencent block storage: `1538323200,4247200,128,1,1058`.

use crate::trace::Record;
use crate::trace::line::{LineError, csv, number, numbered, record, sectors, ticks};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [time, sector, len, kind, volume] = csv(line)?;
    let kind = numbered(kind, "0", "1")?;
    let at = ticks(time, 1_000_000_000)?;
    record(at, kind, sectors("sector", sector)?, sectors("sectors", len)?, number("volume", volume)?)
}
