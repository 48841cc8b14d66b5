//! The life of an array as scripts drive it: made, served, killed, degraded, found again, checked, taken apart.

mod common;

use common::nbd::{Client, write_block};
use common::{CYGNUS, LONGEST, Place, Server};
use cygnus_host::scratch::Scratch;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn volumes(value: &serde_json::Value) -> Vec<(String, u64)> {
    let list = value["volumes"].as_array().unwrap();
    list.iter().map(|v| (v["name"].as_str().unwrap().into(), v["size_bytes"].as_u64().unwrap())).collect()
}

#[test]
fn a_volume_larger_than_the_array_is_made_with_a_warning() {
    let place = Place::new("larger");
    place.create_tank();
    let warning_of = |line: &str| {
        let output = place.run(line);
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!warning_of("volume create tank/a --size 16MiB").contains("warning"));
    let warning = warning_of("volume create tank/b --size 64TiB");
    assert!(warning.contains("tank/b is larger than all that tank can hold"), "{warning}");
    let _server = place.serve("serve tank --nbd unix:tank.sock --kept-in none");
    assert!(!warning_of("volume resize tank/a --size 32MiB").contains("warning"));
    let warning = warning_of("volume resize tank/a --size 1TiB");
    assert!(warning.contains("tank/a is larger than all that tank can hold"), "{warning}");
}

#[test]
fn volumes_are_made_on_a_stopped_array_and_on_one_being_served() {
    let place = Place::new("volumes");
    place.create_tank();
    assert!(fs::metadata(place.0.join("d5")).unwrap().len() == 64 << 20);
    place.ok("volume create tank/a --size 16MiB");
    let stopped = place.json("array status tank");
    assert_eq!((&stopped["served"], &stopped["state"]), (&false.into(), &"healthy".into()));
    assert_eq!(volumes(&stopped), [("a".into(), 16 << 20)]);

    let mut server = place.serve("serve tank --nbd unix:tank.sock --nbd 127.0.0.1:0 --reactors 2");
    place.ok("volume create tank/b --size 8MiB");
    assert!(place.fails("volume create tank/b --size 8MiB").contains("exists already"));
    place.ok("volume resize tank/a --size 24MiB");
    assert!(place.fails("volume resize tank/a --size 4MiB").contains("--shrink"));
    assert!(place.fails("volume resize tank/a --size 4MiB --shrink").contains("add --yes"));
    place.ok("volume resize tank/a --size 4MiB --shrink --yes");
    assert_eq!(volumes(&place.json("volume list tank")), [("a".into(), 4 << 20), ("b".into(), 8 << 20)]);
    assert!(place.fails("volume delete tank/a").contains("add --yes"));
    place.ok("volume delete tank/a -y");
    assert!(place.fails("volume delete tank/a -y").contains("no volume named"));

    let served = place.json("array status tank");
    assert_eq!(served["served"], true);
    assert_eq!(served["listening"].as_array().unwrap().len(), 2);
    assert_eq!(served["groups"][0]["role"], "front-end");
    assert_eq!(served["devices"].as_array().unwrap().len(), 6);
    assert!(place.ok("array list").contains("served"));

    for refused in ["serve tank", "array check tank", "array dump tank", "array destroy tank"] {
        assert!(place.fails(refused).contains("being served"), "{refused}");
    }
    assert!(server.signal(libc::SIGTERM).success());
    assert!(!place.0.join("tank.sock").exists() && !place.0.join("state/tank.ctl").exists());
    assert_eq!(volumes(&place.json("volume list tank")), [("b".into(), 8 << 20)]);
    let status = place.json("array status tank");
    assert_eq!((&status["served"], &status["clean"]), (&false.into(), &true.into()));
    assert_eq!((&status["capacity_bytes"], &status["live_bytes"]), (&served["capacity_bytes"], &0.into()));
    assert!(place.ok("array check tank").contains("consistent"));
}

#[test]
fn a_killed_server_leaves_an_array_that_opens_again() {
    let place = Place::new("killed");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    assert!(!server.signal(libc::SIGKILL).success());
    let (_, said) = place.ends("array status tank", 0);
    assert!(said.contains("left writes in") && said.contains("before the machine goes down"), "{said}");
    let killed = place.json("array status tank");
    assert!(killed["clean"] == false && killed.get("live_bytes").is_none() && killed["capacity_bytes"].is_u64());
    // Both sockets are still there, and nobody behind them.
    assert!(place.0.join("tank.sock").exists() && place.0.join("state/tank.ctl").exists());
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    let recovery = &place.json("array status tank")["recovery"];
    assert_eq!(recovery["clean_stop"], false);
    assert!(recovery["steps"].as_array().unwrap().len() >= 3);
    assert!(server.signal(libc::SIGINT).success());
    assert!(place.ok("array check tank").contains("consistent"));
}

/// What a killed server has acknowledged outlasts it wherever it is kept, and whoever has lost the state directory need not know where.
#[test]
fn what_is_kept_elsewhere_is_found_without_the_state_directory() {
    let place = Place::new("kept-elsewhere");
    let memory = Scratch::new_in(Path::new("/dev/shm"), "kept-elsewhere").unwrap();
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let serve = format!("serve tank --nbd unix:tank.sock --kept-in {}", memory.path().display());
    let killed = |value: u8| {
        let mut server = place.serve(&serve);
        let mut client = Client::of(&place.0.join("tank.sock"), "a");
        client.write(0, &[value; 4096]);
        assert!(!server.signal(libc::SIGKILL).success());
        fs::remove_dir_all(place.0.join("state")).unwrap();
        place.ok("array scan .");
    };
    killed(7);
    // A command on the stopped array must not pass it over, and neither must a server that keeps it where all do.
    place.ok("volume create tank/b --size 1MiB");
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    assert_eq!(Client::of(&place.0.join("tank.sock"), "a").read(0, 4096), [7; 4096]);
    assert!(server.signal(libc::SIGTERM).success());
    killed(8);
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    assert_eq!(Client::of(&place.0.join("tank.sock"), "a").read(0, 4096), [8; 4096]);
    assert!(server.signal(libc::SIGTERM).success());
    let uuid = place.json("array status tank")["uuid"].as_str().unwrap().to_owned();
    let stays = fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(stays.filter(|name| name.contains(&uuid)).count(), 0, "nothing stays after a clean stop");

    // Where it is gone, whoever opens the array is told, and where it was looked for.
    killed(9);
    fs::remove_dir_all(memory.path()).unwrap();
    let (_, told) = place.ends("volume create tank/c --size 1MiB", 0);
    assert!(told.contains("warning: ") && told.contains(&*memory.path().to_string_lossy()), "{told}");
    assert!(told.contains("/dev/shm/cygnus-") && told.contains("may be lost"), "{told}");
}

/// One that may not be written to is as good as away, and back when it may.
#[test]
fn an_immutable_member_keeps_no_server_from_starting() {
    let place = Place::new("immutable");
    place.create_tank();
    let change =
        |how: &str| Command::new("chattr").arg(how).arg(place.0.join("d1")).status().is_ok_and(|s| s.success());
    if !change("+i") {
        // That takes a privilege and a file system that knows it.
        return;
    }
    let mut server = place.serve("serve tank --nbd unix:tank.sock --kept-in none");
    let until = |done: &dyn Fn(&Output) -> bool| {
        let begun = std::time::Instant::now();
        while !done(&place.run("array status tank")) && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(100));
        }
        place.run("array status tank")
    };
    let away = until(&|status| String::from_utf8_lossy(&status.stdout).contains("permission denied"));
    // Else it could not be removed.
    assert!(change("-i"));
    assert_eq!(away.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&away.stdout).starts_with("tank: degraded, served;"));
    assert!(until(&|status| status.status.success()).status.success(), "it does not come back");
    assert!(server.signal(libc::SIGTERM).success());
    assert!(place.ok("array check tank").contains("tank: consistent;"));
}

/// Whatever limit a command meets, it ends with words and not with a panic. (What the allocator itself cannot get ends the process.)
#[test]
fn want_of_memory_is_a_failure_with_a_remedy() {
    let place = Place::new("limits");
    // Of few members, as each is looked at by a thread: of nine the threads may take more than the buffers of 16 MiB, which come later.
    place.ok("array create tank --preset log-raid --raid 2+1 --create 16MiB d0 d1 d2");
    let mut told = 0;
    for limit in (40..160).step_by(8) {
        let line = format!("ulimit -v {}; exec {CYGNUS} --state state array check tank", limit << 10);
        let mut command = Command::new("sh");
        command.current_dir(&place.0).env("MALLOC_ARENA_MAX", "1").args(["-c", &line]);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked") && output.status.code() != Some(101), "{limit} MiB: {said}");
        if said.starts_with("error: ") {
            assert!(!output.status.success() && said.contains("ulimit -v"), "{limit} MiB: {said}");
            told += u32::from(said.contains("no memory for 16 MiB"));
        }
    }
    assert!(told > 0, "no limit was met by a reactor's buffers");
}

#[test]
fn a_log_that_takes_nothing_ends_no_server_and_changes_no_exit_status() {
    let place = Place::new("full-log");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let mut server = Server::start_without_log(place.command("serve tank --nbd unix:tank.sock"));
    write_block(&place.0.join("tank.sock"), "a", 0, &[7; 4096]);
    place.ok("array status tank");
    assert!(server.signal(libc::SIGTERM).success());
    let full = File::create("/dev/full").unwrap();
    let status = place.command("array status nosuch").stderr(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_line_of_the_log_is_written_in_one_piece() {
    let place = Place::new("lines");
    let (log, told) = UnixDatagram::pair().unwrap();
    assert!(!place.command("array status tank").stderr(OwnedFd::from(told)).status().unwrap().success());
    let mut piece = [0; 1024];
    let length = log.recv(&mut piece).unwrap();
    assert!(piece[..length].ends_with(b"\n"), "{}", String::from_utf8_lossy(&piece[..length]));
}

#[test]
fn a_log_that_is_not_read_holds_no_server_up() {
    let place = Place::new("unread-log");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let (mut server, _unread) = Server::start_with_unread_log(place.command("serve tank --nbd unix:tank.sock"));
    write_block(&place.0.join("tank.sock"), "a", 0, &[7; 4096]);
    place.ok("array status tank");
    assert!(server.signal(libc::SIGTERM).success());
    assert!(place.ok("array check tank").contains("tank: consistent;"));
}

#[test]
fn check_and_salvage_go_on_without_what_has_taken_a_members_name() {
    let place = Place::new("impostors");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    place.ok("array create other --preset log-raid --raid 1+1 --create 64MiB --sparse e0 e1");
    let _other = place.serve("serve other --nbd unix:other.sock");
    let at = |name: &str| place.0.join(name);
    fs::rename(at("d1"), at("away")).unwrap();
    let pipe = || assert!(Command::new("mkfifo").arg(at("d1")).status().unwrap().success());
    let impostors: [(&dyn Fn(), &str); 6] = [
        (&|| assert!(fs::copy(at("d0"), at("d1")).is_ok()), "the same member"),
        (&|| std::os::unix::fs::symlink("d0", at("d1")).unwrap(), "the same member"),
        // Somebody else has it, which is nothing to this array.
        (&|| std::os::unix::fs::symlink("e0", at("d1")).unwrap(), "belongs to array other"),
        (&|| drop(File::create(at("d1")).unwrap()), "smaller than one block"),
        (&|| fs::create_dir(at("d1")).unwrap(), "neither a regular file"),
        (&pipe, "neither a regular file nor a block device"),
    ];
    for (put, why) in impostors {
        put();
        let (out, err) = place.ends("array check tank", 3);
        assert!(out.contains("consistent, and degraded") && out.contains("member 1 "), "{out}");
        assert!(err.contains("d1") && err.contains(why), "{why}: {err}");
        let (repaired, _) = place.ends("array check tank --repair", 3);
        assert!(repaired.contains("repair: "), "{why}: {repaired}");
        place.ok("array salvage tank/a copy --force");
        let _ = fs::remove_file(at("d1")).or_else(|_| fs::remove_dir(at("d1")));
    }
    fs::rename(at("away"), at("d1")).unwrap();
    assert!(place.ok("array check tank --repair").contains("tank: consistent;"));
}

#[test]
fn an_old_copy_never_takes_the_place_of_its_member() {
    let place = Place::new("old-copy");
    place.create_tank();
    let at = |name: &str| place.0.join(name);
    fs::copy(at("d1"), at("old")).unwrap();
    place.ok("volume create tank/a --size 16MiB");
    // Where the record has a member before d1.
    fs::rename(at("d0"), at("away")).unwrap();
    fs::rename(at("old"), at("d0")).unwrap();
    let (out, err) = place.ends("array check tank", 3);
    assert!(out.contains("consistent, and degraded") && out.contains("member 0 "), "{out}");
    assert!(err.contains("d0 is the same member as") && !err.contains("d1 is the same"), "{err}");
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    write_block(&at("tank.sock"), "a", 0, &[7; 4096]);
    assert!(server.signal(libc::SIGTERM).success());
}

#[test]
fn a_missing_member_is_named_and_two_are_too_many() {
    let place = Place::new("missing");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    fs::rename(place.0.join("d4"), place.0.join("gone")).unwrap();
    let text = place.ends("array status tank", 3).0;
    assert!(text.starts_with("tank: degraded"), "{text}");
    assert!(text.contains("Member 4 of R-group 1, last seen at") && text.contains("d4, is missing"), "{text}");
    let mut server = place.serve("serve tank");
    let status = place.json_ending("array status tank", 3);
    assert_eq!((&status["state"], &status["devices"][4]["state"]), (&"degraded".into(), &"missing".into()));
    place.ok("volume create tank/b --size 8MiB");
    assert!(server.signal(libc::SIGTERM).success());

    fs::remove_file(place.0.join("d3")).unwrap();
    assert!(place.ends("array status tank", 4).0.starts_with("tank: failed"));
    let error = place.ends("serve tank", 4).1;
    assert!(error.contains("member 3") && error.contains("member 4"), "{error}");
}

#[test]
fn a_lost_state_directory_is_found_again_from_the_disks() {
    let place = Place::new("scan");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    fs::remove_dir_all(place.0.join("state")).unwrap();
    assert!(place.fails("array status tank").contains("array scan"));
    // By other names and in another place, the order of names not that of members.
    fs::create_dir(place.0.join("moved")).unwrap();
    for (from, to) in (0..6).zip([5, 3, 1, 0, 2, 4]) {
        fs::rename(place.0.join(format!("d{from}")), place.0.join(format!("moved/disk{to}"))).unwrap();
    }
    assert!(place.ok("array scan moved/disk5").contains("nobody remembers where it was: scan its place too"));
    assert!(place.ends("array status tank", 4).0.contains("Member 5 of R-group 1 is missing, and nobody remembers"));
    let scan = place.json("array scan moved");
    let one = place.ok("array scan moved/disk5");
    assert!(one.contains("not found here; last seen at") && one.contains("moved/disk3"), "{one}");
    assert_eq!(scan["arrays"][0]["name"], "tank");
    assert_eq!(scan["arrays"][0]["members"].as_array().unwrap().len(), 6);
    assert!(scan["arrays"][0]["members"][0]["path"].as_str().unwrap().ends_with("moved/disk5"));
    assert_eq!(volumes(&place.json("volume list tank")), [("a".into(), 16 << 20)]);
    place.ok("volume create tank/b --size 8MiB");
    assert!(place.ok("array check tank").contains("consistent"));
}

#[test]
fn check_finds_a_flipped_byte_and_dump_shows_where() {
    use std::os::unix::fs::FileExt;
    let place = Place::new("check");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    place.ok("volume resize tank/a --size 8MiB --shrink -y");
    // The newest superblock of member 0 lies in one of two slots, twice; spoil all.
    let file = fs::File::options().write(true).open(place.0.join("d0")).unwrap();
    for slot in cygnus_format::SUPERBLOCK_OFFSETS.into_iter().flatten() {
        file.write_all_at(&[0xff], slot + 1000).unwrap();
    }
    let report = place.ends("array check tank", 3).0;
    assert!(report.contains("consistent, and degraded"), "{report}");
    let dump = place.json("array dump tank");
    assert_eq!(dump["members"][0]["path"], serde_json::Value::Null);
    assert!(dump["members"][1]["generation"].as_u64().unwrap() > 1);
    assert!(place.ok("array dump tank --group 0").contains("R-group 0"));
    assert!(place.fails("array dump tank --group 7").contains("there is no R-group 7"));
}

#[test]
fn check_tells_what_is_lost_from_what_can_be_mended_and_from_what_is_only_missing() {
    use std::os::unix::fs::FileExt;
    let place = Place::new("verdicts");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    let pattern: Vec<u8> = (0..4096_u32).map(|n| (n * 7 % 251) as u8).collect();
    write_block(&place.0.join("tank.sock"), "a", 8192, &pattern);
    assert!(server.signal(libc::SIGTERM).success());

    let verdict = |status: i32| {
        let report = place.json_ending("array check tank", status);
        (report["verdict"].as_str().unwrap().to_owned(), report["next"].as_str().unwrap_or("").to_owned(), report)
    };
    let (word, next, _) = verdict(0);
    assert_eq!((word.as_str(), next.as_str()), ("consistent", ""));
    // A device that is no member is a remark.
    let file = |name: &str| place.0.join(name);
    let record = fs::read_to_string(place.0.join("state/tank.toml")).unwrap();
    fs::File::create(file("other")).unwrap().set_len(64 << 20).unwrap();
    let spares = format!("spares = [{:?}]", file("other"));
    let with_other = match record.contains("spares = [") {
        true => record.replace("spares = []", &spares),
        false => record.replacen("[[member]]", &format!("{spares}\n\n[[member]]"), 1),
    };
    fs::write(place.0.join("state/tank.toml"), with_other).unwrap();
    let (word, _, report) = verdict(0);
    assert_eq!((word.as_str(), &report["findings"][0]["weight"]), ("consistent", &"consistent".into()), "{report}");
    fs::write(place.0.join("state/tank.toml"), record).unwrap();
    // One that is not there, or not all of it, makes the array degraded.
    fs::rename(file("d4"), file("away")).unwrap();
    let (word, next, _) = verdict(3);
    assert!(word == "degraded" && next.contains("cygnus array replace tank"), "{word}: {next}");
    fs::rename(file("away"), file("d4")).unwrap();
    let whole = fs::read(file("d4")).unwrap();
    fs::File::options().write(true).open(file("d4")).unwrap().set_len(32 << 20).unwrap();
    let (word, _, report) = verdict(3);
    assert_eq!(word, "degraded");
    let text = report["findings"][0]["text"].as_str().unwrap();
    assert!(text.contains("d4 is 32 MiB, was 64 MiB: truncated"), "{text}");
    fs::write(file("d4"), whole).unwrap();
    assert_eq!(verdict(0).0, "consistent");
    // A block that is wrong can be mended, and one whose parity is wrong too cannot.
    let found = (0..6).find_map(|n| {
        let bytes = fs::read(file(&format!("d{n}"))).unwrap();
        let at = bytes.chunks_exact(4096).position(|block| block == pattern)?;
        Some((n, 4096 * at as u64))
    });
    let (member, at) = found.expect("the block is on one of them");
    let spoil = |n: i32| {
        let file = fs::File::options().write(true).open(file(&format!("d{n}"))).unwrap();
        file.write_all_at(b"rot", at + 100).unwrap();
    };
    spoil(member);
    let (word, next, _) = verdict(3);
    assert_eq!((word.as_str(), next.as_str()), ("repairable", "run 'cygnus array check tank --repair'"));
    let first = member / 3 * 3;
    (first..first + 3).filter(|&n| n != member).for_each(spoil);
    let (word, next, report) = verdict(4);
    assert_eq!((word.as_str(), &report["unreadable"][0]["lba"]), ("beyond-redundancy", &2.into()), "{report}");
    assert!(next.contains("backup"), "{next}");
}

#[test]
fn check_repairs_and_salvage_does_with_what_is_left() {
    use std::os::unix::fs::FileExt;
    let place = Place::new("repair");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let spoil = |member: &str, slot: u64| {
        let file = fs::File::options().write(true).open(place.0.join(member)).unwrap();
        file.write_all_at(&[0xff], slot + 1000).unwrap();
    };
    spoil("d3", 0);
    place.ends("array check tank", 3);
    let repaired = place.json("array check tank --repair");
    assert_eq!(repaired["consistent"], true, "{repaired}");
    assert_eq!(repaired["repair"]["before"]["consistent"], false, "{repaired}");
    assert_eq!(repaired["repair"]["done"]["lost"], 0, "{repaired}");
    assert!(place.ok("array check tank").contains("consistent"));

    let whole = place.json("array salvage tank/a whole.img --map whole.map");
    assert_eq!((&whole["lost_bytes"], &whole["size_bytes"]), (&0.into(), &(16 << 20).into()), "{whole}");
    assert_eq!(fs::metadata(place.0.join("whole.img")).unwrap().len(), 16 << 20);
    assert!(fs::read_to_string(place.0.join("whole.map")).unwrap().ends_with("0x00000000  0x01000000  +\n"));
    assert!(place.fails("array salvage tank/a whole.img").contains("--force"));
    assert!(place.fails("array salvage tank/b b.img").contains("no volume"));

    // One member of each group deleted, another one's superblocks gone: more than the parity covers.
    fs::remove_file(place.0.join("d0")).unwrap();
    fs::remove_file(place.0.join("d4")).unwrap();
    for slot in cygnus_format::SUPERBLOCK_OFFSETS.into_iter().flatten() {
        spoil("d1", slot);
        spoil("d5", slot);
    }
    let before = fs::read(place.0.join("d1")).unwrap();
    assert!(place.ends("array check tank --repair", 4).1.contains("lacks member 0"));
    let output = place.run("--json array salvage tank/a part.img --map part.map");
    let part: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let holes = part["holes"].as_array().unwrap().len();
    assert_eq!(output.status.code(), Some(if holes > 0 { 4 } else { 0 }), "{part}");
    assert!(!part["remarks"].as_array().unwrap().is_empty(), "{part}");
    assert!(fs::read(place.0.join("d1")).unwrap() == before, "members are not written to");
}

#[test]
fn nothing_is_overwritten_without_force_and_nothing_left_behind() {
    let place = Place::new("force");
    place.create_tank();
    let again = "array create other --groups 2 --raid 2+1";
    let error = place.fails(&format!("{again} --create 64MiB d0 e1 e2 e3 e4 e5"));
    assert!(error.contains("d0 holds a member of array \"tank\"") && error.contains("--force"), "{error}");
    assert!(!place.0.join("e1").exists(), "files made for an array that did not come to be are gone");
    assert!(place.fails(&format!("{again} x0 x1 x2 x3 x4 x5")).contains("--create SIZE"));
    assert!(place.fails("array create tank --groups 2 d0 d1 d2 d3 d4 d5").contains("choose another name"));

    assert!(place.fails("array destroy tank").contains("add --yes"));
    place.ok("array destroy tank --yes");
    assert!(place.fails("array status tank").contains("knows no array"));
    place.ok(&format!("{again} d0 d1 d2 d3 d4 d5"));
    assert!(place.ok("array list").contains("other"));
    let third = "array create third --groups 2 --raid 2+1 --force d0 d1 d2 d3 d4 d5";
    let error = place.fails(third);
    assert!(error.contains("d0 holds a member of array other") && error.contains("add --yes"), "{error}");
    place.ok(&format!("{third} --yes"));
    let error = place.ends("array status other", 4).1;
    assert!(error.contains("belongs to array third"), "{error}");
}

#[test]
fn a_configuration_file_takes_the_place_of_flags() {
    let place = Place::new("config");
    let text = "
        state = 'elsewhere'
        [array.tank]
        groups = 2
        raid = '1+1'
        create = '64MiB'
        members = ['m0', 'm1', 'm2', 'm3']
        [array.tank.serve]
        nbd = ['unix:n.sock']
    ";
    fs::write(place.0.join("c.toml"), text).unwrap();
    let command = |line: &str| {
        let mut command = Command::new(CYGNUS);
        command.current_dir("/").env_remove("CYGNUS_STATE").arg("--config").arg(place.0.join("c.toml"));
        command.args(line.split_whitespace());
        command
    };
    let run = |line: &str| command(line).output().unwrap();
    assert!(run("array create tank").status.success());
    assert!(place.0.join("m3").exists() && place.0.join("elsewhere/tank.toml").exists(), "relative to the file");
    let status: serde_json::Value = serde_json::from_slice(&run("--json array status tank").stdout).unwrap();
    assert_eq!((&status["data_columns"], &status["parity_columns"]), (&1.into(), &1.into()));
    // The flag wins.
    assert!(
        String::from_utf8_lossy(&run("--state /nowhere array status tank").stderr).contains("/nowhere knows no array")
    );

    let mut server = Server::start(command("serve tank"));
    assert!(place.0.join("n.sock").exists());
    assert!(server.signal(libc::SIGTERM).success());
}

#[test]
fn ready_is_told_to_systemd_and_to_a_descriptor() {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixDatagram;
    use std::os::unix::process::CommandExt;
    let place = Place::new("ready");
    place.create_tank();
    let notify: PathBuf = place.0.join("notify");
    let manager = UnixDatagram::bind(&notify).unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = place.command("serve tank --nbd unix:n.sock --ready-fd 60");
    command.env("NOTIFY_SOCKET", &notify).stdout(Stdio::null()).stderr(Stdio::null());
    let fd = writer.as_raw_fd();
    // A high number, so that it is not the pipe's own, which would stay close-on-exec.
    // SAFETY: dup2 is one system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(move || if libc::dup2(fd, 60) == 60 { Ok(()) } else { Err(std::io::Error::last_os_error()) });
    }
    let mut server = Server(command.spawn().unwrap());
    drop(writer);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
    assert_eq!(text, "\n");
    let receive = || {
        let mut buffer = [0; 256];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    assert!(receive().starts_with("READY=1"));
    assert!(server.signal(libc::SIGTERM).success());
    assert_eq!(receive(), "STOPPING=1");
}

#[test]
fn a_descriptor_that_was_not_handed_over_is_refused_and_never_taken_for_a_members() {
    let place = Place::new("not-handed-over");
    place.create_tank();
    for fd in 3..16 {
        use std::os::unix::process::CommandExt;
        let mut command = place.command(&format!("serve tank --ready-fd {fd}"));
        // SAFETY: what is called between fork and exec may neither allocate nor lock: this is a loop of one system call that takes
        // three numbers. It has no effect on this process, and what the test was handed is not handed on.
        unsafe {
            command.pre_exec(|| {
                for fd in 3..64 {
                    libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
                }
                Ok(())
            });
        }
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        let refused = String::from_utf8_lossy(&ended.stderr);
        assert!(refused.contains(&format!("--ready-fd {fd}: whoever starts the server has to open")), "{refused}");
    }
}

#[test]
fn groups_come_and_go() {
    let place = Place::new("groups");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    let refused = place.fails("array add tank --create 64MiB d6 d7 d8 d9");
    assert!(refused.contains("give 2 more, or leave out 1, which can be added as a spare"), "{refused}");
    assert!(!place.0.join("d6").exists(), "what was made for it is gone");
    assert!(place.ok("array add tank --create 64MiB d6 d7 d8").contains("R-group 2 with"));
    assert_eq!(place.json("array status tank")["devices"].as_array().unwrap().len(), 9);
    place.ok("array check tank");

    let mut server = place.serve("serve tank --nbd unix:tank.sock --reactors 2");
    fs::File::create(place.0.join("d9")).unwrap().set_len(96 << 20).unwrap();
    let added = place.json("array add tank --create 64MiB d9 d10 d11");
    assert_eq!((&added["groups"][0]["index"], &added["groups"][0]["unused_bytes"]), (&3.into(), &(32 << 20).into()));
    assert!(added["capacity_bytes"].as_u64() > added["capacity_before_bytes"].as_u64());
    // By one of its members.
    let job = place.json("array retire tank d4 --wait");
    assert_eq!((&job["job"]["kind"], &job["job"]["state"]), (&"retire".into(), &"done".into()));
    let status = place.json("array status tank");
    let groups: Vec<_> = status["groups"].as_array().unwrap().iter().map(|group| group["index"].as_u64()).collect();
    assert_eq!(groups, [Some(0), Some(2), Some(3)]);
    assert_eq!((&status["state"], status["devices"].as_array().unwrap().len()), (&"healthy".into(), 9));
    assert!(place.fails("array retire tank 1").contains("retired already"));
    assert!(server.signal(libc::SIGTERM).success());

    for member in ["d3", "d4", "d5"] {
        fs::remove_file(place.0.join(member)).unwrap();
    }
    let stopped = place.json("array status tank");
    assert_eq!((&stopped["state"], stopped["devices"].as_array().unwrap().len()), (&"healthy".into(), 9));
    assert!(place.ok("array check tank").contains("consistent"));
}

/// Stands in for a `serve` that takes a request and dies before it answers.
fn dies_when_asked(place: &Place) -> std::thread::JoinHandle<()> {
    let listener = std::os::unix::net::UnixListener::bind(place.0.join("state/tank.ctl")).unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("ping"));
        std::io::Write::write_all(&mut &stream, b"{\"schema\":1,\"response\":\"done\"}\n").unwrap();
        assert!(!lines.next().unwrap().unwrap().contains("ping"));
    })
}

#[test]
fn files_that_may_be_members_are_not_deleted_when_the_server_dies() {
    let place = Place::new("unknown");
    place.create_tank();
    for (line, files) in [
        ("array add tank --create 64MiB n0 n1 n2", vec!["n0", "n1", "n2"]),
        ("array spare add tank --create 64MiB s0", vec!["s0"]),
        ("array replace tank 0 r0 --create 64MiB", vec!["r0"]),
    ] {
        let server = dies_when_asked(&place);
        let (_, error) = place.ends(line, 5);
        server.join().unwrap();
        fs::remove_file(place.0.join("state/tank.ctl")).unwrap();
        assert!(error.contains("nothing was deleted") && error.contains("array scan"), "{error}");
        for file in files {
            assert!(place.0.join(file).exists(), "{line}: {file} was deleted");
        }
    }
}

/// What was begun and is waited for has an unknown end when the server dies meanwhile.
#[test]
fn a_job_whose_server_dies_while_it_is_waited_for_has_an_unknown_end() {
    let place = Place::new("waiting");
    place.create_tank();
    let listener = std::os::unix::net::UnixListener::bind(place.0.join("state/tank.ctl")).unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let job = r#"{"id":1,"kind":"scrub","subject":"tank","state":"running","done_bytes":0,"total_bytes":9,"elapsed_seconds":0.1,"rate":0.0}"#;
        for answer in
            [r#"{"schema":1,"response":"done"}"#.into(), format!(r#"{{"schema":1,"response":"job","job":{job}}}"#)]
        {
            lines.next().unwrap().unwrap();
            std::io::Write::write_all(&mut stream, format!("{answer}\n").as_bytes()).unwrap();
        }
        lines.next().unwrap().unwrap();
    });
    let (_, told) = place.ends("array scrub tank --wait", 5);
    assert!(told.contains("the scrub of tank, which had begun") && told.contains("array status"), "{told}");
    server.join().unwrap();
}

/// A server whose state directory was deleted puts itself there again, but not in the place of another array that has the name now.
#[test]
fn a_server_takes_no_name_from_another_array() {
    let place = Place::new("namesake");
    place.create_tank();
    let mut server = place.serve("serve tank --nbd unix:tank.sock --kept-in none");
    fs::remove_dir_all(place.0.join("state")).unwrap();
    place.ok("array create tank --preset log-raid --raid 1+1 --create 64MiB --sparse e0 e1");
    let record = || fs::read_to_string(place.0.join("state/tank.toml")).unwrap();
    let before = record();
    // The server looks each second.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(record(), before);
    assert_eq!(place.json("array status tank")["served"], false);
    assert!(server.signal(libc::SIGTERM).success());
    assert_eq!(record(), before);
}

#[test]
fn salvage_never_writes_to_a_member() {
    let place = Place::new("outputs");
    place.create_tank();
    place.ok("volume create tank/a --size 16MiB");
    fs::hard_link(place.0.join("d1"), place.0.join("hard")).unwrap();
    std::os::unix::fs::symlink("d2", place.0.join("soft")).unwrap();
    let before: Vec<Vec<u8>> = (0..6).map(|n| fs::read(place.0.join(format!("d{n}"))).unwrap()).collect();
    for out in ["d0", "hard", "soft"] {
        let error = place.fails(&format!("array salvage tank/a {out} --force"));
        assert!(error.contains("is a member of array tank"), "{error}");
        let error = place.fails(&format!("array salvage tank/a {out}.img --map {out} --force"));
        assert!(error.contains("is a member of array tank"), "{error}");
        assert!(place.fails(&format!("trace synth proxy0 --requests 1 --out {out} --force")).contains("is a member"));
    }
    for (n, before) in before.iter().enumerate() {
        assert!(fs::read(place.0.join(format!("d{n}"))).unwrap() == *before, "d{n} was written to");
    }
    assert!(place.ok("array check tank").contains("consistent"));
}

#[test]
fn a_member_that_was_cut_short_is_told_of() {
    let place = Place::new("short");
    place.create_tank();
    fs::File::options().write(true).open(place.0.join("d4")).unwrap().set_len(5 << 20).unwrap();
    let (text, _) = place.ends("array status tank", 3);
    assert!(text.starts_with("tank: degraded") && text.contains("is 5 MiB, was 64 MiB: truncated"), "{text}");
    assert_eq!(place.json_ending("array status tank", 3)["devices"][4]["state"], "failed");
}

#[test]
fn an_array_whose_members_are_gone_is_forgotten() {
    let place = Place::new("forget");
    place.create_tank();
    let mut server = place.serve("serve tank");
    assert!(place.fails("array forget tank").contains("being served"));
    server.signal(libc::SIGTERM);
    (0..6).for_each(|n| fs::remove_file(place.0.join(format!("d{n}"))).unwrap());
    let (_, error) = place.ends("array status tank", 4);
    assert!(error.contains("array forget tank"), "{error}");
    assert_eq!(place.json("array forget tank")["places"].as_array().unwrap().len(), 6);
    assert!(place.json("array list")["arrays"].as_array().unwrap().is_empty());
    assert!(place.fails("array forget tank").contains("knows no array"));
}

#[test]
fn a_server_whose_state_directory_is_deleted_stays_within_reach() {
    let place = Place::new("lost-state");
    place.create_tank();
    let mut server = place.serve("serve tank --nbd unix:tank.sock");
    fs::remove_dir_all(place.0.join("state")).unwrap();
    let begun = std::time::Instant::now();
    while !place.run("array status tank").status.success() {
        assert!(begun.elapsed() < LONGEST, "no command reaches the server any more");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(place.json("array status tank")["served"], true);
    place.ok("volume create tank/a --size 16MiB");
    assert!(server.signal(libc::SIGTERM).success());
    assert!(place.ok("array check tank").contains("consistent"));
}

#[test]
fn each_change_answers_with_one_json_object() {
    let place = Place::new("json");
    let members =
        place.json("array create tank --groups 2 --raid 2+1 --create 64MiB d0 d1 d2 d3 d4 d5")["members"].clone();
    assert_eq!(members.as_array().unwrap().len(), 6);
    let created = place.json("volume create tank/a --size 16MiB");
    assert_eq!((&created["volume"], &created["size_bytes"]), (&"a".into(), &(16 << 20).into()));
    let resized = place.json("volume resize tank/a --size 8MiB --shrink --yes");
    assert_eq!((&resized["size_before_bytes"], &resized["size_bytes"]), (&(16 << 20).into(), &(8 << 20).into()));
    assert_eq!(place.json("volume delete tank/a --yes")["size_before_bytes"], 8 << 20);
    let failed = place.json_ending("volume delete tank/a --yes", 1);
    assert!(failed["error"].as_str().unwrap().contains("no volume") && failed["exit_status"] == 1, "{failed}");
    assert_eq!(place.json_ending("volume create tank/a --size nonsense", 2)["exit_status"], 2);
    fs::remove_file(place.0.join("d5")).unwrap();
    let blank = fs::OpenOptions::new().write(true).open(place.0.join("d2")).unwrap();
    blank.set_len(0).and_then(|()| blank.set_len(64 << 20)).unwrap();
    let destroyed = place.json("array destroy tank --yes");
    let not_found = destroyed["not_found"].as_array().unwrap();
    // The blank one has nothing left that says to what it belongs.
    assert_eq!((not_found.len(), &not_found[0]["index"]), (1, &5.into()), "{destroyed}");
    assert_eq!(destroyed["wiped"].as_array().unwrap().len(), 4);
}

#[test]
fn a_salvage_that_cannot_begin_leaves_no_file() {
    let place = Place::new("salvage-too-long");
    place.create_tank();
    place.ok("volume create tank/vol0 --size 64GiB");
    place.ends("array salvage tank/vol0 v.img --map no/such/directory", 1);
    assert!(!place.0.join("v.img").exists());
    // A limit of the process stands for one of the file system.
    let line = place.command("array salvage tank/vol0 v.img --map v.map");
    let script = "trap '' XFSZ; ulimit -f 1000000; exec \"$0\" \"$@\"";
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", script]).arg(line.get_program()).args(line.get_args());
    let output = limited.current_dir(&place.0).env_remove("CYGNUS_STATE").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("smaller than the volume of 64 GiB"), "{said}");
    assert!(!place.0.join("v.img").exists() && !place.0.join("v.map").exists());
}
