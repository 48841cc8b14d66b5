//! Where members are is found out anew, and nothing of it forgotten that still holds.

mod common;

use common::Place;
use std::fs;

fn record(place: &Place) -> String {
    fs::read_to_string(place.0.join("state/tank.toml")).unwrap()
}

/// A copy that somebody made, as old as the member or older, is no reason to forget where the member is.
#[test]
fn a_copy_takes_the_place_of_a_member_only_when_that_is_gone() {
    let place = Place::new("copy");
    place.ok("array create tank --preset log-raid --raid 2+0 --create 64MiB --sparse d0 d1");
    fs::copy(place.0.join("d1"), place.0.join("copy")).unwrap();
    let before = record(&place);
    assert!(place.ok("array scan copy").contains("d1 is taken"));
    assert!(place.ok("array scan .").contains("d1 is taken"), "whichever comes first");
    assert_eq!(record(&place), before);
    place.ok("volume create tank/a --size 16MiB");
    assert!(place.ok("array scan copy").contains("d1 is taken"), "it is older now");
    assert_eq!(record(&place), before);
    place.ok("array check tank");

    fs::rename(place.0.join("d1"), place.0.join("moved")).unwrap();
    assert!(place.ok("array scan moved").contains("moved"));
    assert!(record(&place).contains("/moved") && !record(&place).contains("/d1"), "{}", record(&place));
    place.ok("array check tank");
    fs::remove_file(place.0.join("moved")).unwrap();
    place.ok("array scan copy");
    let status = place.ends("array status tank", 4).0;
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

    let before = record(&place);
    place.ends("array scan shelf", 1);
    assert_eq!(record(&place), before);
    for name in &names {
        place.ok(&format!("array check {name}"));
    }
    // As the refusal says.
    place.ok("array forget tank");
    assert!(place.ok("array scan shelf").contains("tank"));
}

/// Whoever asks with another state directory than the server's is told that somebody has the members, and not that they lie still.
#[test]
fn an_array_that_is_served_elsewhere_is_not_called_stopped() {
    let place = Place::new("elsewhere");
    place.create_tank();
    place.ok("volume create tank/vol0 --size 16MiB");
    place.ok("--state other array scan .");
    assert_eq!(place.json("--state other array status tank").get("in_use_by"), None);
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    let holder = format!("process {} (cygnus)", server.0.id());
    for line in ["status tank", "list", "dump tank", "scan .", "spare list tank"] {
        let (_, told) = place.ends(&format!("--state other array {line}"), if line == "status tank" { 3 } else { 0 });
        let is_told = told.contains(&format!("in use by {holder}")) && told.contains("give the --state that it has");
        assert!(is_told && !told.contains("was killed"), "{line}: {told}");
    }
    let (status, _) = place.ends("--state other array status tank", 3);
    assert!(status.starts_with(&format!("tank: healthy, in use by {holder}; ")), "{status}");
    assert!(!status.contains("not stopped cleanly"), "{status}");
    assert_eq!(place.json_ending("--state other array status tank", 3)["in_use_by"], *holder);
    let arrays = place.json("--state other array list")["arrays"].clone();
    assert_eq!((&arrays[0]["served"], &arrays[0]["in_use_by"]), (&false.into(), &(*holder).into()));
    assert!(place.ends("--state other volume list tank", 0).1.contains(&holder));
    for line in
        ["array check tank", "array scrub tank", "array salvage tank/vol0 copy", "volume create tank/a --size 1MiB"]
    {
        let told = place.fails(&format!("--state other {line}"));
        assert!(told.contains(&holder) && told.contains("--state"), "{line}: {told}");
    }
    // Whoever asks the server itself is told nothing of the kind, and neither is anybody once it has gone.
    assert_eq!(place.json("array status tank").get("in_use_by"), None);
    assert_eq!(place.json("array list")["arrays"][0].get("in_use_by"), None);
    assert!(server.signal(libc::SIGTERM).success());
    assert_eq!(place.json("--state other array status tank").get("in_use_by"), None);
}

/// Without the state directory, and under the names that the files have in theirs.
#[test]
fn files_with_zones_are_found_as_what_they_are() {
    let place = Place::new("scan-zoned");
    for n in 0..3 {
        place.ok(&format!("zoned make z{n} --size 160MiB --zone 2MiB --conventional 4"));
    }
    place.ok("array create tank --preset log-raid zoned:z0 zoned:z1 zoned:z2");
    for scan in ["array scan .", "array scan z0 z1 z2", "array scan zoned:z0 zoned:z1 zoned:z2"] {
        fs::remove_dir_all(place.0.join("state")).unwrap();
        let found = place.json(scan);
        let paths =
            found["arrays"][0]["members"].as_array().unwrap().iter().map(|member| member["path"].as_str().unwrap());
        assert!(paths.clone().all(|path| path.starts_with("zoned:/")) && paths.count() == 3, "{scan}: {found}");
    }
}
