//! What somebody should know of an array before trusting it with data.

use cygnus_engine::CreateOptions;
use cygnus_format::Raid;
use cygnus_host::one_disk::sharing_a_disk;
use cygnus_policy::Preset;
use cygnus_policy::serial_planner::{full_pace_fill, pace_at};
use cygnus_types::counted;
use std::path::{Path, PathBuf};

/// In sentences, of an array whose groups have these columns.
pub fn cautions(options: &CreateOptions, shapes: &[Raid]) -> Vec<String> {
    let mut sentences = Vec::new();
    let bare = || shapes.iter().filter(|raid| raid.parity == 0);
    if let Some(first) = bare().next() {
        let remedy = if first.data == 1 { "--raid 1+1 mirrors each" } else { "--raid K+1 survives one loss" };
        let (devices, on) = (bare().map(|raid| usize::from(raid.data)).sum::<usize>(), shapes.len() - bare().count());
        sentences.push(format!(
            "NO REDUNDANCY: the loss of any one of the {}{} loses data, and the array with it; {remedy}",
            counted(devices, "device"),
            if on == 0 { "" } else { " of R-groups without parity" },
        ));
    }
    if options.preset == Preset::Serial {
        sentences.push(pace(options, shapes.len()));
    }
    sentences
}

/// Of new groups' members, the first group's first, which are on one disk; of each group its number and how many members it has.
pub fn on_one_disk(members: &[PathBuf], groups: impl IntoIterator<Item = (u32, usize)>) -> Vec<String> {
    let mut rest = members;
    let mut sentences = Vec::new();
    for (group, width) in groups {
        let (of_group, others) = rest.split_at(width.min(rest.len()));
        rest = others;
        for (disk, members) in sharing_a_disk(Path::new("/sys"), of_group) {
            let names: Vec<String> = members.iter().map(|path| path.display().to_string()).collect();
            sentences.push(format!(
                "{} of R-group {group} are on one disk, {disk}: should it fail, they are lost together. Give each R-group one device of \
                 a disk",
                names.join(" and ")
            ));
        }
    }
    sentences
}

/// When the pace of writes lasts: section 2 of the serial array wants it always, and that depends on how full it is.
fn pace(options: &CreateOptions, groups: usize) -> String {
    let fill = 1.0 - f64::from(options.over_provision_permille) / 1000.0;
    let (others, full_pace) = (groups - 1, full_pace_fill());
    let what = "one of its groups is kept clean; random overwrites at the full rate of a group";
    if fill <= full_pace {
        return format!("{what} are kept up with however full it is");
    }
    format!(
        "{what} are kept up with for ever while live data is below {:.0} % of the other {others}; filled to the brim, \
         {:.0} % of that rate lasts. 'cygnus plan --preset serial' tells for a network and a drive",
        full_pace * 100.0,
        pace_at(fill.min(0.999)) * 100.0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_without_redundancy_and_serial_ones_are_warned_of() {
        let shapes = |data, parity| [Raid { data, parity }; 4];
        let of = |preset, data, parity| {
            cautions(&CreateOptions::new("tank", preset, 4, data, parity), &shapes(data, parity))
        };
        assert!(of(Preset::Swan, 2, 1).is_empty());
        assert!(of(Preset::Swan, 2, 0)[0].contains("any one of the 8 devices"));
        let serial = of(Preset::Serial, 1, 0);
        assert!(serial[0].starts_with("NO REDUNDANCY") && serial[0].contains("--raid 1+1"), "{serial:?}");
        assert!(serial[1].contains("below 72 % of the other 3") && serial[1].contains("59 %"), "{serial:?}");
        let roomy = CreateOptions { over_provision_permille: 300, ..CreateOptions::new("t", Preset::Serial, 4, 1, 1) };
        assert!(cautions(&roomy, &shapes(1, 1))[0].contains("however full"));
    }
}
