//! Status for people: what is wrong first, in a sentence with its remedy; then aligned tables.

mod complaints;

use crate::kept::KeptStatus;
use crate::media::{HybridOn, Media};
use crate::paint::{Paint, Tone};
use crate::show;
use crate::status::{
    ArrayState, ArrayStatus, AutonomicsStatus, ClientsStatus, Condition, Copies, DevicePace, DeviceState, DeviceStatus,
    GroupActivity, GroupRole, GroupStatus, JobState, JobStatus, MediumStatus, MemoryPartStatus, MemoryStatus,
    ParityBuffer, ParityInside, Patience, RepairCounters, VolumeStatus, WriteCounters,
};
use crate::table::{Align, Table};
use cygnus_types::{Acknowledged, ByteSize, Medium, Nanos, counted};
use std::collections::{BTreeMap, BTreeSet};

pub use complaints::complaints;
use complaints::slow_sentences;

/// The whole of `array status`.
pub fn array(status: &ArrayStatus, paint: Paint) -> String {
    let mut out = headline(status, paint);
    for sentence in complaints(status) {
        out.push_str(&format!("{}\n", paint.tone(Tone::Warning, &sentence)));
    }
    out.push_str(&facts(status, paint));
    if !status.jobs.is_empty() {
        out.push('\n');
        out.push_str(&jobs(&status.jobs, paint));
    }
    out.push('\n');
    out.push_str(&groups(status, paint));
    out.push('\n');
    out.push_str(&devices(status, paint));
    out.push('\n');
    out.push_str(&volumes(&status.name, &status.volumes, paint));
    out
}

fn state_tone(state: ArrayState) -> Tone {
    match state {
        ArrayState::Healthy => Tone::Good,
        ArrayState::Degraded | ArrayState::Rebuilding => Tone::Warning,
        ArrayState::Suspended | ArrayState::ReadOnly | ArrayState::Failed => Tone::Bad,
    }
}

fn headline(status: &ArrayStatus, paint: Paint) -> String {
    // Members that all do their work are not all there is to health.
    let state = match (status.state, status.condition()) {
        (ArrayState::Healthy, Condition::Unavailable) => paint.tone(Tone::Bad, "unavailable in part"),
        (state, _) => paint.tone(state_tone(state), state.word()),
    };
    let served = match &status.in_use_by {
        _ if status.served => "served",
        None => "stopped",
        Some(holder) => &format!("in use by {holder}"),
    };
    format!(
        "{name}: {state}, {served}; {preset}, {groups}\n",
        name = paint.tone(Tone::Heading, &status.name),
        preset = status.preset,
        groups = shapes(status),
    )
}

/// How many groups there are of which shape.
fn shapes(status: &ArrayStatus) -> String {
    let of_all = (status.data_columns, status.parity_columns);
    let mut by_shape = BTreeMap::from([(of_all, 0)]);
    for group in &status.groups {
        *by_shape.entry((group.data_columns, group.parity_columns)).or_default() += 1;
    }
    by_shape.retain(|shape, groups| *groups > 0 || status.groups.is_empty() && *shape == of_all);
    let words = by_shape.iter().map(|((k, m), groups)| format!("{} of {k}+{m}", counted(*groups, "R-group")));
    words.collect::<Vec<_>>().join(", ")
}

/// What it means that the maps have all the memory that they may take, and what to do.
const MAP_IS_FULL: &str = "the map has all that it may take: blocks that were never written are refused (ENOSPC), all else \
                           goes on; trim or delete something, or serve the array with more --memory";

fn memory_sentence(memory: &MemoryStatus) -> String {
    let part = |part: &MemoryPartStatus| {
        format!("{} {} of {}", part.name, ByteSize(part.used_bytes), ByteSize(part.limit_bytes))
    };
    let parts: Vec<String> = memory.parts.iter().map(part).collect();
    format!("{} in use; {}", ByteSize(memory.resident_bytes), parts.join(", "))
}

/// Of [`Acknowledged::Memory`] while not all that is on its way would outlast the server.
const MEMORY_MAY_LOSE: &str =
    "a power cut, or the machine going down, takes what no flush has covered; a killed server too, as 'if killed' says";

/// What a killed server would leave, if the next one would find it.
fn kept(status: &ArrayStatus) -> Option<&KeptStatus> {
    status.kept.as_ref().filter(|kept| !kept.removed)
}

/// What becomes of acknowledged writes if the server is killed.
fn killed_sentence(status: &ArrayStatus) -> String {
    let answers_from_memory = status.volumes.iter().any(|volume| volume.ack.0 == Acknowledged::Memory);
    match (&status.kept, kept(status)) {
        (lost, None) if answers_from_memory => {
            let why = match lost {
                Some(KeptStatus { place, .. }) => format!("{place} was removed; the next start makes it anew"),
                None => "nothing is kept (serve --kept-in)".into(),
            };
            format!("what volumes at level memory have acknowledged and no flush has covered is lost: {why}")
        }
        (_, None) => "nothing that was acknowledged is lost: it is on the members".into(),
        (_, Some(KeptStatus { place, bytes, short, .. })) => {
            let what = if *short { "not all that was acknowledged is" } else { "all that was acknowledged is" };
            format!("{what} in {place} ({}) or on the members", ByteSize(*bytes))
        }
    }
}

fn clients_sentence(clients: &ClientsStatus) -> String {
    let trouble = [(clients.refused, "refused"), (clients.malformed, "malformed"), (clients.cut, "cut off")];
    let trouble: String =
        trouble.iter().filter(|(times, _)| *times > 0).map(|(times, what)| format!(", {times} {what}")).collect();
    format!("{} of at most {} connections{trouble}", clients.connections, clients.places)
}

fn facts(status: &ArrayStatus, paint: Paint) -> String {
    let label = |text: &str| paint.tone(Tone::Faint, &format!("  {text:<11}"));
    let provisioned: u64 = status.volumes.iter().map(|volume| volume.size_bytes).sum();
    let mut out = format!("{}{}\n", label("uuid"), status.uuid);
    out.push_str(&label("space"));
    if let Some(capacity) = status.capacity_bytes {
        let live = status.live_bytes.map_or(String::new(), |live| format!(", {} of it live", ByteSize(live)));
        out.push_str(&format!("{} usable{live}; ", ByteSize(capacity)));
    }
    out.push_str(&format!("volumes promise {}\n", ByteSize(provisioned)));
    if !status.media.is_empty() {
        out.push_str(&format!("{}{}\n", label("media"), media(status)));
    }
    for (at, line) in zones(&status.devices).iter().enumerate() {
        out.push_str(&format!("{}{line}\n", label(if at == 0 { "zones" } else { "" })));
    }
    match &status.in_place {
        None => {
            let cleaning = status.cleaning.as_ref().map_or(String::new(), |rule| format!("; cleaned by rule {rule}"));
            let size = ByteSize(status.segment_bytes);
            let streams = match status.streams.as_deref() {
                Some("heat") => "; hot writes apart",
                Some("volume") => "; volumes apart",
                _ => "",
            };
            out.push_str(&format!("{}{size} on each member{cleaning}{streams}\n", label("segment")));
        }
        Some(log) => out.push_str(&format!(
            "{}{} of {} regions of {} dirty, {} to be resynced\n",
            label("intent log"),
            log.dirty_regions,
            log.regions,
            ByteSize(status.segment_bytes),
            log.stale_regions,
        )),
    }
    if let Some(bytes) = status.transient_bytes {
        let what = if status.parity_buffer.is_some() {
            "copied there, or the parity of their rows is"
        } else {
            "copied there"
        };
        out.push_str(&format!(
            "{}{}: {} on each member; flushed writes of unfinished stripes are {what}, the stripe's parity follows\n",
            label("protection"),
            status.protection.as_deref().unwrap_or("two-phase"),
            ByteSize(bytes)
        ));
        if let Some(groups) = groups_with_zones(&status.devices) {
            out.push_str(&format!(
                "{}not in {groups}, with members that are written in order: there a flush ends unfinished stripes\n",
                label("")
            ));
        }
        if let Some(Copies { written_bytes, described_beside_bytes }) =
            status.copies.filter(|of| of.described_beside_bytes > 0)
        {
            out.push_str(&format!(
                "{}{} were written there, {} of them copies with their description beside them\n",
                label(""),
                ByteSize(written_bytes),
                ByteSize(described_beside_bytes)
            ));
        }
        if let Some(ParityBuffer { written_bytes, parity_bytes }) = status.parity_buffer {
            out.push_str(&format!(
                "{}{} were written there, {} of them parity in place of copies\n",
                label(""),
                ByteSize(written_bytes),
                ByteSize(parity_bytes)
            ));
        }
        if let Some(ParityInside { inside_bytes, host_bytes }) = status.parity_inside {
            out.push_str(&format!(
                "{}offload: members have computed {} of parity inside from their copies, the host {}\n",
                label(""),
                ByteSize(inside_bytes),
                ByteSize(host_bytes)
            ));
        }
    }
    if let Some((writes, amplification)) = status.writes.and_then(|writes| Some((writes, writes.amplification()?))) {
        let has_pages = status.volumes.iter().any(|volume| volume.pages.is_some());
        let why = if has_pages { "moved by cleaning or with the rest of a page" } else { "moved by cleaning" };
        out.push_str(&format!(
            "{}{} by clients, {} {why}: write amplification {amplification:.2}\n",
            label("written"),
            ByteSize(writes.client_bytes),
            ByteSize(writes.cleaned_bytes),
        ));
        if writes.helped_victims > 0 {
            let WriteCounters { victims, helped_victims, .. } = writes;
            out.push_str(&format!(
                "{}{helped_victims} of {} emptied by other cores than the first\n",
                label(""),
                counted(victims, "segment")
            ));
        }
        out.push_str(&format!(
            "{}{} to members, parity, headers and copies included: {:.2} bytes for each byte of clients\n",
            label(""),
            ByteSize(writes.device_bytes),
            writes.device_bytes as f64 / writes.client_bytes as f64,
        ));
    }
    if let Some(repairs) = status.repairs.filter(|repairs| repairs.reconstructed > 0) {
        let RepairCounters { reconstructed, repaired, .. } = repairs;
        out.push_str(&format!(
            "{}{} read by way of parity, {repaired} written anew\n",
            label("mended"),
            counted(reconstructed, "block")
        ));
    }
    if let Some(patience) = &status.patience {
        out.push_str(&format!("{}{}\n", label("patience"), patience_sentence(patience)));
    }
    if status.in_place.is_none() {
        out.push_str(&format!("{}{}\n", label("scrubbed"), status.scrub.when()));
    }
    for (at, line) in status.autonomics.iter().flat_map(contention_lines).enumerate() {
        out.push_str(&format!("{}{line}\n", label(if at == 0 { "contention" } else { "" })));
    }
    if let Some(memory) = &status.memory {
        out.push_str(&format!("{}{}\n", label("memory"), memory_sentence(memory)));
        if memory.map_is_full() {
            out.push_str(&format!("{}{MAP_IS_FULL}\n", label("")));
        }
    }
    if status.served && status.in_place.is_none() {
        out.push_str(&format!("{}{}\n", label("if killed"), killed_sentence(status)));
    }
    let is_used =
        |level: &Acknowledged| status.in_place.is_none() && status.volumes.iter().any(|of| of.ack.0 == *level);
    for level in Acknowledged::ALL.into_iter().filter(is_used) {
        // A server that keeps nothing takes more with it than the level promises.
        let may_lose = match level {
            Acknowledged::Memory if status.served && kept(status).is_none_or(|kept| kept.short) => MEMORY_MAY_LOSE,
            level => level.may_lose(),
        };
        out.push_str(&format!("{}{}: {may_lose}\n", label("ack"), level.word()));
    }
    if let Some(clients) = &status.clients {
        out.push_str(&format!("{}{}\n", label("clients"), clients_sentence(clients)));
    }
    for address in &status.listening {
        out.push_str(&format!("{}{address}\n", label("nbd")));
    }
    if let Some(recovery) = &status.recovery {
        let micros: u64 = recovery.steps.iter().map(|step| step.micros).sum();
        let how = if recovery.clean_stop { "after a clean stop" } else { "by recovery" };
        out.push_str(&format!("{}{how}, in {:.1} ms\n", label("opened"), micros as f64 / 1e3));
    } else if status.in_use_by.is_none() && !status.clean {
        out.push_str(&format!("{}not stopped cleanly: the next start recovers it\n", label("stopped")));
    }
    out
}

/// What is done about contention, and why not more.
fn contention_lines(status: &AutonomicsStatus) -> Vec<String> {
    let blocks = |blocks: u64| counted(blocks, "block").to_string();
    let listed = |parts: &[(u64, &str)]| -> String {
        let there = parts.iter().filter(|(number, _)| *number > 0);
        there.map(|(number, what)| format!("{number} {what}")).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![format!("{} moved out of its way", blocks(status.moved()))];
    for (of, whose) in [
        (&status.on_links, "blocks on contended links"),
        (&status.on_late, "blocks on members with more to do than the promised time allows"),
        (&status.on_full, "blocks on members that fill a full queue"),
    ] {
        let what = listed(&[
            (of.to_other_links, "moved behind other links"),
            (of.to_siblings, "moved to members behind the same link"),
            (of.nowhere_cold, "stayed, for no other link is free enough and takes them"),
            (of.no_sibling, "stayed, for no member behind the same link has much less to do"),
            (of.over_budget, "stayed, for the budget is spent"),
        ]);
        if !what.is_empty() {
            lines.push(format!("{whose}: {what}"));
        }
    }
    let stayed = listed(&[
        (status.resting, "for they moved a moment ago"),
        (status.no_room, "for want of room at once"),
        (status.too_many, "for as many were being read for their move as may be"),
    ]);
    if !stayed.is_empty() {
        lines.push(format!("blocks that were to move and stayed: {stayed}"));
    }
    if status.read_to_move > 0 {
        let read = blocks(status.read_to_move);
        lines.push(format!("{read} read once more for their move (naive migration), from where others are in the way"));
    }
    let besides = listed(&[
        (status.read_around, "blocks read around it"),
        (status.steered_segments, "segments for new writes from other groups"),
        (status.left_segments, "left early"),
    ]);
    if !besides.is_empty() {
        lines.push(besides);
    }
    lines.push(format!(
        "budget: {} for each 100 written, or {} a day if that is more; {} saved up",
        status.budget_percent,
        status.budget_per_day,
        blocks(status.budget_left)
    ));
    if let Some(percent) = status.most_written_percent {
        let times = format!("{}.{:02}", percent / 100, percent % 100);
        lines.push(format!("wear: the member that was written most was written {times} times the mean"));
    }
    lines.extend(status.links.iter().map(|link| {
        let state = if link.contended { "contended" } else { "free" };
        let moved =
            if link.moved_here > 0 { format!(", {} moved here", blocks(link.moved_here)) } else { String::new() };
        format!(
            "link {} is {state} ({} of 100 requests met others{moved}): {}",
            link.name,
            link.contended_percent,
            link.members.join(", ")
        )
    }));
    lines.extend(status.avoided.iter().map(|of| format!("new writes avoid the group of {}: {}", of.member, of.why)));
    lines
}

fn patience_sentence(patience: &Patience) -> String {
    let limit = show::span(patience.hung_after_millis as f64 / 1e3);
    let mut sentence = format!("a member that gives no answer for {limit} goes out of service");
    if patience.hedged + patience.read_around > 0 {
        let Patience { hedged, read_around, .. } = patience;
        sentence.push_str(&format!(
            "; {} late, {read_around} read around slow members",
            counted(*hedged, "block was").or("blocks were")
        ));
    }
    sentence
}

fn role_tone(role: GroupRole) -> Tone {
    match role {
        GroupRole::FrontEnd => Tone::Good,
        GroupRole::BackEnd => Tone::Normal,
        GroupRole::Cleaning | GroupRole::Retiring => Tone::Warning,
    }
}

/// Shown for what a stopped array does not tell.
const UNKNOWN: &str = "-";

fn size_or_unknown(bytes: Option<u64>) -> String {
    bytes.map_or(UNKNOWN.into(), |bytes| ByteSize(bytes).to_string())
}

/// The R-groups that have members which are written in order, if there are any.
fn groups_with_zones(devices: &[DeviceStatus]) -> Option<String> {
    let has_zones = |device: &&DeviceStatus| device.capabilities.as_ref().is_some_and(|of| of.zone_bytes > 0);
    let groups: BTreeSet<u32> = devices.iter().filter(has_zones).map(|device| device.group).collect();
    let names: Vec<String> = groups.iter().map(u32::to_string).collect();
    match &names[..] {
        [] => None,
        [one] => Some(format!("R-group {one}")),
        _ => Some(format!("R-groups {}", names.join(", "))),
    }
}

/// Which members are written in order, a line for each kind of zones.
fn zones(devices: &[DeviceStatus]) -> Vec<String> {
    let mut alike: BTreeMap<(u64, u64), Vec<&DeviceStatus>> = BTreeMap::new();
    for device in devices {
        if let Some(bytes) = device.capabilities.as_ref().map(|of| of.zone_bytes).filter(|&bytes| bytes > 0) {
            alike.entry((bytes, device.size_bytes.div_ceil(bytes))).or_default().push(device);
        }
    }
    let line = |((bytes, zones), members): (&(u64, u64), &Vec<&DeviceStatus>)| {
        let (path, others) = (&members[0].path, members.len() - 1);
        let names = if others == 0 { path.clone() } else { format!("{path} and {}", counted(others, "other")) };
        let (zones, size, partly) = (counted(*zones as usize, "zone"), ByteSize(*bytes), partly_written(members));
        format!("{names}: {zones} of {size}, written in order{partly}; 'cygnus zoned show {path}' tells how far")
    };
    alike.iter().map(line).collect()
}

/// How many zones of such members are partly written, as far as the server knows.
fn partly_written(members: &[&DeviceStatus]) -> String {
    let known = || members.iter().filter_map(|member| member.zones);
    let Some(most) = known().map(|zones| zones.partly_written).max() else { return String::new() };
    let least = known().map(|zones| zones.partly_written).min().unwrap_or(most);
    let number = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let each = if members.len() > 1 { " on each" } else { "" };
    let not_used = match known().map(|zones| zones.not_asked).max() {
        None | Some(0) => String::new(),
        Some(1) => " (1 was not used since the server began)".into(),
        Some(zones) => format!(" ({zones} were not used since the server began)"),
    };
    format!(", {number} partly written{each}{not_used}")
}

/// What lies on each medium.
fn media(status: &ArrayStatus) -> String {
    let on = |of: &MediumStatus| {
        let (live, capacity) = (ByteSize(of.live_bytes), ByteSize(of.capacity_bytes));
        format!("{live} live of {capacity} on {}", of.medium.0)
    };
    let all: Vec<String> = status.media.iter().map(on).collect();
    let writes = status.writes.unwrap_or_default();
    let fell_back = match writes.fell_back_bytes {
        0 => String::new(),
        bytes => format!("; {} written to another medium than their volume prefers", ByteSize(bytes)),
    };
    let moved = match (writes.promoted_bytes, writes.demoted_bytes) {
        (0, 0) => String::new(),
        (to, back) => format!("; hybrid volumes: {} moved to the faster medium, {} back", ByteSize(to), ByteSize(back)),
    };
    let stayed = match writes.reads_without_room {
        0 => String::new(),
        reads => format!("; {reads} reads left what the faster medium could not take at once"),
    };
    all.join(", ") + &fell_back + &moved + &stayed
}

/// Whether somebody may ask what the R-groups store on: volumes can be bound to media, or a group counts as something else than flash.
fn media_matter(status: &ArrayStatus) -> bool {
    let is_other = |group: &GroupStatus| group.medium.is_some_and(|medium| medium.0 != Medium::Flash);
    status.preset == "salsa" || status.groups.iter().any(is_other)
}

/// The table of R-groups.
fn groups(status: &ArrayStatus, paint: Paint) -> String {
    let groups = &status.groups;
    let medium = media_matter(status).then_some(("MEDIUM", Align::Left));
    let of = |group: &GroupStatus| (group.data_columns, group.parity_columns);
    let shape = groups.windows(2).any(|pair| of(&pair[0]) != of(&pair[1])).then_some(("RAID", Align::Left));
    let before = [("R-GROUP", Align::Right)].into_iter().chain(medium).chain(shape);
    let columns: Vec<(&str, Align)> = before
        .chain([
            ("ROLE", Align::Left),
            ("SEGMENTS", Align::Right),
            ("FREE", Align::Right),
            ("OPEN", Align::Right),
            ("SEALED", Align::Right),
            ("LIVE", Align::Right),
            ("OF", Align::Right),
        ])
        .collect();
    let mut table = Table::new(&columns);
    for group in groups {
        let activity = group.activity.as_ref();
        let count = |pick: fn(&GroupActivity) -> u32| {
            (Tone::Normal, activity.map_or(UNKNOWN.into(), |activity| pick(activity).to_string()))
        };
        let medium = medium.map(|_| (Tone::Normal, group.medium.map_or(UNKNOWN.into(), |name| name.0.to_string())));
        let mut row = vec![(Tone::Normal, group.index.to_string())];
        row.extend(medium);
        row.extend(shape.map(|_| (Tone::Normal, format!("{}+{}", group.data_columns, group.parity_columns))));
        row.extend([
            activity.map_or((Tone::Faint, UNKNOWN.into()), |it| (role_tone(it.role), it.role.word().into())),
            (Tone::Normal, group.segments.to_string()),
            count(|it| it.free_segments),
            count(|it| it.open_segments),
            count(|it| it.sealed_segments),
            (Tone::Normal, size_or_unknown(activity.map(|it| it.live_bytes))),
            (Tone::Faint, ByteSize(group.capacity_bytes).to_string()),
        ]);
        table.row(row);
    }
    table.render(paint)
}

fn devices(status: &ArrayStatus, paint: Paint) -> String {
    let mut table = Table::new(&[
        ("MEMBER", Align::Right),
        ("R-GROUP", Align::Right),
        ("STATE", Align::Left),
        ("SIZE", Align::Right),
        ("READ", Align::Right),
        ("WRITTEN", Align::Right),
        ("READING", Align::Right),
        ("WRITING", Align::Right),
        ("P99", Align::Right),
        ("LATE AT", Align::Right),
        ("ERRORS", Align::Right),
        ("PATH", Align::Left),
    ]);
    for device in &status.devices {
        let slow = !slow_sentences(device).is_empty();
        let (tone, state) = match device.state {
            DeviceState::Online if device.successor.is_some() => (Tone::Warning, "draining"),
            DeviceState::Online if slow => (Tone::Warning, "slow"),
            DeviceState::Online => (Tone::Good, device.state.word()),
            _ => (Tone::Bad, device.state.word()),
        };
        let micros = |pick: fn(&DevicePace) -> u64| {
            let known = device.pace.as_ref().map(pick).filter(|&us| us > 0);
            known.map_or((Tone::Faint, UNKNOWN.into()), |us| (Tone::Normal, Nanos::micros(us).to_string()))
        };
        let errors = device.io.errors + device.io.checksum_errors + device.io.parity_errors;
        let plain = |text: String| (Tone::Normal, text);
        table.row(vec![
            plain(device.index.to_string()),
            plain(device.group.to_string()),
            (tone, state.into()),
            plain(ByteSize(device.size_bytes).to_string()),
            plain(
                ByteSize(device.io.read_bytes + device.io.cleaning_read_bytes + device.io.scrub_read_bytes).to_string(),
            ),
            plain(ByteSize(device.io.written_bytes).to_string()),
            plain(show::rate(device.rates.read + device.rates.cleaning_read)),
            plain(show::rate(device.rates.written)),
            micros(|pace| pace.read_p99_us),
            micros(|pace| pace.late_after_us),
            (if errors > 0 { Tone::Bad } else { Tone::Normal }, errors.to_string()),
            plain(device.path.clone()),
        ]);
    }
    table.render(paint)
}

/// The table of `array status` that shows long work: how far it is, how fast, how long it will take.
pub fn jobs(jobs: &[JobStatus], paint: Paint) -> String {
    let mut table = Table::new(&[
        ("JOB", Align::Right),
        ("WHAT", Align::Left),
        ("STATE", Align::Left),
        ("DONE", Align::Right),
        ("OF", Align::Right),
        ("", Align::Right),
        ("RATE", Align::Right),
        ("TIME", Align::Right),
        ("LEFT", Align::Right),
    ]);
    let plain = |text: String| (Tone::Normal, text);
    for job in jobs {
        let tone = match job.state {
            JobState::Running => Tone::Warning,
            JobState::Done => Tone::Good,
            JobState::Failed => Tone::Bad,
            JobState::Cancelled => Tone::Faint,
        };
        table.row(vec![
            plain(job.id.to_string()),
            plain(format!("{} {}", job.kind, job.subject)),
            (tone, job.why.as_ref().map_or(job.state.word().into(), |why| format!("failed: {why}"))),
            plain(ByteSize(job.done_bytes).to_string()),
            plain(ByteSize(job.total_bytes).to_string()),
            plain(format!("{:.0} %", job.percent())),
            plain(show::rate(job.rate)),
            plain(show::span(job.elapsed_seconds)),
            job.eta_seconds.map_or((Tone::Faint, UNKNOWN.into()), |left| plain(show::span(left))),
        ]);
    }
    table.render(paint)
}

/// The table of volumes, or how to make the first one.
pub fn volumes(array: &str, volumes: &[VolumeStatus], paint: Paint) -> String {
    if volumes.is_empty() {
        return format!("No volumes yet: cygnus volume create {array}/NAME --size SIZE\n");
    }
    let constrained = volumes.iter().any(|volume| !volume.media.is_any());
    let media = constrained.then_some(("MEDIA", Align::Left));
    let columns = [
        ("VOLUME", Align::Left),
        ("SIZE", Align::Right),
        ("USED", Align::Right),
        ("CLIENTS", Align::Right),
        ("ACK", Align::Left),
    ];
    let pages = volumes.iter().any(|volume| volume.pages.is_some()).then_some(("PAGES", Align::Left));
    let columns: Vec<(&str, Align)> = columns.into_iter().chain(media).chain(pages).collect();
    let mut table = Table::new(&columns);
    for volume in volumes {
        let mut row = vec![
            (Tone::Normal, format!("{array}/{}", volume.name)),
            (Tone::Normal, ByteSize(volume.size_bytes).to_string()),
            (Tone::Normal, size_or_unknown(volume.used_bytes)),
            (Tone::Normal, volume.connections.to_string()),
            (Tone::Normal, volume.ack.0.to_string()),
        ];
        row.extend(media.map(|_| (Tone::Normal, media_of(volume))));
        row.extend(pages.map(|_| (Tone::Normal, pages_of(volume))));
        table.row(row);
    }
    let mut out = table.render(paint);
    for volume in volumes.iter().filter(|volume| volume.lost_blocks > 0) {
        out.push_str(&format!(
            "{array}/{} has lost {} with the caches of devices that lost power before a flush: unreadable until they are \
             written anew or discarded\n",
            volume.name,
            counted(volume.lost_blocks, "block"),
        ));
    }
    let doubts = volumes.iter().filter(|volume| volume.lacks_something()).map(|volume| doubt(array, volume));
    out.extend(doubts);
    out
}

/// On which media a volume's blocks may be; of a hybrid one how much is on the faster of them.
fn media_of(volume: &VolumeStatus) -> String {
    let wanted = volume.media;
    let on_fast = match (wanted, volume.fast_bytes) {
        (Media::Hybrid(Some(HybridOn(tiers))), Some(bytes)) => format!(", {} on {}", ByteSize(bytes), tiers.fast()),
        _ => String::new(),
    };
    format!("{wanted}{on_fast}")
}

/// How a volume is mapped, and how much of it has entries of its own although it is by pages.
fn pages_of(volume: &VolumeStatus) -> String {
    let Some(pages) = volume.pages else { return "by 4 KiB".into() };
    let page = ByteSize(pages.page_bytes);
    let (own, fine) = (volume.own_entries_bytes.unwrap_or(0), pages.fine_bytes);
    match (own, fine) {
        (0, 0) => page.to_string(),
        (own, 0) => format!("{page}, {} by 4 KiB", ByteSize(own)),
        (own, fine) => format!("{page}, {} of {} by 4 KiB", ByteSize(own), ByteSize(fine)),
    }
}

/// What is the matter with a volume in doubt, and what to do.
fn doubt(array: &str, volume: &VolumeStatus) -> String {
    let how_much = volume.unreadable_bytes.map_or("what".into(), |bytes| format!("{} of it", ByteSize(bytes)));
    format!(
        "{array}/{} is in doubt: part of it was given up when the array was opened by force, and {how_much} is not known to be \
         whole. That reads as errors until it is written anew or discarded: write a copy back, or discard what is not needed \
         (blkdiscard, fstrim).\n",
        volume.name
    )
}

#[cfg(test)]
pub(crate) mod tests;
