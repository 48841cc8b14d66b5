//! Which drives of an array share a link: as the scenario says, or as the fabric has them.

use cygnus_engine::{Link, LinkError};
use cygnus_fabric::Topology;
use cygnus_runtime::{DeviceInfo, DeviceIx};
use cygnus_types::BLOCK;
use toml::Spanned;

use super::{ArraySection, Scenario};
use crate::error::ScenarioError;

/// The name of an array's drive, by its number.
pub(crate) fn drive_name(n: usize) -> String {
    format!("d{n}")
}

impl ArraySection {
    fn declared_links(&self) -> Result<Vec<Link>, LinkError> {
        self.links.iter().map(|text| text.as_ref().parse()).collect()
    }

    /// Which drives share links, where that matters: modules of a cluster do.
    pub(crate) fn shared_links(&self, network: Option<&Topology>) -> Vec<Link> {
        let (Some(topology), true) = (network, self.moves_data()) else {
            return self.declared_links().expect("checked when the scenario was read");
        };
        let drives = self.devices() as u32;
        let link = |cluster: usize| Link {
            name: topology.cluster_name(cluster).into(),
            devices: topology.modules_of(cluster).filter(|&n| n < drives).map(|n| drive_name(n as usize)).collect(),
        };
        (0..topology.clusters().len()).map(link).filter(|link| !link.devices.is_empty()).collect()
    }

    /// Its drives, as far as links are concerned.
    fn drives(&self) -> Vec<DeviceInfo> {
        let drive =
            |n| DeviceInfo { ix: DeviceIx(n), name: drive_name(n.into()), size: 0, logical_block: BLOCK as u32 };
        (0..=u16::MAX).take(self.devices()).map(drive).collect()
    }
}

impl Scenario {
    /// That an array's declared links are of use, and go together.
    pub(super) fn check_links(&self, array: &ArraySection) -> Result<(), ScenarioError> {
        let Some(first) = array.links.first() else { return Ok(()) };
        if self.network.is_some() {
            let message =
                "links: with a [fabric], drives share the links of its endpoints; leave this out, or [fabric]";
            return Err(self.wrong(first, message));
        }
        let drives = array.drives();
        let mut links = Vec::new();
        for text in &array.links {
            add(text, &mut links, &drives).map_err(|error| self.wrong(text, error.to_string()))?;
        }
        if !array.moves_data() {
            let message =
                "links: data does not move out of the way of contention here; set autonomics = true, or leave this out";
            return Err(self.wrong(first, message));
        }
        Ok(())
    }
}

/// That one more link goes together with those before it.
fn add(text: &Spanned<String>, links: &mut Vec<Link>, drives: &[DeviceInfo]) -> Result<(), LinkError> {
    links.push(text.as_ref().parse()?);
    Link::check_all(links, drives)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"name = "shared"
[devices]
preset = "fimm"
capacity = "4GiB"
[[array]]
preset = "triple-a"
groups = 2
raid = "2+0"
segment = "1MiB"
links = [
    "n:d0",
    "m:d1,d2",
]
[[workload.fio]]
name = "reads"
[run]
duration = "3ms"
sample = "1ms"
"#;

    fn with(old: &str, new: &str) -> Result<Scenario, ScenarioError> {
        assert!(SCENARIO.contains(old), "{old}");
        Scenario::parse("shared.toml", &SCENARIO.replacen(old, new, 1))
    }

    #[test]
    fn links_that_make_no_sense_are_refused_where_they_stand() {
        with("m:", "m:").unwrap_or_else(|error| panic!("{error}"));
        let cases = [
            ("\"m:d1", "\"n:d1", "12:5: link n is declared twice"),
            ("\"m:d1", "\"m:d0", "12:5: d0 is named in link n and again in link m"),
            ("d2", "d9", "12:5: link m: there is no member or spare d9: the array has d0, d1, d2, d3"),
            ("\"n:d0\"", "\"d0\"", "11:5: link \"d0\": write NAME:DEVICE"),
            ("segment", "autonomics = false\nsegment", "12:5: links: data does not move"),
        ];
        for (old, new, expected) in cases {
            let error = with(old, new).expect_err(new).to_string();
            assert!(error.starts_with(&format!("shared.toml:{expected}")), "{new}: {error}");
        }
        let error = with("segment", "autonomics = false\nsegment").expect_err("of no use").to_string();
        assert!(error.contains("set autonomics = true") && !error.contains("--"), "{error}");
    }

    #[test]
    fn a_fabric_says_itself_who_shares_a_link() {
        for links in ["\"n:d0\"", "\"n:d9\""] {
            let text = SCENARIO.replace("\"n:d0\"", links);
            let text = text.replace("[[array]]", "[fabric]\ntopology = \"1x2x2\"\n[[array]]");
            let error = Scenario::parse("shared.toml", &text).expect_err("both say it").to_string();
            assert!(error.starts_with("shared.toml:13:5: links: with a [fabric]"), "{error}");
        }
    }
}
