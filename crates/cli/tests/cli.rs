//! The command line as its users meet it: help texts and usage errors, word for word.

#[test]
fn command_lines() {
    trycmd::TestCases::new().case("tests/cmd/*.toml").case("tests/cmd/*.trycmd");
}

/// What lies beside the recordings is what the command says of them today.
#[test]
fn recordings_are_described_as_the_command_does() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/recordings");
    for name in ["load", "a", "b", "c", "e", "f"] {
        let name = format!("rocksdb-{name}");
        let stat = std::process::Command::new(env!("CARGO_BIN_EXE_cygnus"))
            .current_dir(&dir)
            .args(["trace", "stat", &format!("{name}.trace.bz2")])
            .output()
            .unwrap();
        let kept = std::fs::read_to_string(dir.join(format!("{name}.txt"))).unwrap();
        assert_eq!(String::from_utf8_lossy(&stat.stdout), kept, "{name}.txt: write what 'trace stat' says into it");
    }
}
