//! The command line as its users meet it: help texts and usage errors, word for word.

#[test]
fn command_lines() {
    trycmd::TestCases::new().case("tests/cmd/*.toml").case("tests/cmd/*.trycmd");
}
