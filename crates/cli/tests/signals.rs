//! Commands and servers that are told to end before they have done what they were started for.

mod common;

use common::Place;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Duration;

/// How many files there are whose names begin so.
fn files(place: &Place, beginning: &str) -> usize {
    let names = fs::read_dir(&place.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(beginning)).count()
}

fn terminate(child: &Child) {
    // SAFETY: the process is our child and has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) }, 0);
}

/// Whenever the signal comes, there is a whole array or nothing.
#[test]
fn a_creation_that_is_cut_short_leaves_an_array_or_no_file() {
    let place = Place::new("create");
    let mut interrupted = 0;
    for round in 0..24 {
        let members: Vec<String> = (0..12).map(|member| format!("d{round}-{member}")).collect();
        let line = format!("array create t{round} --preset log-raid --raid 11+1 --create 64MiB {}", members.join(" "));
        let child = place.start(&line);
        std::thread::sleep(Duration::from_millis(4 * round));
        terminate(&child);
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let (files, known) =
            (files(&place, &format!("d{round}-")), place.0.join(format!("state/t{round}.toml")).exists());
        let (is_whole, is_nothing) = (files == 12 && known, files == 0 && !known);
        // Before the first file is made, and once the array is there, the signal ends the command as it ends any other.
        let is_told = match output.status.code() {
            Some(0) => is_whole,
            Some(_) => is_nothing,
            None => is_whole || is_nothing,
        };
        assert!(is_told, "round {round}: {:?}, {files} files, known: {known}: {said}", output.status);
        interrupted +=
            u32::from(output.status.code() == Some(1) && said.contains("the files that were made for it are deleted"));
        members.iter().for_each(|member| drop(fs::remove_file(place.0.join(member))));
    }
    println!("{interrupted} of 24 were interrupted while they made files");
}

/// Once the opening has begun it goes on to its end, and the array is closed in order. How far it is when the signal comes is up to
/// the machine, so one of some rounds must have met it.
#[test]
fn a_server_that_is_stopped_while_it_opens_says_so_and_invites_nobody() {
    let place = Place::new("opening");
    let members: Vec<String> = (0..12).map(|member| format!("d{member}")).collect();
    place.ok(&format!("array create tank --preset log-raid --raid 11+1 --create 64MiB --sparse {}", members.join(" ")));
    let met = (0..20).any(|round| {
        let mut server = place.start("serve tank --nbd unix:tank.sock --reactors 2 --kept-in none");
        let mut said = BufReader::new(server.stderr.take().unwrap());
        let mut words = String::new();
        while !words.contains("open: assemble") {
            assert!(said.read_line(&mut words).unwrap() > 0, "round {round}: {words}");
        }
        terminate(&server);
        said.read_to_string(&mut words).unwrap();
        assert!(
            server.wait().unwrap().success() && words.ends_with("tank is stopped cleanly\n"),
            "round {round}: {words}"
        );
        let mut ready = String::new();
        server.stdout.take().unwrap().read_to_string(&mut ready).unwrap();
        let is_told = words.contains("SIGTERM received while tank is being opened");
        assert!(ready.is_empty() || !is_told, "round {round}: {words}{ready}");
        is_told && ready.is_empty()
    });
    assert!(met, "no signal came while the array was being opened");
}

/// A drive that is stopped answers nobody, so the server waits for it before it opens the array.
#[test]
fn a_server_that_ends_before_the_array_is_open_says_so() {
    let place = Place::new("serve");
    let mut drive = place.start("ssd serve s0 --create 64MiB --sparse --listen unix:s0.sock");
    let mut ready = String::new();
    BufReader::new(drive.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    place.ok("array create tank --preset log-raid --raid 2+0 --create 64MiB --sparse d0 ssd:unix:s0.sock");
    // SAFETY: the process is our child and has not been waited for, so the number is its own.
    assert_eq!(unsafe { libc::kill(drive.id() as libc::pid_t, libc::SIGSTOP) }, 0);
    let mut server = place.start("serve tank --nbd unix:tank.sock --kept-in none");
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("waiting for"), "{line}");
    terminate(&server);
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    let _ = drive.kill();
    let _ = drive.wait();
    assert_eq!(server.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert!(rest.ends_with("tank was not open yet: ended by a signal, and nothing was changed\n"), "{rest}");
}

/// Wrappers such as `timeout` send a signal to a process and to its group, so that it comes twice: that is one request for a clean stop.
#[test]
fn a_signal_that_comes_twice_at_once_stops_a_server_cleanly() {
    let place = Place::new("twice");
    place.create_tank();
    let mut server = place.start("serve tank --nbd unix:tank.sock --kept-in none");
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    terminate(&server);
    terminate(&server);
    let mut words = String::new();
    server.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert!(server.wait().unwrap().success() && words.ends_with("tank is stopped cleanly\n"), "{words}");
}

/// Only a run of all that was asked for is one without failures.
#[test]
fn torture_that_is_cut_short_does_not_pass() {
    let place = Place::new("torture");
    let child = place.start("torture --seeds 1000000 --jobs 1 --about tight --json");
    std::thread::sleep(Duration::from_secs(1));
    terminate(&child);
    let output = child.wait_with_output().unwrap();
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(told.contains("\"cut_short\": true") && said.contains("cut short by a signal"), "{told}{said}");
}

/// What is measured lies in memory, which nobody else would give back.
#[test]
fn a_benchmark_that_is_cut_short_leaves_nothing_in_memory() {
    let place = Place::new("bench");
    let mut child = place.start("bench peers --alone --time 1h --depth 1 --client-core 0");
    let dir = std::path::PathBuf::from(format!("/dev/shm/cygnus-bench-{}", child.id()));
    while !dir.join("servers/server.sock").exists() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    terminate(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!dir.exists());
}
