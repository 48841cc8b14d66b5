//! `cygnus plan --preset serial`: whether external collection keeps up.

use super::drive::{Device, device, figures, groups_of, possible, room};
use super::room::cannot_be_built;
use super::units::{rate, terabytes};
use crate::args::plan::PlanArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_policy::Preset;
use cygnus_policy::planner::Layout;
use cygnus_policy::serial_planner::{SerialArray, Sustained};
use serde::Serialize;

/// Fewest R-groups: front-end, back-end, reserve.
const FEWEST: u32 = 3;

/// What `plan --preset serial` answers.
#[derive(Debug, Serialize)]
struct Plan {
    preset: &'static str,
    network_bytes_per_second: f64,
    device: Device,
    utilisation: f64,
    groups: u32,
    raid: String,
    devices: u32,
    spares: u32,
    front_end_bytes_per_second: f64,
    valid_share: f64,
    cleaning_seconds: f64,
    filling_seconds: f64,
    keeps_up: bool,
    sustained_bytes_per_second: f64,
    write_amplification: f64,
    usable_bytes: f64,
    raw_bytes: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    impossible: Option<String>,
    remarks: Vec<String>,
}

/// Carries out `cygnus plan` of a serial array.
pub fn run(args: &PlanArgs, output: Output) -> Result<Exit, Failure> {
    let plan = plan(args)?;
    output.answer(&plan, |_| text(&plan))?;
    Ok(plan.impossible.map_or(Exit::Done, |why| cannot_be_built(&why, output)))
}

fn plan(args: &PlanArgs) -> Result<Plan, Failure> {
    if args.check || args.written_per_day.is_some() || args.price.or(args.price_per_gb).is_some() {
        return Err(Failure::Usage("for serial there is the rule alone: no --check, wear or price yet".into()));
    }
    let drive = figures(args)?;
    let utilisation = f64::from(args.utilisation.0) / 100.0;
    let parity = args.raid.map_or(args.parity.unwrap_or(0), |raid| raid.parity);
    // Section 2: more than one front-end drive if one is slower than the network.
    let enough = ((args.network.0 / drive.write_rate).ceil() as u32).max(1);
    // No wider than the drives at hand allow: that they are too slow is an answer.
    let widest = args.devices.map_or(enough, |devices| (devices / FEWEST).saturating_sub(u32::from(parity)).max(1));
    let data = args.raid.map_or(enough.min(widest), |raid| u32::from(raid.data));
    possible(FEWEST, data, u32::from(parity))?;
    let width = data + u32::from(parity);
    let array = |groups| SerialArray { device: drive, groups, data };
    let front_end = array(FEWEST).front_end_rate().min(args.network.0);
    let groups = match args.devices {
        Some(devices) if devices / width < FEWEST => {
            return Err(Failure::Usage(format!(
                "{devices} drives are too few for {FEWEST} R-groups of {data}+{parity}; give at least {}",
                FEWEST * width
            )));
        }
        Some(devices) => groups_of(devices, width),
        None => {
            let keeps_up =
                |&groups: &u32| array(groups).sustained(utilisation, front_end).is_some_and(Sustained::holds);
            (FEWEST..=groups_of(u32::MAX, width)).find(keeps_up).unwrap_or(FEWEST)
        }
    };
    let sustained = array(groups).sustained(utilisation, front_end).ok_or_else(|| {
        Failure::Usage(format!(
            "{groups} R-groups, one of them in reserve, cannot be {} % full: give more drives, or --utilisation {}% or less",
            args.utilisation.0,
            (100 * (groups - 1)).div_ceil(groups) - 1
        ))
    })?;
    let raw = f64::from(groups * width) * drive.capacity;
    let data_share = f64::from(data) / f64::from(width);
    let spares = args.devices.map_or(0, |devices| devices - groups * width);
    let room = room(args, Preset::Serial, Layout { groups, data, parity: parity.into(), spares })?;
    Ok(Plan {
        preset: "serial",
        network_bytes_per_second: args.network.0,
        device: device(args, &drive),
        utilisation,
        groups,
        raid: format!("{data}+{parity}"),
        devices: args.devices.unwrap_or(groups * width),
        spares,
        front_end_bytes_per_second: array(groups).front_end_rate(),
        valid_share: sustained.valid_share,
        cleaning_seconds: sustained.cleaning_seconds,
        filling_seconds: sustained.filling_seconds,
        keeps_up: sustained.holds() && array(groups).front_end_rate() >= args.network.0 * 0.9999,
        sustained_bytes_per_second: front_end * sustained.share(),
        write_amplification: 1.0 / (1.0 - sustained.valid_share) / data_share,
        usable_bytes: raw * data_share * utilisation,
        raw_bytes: raw,
        impossible: room.impossible,
        remarks: room.remarks.into_iter().chain(remarks(parity, sustained)).collect(),
    })
}

fn remarks(parity: u8, sustained: Sustained) -> Vec<String> {
    let mut remarks = Vec::new();
    if !sustained.holds() {
        remarks.push(
            "the rule does not hold: writers will wait while a device is emptied; use more drives, fill the array less, or \
             let clients write less"
                .into(),
        );
    }
    if parity == 0 {
        remarks.push("NO REDUNDANCY: the loss of one drive loses data; --parity 1 mirrors each".into());
    }
    remarks.push(
        "the rule takes uniform random writes, the worst case; skewed writes leave emptier devices to be emptied"
            .into(),
    );
    remarks
}

fn text(plan: &Plan) -> String {
    let device = &plan.device;
    let lines = [
        format!(
            "drive      {}: writes {}, reads {}, holds {}",
            device.name,
            rate(device.write_bytes_per_second),
            rate(device.read_bytes_per_second),
            terabytes(device.capacity_bytes)
        ),
        format!(
            "front-end  takes {}; the network brings {}",
            rate(plan.front_end_bytes_per_second),
            rate(plan.network_bytes_per_second)
        ),
        format!(
            "victims    {:.0} % valid (u) when {:.0} % of the space is live and one group is in reserve",
            plan.valid_share * 100.0,
            plan.utilisation * 100.0
        ),
        String::new(),
        "rule       (u C / min(Br, Bw) + Ttrim) / (1 - u) <= C / Bfront".into(),
        format!(
            "             {:.0} s to clean one group, {:.0} s to fill one: {}",
            plan.cleaning_seconds,
            plan.filling_seconds,
            if plan.cleaning_seconds <= plan.filling_seconds { "holds" } else { "does not hold" }
        ),
        String::new(),
        format!(
            "layout     {} R-groups of {}, one of them in reserve: {} drives, {} spare",
            plan.groups, plan.raid, plan.devices, plan.spares
        ),
        format!(
            "writes     {} for ever ({})",
            rate(plan.sustained_bytes_per_second),
            if plan.keeps_up { "as fast as the network" } else { "slower than the network" }
        ),
        format!("amplified  {:.2} bytes written to drives for each byte", plan.write_amplification),
        format!("space      {} usable of {} raw", terabytes(plan.usable_bytes), terabytes(plan.raw_bytes)),
        String::new(),
    ];
    let remarks = plan.remarks.iter().map(|remark| format!("note: {remark}"));
    lines.into_iter().chain(remarks).collect::<Vec<_>>().join("\n") + "\n"
}
