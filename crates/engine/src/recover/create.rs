//! Making an array: all checks before the first byte is written, so that a refusal leaves everything as it was.

use cygnus_format::{
    ArrayState, CONVERTS_INSIDE, DESCRIBED_BESIDE, Geometry, GeometryError, GroupDesc, GroupState, Holdings, Losses,
    MAX_SEGMENTS, MAX_STRIPE_ROWS, MemberDesc, MemberErrors, MemberState, PARITY_BUFFER, PolicyValue, RAID_ON, Raid,
    Superblock,
};
use cygnus_policy::{ParityPlacement, Preset, Streams, UntilFull, Victim};
use cygnus_runtime::{DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{BLOCK, ByteSize, Medium, MemberIx, Uuid};

use crate::error::ArrayError;
use crate::recover::assemble::{Found, inspect};
use crate::recover::claim::claim_new;
use crate::recover::media::{NewGroup, check_mix, groups_of};
use crate::recover::slots::{write_empty, write_superblock, write_zeros};
use crate::recover::zones::{alignment, lead_blocks, refuse_zoned};
use crate::space::crew::Crew;
use crate::space::protections::{CLIENTS_PARITY, Protections, raid_value};
use crate::space::usable::{CLEANING, CLEANING_ON, PARITY_FIXED, STREAMS, policies_of, usable_blocks, usable_bytes};
use crate::work::Work;
use crate::write::beside;
use crate::write::holders::keeps_no_backups;
use crate::write::transient::LEAST_BLOCKS;

/// Fewest segments per group: enough for open segments, reserves, two checkpoints and some room to clean in.
const MIN_SEGMENTS: u64 = 16;

/// What an array should be.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Name, for people.
    pub name: String,
    /// Which policies.
    pub preset: Preset,
    /// R-groups; `None`: as many as the devices make.
    pub groups: Option<usize>,
    /// Data columns of each group, k.
    pub data: u8,
    /// Parity columns of each group, m.
    pub parity: u8,
    /// The columns of groups on these media, where they are others: of those that are added later too.
    pub raid_on: Vec<(Medium, Raid)>,
    /// Where the parity columns lie; `None`: as the preset has it.
    pub placement: Option<ParityPlacement>,
    /// Striping unit; a power of two of at least 4 KiB.
    pub chunk: ByteSize,
    /// Height of a full stripe in blocks, a multiple of the chunk; `None`: as tall as a header of one block describes.
    pub stripe_rows: Option<u32>,
    /// Which segments are cleaned first; `None`: as the preset has it.
    pub victim: Option<Victim>,
    /// The same of groups on these media, where it is another rule.
    pub victim_on: Vec<(Medium, Victim)>,
    /// Which of clients' writes share segments; `None`: as the preset has it.
    pub streams: Option<Streams>,
    /// Size of a segment column; `None`: chosen by the size of the devices.
    pub segment: Option<ByteSize>,
    /// What the groups store on: of all of them, or of each; empty: as the members say.
    pub media: Vec<Medium>,
    /// Share of the capacity kept from volumes so that cleaning stays cheap, in thousandths.
    pub over_provision_permille: u16,
    /// Parity columns of the segments that clients' writes fill, if they are to be more than m: they are moved to segments
    /// with m by cleaning. Nothing but tests asks for it yet.
    pub clients_parity: Option<u8>,
    /// What makes safe what stripes hold until they are full; `None`: as the preset has it.
    pub until_full: Option<UntilFull>,
    /// Size of each member's transient area, if something but the stripes' end makes that safe; `None`: chosen by the size of the devices.
    pub transient: Option<ByteSize>,
    /// Overwrite what the devices hold.
    pub force: bool,
}

impl CreateOptions {
    /// The defaults for everything but the shape.
    pub fn new(name: &str, preset: Preset, groups: usize, data: u8, parity: u8) -> Self {
        Self {
            name: name.into(),
            preset,
            groups: Some(groups),
            data,
            parity,
            raid_on: Vec::new(),
            placement: None,
            victim: None,
            victim_on: Vec::new(),
            streams: None,
            chunk: ByteSize(64 << 10),
            stripe_rows: None,
            segment: None,
            media: Vec::new(),
            over_provision_permille: 200,
            clients_parity: None,
            until_full: None,
            transient: None,
            force: false,
        }
    }
}

/// Writes the first superblocks of an array onto `devices`, given group by group in column order, and returns the
/// array's UUID.
///
/// # Errors
/// When the options contradict each other or the devices, or a device holds something and `force` is not set. Nothing
/// has been written then. When a device fails while the superblocks are written: the others hold nothing then, as far as they can be
/// written to.
pub fn create<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    options: &'a CreateOptions,
) -> Work<'a, Result<Uuid, ArrayError>> {
    Box::pin(async move {
        let state = plan(rt, devices, options)?;
        let _claim = claim_new(rt, devices)?;
        if !options.force {
            refuse_used(rt, devices).await?;
        }
        let array = random_uuid(rt);
        write_first_on_all(rt, devices, array, &state).await?;
        Ok(array)
    })
}

/// What an array would offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// What its volumes may hold in all.
    pub capacity: ByteSize,
    /// A segment on each member.
    pub segment: ByteSize,
}

/// What [`create`] would make of these devices, of which nothing is read but what they are.
///
/// # Errors
/// When no such array can be made.
pub fn offer(rt: &Runtime, devices: &[DeviceInfo], options: &CreateOptions) -> Result<Offer, ArrayError> {
    let state = plan(rt, devices, options)?;
    Ok(Offer { capacity: usable_bytes(&state)?, segment: ByteSize(state.geometry.segment_bytes()) })
}

/// A new identity.
pub fn random_uuid(rt: &Runtime) -> Uuid {
    Uuid::from_random(rt.rng_u64(), rt.rng_u64())
}

/// Height of a full stripe: as tall as one block can describe, which keeps headers at 2 to 3 % of the space, and a whole
/// number of chunks.
fn stripe_rows(raid: Raid, chunk_blocks: u32) -> u32 {
    let probe = probe(raid, chunk_blocks, chunk_blocks);
    let tallest = (1..=64).rev().find(|&rows| probe.header_blocks(rows) == probe.header_copies()).unwrap_or(1);
    (tallest / chunk_blocks * chunk_blocks).max(chunk_blocks)
}

/// A shape of which only stripes are known yet.
fn probe(Raid { data, parity }: Raid, chunk_blocks: u32, stripe_rows: u32) -> Geometry {
    Geometry { data, parity, chunk_blocks, stripe_rows, segment_blocks: 1, transient_blocks: 0, lead_blocks: 0 }
}

/// A 512th of the device, but not so large that cleaning takes long steps nor so small that the table grows. Of many and large devices
/// it is larger, since an array has so many segments at most.
fn segment_blocks(smallest: u64, groups: u64, full_stripe: u32) -> u32 {
    let usual = (smallest / 512).next_power_of_two().clamp(1 << 20, 64 << 20);
    let is_too_many = |segment: &u64| groups * (smallest / segment) > MAX_SEGMENTS.into();
    let wanted = (0..10).map(|doubled| usual << doubled).find(|segment| !is_too_many(segment)).unwrap_or(usual);
    let most = (smallest / 64).max(1).next_power_of_two() / 2;
    let bytes = wanted.min(most.max(256 << 10));
    ((bytes / BLOCK as u64) as u32).max(full_stripe)
}

/// The size of a transient area on devices of which the smallest has so many bytes: what clients write with flushes in some tenths
/// of a second, and no more than a 64th of the device.
///
/// Where members compute parity `inside` the first copy of a stripe takes room for all of them, so it is twice that.
fn transient_area(smallest: u64, inside: bool) -> ByteSize {
    let usual = (smallest / 64).next_power_of_two().clamp(1 << 20, 256 << 20) / 2;
    ByteSize(if inside { 2 * usual } else { usual })
}

/// Everything about the array, if the options and devices allow it.
fn plan(rt: &Runtime, devices: &[DeviceInfo], options: &CreateOptions) -> Result<ArrayState, ArrayError> {
    let invalid = |why: String| Err(ArrayError::Invalid(why));
    let (preset, given) = (options.preset, devices.len());
    let usual = Raid { data: options.data, parity: options.parity };
    let mut shapes = [usual].into_iter().chain(options.raid_on.iter().map(|&(_, raid)| raid));
    if let Some(shape) = shapes.find(|raid| raid.data == 0) {
        return invalid(format!("an R-group of {shape} has no place for data: k is at least 1"));
    }
    if let Some(groups) = options.groups.filter(|_| options.raid_on.is_empty()) {
        check_number(preset, groups)?;
        let need = groups * usize::from(usual.width());
        if given != need {
            return invalid(format!("{groups} groups of {usual} take {need} devices, and {given} were given"));
        }
    }
    if !options.chunk.0.is_power_of_two() || options.chunk.0 < BLOCK as u64 || options.chunk.0 > 1 << 20 {
        return invalid(format!("a chunk of {} is not possible: powers of two from 4KiB to 1MiB", options.chunk));
    }
    if options.over_provision_permille > 900 {
        return invalid("over-provisioning above 90 % leaves no room for data".into());
    }
    refuse_zoned(rt, devices)?;
    let alignment = alignment(rt, devices)?;
    let chunk_blocks = (options.chunk.0 / BLOCK as u64) as u32;
    let raid_on = |medium| options.raid_on.iter().find(|(on, _)| *on == medium).map_or(usual, |(_, raid)| *raid);
    let raids = Medium::ALL.map(raid_on);
    let shortest = || raids.map(|raid| stripe_rows(raid, chunk_blocks)).into_iter().min().unwrap_or(1);
    let stripe_rows = options.stripe_rows.unwrap_or_else(shortest);
    if stripe_rows > MAX_STRIPE_ROWS {
        return invalid(GeometryError::StripeTooTall(stripe_rows).to_string());
    }
    let smallest = devices.iter().map(|d| d.size).min().unwrap_or(0);
    let widest = raids.into_iter().max_by_key(|raid| (raid.width(), raid.data)).unwrap_or(usual);
    let probes = raids.map(|raid| probe(raid, chunk_blocks, stripe_rows));
    let full_stripe = stripe_rows + probes.map(|probe| probe.header_blocks(stripe_rows)).into_iter().max().unwrap_or(0);
    let segment_blocks = match options.segment {
        Some(size) if size.0 % BLOCK as u64 != 0 => {
            return invalid(format!("a segment of {} bytes is not a multiple of 4KiB", size.0));
        }
        Some(size) => match alignment {
            Some((_, zone)) if !(size.0 / BLOCK as u64).is_multiple_of(zone) => {
                let zone = ByteSize::of_blocks(zone);
                return invalid(format!("a segment of {size} is not whole zones of {zone}: use a multiple of that"));
            }
            _ => u32::try_from(size.0 / BLOCK as u64).unwrap_or(u32::MAX),
        },
        None => {
            let narrowest = raids.into_iter().map(Raid::width).min().unwrap_or(1);
            let usual = segment_blocks(smallest, given as u64 / u64::from(narrowest), full_stripe);
            let zones = alignment.map(|(_, zone)| u64::from(usual).next_multiple_of(zone));
            zones.map_or(usual, |blocks| u32::try_from(blocks).unwrap_or(u32::MAX))
        }
    };
    let until_full = options.until_full.unwrap_or(UntilFull::of(preset, raids.iter().all(|raid| raid.parity > 0)));
    let inside = until_full == UntilFull::Offload;
    let transient = match until_full.has_transient_area() {
        true => options.transient.unwrap_or(transient_area(smallest, inside)),
        false => ByteSize(0),
    };
    if transient.0 % BLOCK as u64 != 0 {
        return invalid(format!("a transient area of {} bytes is not a multiple of 4KiB", transient.0));
    }
    let transient_blocks = u32::try_from(transient.0 / BLOCK as u64).unwrap_or(u32::MAX);
    if until_full.has_transient_area() && transient_blocks < LEAST_BLOCKS {
        let least = ByteSize::of_blocks(LEAST_BLOCKS.into());
        return invalid(format!("a transient area of {transient} has no room for copies: use at least {least}"));
    }
    let lead_blocks = u32::try_from(lead_blocks(alignment, transient_blocks)).unwrap_or(u32::MAX);
    let geometry = probe(widest, chunk_blocks, stripe_rows);
    let geometry = Geometry { segment_blocks, transient_blocks, lead_blocks, ..geometry };
    geometry.validate().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    check_sizes(devices, &geometry)?;
    let placement = options.placement.unwrap_or(preset.policies().parity);
    let cleaning = options.victim.map(|rule| PolicyValue { name: CLEANING.into(), value: rule.to_number() });
    let cleaning_on = options
        .victim_on
        .iter()
        .map(|(medium, rule)| Some(PolicyValue { name: CLEANING_ON[medium.index()].into(), value: rule.to_number() }));
    let streams = options.streams.map(|streams| PolicyValue { name: STREAMS.into(), value: streams.to_number() });
    let is_set = |name: &str, set: bool| set.then(|| PolicyValue { name: name.into(), value: 1 });
    let fixed = is_set(PARITY_FIXED, placement == ParityPlacement::Fixed);
    let inside = is_set(CONVERTS_INSIDE, inside);
    let buffer = is_set(PARITY_BUFFER, until_full == UntilFull::ParityBuffer);
    let oob = devices.iter().map(|device| rt.capabilities(device.ix).oob_bytes);
    let beside = is_set(DESCRIBED_BESIDE, beside::is_wanted(until_full, oob));
    let raids_on = Medium::ALL.map(|medium| {
        let of_its_own = Some(raid_on(medium)).filter(|&raid| raid != widest);
        of_its_own.map(|raid| PolicyValue { name: RAID_ON[medium.index()].into(), value: raid_value(raid) })
    });
    let clients = options.clients_parity.map(|m| PolicyValue { name: CLIENTS_PARITY.into(), value: m.into() });
    Protections::alike(geometry, options.clients_parity.unwrap_or(geometry.parity))
        .map_err(|error| ArrayError::Invalid(error.to_string()))?;
    let mut policies: Vec<_> = [cleaning, clients, streams, fixed, inside, buffer, beside]
        .into_iter()
        .chain(raids_on)
        .chain(cleaning_on)
        .flatten()
        .collect();
    policies.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let mut state = ArrayState {
        name: options.name.clone(),
        preset: preset.name().into(),
        geometry,
        over_provisioning_permille: options.over_provision_permille,
        policies,
        groups: Vec::new(),
        spares: Vec::new(),
        session: 0,
        clean: true,
        volumes: Vec::new(),
        next_volume_id: 1,
        last_scrub_unix: 0,
        losses: Losses::default(),
        counted_from: 0,
        roots: [None, None],
        in_place: None,
    };
    let policies = policies_of(&state)?;
    let differs_by_medium = !options.raid_on.is_empty() || !options.victim_on.is_empty();
    if differs_by_medium && !policies.mixes_media {
        return invalid(format!(
            "preset {} takes all groups for alike, and they cannot differ by medium",
            preset.name()
        ));
    }
    let mut has_backups = false;
    for NewGroup { devices, medium, raid } in groups_of(rt, devices, raid_on, &options.media, (&state, &policies))? {
        let (segments, members) = (segments_on(devices, &geometry), describe_members(rt, devices));
        let admitted = state.admit(segments, (medium, raid), members, GroupState::InService);
        admitted.map_err(|error| ArrayError::Invalid(error.to_string()))?;
        has_backups |= !devices.iter().any(|device| keeps_no_backups(rt, device.ix));
    }
    if transient_blocks > 0 && !has_backups {
        return invalid(
            "copies of open stripes are written round and round, and each R-group here has a member that is written in order: use \
             --protection full-stripe, or give an R-group devices without zones"
                .into(),
        );
    }
    check_number(preset, state.groups.len())?;
    if let Some(groups) = options.groups.filter(|&groups| groups != state.groups.len()) {
        return invalid(format!("{given} devices make {} R-groups, and not {groups}", state.groups.len()));
    }
    state.validate().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    check_mix(&state, &policies)?;
    let usable = usable_blocks(&state, &policies, Crew::ALONE)?;
    if let Some(medium) = Medium::ALL.into_iter().find(|medium| usable.0[medium.index()] == Some(0)) {
        let on_it = state.groups.iter().filter(|group| group.medium == medium);
        let segments: u32 = on_it.map(GroupDesc::segments).sum();
        let are_on_several = state.groups.iter().any(|group| group.medium != medium);
        let on_it = if are_on_several { format!(" on {medium}") } else { String::new() };
        return invalid(format!(
            "{segments} segments{on_it} leave nothing for volumes: use larger devices or a smaller segment size"
        ));
    }
    Ok(state)
}

fn check_number(preset: Preset, groups: usize) -> Result<(), ArrayError> {
    let (min, max) = (preset.min_groups(), preset.max_groups());
    if (min..=max).contains(&groups) {
        return Ok(());
    }
    let range = if min == max { format!("{min}") } else { format!("at least {min}") };
    Err(ArrayError::Invalid(format!("preset {} takes {range} groups, not {groups}", preset.name())))
}

/// Every member needs room for the fewest segments of a group.
pub(crate) fn check_sizes(devices: &[DeviceInfo], geometry: &Geometry) -> Result<(), ArrayError> {
    let need = geometry.segments_start() + MIN_SEGMENTS * geometry.segment_bytes();
    match devices.iter().find(|d| d.size < need) {
        None => Ok(()),
        Some(small) => {
            Err(ArrayError::TooSmall { device: small.name.clone(), size: ByteSize(small.size), need: ByteSize(need) })
        }
    }
}

/// Segments of a group of these devices: they may differ in size, and the smallest one counts.
pub fn segments_on(devices: &[DeviceInfo], geometry: &Geometry) -> u32 {
    let smallest = devices.iter().map(|d| d.size).min().unwrap_or(0);
    u32::try_from(geometry.segments_on(smallest)).unwrap_or(u32::MAX)
}

/// New members, in the order of their devices.
pub fn describe_members(rt: &Runtime, devices: &[DeviceInfo]) -> Vec<MemberDesc> {
    let describe = |device: &DeviceInfo| MemberDesc {
        uuid: random_uuid(rt),
        size_bytes: device.size,
        state: MemberState::Online,
        holds: Holdings::default(),
        errors: MemberErrors::default(),
    };
    devices.iter().map(describe).collect()
}

/// Fails if a device holds anything.
///
/// # Errors
/// [`ArrayError::InUse`], or that a device cannot be read.
pub async fn refuse_used(rt: &Runtime, devices: &[DeviceInfo]) -> Result<(), ArrayError> {
    for device in devices {
        let what = match inspect(rt, device).await? {
            Found::Other(what) if what == "nothing" => continue,
            Found::Other(what) => what,
            Found::Member(superblock) => format!("a member of array {:?}", superblock.state.name),
            Found::Broken(why) => format!("a damaged member of an array ({why})"),
        };
        return Err(ArrayError::InUse { device: device.name.clone(), what });
    }
    Ok(())
}

/// Writes the first superblocks of an array, or none: half an array would pass for one that has lost members.
///
/// # Errors
/// When one cannot be written.
pub async fn write_first_on_all(
    rt: &Runtime,
    devices: &[DeviceInfo],
    array: Uuid,
    state: &ArrayState,
) -> Result<(), ArrayError> {
    let first = |(member, desc): (u16, &MemberDesc)| {
        let (member, member_uuid) = (MemberIx(member), desc.uuid);
        Superblock { generation: 1, array, member, member_uuid, read_only: false, state: state.clone() }.encode()
    };
    // All of them before anything is written or taken back: then only devices can be the cause of a failure.
    let superblocks = (0..).zip(state.members()).map(first).collect::<Result<Vec<_>, _>>();
    let superblocks = superblocks.map_err(|error| ArrayError::Invalid(error.to_string()))?;
    assert_eq!(superblocks.len(), devices.len(), "one member per device");
    for (ix, (device, bytes)) in devices.iter().zip(&superblocks).enumerate() {
        if let Err(failed) = write_first(rt, device, bytes).await {
            for written in &devices[..=ix] {
                // Of one that takes no writes there is nothing to be taken back.
                let _ = wipe_device(rt, written.ix, &written.name).await;
            }
            return Err(failed);
        }
    }
    Ok(())
}

/// Writes a member's first superblock, as encoded, and clears the other slot so that nothing older can be taken for newer.
async fn write_first(rt: &Runtime, device: &DeviceInfo, bytes: &[u8]) -> Result<(), ArrayError> {
    write_empty(rt, device.ix).await.map_err(|error| error.of(&device.name))?;
    write_superblock(rt, device.ix, 1, bytes).await.map_err(|error| error.of(&device.name))
}

/// Makes a device forget that it was a member.
///
/// # Errors
/// When it cannot be written.
pub fn wipe<'a>(rt: &'a Runtime, device: &'a DeviceInfo) -> Work<'a, Result<(), ArrayError>> {
    Box::pin(async move { wipe_device(rt, device.ix, &device.name).await })
}

/// As [`wipe`], by the number under which the device is addressed.
pub(crate) async fn wipe_device(rt: &Runtime, dev: DeviceIx, name: &str) -> Result<(), ArrayError> {
    write_zeros(rt, dev).await.map_err(|error| error.of(name))
}
