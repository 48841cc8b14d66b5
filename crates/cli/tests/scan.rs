//! Where members are is found out anew, and nothing of it forgotten that still holds.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

const CYGNUS: &str = env!("CARGO_BIN_EXE_cygnus");

/// A directory with a state directory and members in it, gone at the end.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Self {
        let dir = PathBuf::from(format!("/var/tmp/cygnus-scan-{test}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    /// Runs a command that must end with this status; its standard output.
    fn ends(&self, line: &str, status: i32) -> String {
        let mut command = Command::new(CYGNUS);
        command.current_dir(&self.0).env_remove("CYGNUS_STATE").args(["--state", "state"]);
        let output = command.args(line.split_whitespace()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn ok(&self, line: &str) -> String {
        self.ends(line, 0)
    }

    fn record(&self) -> String {
        fs::read_to_string(self.0.join("state/tank.toml")).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A copy that somebody made, as old as the member or older, is no reason to forget where the member is.
#[test]
fn a_copy_takes_the_place_of_a_member_only_when_that_is_gone() {
    let place = Place::new("copy");
    place.ok("array create tank --preset log-raid --raid 2+0 --create 64MiB --sparse d0 d1");
    fs::copy(place.0.join("d1"), place.0.join("copy")).unwrap();
    let before = place.record();
    assert!(place.ok("array scan copy").contains("d1 is taken"));
    assert!(place.ok("array scan .").contains("d1 is taken"), "whichever comes first");
    assert_eq!(place.record(), before);
    place.ok("volume create tank/a --size 16MiB");
    assert!(place.ok("array scan copy").contains("d1 is taken"), "it is older now");
    assert_eq!(place.record(), before);
    place.ok("array check tank");

    fs::rename(place.0.join("d1"), place.0.join("moved")).unwrap();
    assert!(place.ok("array scan moved").contains("moved"));
    assert!(place.record().contains("/moved") && !place.record().contains("/d1"), "{}", place.record());
    place.ok("array check tank");
    fs::remove_file(place.0.join("moved")).unwrap();
    place.ok("array scan copy");
    let status = place.ends("array status tank", 4);
    assert!(status.contains("copy was away while the array was written to"), "{status}");
    place.ends("serve tank --nbd unix:tank.sock --kept-in none", 4);
}

/// A second array of a name is refused; those beside it are remembered, in whatever order their identities come.
#[test]
fn an_array_that_cannot_be_remembered_leaves_the_others_in() {
    let place = Place::new("names");
    let create = |name: &str, member: &str| {
        place.ok(&format!("array create {name} --preset log-raid --raid 1+0 --create 64MiB --sparse {member}"));
    };
    create("tank", "d0");
    fs::create_dir(place.0.join("shelf")).unwrap();
    fs::rename(place.0.join("state"), place.0.join("elsewhere")).unwrap();
    create("tank", "shelf/d0");
    let names: Vec<String> = (0..8).map(|number| format!("other{number}")).collect();
    names.iter().for_each(|name| create(name, &format!("shelf/{name}")));
    fs::remove_dir_all(place.0.join("state")).unwrap();
    fs::rename(place.0.join("elsewhere"), place.0.join("state")).unwrap();

    let before = place.record();
    place.ends("array scan shelf", 1);
    assert_eq!(place.record(), before);
    for name in &names {
        place.ok(&format!("array check {name}"));
    }
    // As the refusal says.
    place.ok("array forget tank");
    assert!(place.ok("array scan shelf").contains("tank"));
}
