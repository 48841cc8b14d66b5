//! Stories that once ended badly, each made short: every one of them must end well now. A file's name says what was wrong.

use std::path::Path;

use cygnus_torture::{Options, Plant, Story, Tier, replay, run_seeds};

#[test]
fn stories_that_once_ended_badly_end_well() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let mut stories: Vec<_> =
        std::fs::read_dir(&dir).expect("the stories").map(|e| e.expect("a file").path()).collect();
    stories.sort();
    assert!(!stories.is_empty());
    for path in stories {
        let text = std::fs::read_to_string(&path).expect("a story's text");
        let story: Story = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let told = replay(&story, Plant::Nothing);
        assert_eq!(told.failure, None, "{}:\n{}", path.display(), told.journal);
    }
}

/// The same, where the story is too long to be kept. An array whose segments are single stripes is nearly full.
#[test]
fn seeds_that_once_failed_end_well() {
    let options = Options {
        start: 975,
        seeds: 1,
        requests: None,
        jobs: 1,
        plant: Plant::Nothing,
        tier: Tier::All,
        stop_at_failure: true,
    };
    let report = run_seeds(&options, |_| ());
    let failures: Vec<&str> = report.failures.iter().map(|failed| failed.failure.as_str()).collect();
    assert!(failures.is_empty(), "{failures:?}");
}
