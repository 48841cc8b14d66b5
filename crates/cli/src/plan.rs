//! `cygnus plan`: SWAN's analytic model for a network, a drive and a utilisation; `serial` has the serial array's rule.

mod advice;
mod check;
mod drive;
mod room;
mod serial;
mod text;
mod units;

use crate::args::plan::PlanArgs;
use crate::args::values;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Output;
use cygnus_format::Raid;
use cygnus_lab::Regime;
use cygnus_policy::Preset;
use cygnus_policy::planner::{self, DeviceFigures, Layout, Prospect, Terms};
use drive::{Device, SWAN_PAPER_NAME, figures, groups_of, is_possible_width, possible};
use serde::Serialize;

/// What `plan` answers.
#[derive(Debug, Serialize)]
struct Plan {
    network_bytes_per_second: f64,
    device: Device,
    utilisation: f64,
    equation: Equation,
    layout: Judged,
    /// Layouts of the drives at hand; empty when their number was not given.
    alternatives: Vec<Judged>,
    /// Who leads at the place of the lab's maps that is nearest to this one.
    map: Regime,
    #[serde(skip_serializing_if = "Option::is_none")]
    wear: Option<Wear>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<check::Checked>,
    /// Why no array can be like that.
    #[serde(skip_serializing_if = "Option::is_none")]
    impossible: Option<String>,
    remarks: Vec<String>,
}

/// `N >= (Te/Tw) / (1 - u) + (Tr/Tw + 1) * u / (1 - u) + 1`, term by term.
#[derive(Debug, Serialize)]
struct Equation {
    /// Share of what the front-end could take that the network brings; stretches Tw.
    front_end_load: f64,
    te_seconds: f64,
    tr_seconds: f64,
    tw_seconds: f64,
    valid_share: f64,
    erase_term: f64,
    move_term: f64,
    minimum: f64,
    groups: u32,
}

#[derive(Clone, Debug, Serialize)]
struct Judged {
    groups: u32,
    raid: String,
    devices: u32,
    spares: u32,
    burst_bytes_per_second: f64,
    sustained_bytes_per_second: f64,
    keeps_up: bool,
    /// Part of a front-end's time that it takes to clean what is written meanwhile, in one R-group.
    cleaning: f64,
    /// What is cleaned at once, in R-groups that are cleaned all the time: a second one is cleaned when one is not enough.
    side_by_side: f64,
    /// Valid share of the victims, given that headers and clean space hold no garbage.
    valid_share: f64,
    write_amplification: f64,
    usable_bytes: f64,
    raw_bytes: f64,
}

#[derive(Debug, Serialize)]
struct Wear {
    drive_writes_per_day: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    years: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Cost {
    drives: f64,
    per_usable_terabyte: f64,
    /// That, spread over the years that the drives last.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_usable_terabyte_year: Option<f64>,
}

/// Carries out `cygnus plan`.
pub fn run(args: &PlanArgs, output: Output) -> Result<Exit, Failure> {
    if args.preset == Some(values::Preset::Log(cygnus_policy::Preset::Serial)) {
        return serial::run(args, output);
    }
    if args.check {
        check::modelled(&args.device)?;
    }
    let mut plan = plan(args)?;
    if args.check && plan.impossible.is_none() {
        plan.check = Some(check::check(&plan, output)?);
    }
    output.answer(&plan, |_| text::text(&plan))?;
    if let Some(why) = &plan.impossible {
        return Ok(room::cannot_be_built(why, output));
    }
    let as_predicted = plan.check.as_ref().is_none_or(check::Checked::as_predicted);
    Ok(output.verdict(as_predicted, "the simulation contradicts the plan"))
}

fn plan(args: &PlanArgs) -> Result<Plan, Failure> {
    let device = figures(args)?;
    let utilisation = f64::from(args.utilisation.0) / 100.0;
    if args.utilisation.0 == 0 {
        return Err(Failure::Usage(
            "a utilisation of 0% leaves nothing to plan; say how full the array will be".into(),
        ));
    }
    let network = args.network.0;
    can_bring(network, args)?;
    let chosen = choose(args, &device, utilisation)?;
    can_be_as_full(args.utilisation.0, chosen.groups)?;
    let load = (network / (f64::from(chosen.data) * device.write_rate)).min(1.0);
    let terms = planner::terms(&device, utilisation, load);
    let judge = |layout| judged(&device, layout, utilisation, network);
    let layout = judge(chosen);
    let alternatives = args.devices.map_or(Vec::new(), |devices| {
        let parity = args.raid.map_or(parity(args), |raid| raid.parity);
        layouts(devices, u32::from(parity)).map(judge).collect()
    });
    let wear = wear(args, &device, &layout);
    let map = cygnus_lab::nearest_regime(chosen.data, utilisation * 100.0, load * 100.0);
    let room = drive::room(args, Preset::Swan, chosen)?;
    let mut remarks = remarks(args, &device, &layout, terms, chosen, room.remarks);
    remarks.extend(advice::remarks(&map));
    Ok(Plan {
        network_bytes_per_second: network,
        utilisation,
        equation: equation(&device, terms, load),
        cost: cost(args, &device, &layout, wear.as_ref()),
        wear,
        check: None,
        impossible: room.impossible,
        remarks,
        map,
        layout,
        alternatives,
        device: drive::device(args, &device),
    })
}

/// Refuses more written than the network brings.
fn can_bring(network: f64, args: &PlanArgs) -> Result<(), Failure> {
    const SECONDS_A_DAY: f64 = 86_400.0;
    let Some(written) = args.written_per_day.map(|size| size.0.0 as f64) else { return Ok(()) };
    let brought = network * SECONDS_A_DAY;
    (written <= brought).then_some(()).ok_or_else(|| {
        Failure::Usage(format!(
            "--written-per-day: {} a day are more than this network brings, which is {}",
            units::terabytes(written),
            units::terabytes(brought)
        ))
    })
}

/// Refuses what is fuller than an array of so many R-groups can be.
fn can_be_as_full(percent: u8, groups: u32) -> Result<(), Failure> {
    let most = 100.0 * planner::fullest(groups);
    (f64::from(percent) <= most).then_some(()).ok_or_else(|| {
        Failure::Usage(format!(
            "an array of {groups} R-groups cannot be {percent} % full: it keeps space for headers and for what is written next, and \
             cleaning needs garbage; plan with {:.0} % at most",
            most.floor()
        ))
    })
}

/// Parity members of each R-group where no shape is given.
fn parity(args: &PlanArgs) -> u8 {
    args.parity.unwrap_or(1)
}

fn choose(args: &PlanArgs, device: &DeviceFigures, utilisation: f64) -> Result<Layout, Failure> {
    let network = args.network.0;
    let too_few = |devices: u32, need: u32| {
        Failure::Usage(format!("{devices} drives are too few for two R-groups; give at least {need}"))
    };
    match (args.devices, args.raid) {
        (Some(devices), None) => {
            let parity = u32::from(parity(args));
            planner::recommend(device, layouts(devices, parity), utilisation, network)
                .ok_or_else(|| too_few(devices, 2 * (parity + 1)))
        }
        (Some(devices), Some(raid)) => {
            let (data, parity) = (u32::from(raid.data), u32::from(raid.parity));
            possible(2, data, parity)?;
            let groups = groups_of(devices, data + parity);
            if groups < 2 {
                return Err(too_few(devices, 2 * (data + parity)));
            }
            Ok(Layout { groups, data, parity, spares: devices - groups * (data + parity) })
        }
        (None, raid) => {
            let parity = u32::from(raid.map_or(parity(args), |raid| raid.parity));
            let groups_for = |data| {
                let load = (network / (f64::from(data) * device.write_rate)).min(1.0);
                planner::terms(device, utilisation, load).groups()
            };
            let (groups, data) = match raid {
                Some(Raid { data, .. }) => (groups_for(u32::from(data)), u32::from(data)),
                None => {
                    let data_for = |groups| planner::data_devices(device, groups, utilisation, network);
                    fewest_drives(parity, groups_for, data_for)
                }
            };
            possible(groups, data, parity)?;
            Ok(Layout { groups, data, parity, spares: 0 })
        }
    }
}

/// Every layout of so many drives that an array can have, widest groups first.
fn layouts(devices: u32, parity: u32) -> impl Iterator<Item = Layout> {
    let of = move |layout: Layout| {
        let groups = groups_of(devices, layout.width());
        Layout { groups, spares: devices - groups * layout.width(), ..layout }
    };
    planner::layouts(devices, parity).filter(|layout| is_possible_width(layout.width())).map(of)
}

/// More R-groups are not thought of by themselves.
const MOST_GROUPS: u32 = 64;

/// More groups make do with narrower ones, since two can be cleaned at once, and narrower ones want more groups: of those
/// that are enough for one another, groups and their data drives, the one with fewest drives.
fn fewest_drives(parity: u32, groups_for: impl Fn(u32) -> u32, data_for: impl Fn(u32) -> u32) -> (u32, u32) {
    let layouts = (2..=MOST_GROUPS).map(|groups| (groups, data_for(groups)));
    let fitting = layouts.clone().filter(|&(groups, data)| groups_for(data) <= groups);
    let fewest = fitting.min_by_key(|&(groups, data)| groups.saturating_mul(data.saturating_add(parity)));
    fewest.or(layouts.last()).expect("two groups at least")
}

fn judged(device: &DeviceFigures, layout: Layout, utilisation: f64, network: f64) -> Judged {
    let Prospect { burst_rate, sustained_rate, valid_share, cleaning, side_by_side, write_amplification, usable, raw } =
        planner::prospect(device, layout, utilisation);
    Judged {
        groups: layout.groups,
        raid: format!("{}+{}", layout.data, layout.parity),
        devices: layout.groups * layout.width() + layout.spares,
        spares: layout.spares,
        burst_bytes_per_second: burst_rate,
        sustained_bytes_per_second: sustained_rate,
        keeps_up: sustained_rate >= network * 0.9999,
        cleaning,
        side_by_side,
        valid_share,
        write_amplification,
        usable_bytes: usable,
        raw_bytes: raw,
    }
}

fn equation(device: &DeviceFigures, terms: Terms, load: f64) -> Equation {
    Equation {
        front_end_load: load,
        te_seconds: device.erase_seconds,
        tr_seconds: device.segment / device.read_rate,
        tw_seconds: device.segment / device.write_rate,
        valid_share: terms.valid_share,
        erase_term: terms.erase,
        move_term: terms.moves,
        minimum: terms.minimum(),
        groups: terms.groups(),
    }
}

/// Days of the years for which a drive's writes a day are promised.
const WARRANTY_DAYS: f64 = 5.0 * 365.0;

fn wear(args: &PlanArgs, device: &DeviceFigures, layout: &Judged) -> Option<Wear> {
    // What is not written wears nothing.
    let written = Some(args.written_per_day?.0.0 as f64).filter(|&bytes| bytes > 0.0)? * layout.write_amplification;
    let drives = f64::from(layout.devices - layout.spares);
    let endurance =
        args.endurance.map(|size| size.0.0 as f64).or(args.dwpd.map(|dwpd| dwpd * device.capacity * WARRANTY_DAYS));
    let years = endurance.map(|endurance| endurance * drives / written / 365.0);
    Some(Wear { drive_writes_per_day: written / layout.raw_bytes, years })
}

fn cost(args: &PlanArgs, device: &DeviceFigures, layout: &Judged, wear: Option<&Wear>) -> Option<Cost> {
    let price = args.price.or(args.price_per_gb.map(|price| price * device.capacity / 1e9))?;
    let drives = price * f64::from(layout.devices);
    let per_usable_terabyte = drives / (layout.usable_bytes / 1e12);
    let years = wear.and_then(|wear| wear.years);
    Some(Cost { drives, per_usable_terabyte, per_usable_terabyte_year: years.map(|years| per_usable_terabyte / years) })
}

/// `room` has what is told of the array's room.
fn remarks(
    args: &PlanArgs,
    device: &DeviceFigures,
    layout: &Judged,
    terms: Terms,
    chosen: Layout,
    room: Vec<String>,
) -> Vec<String> {
    let mut remarks = Vec::new();
    let utilisation = f64::from(args.utilisation.0) / 100.0;
    if args.device == SWAN_PAPER_NAME {
        remarks.push(format!(
            "the paper prints 1.89 for 60 % and a full front-end; its own equation gives 3.08 with its rounded u of \
             0.33. 1.89 is the sum without the erase term, here {:.2}",
            terms.moves + 1.0
        ));
    }
    if !layout.keeps_up {
        let needed = planner::data_devices(device, chosen.groups, utilisation, args.network.0);
        let wider = if is_possible_width(needed.saturating_add(chosen.parity)) {
            ("", "Make them wider, or fill the array less")
        } else {
            (", more than an R-group can have", "Fill the array less, or spread the load over several arrays")
        };
        remarks.push(format!(
            "cleaning will not keep up with this network for ever: it would take R-groups of {needed} data drives{}; more than \
             three R-groups hold more but clean no faster, as no more than two are cleaned at a time. {}",
            wider.0, wider.1
        ));
    }
    remarks.extend(room);
    if chosen.parity == 0 {
        remarks.push("without parity the loss of one drive loses data".into());
    }
    remarks.push(
        "the model takes uniform random writes, the worst case for cleaning; skewed writes leave emptier victims"
            .into(),
    );
    remarks
}
