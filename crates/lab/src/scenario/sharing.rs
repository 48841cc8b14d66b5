//! Which drives of an array share a link, as a scenario says. Those behind a fabric are told by [`crate::fabric::Modules`].

use cygnus_engine::{Link, LinkError};
use cygnus_runtime::{DeviceInfo, DeviceIx};
use cygnus_types::BLOCK;
use toml::Spanned;

/// The name of an array's drive, by its number.
pub(crate) fn drive_name(n: usize) -> String {
    format!("d{n}")
}

/// The links that an array declares.
pub(super) fn declared(texts: &[Spanned<String>]) -> Result<Vec<Link>, LinkError> {
    texts.iter().map(|text| text.as_ref().parse()).collect()
}

/// The first of an array's links that makes no sense, or does not go together with those before it, and why.
pub(super) fn wrong(texts: &[Spanned<String>], drives: usize) -> Option<(&Spanned<String>, LinkError)> {
    let drive = |n| DeviceInfo { ix: DeviceIx(n), name: drive_name(n.into()), size: 0, logical_block: BLOCK as u32 };
    let drives: Vec<_> = (0..=u16::MAX).take(drives).map(drive).collect();
    let error = |n: usize| declared(&texts[..=n]).and_then(|links| Link::check_all(&links, &drives)).err();
    (0..texts.len()).find_map(|n| Some((&texts[n], error(n)?)))
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, ScenarioError};

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
