//! Several modelled cores work side by side: what is bound by computing goes faster with them.

use cygnus_lab::{Outcome, Scenario, run};

fn outcome(cores: u16, seed: u64) -> Outcome {
    let text = format!(
        "name = \"cores\"\n[devices]\npreset = \"null\"\ncapacity = \"512MiB\"\n\
         [[array]]\npreset = \"swan\"\ngroups = 2\nraid = \"2+1\"\nsegment = \"1MiB\"\n\
         [volume]\nsize = \"256MiB\"\n[aging]\nfill = \"100%\"\n\
         [[workload.fio]]\nclients = 8\ndepth = 4\nread = 50\n\
         [cpu]\ncores = {cores}\nrequest = \"20us\"\n[run]\nduration = \"40ms\"\nramp = \"10ms\"\nsample = \"10ms\"\n"
    );
    let scenario = Scenario::parse("cores.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, seed, |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn twice_the_cores_do_twice_as_much_when_computing_is_the_limit() {
    let [one, two, four] = [1, 2, 4].map(|cores| outcome(cores, 1));
    for (outcome, cores) in [(&one, 1), (&two, 2), (&four, 4)] {
        assert_eq!(outcome.cores, cores);
        let busy = outcome.cpu_milli;
        assert!((800 * cores..=1001 * cores).contains(&busy), "{cores} cores worked {busy} thousandths of the time");
    }
    // Each request takes 20 us and a little more.
    assert!((1200..=1500).contains(&one.requests), "{}", one.requests);
    for (more, less) in [(&two, &one), (&four, &two)] {
        let (more, less) = (more.requests, less.requests);
        assert!(more * 10 > less * 18 && more * 10 < less * 22, "{more} beside {less}");
    }
}

#[test]
fn cores_side_by_side_are_as_deterministic_as_one() {
    let json = |outcome: &Outcome| serde_json::to_string(outcome).expect("outcomes are plain structs");
    let (one, again, other) = (outcome(3, 5), outcome(3, 5), outcome(3, 6));
    assert_eq!(json(&one), json(&again));
    assert_ne!(json(&one), json(&other));
}
