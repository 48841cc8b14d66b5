//! Making an array: all checks before the first byte is written.

use cygnus_engine::{
    ArrayError, Work, claim_new, describe_members, random_uuid, refuse_in_order, refuse_used, segments_on,
    write_first_on_all,
};
use cygnus_format::{
    ArrayState, DATA_START, Geometry, GroupState, INTENT_OFFSET, INTENT_REGIONS, InPlace, IntentBlock, Losses,
    MAX_SEGMENTS,
};
use cygnus_runtime::{DeviceInfo, Runtime};
use cygnus_types::{BLOCK, ByteSize, Medium, Uuid};

use crate::layout::{Layout, Level};

/// What an array should be.
#[derive(Clone, Debug)]
pub struct CreateOptions {
    /// Name, for people.
    pub name: String,
    /// RAID level.
    pub level: Level,
    /// Striping unit; a power of two from 4 KiB to 1 MiB.
    pub chunk: ByteSize,
    /// Overwrite what the devices hold.
    pub force: bool,
    /// All devices read as zeros, so that copies and parity fit already; otherwise the first session begins with a resync.
    pub blank: bool,
}

/// Least bytes of a region of the write-intent log: below that, setting bits costs more than a resync.
const LEAST_REGION: u64 = 1 << 20;
/// Most bytes of a region, if the log has room for as many; md's default for large devices.
const MOST_REGION: u64 = 64 << 20;
/// Regions that a device should have.
const REGIONS: u64 = 4096;

/// Writes the first superblocks of an array onto `devices`, in the order of the members, and returns its UUID.
///
/// # Errors
/// When the options contradict each other or the devices, or a device holds something and `force` is not set. Nothing
/// has been written then.
pub fn create<'a>(
    rt: &'a Runtime,
    devices: &'a [DeviceInfo],
    options: &'a CreateOptions,
) -> Work<'a, Result<Uuid, ArrayError>> {
    Box::pin(async move {
        let state = plan(rt, devices, options)?;
        refuse_in_order(rt, devices)?;
        let _claim = claim_new(rt, devices)?;
        if !options.force {
            refuse_used(rt, devices).await?;
        }
        let array = random_uuid(rt);
        for device in devices {
            write_log(rt, device, array, state.groups[0].segments(), !state.clean).await?;
        }
        write_first_on_all(rt, devices, array, &state).await?;
        Ok(array)
    })
}

/// Mirrors count as parity, so that a group of k + m survives m losses at every level: (groups, data, parity).
fn shape(level: Level, members: usize) -> (usize, usize, usize) {
    match level {
        Level::Raid0 => (1, members, 0),
        Level::Raid1 => (1, 1, members.saturating_sub(1)),
        Level::Raid4 | Level::Raid5 | Level::Raid6 => (1, members - level.parity(), level.parity()),
        Level::Raid10 => (members / 2, 1, 1),
    }
}

fn region_bytes(smallest: u64, chunk: u64) -> u64 {
    let wanted = (smallest / REGIONS).next_power_of_two().clamp(LEAST_REGION, MOST_REGION);
    let least = (smallest / u64::from(MAX_SEGMENTS) + 1).next_power_of_two();
    // A region holds whole chunks, and more than one.
    wanted.max(least).max(2 * chunk)
}

/// Everything about the array, if the options and devices allow it.
fn plan(rt: &Runtime, devices: &[DeviceInfo], options: &CreateOptions) -> Result<ArrayState, ArrayError> {
    let invalid = |why: String| Err(ArrayError::Invalid(why));
    let (level, chunk) = (options.level, options.chunk);
    if !chunk.0.is_power_of_two() || chunk.0 < BLOCK as u64 || chunk.0 > 1 << 20 {
        return invalid(format!("a chunk of {chunk} is not possible: powers of two from 4KiB to 1MiB"));
    }
    let smallest = devices.iter().map(|device| device.size).min().unwrap_or(0);
    let chunk_blocks = (chunk.0 / BLOCK as u64) as u32;
    // Before anything is computed from the number of devices: not every level takes every number.
    let blocks = smallest.saturating_sub(DATA_START) / BLOCK as u64;
    Layout::new(level, devices.len(), chunk_blocks, blocks).map_err(|error| ArrayError::Invalid(error.to_string()))?;
    if level == Level::Raid1 && devices.len() > 3 {
        return invalid(format!("raid1 has two or three members here, not {}: use raid10", devices.len()));
    }
    let (groups, data, parity) = shape(level, devices.len());
    let segment_blocks = (region_bytes(smallest, chunk.0) / BLOCK as u64) as u32;
    let geometry = Geometry {
        data: u8::try_from(data).unwrap_or(u8::MAX),
        parity: parity as u8,
        chunk_blocks,
        stripe_rows: chunk_blocks,
        segment_blocks,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    geometry.validate().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    let need = ByteSize(geometry.device_offset(1, 0));
    if let Some(small) = devices.iter().find(|device| device.size < need.0) {
        return Err(ArrayError::TooSmall { device: small.name.clone(), size: ByteSize(small.size), need });
    }
    // All members are as large as the smallest of all, not only of its pair.
    let segments = segments_on(devices, &geometry);
    let stripes = u64::from(segments) * u64::from(segment_blocks / chunk_blocks);
    let blocks = Layout::new(level, devices.len(), chunk_blocks, stripes * u64::from(chunk_blocks));
    let blocks = blocks.map_err(|error| ArrayError::Invalid(error.to_string()))?.blocks();
    let needs_resync = level != Level::Raid0 && !options.blank;
    let mut state = ArrayState {
        name: options.name.clone(),
        preset: level.name().into(),
        geometry,
        over_provisioning_permille: 0,
        policies: Vec::new(),
        groups: Vec::new(),
        spares: Vec::new(),
        session: 0,
        clean: !needs_resync,
        volumes: Vec::new(),
        next_volume_id: 1,
        last_scrub_unix: 0,
        losses: Losses::default(),
        counted_from: 0,
        roots: [None, None],
        in_place: Some(InPlace { blank_from_mib: if options.blank { 0 } else { (blocks * BLOCK as u64) >> 20 } }),
    };
    for devices in devices.chunks(devices.len() / groups) {
        let admitted = state.admit(
            segments,
            (Medium::Flash, geometry.raid()),
            describe_members(rt, devices),
            GroupState::InService,
        );
        admitted.map_err(|error| ArrayError::Invalid(error.to_string()))?;
    }
    state.validate().map_err(|error| ArrayError::Invalid(error.to_string()))?;
    Ok(state)
}

/// The first write-intent log: everything needs a resync, or nothing.
async fn write_log(
    rt: &Runtime,
    device: &DeviceInfo,
    array: Uuid,
    regions: u32,
    dirty: bool,
) -> Result<(), ArrayError> {
    for index in 0..cygnus_format::intent::blocks_for(regions) {
        let mut block = IntentBlock::new(index, 0);
        (0..INTENT_REGIONS.min(regions - index * INTENT_REGIONS)).for_each(|n| block.set(n, dirty));
        let mut buf = rt.alloc(BLOCK);
        buf.write(0, &block.encode(array.tag()));
        let offset = INTENT_OFFSET + u64::from(index) * BLOCK as u64;
        let io = |error| ArrayError::Io { device: device.name.clone(), offset, error };
        rt.write(device.ix, offset, buf.full()).await.map_err(io)?;
    }
    Ok(())
}
