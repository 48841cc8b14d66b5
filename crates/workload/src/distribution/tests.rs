use super::*;
use cygnus_runtime::Rng;
use proptest::prelude::*;

const DRAWS: u32 = 200_000;

fn frequencies(distribution: Distribution, slots: u64, scramble: bool) -> Vec<f64> {
    let mut rng = Rng::new(11);
    let picker = Picker::new(distribution, slots, scramble, &mut rng);
    let mut counts = vec![0_u32; slots as usize];
    for _ in 0..DRAWS {
        counts[picker.pick(&mut rng) as usize] += 1;
    }
    counts.into_iter().map(|count| f64::from(count) / f64::from(DRAWS)).collect()
}

/// Within five standard deviations of what chance allows.
fn assert_near(got: f64, expect: f64, what: &str) {
    let deviation = (expect * (1.0 - expect) / f64::from(DRAWS)).sqrt();
    assert!((got - expect).abs() <= 5.0 * deviation + 1e-9, "{what}: {got} instead of {expect}");
}

#[test]
fn zipf_frequencies_follow_the_law() {
    for theta in [0.5, 0.99, 1.0, 1.2, 3.0] {
        let n = 1000_u32;
        let zeta: f64 = (1..=n).map(|k| f64::from(k).powf(-theta)).sum();
        let got = frequencies(Distribution::Zipf(theta), n.into(), false);
        for rank in [1, 2, 3, 5, 10, 100, 1000] {
            let expect = f64::from(rank).powf(-theta) / zeta;
            assert_near(got[rank as usize - 1], expect, &format!("theta {theta} rank {rank}"));
        }
    }
}

#[test]
fn scrambling_moves_ranks_and_keeps_frequencies() {
    let zipf = Distribution::Zipf(0.99);
    let (straight, mut scattered) = (frequencies(zipf, 500, false), frequencies(zipf, 500, true));
    assert_ne!(straight, scattered);
    scattered.sort_by(|a, b| b.total_cmp(a));
    assert_near(scattered[0], straight[0], "the hottest slot");
    assert_near(scattered[..50].iter().sum(), straight[..50].iter().sum(), "the hottest tenth");
}

#[test]
fn pareto_is_self_similar() {
    let got = frequencies(Distribution::Pareto(Percent(20.0)), 1000, false);
    assert_near(got[..200].iter().sum(), 0.8, "20 % of the slots");
    assert_near(got[..40].iter().sum(), 0.64, "20 % of the 20 %");
}

#[test]
fn normal_is_a_bell_around_the_middle() {
    let got = frequencies(Distribution::Normal(Percent(10.0)), 1000, false);
    assert_near(got[400..600].iter().sum(), 0.6827, "within one deviation");
    assert_near(got[300..700].iter().sum(), 0.9545, "within two");
}

#[test]
fn hotspot_gets_its_share() {
    let hotspot = Distribution::Hotspot { space: Percent(10.0), accesses: Percent(90.0) };
    let got = frequencies(hotspot, 1000, false);
    assert_near(got[..100].iter().sum(), 0.9, "the hot tenth");
    assert_near(got[0], 0.009, "one hot slot");
    assert_near(got[999], 0.1 / 900.0, "one cold slot");
}

proptest! {
    #[test]
    fn picks_are_in_range(slots in prop_oneof![1_u64..5, 1_u64..1 << 50], theta in 0.01_f64..5.0, seed: u64) {
        let mut rng = Rng::new(seed);
        let hotspot = Distribution::Hotspot { space: Percent(1.0), accesses: Percent(99.0) };
        for distribution in [
            Distribution::Uniform,
            Distribution::Zipf(theta),
            Distribution::Pareto(Percent(theta)),
            Distribution::Normal(Percent(theta)),
            hotspot,
        ] {
            prop_assert!(distribution.check().is_ok());
            let picker = Picker::new(distribution, slots, seed & 1 == 0, &mut rng);
            for _ in 0..20 {
                prop_assert!(picker.pick(&mut rng) < slots);
            }
        }
    }
}

#[test]
fn senseless_parameters_are_refused() {
    let hot = |space| Distribution::Hotspot { space: Percent(space), accesses: Percent(50.0) };
    for distribution in [
        Distribution::Zipf(0.0),
        Distribution::Zipf(f64::NAN),
        Distribution::Pareto(Percent(50.0)),
        Distribution::Normal(Percent(0.0)),
        hot(0.0),
        hot(100.0),
    ] {
        assert!(distribution.check().is_err(), "{distribution:?}");
    }
}
