//! A plan for people.

use super::Plan;
use super::check::Checked;
use super::units::{rate, size, terabytes};
use cygnus_lab::{Led, Regime};

fn millis(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

pub(super) fn text(plan: &Plan) -> String {
    let (device, equation, layout) = (&plan.device, &plan.equation, &plan.layout);
    let mut lines = vec![
        format!(
            "drive      {}: writes {}, reads {}, holds {}",
            device.name,
            rate(device.write_bytes_per_second),
            rate(device.read_bytes_per_second),
            terabytes(device.capacity_bytes)
        ),
        format!(
            "segment    {} on each drive: Tw {}, Tr {}, Te {}",
            size(device.segment_bytes),
            millis(equation.tw_seconds),
            millis(equation.tr_seconds),
            millis(equation.te_seconds)
        ),
        format!(
            "victims    {:.0} % valid (u) when {:.0} % of the space is live: ud = (u - 1) / ln u",
            equation.valid_share * 100.0,
            plan.utilisation * 100.0
        ),
        format!(
            "load       the network brings {}, {:.0} % of what the front-end can take; Tw counts {:.2} times",
            rate(plan.network_bytes_per_second),
            equation.front_end_load * 100.0,
            1.0 / equation.front_end_load
        ),
        String::new(),
        "R-groups   N >= (Te/Tw) / (1 - u) + (Tr/Tw + 1) * u / (1 - u) + 1".into(),
        format!(
            "             = {:.2} (erase) + {:.2} (move) + 1 (front-end) = {:.2}, so {}",
            equation.erase_term, equation.move_term, equation.minimum, equation.groups
        ),
        "             if all but the front-end may be cleaned side by side; Cygnus cleans two if it must".into(),
        String::new(),
        format!(
            "layout     {} R-groups of {}: {} drives, {} spare",
            layout.groups, layout.raid, layout.devices, layout.spares
        ),
        format!(
            "writes     {} in bursts, {} for ever ({})",
            rate(layout.burst_bytes_per_second),
            rate(layout.sustained_bytes_per_second),
            if layout.keeps_up { "cleaning keeps up with the network" } else { "cleaning falls behind the network" }
        ),
        format!(
            "cleaning   takes {:.2} of the time that a front-end lasts, {} at a time; victims are {:.0} % valid, as headers \
             and clean space hold no garbage",
            layout.cleaning,
            if layout.side_by_side > 1.0 { "up to two groups" } else { "one group" },
            layout.valid_share * 100.0
        ),
        format!("amplified  {:.2} bytes written to drives for each byte, parity included", layout.write_amplification),
        format!("space      {} usable of {} raw", terabytes(layout.usable_bytes), terabytes(layout.raw_bytes)),
    ];
    if let Some(wear) = &plan.wear {
        let years = wear.years.map_or(String::new(), |years| format!(", {years:.1} years until the drives wear out"));
        lines.push(format!("wear       {:.3} drive writes a day{years}", wear.drive_writes_per_day));
    }
    if let Some(cost) = &plan.cost {
        let year = cost.per_usable_terabyte_year.map_or(String::new(), |year| format!(", {year:.0} per TB and year"));
        let (drives, usable) = (cost.drives, cost.per_usable_terabyte);
        lines.push(format!("cost       {drives:.0} for drives, {usable:.0} per usable TB{year}"));
    }
    lines.extend(alternatives(plan));
    lines.extend(map(&plan.map));
    lines.extend(plan.check.iter().flat_map(Checked::lines));
    lines.push(String::new());
    lines.extend(plan.remarks.iter().map(|remark| format!("note: {remark}")));
    lines.join("\n") + "\n"
}

/// Whole numbers, but for those that would be 0.
fn short(number: f64) -> String {
    if number > 0.0 && number < 1.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

fn map(map: &Regime) -> Vec<String> {
    let led = |led: &Led| {
        let mut numbers = led.numbers.clone();
        numbers.sort_by(|one, other| one.1.total_cmp(&other.1));
        let numbers: Vec<String> =
            numbers.iter().map(|(design, number)| format!("{design} {}", short(*number))).collect();
        match numbers.is_empty() {
            true => format!("             {}: no design keeps up", led.what),
            false => format!("             {}: {} ({}: {})", led.what, led.lead, led.unit, numbers.join(", ")),
        }
    };
    let place = format!(
        "map        nearest place at which designs were compared: {}, on 850-pro; who leads ('cygnus lab run beyond/regimes')",
        map.place
    );
    [String::new(), place].into_iter().chain(map.measures.iter().map(led)).collect()
}

fn alternatives(plan: &Plan) -> Vec<String> {
    if plan.alternatives.is_empty() {
        return Vec::new();
    }
    let mut lines =
        vec![String::new(), "  groups  raid   spare   bursts       for ever     usable      amplified".into()];
    for layout in &plan.alternatives {
        let chosen = (layout.groups, &layout.raid) == (plan.layout.groups, &plan.layout.raid);
        lines.push(format!(
            "{} {:>6}  {:<6} {:>5}   {:<11}  {:<11}  {:<10}  {:.2}{}",
            if chosen { "*" } else { " " },
            layout.groups,
            layout.raid,
            layout.spares,
            rate(layout.burst_bytes_per_second),
            rate(layout.sustained_bytes_per_second),
            terabytes(layout.usable_bytes),
            layout.write_amplification,
            if layout.keeps_up { "  keeps up" } else { "" }
        ));
    }
    lines
}
