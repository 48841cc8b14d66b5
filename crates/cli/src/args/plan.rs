//! `cygnus plan`

use super::values::{Percent, Preset, Size, ValueError};
use clap::Args;
use cygnus_format::Raid;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  How many R-groups of which width for 10 GbE over commodity SATA drives, 60 % full:
    cygnus plan --network 10Gbit --device 850-pro --utilisation 60%
  The best layout of 18 drives, with double parity, for 2 GB/s of writes that never stop:
    cygnus plan --devices 18 --parity 2 --network 2GB --device nvme-gen4 --utilisation 70%
  Whether the model is right about a layout, by playing it on modelled drives in virtual time:
    cygnus plan --network 700MB --device 850-pro --raid 2+1 --devices 9 --check
  The example of the SWAN paper, with every term:
    cygnus plan --network 800MB --device swan-paper --utilisation 60%
  Whether a serial array of four drives keeps up with 10 GbE, 45 % full:
    cygnus plan --preset serial --network 10Gbit --device intel-750 --devices 4 --utilisation 45%
  A drive of your own, and what a year of it costs:
    cygnus plan --network 3GB --write-rate 1.2GB --read-rate 3GB --capacity 3.84TB --devices 24 \\
        --endurance 7PB --written-per-day 20TB --price 400";

/// `cygnus plan`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArgs {
    /// What clients write at most, a second: 10Gbit, 25Gbit, 1.2GB
    #[arg(long, value_name = "RATE")]
    pub network: Rate,
    /// A drive whose figures are known; 'swan-paper' is the prototype of the SWAN paper
    #[arg(long, value_name = "NAME", default_value = "nvme-gen4")]
    pub device: String,
    /// Rate of large writes of a drive, instead of the known one's
    #[arg(long, value_name = "RATE")]
    pub write_rate: Option<Rate>,
    /// Rate of large reads of a drive
    #[arg(long, value_name = "RATE")]
    pub read_rate: Option<Rate>,
    /// Time until a trimmed segment is erased, in microseconds
    #[arg(long, value_name = "US")]
    pub erase_us: Option<u32>,
    /// Bytes of a segment on one drive
    #[arg(long, value_name = "SIZE")]
    pub segment: Option<Size>,
    /// Capacity of a drive
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<Size>,
    /// Share of the space that live data will take
    #[arg(long, value_name = "PERCENT", default_value = "60%")]
    pub utilisation: Percent,
    /// How the array works: swan or serial [default: swan]
    #[arg(long, value_name = "PRESET", value_parser = parse_planned)]
    pub preset: Option<Preset>,
    /// Parity members of each R-group [default: 1; of serial 0]
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub parity: Option<u8>,
    /// The shape of an R-group, instead of the narrowest that takes what the network brings
    #[arg(long, value_name = "K+M", conflicts_with = "parity")]
    pub raid: Option<Raid>,
    /// Drives at hand: compares their layouts and recommends one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub devices: Option<u32>,
    /// What a drive may be written before it wears out (TBW)
    #[arg(long, value_name = "SIZE", requires = "written_per_day")]
    pub endurance: Option<Size>,
    /// Instead of that, how often a day it may be written over for five years (DWPD)
    #[arg(long, value_name = "TIMES", requires = "written_per_day", conflicts_with = "endurance", value_parser = parse_some)]
    pub dwpd: Option<f64>,
    /// What clients will write on an average day
    #[arg(long, value_name = "SIZE")]
    pub written_per_day: Option<Size>,
    /// Price of a drive, in any currency
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount)]
    pub price: Option<f64>,
    /// Instead of that, price of a GB of a drive
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount, conflicts_with = "price")]
    pub price_per_gb: Option<f64>,
    /// Play the layout on modelled drives too, and show what comes out beside what is predicted; a minute or two
    ///
    /// The drives hold less than real ones and are as fast. The exit status is 1 if the simulation says otherwise than the model whether cleaning keeps up with the network.
    #[arg(long, conflicts_with_all = ["write_rate", "read_rate", "erase_us"])]
    pub check: bool,
}

/// A preset that there is a plan for.
fn parse_planned(text: &str) -> Result<Preset, ValueError> {
    match text.parse()? {
        preset @ Preset::Log(cygnus_policy::Preset::Swan | cygnus_policy::Preset::Serial) => Ok(preset),
        Preset::Log(
            cygnus_policy::Preset::LogRaid
            | cygnus_policy::Preset::Fusion
            | cygnus_policy::Preset::ScalaAfa
            | cygnus_policy::Preset::TripleA
            | cygnus_policy::Preset::Salsa,
        )
        | Preset::InPlace(_) => Err(ValueError::new("there are plans for swan and serial")),
    }
}

fn parse_some(text: &str) -> Result<f64, ValueError> {
    parse_amount(text).ok().filter(|amount| *amount > 0.0).ok_or_else(|| ValueError::new("give a number above 0"))
}

fn parse_amount(text: &str) -> Result<f64, ValueError> {
    text.parse()
        .ok()
        .filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| ValueError::new("give a number, 0 or more"))
}

/// Bytes a second: a size (`1.2GB`), or bits (`10Gbit`); `/s` may follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl FromStr for Rate {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let amount = text.trim().trim_end_matches("/s");
        // Bits to network people, bytes to the sizes of disks.
        if let Some(unit) = ["Gb", "Mb"].into_iter().find(|unit| amount.ends_with(unit)) {
            let (bits, bytes) = (unit.replace('b', "bit"), unit.replace('b', "B"));
            return Err(ValueError::new(format!("'{text}' may be bits or bytes: write {bits} or {bytes}")));
        }
        let bits = [("Gbit", 1e9), ("Mbit", 1e6)]
            .into_iter()
            .find_map(|(unit, scale)| amount.strip_suffix(unit).map(|number| number.parse::<f64>().map(|n| n * scale)));
        let bytes = match bits {
            Some(bits) => bits.ok().map(|bits| bits / 8.0),
            None => amount.parse::<cygnus_types::ByteSize>().ok().map(|size| size.0 as f64),
        };
        bytes
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .map(Self)
            .ok_or_else(|| ValueError::new(format!("'{text}' is no rate above 0: write 10Gbit, 800MB or 1.2GB")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_or_bytes() {
        assert_eq!("10Gbit".parse(), Ok(Rate(1.25e9)));
        assert_eq!("100Mbit/s".parse(), Ok(Rate(12.5e6)));
        assert_eq!("800MB/s".parse(), Ok(Rate(8e8)));
        assert_eq!("1GiB".parse(), Ok(Rate(1073741824.0)));
        for wrong in ["", "0", "fast", "-1Gbit", "infGbit", "NaNMbit", "10Gbyte", "10Gb", "800Mb/s"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }
}
