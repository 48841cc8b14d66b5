//! What the lab's maps say against SWAN at the place that is nearest to a plan.

use cygnus_lab::{Led, Regime};

/// What to weigh before building the array that was planned.
pub(super) fn remarks(map: &Regime) -> Vec<String> {
    other_design(map).into_iter().chain(long_tails(map)).collect()
}

/// Which design to weigh instead, where SWAN leads in nothing and another one in most.
fn other_design(map: &Regime) -> Option<String> {
    let led_by = |design: &str| map.measures.iter().filter(|led| led.leads(design)).count();
    let best = ["log-raid", "raid5"].into_iter().max_by_key(|design| led_by(design))?;
    if led_by("swan") > 0 || led_by(best) == 0 {
        return None;
    }
    let what = match best {
        "log-raid" => "preset log-raid, one stripe over all drives",
        _ => "preset raid5, updated in place",
    };
    Some(format!(
        "on the map SWAN leads in nothing at this place: weigh {what}. It holds more, and survives the loss of one drive in all, \
         not of one in each R-group. The map's drives are 512 times smaller than real ones, which is harder on SWAN than on the others: \
         play both with 'cygnus sim run' before you decide"
    ))
}

/// Where SWAN's tail is more than twice the best one's, whoever leads in the rest.
fn long_tails(map: &Regime) -> Option<String> {
    let tail = |led: &Led| {
        let [swan, best] = led.far_behind("swan")?;
        // The load is the same for all of them, and told above.
        let what = led.what.split(", ").next().unwrap_or_default();
        Some(format!("{what} {:.0} us ({} {:.0})", swan.1, best.0, best.1))
    };
    let tails: Vec<String> = map.measures.iter().filter_map(tail).collect();
    (!tails.is_empty())
        .then(|| format!("on the map SWAN's tail is more than twice the best one's: {}", tails.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regime(measures: &[(&str, f64, f64)]) -> Regime {
        let led = |(lead, swan, raid5): &(&str, f64, f64)| Led {
            what: "99.9 % of writes, writes at 50 % of that rate".into(),
            unit: "us",
            lead: (*lead).into(),
            numbers: vec![("swan".into(), *swan), ("raid5".into(), *raid5)],
        };
        Regime { place: String::new(), measures: measures.iter().map(led).collect() }
    }

    #[test]
    fn a_place_that_is_undecided_does_not_speak_for_swan() {
        let said = remarks(&regime(&[("undecided: swan, raid5", 10.0, 10.0), ("raid5", 15.0, 10.0)]));
        assert!(said.len() == 1 && said[0].contains("preset raid5"), "{said:?}");
        assert_eq!(remarks(&regime(&[("even: swan, raid5", 10.0, 10.0), ("raid5", 15.0, 10.0)])), [""; 0]);
        assert_eq!(remarks(&regime(&[("undecided: swan, raid5", 10.0, 10.0)])), [""; 0]);
    }

    #[test]
    fn a_long_tail_is_told_even_where_swan_leads_in_something() {
        let said = remarks(&regime(&[("swan", 5.0, 10.0), ("raid5", 20447.0, 1442.0)]));
        assert_eq!(
            said,
            ["on the map SWAN's tail is more than twice the best one's: 99.9 % of writes 20447 us (raid5 1442)"]
        );
    }

    #[test]
    fn plans_at_which_swan_is_worst_are_told_so() {
        for (utilisation, writes, tail) in [
            (75.0, 50.0, "99.9 % of writes 301990 us (log-raid 50)"),
            (60.0, 80.0, "99.9 % of writes where drives answer 10486 us (raid5 1933)"),
        ] {
            let said = remarks(&cygnus_lab::nearest_regime(2, utilisation, writes));
            assert!(said.iter().any(|remark| remark.contains(tail)), "{said:?}");
        }
    }
}
