//! What is wrong with an array, each thing in a sentence with its remedy.

use crate::shortage::ShortageStatus;
use crate::status::{
    ArrayState, ArrayStatus, DeviceState, DeviceStatus, GroupStatus, Lag, SpareStatus, SuspendedStatus,
};
use cygnus_types::{ByteSize, Nanos, counted};

/// What an operator should know, as sentences: which devices are gone, what that means, and what to do.
pub fn complaints(status: &ArrayStatus) -> Vec<String> {
    let gone: Vec<&DeviceStatus> = status.devices.iter().filter(|device| device.state != DeviceState::Online).collect();
    let mut sentences: Vec<String> = gone.iter().map(|device| gone_sentence(status, device)).collect();
    sentences.splice(0..0, no_redundancy(status));
    let left = |group: &GroupStatus| i64::from(group.parity_columns) - i64::from(group.missing_devices);
    if let Some(worst) = status.groups.iter().min_by_key(|group| (group.missing_devices == 0, left(group))) {
        sentences.extend(redundancy_sentence(status, worst));
    }
    sentences.extend(status.oddities.iter().map(|oddity| format!("{oddity}.")));
    sentences.extend(status.devices.iter().filter_map(|device| errors_sentence(&status.name, device)));
    sentences.extend(status.devices.iter().filter_map(owing_sentence));
    sentences.extend(status.devices.iter().flat_map(slow_sentences));
    sentences.extend(status.missed_spares().map(|spare| missed_sentence(&status.name, spare)));
    sentences.extend(loss_sentences(status));
    sentences.extend(status.suspended.as_ref().map(suspended_sentence));
    sentences.extend(status.shortage.as_ref().map(ShortageStatus::sentence));
    sentences.extend(status.may_forget());
    sentences.extend(status.little_room().iter().map(|room| room.sentence(&status.name)));
    if let Some(segments) = status.clogged_segments {
        sentences.push(format!(
            "There is no room for writes: blocks that cannot be read keep {}. Discard those blocks, or others; bring members \
             back that may have them; or add an R-group. Reads and discards go on.",
            counted(segments, "segment")
        ));
    }
    if let Some(fault) = &status.fault {
        sentences.push(format!("It takes no writes any more: {fault}"));
    }
    sentences
}

/// What is known to be lost. The last scrub of this session lists what it found; of one before, only the number is known.
fn loss_sentences(status: &ArrayStatus) -> Vec<String> {
    let (array, losses) = (&status.name, status.losses);
    let listed = status.scrub.report.as_ref().and_then(|report| report.loss()).map(|loss| format!("{loss}."));
    let found = (listed.is_none() && losses.found_blocks > 0).then(|| {
        format!(
            "The last whole scrub found {} beyond redundancy: 'cygnus array scrub {array}' lists what is so still. Restore \
             from a copy by writing anew, or discard.",
            counted(losses.found_blocks, "block")
        )
    });
    let asked = (losses.failed_reads > 0).then(|| {
        format!(
            "A block was asked for and could not be read in any way, {}: 'cygnus array scrub {array}' lists what cannot be \
             read. Where members answer with errors mend the way to them first, for their data may be whole. Restore the rest from \
             a copy by writing anew, or discard; the next whole scrub ends this message.",
            counted(losses.failed_reads, "time")
        )
    });
    [listed, found, asked].into_iter().flatten().collect()
}

fn missed_sentence(array: &str, spare: &SpareStatus) -> String {
    let (uuid, size) = (&spare.uuid, ByteSize(spare.size_bytes));
    format!(
        "A spare of {size} is not there: when it is back, 'cygnus array spare add {array} DEVICE' takes it again; \
         'cygnus array spare remove {array} {uuid}' forgets it."
    )
}

fn suspended_sentence(suspended: &SuspendedStatus) -> String {
    let requests = match suspended.requests_fail_after_millis {
        None => "Requests wait".to_owned(),
        Some(limit) if suspended.for_millis >= limit => "Requests fail until then".to_owned(),
        Some(limit) => format!("Requests wait, and fail after {}", seconds(limit)),
    };
    format!(
        "It has been waiting for {} for {}: more of the R-group than its parity covers. Nothing is given up and nothing is \
         recorded against them; it goes on by itself when they do their work again. {requests}: writes to whichever volume, and \
         reads of what is there.",
        suspended.waits_for,
        seconds(suspended.for_millis),
    )
}

fn seconds(millis: u64) -> String {
    format!("{} s", millis / 1000)
}

fn gone_sentence(status: &ArrayStatus, device: &DeviceStatus) -> String {
    let (array, index, group, path) = (&status.name, device.index, device.group, &device.path);
    match device.state {
        DeviceState::Missing if let (false, Some(why)) = (status.served, &device.trouble) => {
            format!(
                "Member {index} of R-group {group} at {path} {why}: 'cygnus serve {array}' tells how to go on with either."
            )
        }
        DeviceState::Missing if !status.served && device.is_back() => format!(
            "Member {index} of R-group {group} at {path} was away while the array was written to. It is here: once the array is \
             served, it gets what it lacks."
        ),
        // Of arrays in place nobody looks for a member that was absent at the start.
        DeviceState::Missing
            if status.served && device.place().is_some() && (status.in_place.is_none() || device.trouble.is_some()) =>
        {
            let why = device.trouble.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            format!(
                "Member {index} of R-group {group}, last seen at {path}, is missing{why}: it is looked for there, and when it is \
                 back it takes part again by itself and gets what it lacks. If it is lost: 'cygnus array replace {array} {index} \
                 DEVICE'."
            )
        }
        // Nobody serves it, so nobody could replace one.
        DeviceState::Missing if status.state == ArrayState::Failed && !status.served => match device.place() {
            None => format!(
                "Member {index} of R-group {group} is missing, and nobody remembers where it was: run 'cygnus array scan PATH...' \
                 on the place where it is now."
            ),
            Some(_) => format!(
                "Member {index} of R-group {group}, last seen at {path}, is missing: bring it back, and run 'cygnus array scan' on \
                 the place where it is now if that is another one."
            ),
        },
        DeviceState::Missing if device.place().is_none() => format!(
            "Member {index} of R-group {group} is missing, and nobody remembers where it was: run 'cygnus array scan PATH...' on \
             the place where it is now and serve the array anew, or 'cygnus array replace {array} {index} DEVICE'."
        ),
        DeviceState::Missing => format!(
            "Member {index} of R-group {group}, last seen at {path}, is missing: bring it back, run 'cygnus array scan' on the place \
             where it is now and serve the array anew, or 'cygnus array replace {array} {index} DEVICE'."
        ),
        DeviceState::Rebuilding => {
            format!("Member {index} of R-group {group} at {path} is being filled; what it lacks is read from parity.")
        }
        _ => format!(
            "Member {index} of R-group {group} at {path} has failed and is no longer used; what it held is read from \
             parity. Replace it: 'cygnus array replace {array} {index} DEVICE'."
        ),
    }
}

fn owing_sentence(device: &DeviceStatus) -> Option<String> {
    let since = seconds(device.slow_to_answer_millis?);
    Some(format!("{} is slow to answer: a request has waited for {since}.", device.path))
}

pub(super) fn slow_sentences(device: &DeviceStatus) -> Vec<String> {
    let (path, pace) = (&device.path, device.pace.unwrap_or_default());
    let reads = pace
        .slow
        .then(|| format!("{path} is slow: its blocks are read from the other members. If that lasts, replace it."));
    let lag = |what: &str, lag: Option<Lag>| {
        let Lag { p99_us, peers_p99_us } = lag?;
        let [own, peers] = [p99_us, peers_p99_us].map(Nanos::micros);
        Some(format!(
            "{path} is slow at {what}: p99 {own}, its peers {peers}. Its whole R-group waits for it; if that lasts, replace it."
        ))
    };
    [reads, lag("writing", pace.write_lag), lag("flushing", pace.flush_lag)].into_iter().flatten().collect()
}

fn errors_sentence(array: &str, device: &DeviceStatus) -> Option<String> {
    let (io, path) = (&device.io, &device.path);
    if let Some(successor) = &device.successor {
        return Some(format!(
            "{successor} is being filled to take over from {path}, which stays in service until then."
        ));
    }
    if let Some(why) = &device.suspect {
        return Some(format!(
            "{path} is suspect: {why}. Before it fails, have a spare take over from it: 'cygnus array drain {array} {path}'."
        ));
    }
    let wrong = io.checksum_errors + io.parity_errors;
    (io.errors + wrong > 0).then(|| {
        format!(
            "{path}: {}, {} not what had been written; {} rebuilt.",
            counted(io.errors, "failed I/O"),
            counted(wrong, "block was").or("blocks were"),
            counted(io.repaired, "block was").or("blocks were")
        )
    })
}

fn no_redundancy(status: &ArrayStatus) -> Option<String> {
    let bare: Vec<String> =
        status.groups.iter().filter(|group| group.parity_columns == 0).map(|group| group.index.to_string()).collect();
    let of = match bare.len() {
        0 if status.groups.is_empty() && status.parity_columns == 0 => "device".into(),
        0 => return None,
        all if all == status.groups.len() => "device".into(),
        1 => format!("device of R-group {}", bare[0]),
        _ => format!("device of R-groups {}", bare.join(", ")),
    };
    Some(format!("NO REDUNDANCY: the loss of any one {of} loses data, and the array with it."))
}

fn redundancy_sentence(status: &ArrayStatus, worst: &GroupStatus) -> Option<String> {
    let (missing, parity) = (worst.missing_devices, worst.parity_columns);
    match status.state {
        ArrayState::Healthy => None,
        _ if missing > parity => {
            let salvage = match status.in_place {
                None => {
                    format!(" 'cygnus array salvage {}/VOLUME FILE' copies what can be read all the same.", status.name)
                }
                Some(_) => String::new(),
            };
            Some(format!(
                "R-group {} lacks {missing} of its members and its parity covers {parity}: the array cannot be opened until \
                 enough of them are back.{salvage}",
                worst.index
            ))
        }
        // A suspended one says for whom it waits.
        ArrayState::ReadOnly | ArrayState::Suspended if missing == 0 => None,
        _ if missing == parity => Some(format!(
            "R-group {} has no redundancy left: the loss of one more of its members loses data.",
            worst.index
        )),
        _ => Some(format!(
            "R-group {} can lose {} more of its members without losing data.",
            worst.index,
            parity - missing
        )),
    }
}
