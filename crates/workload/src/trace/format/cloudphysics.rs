//! CloudPhysics as CSV: `1,33898,2a,512,42932745`, the version of the record first, operation codes of SCSI in hexadecimal.

use crate::trace::line::{LineError, csv, number, record, seconds, sectors};
use crate::trace::{Record, scsi};

pub(super) fn parse(line: &str) -> Result<Option<Record>, LineError> {
    let [version, time, operation, len, sector] = csv(line)?;
    if !["1", "2"].contains(&version) {
        return Err(LineError::Operation(version.chars().take(40).collect()));
    }
    let code = u16::from_str_radix(operation, 16);
    let code = code.map_err(|_| LineError::Operation(operation.chars().take(40).collect()))?;
    let Some(kind) = scsi::kind(code) else { return Ok(None) };
    record(seconds(time)?, kind, sectors("sector", sector)?, number("size", len)?, 0)
}
