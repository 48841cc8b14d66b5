//! The workload against a server that keeps its promises, and one that does not.

use super::*;
use cygnus_host::scratch::Scratch;
use cygnus_nbd::{Catalogue, ExportInfo, Next, Parsed, ServerHandshake, parse_request, wire};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

const SIZE: u64 = 8 << 20;

/// How the test's server goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The write of this number is acknowledged and forgotten.
    LosesWrite(u64),
    /// Answers a read with an error.
    RefusesReads,
}

struct OneVolume;

impl Catalogue for OneVolume {
    fn list(&mut self) -> Vec<(String, String)> {
        vec![("vol0".into(), String::new())]
    }

    fn find(&mut self, _name: &str) -> Option<ExportInfo> {
        Some(ExportInfo {
            name: "vol0".into(),
            description: String::new(),
            size: SIZE,
            page: 4096,
            flags: wire::EXPORT_WRITABLE,
        })
    }
}

/// Serves one connection out of memory.
fn serve(mut stream: UnixStream, fault: Fault) -> std::io::Result<()> {
    let mut disk = vec![0; SIZE as usize];
    let (mut input, mut out, mut chunk) = (Vec::new(), Vec::new(), vec![0; 1 << 20]);
    let mut handshake = ServerHandshake::new(&mut out);
    loop {
        let progress = handshake.step(&input, &mut OneVolume, &mut out).expect("the client negotiates properly");
        input.drain(..progress.consumed);
        stream.write_all(&std::mem::take(&mut out))?;
        match progress.next {
            Next::Transmission(_) => break,
            Next::Close => return Ok(()),
            Next::Again => {}
            Next::NeedMore(_) => {
                let count = stream.read(&mut chunk)?;
                input.extend_from_slice(&chunk[..count]);
            }
        }
    }
    let mut writes = 0;
    loop {
        match parse_request(&input) {
            Parsed::Bad(error) => panic!("{error}"),
            Parsed::NeedMore(_) => match stream.read(&mut chunk)? {
                0 => return Ok(()),
                count => input.extend_from_slice(&chunk[..count]),
            },
            Parsed::Request { request, payload, consumed } => {
                let range = request.offset as usize..request.offset as usize + request.length as usize;
                let mut code = 0u32;
                let mut data = &[][..];
                match request.command {
                    Command::Read if fault == Fault::RefusesReads => code = 5,
                    Command::Read => data = &disk[range],
                    Command::Write => {
                        writes += 1;
                        if fault != Fault::LosesWrite(writes) {
                            disk[range].copy_from_slice(&input[payload]);
                        }
                    }
                    _ => {}
                }
                let mut reply = wire::SIMPLE_REPLY_MAGIC.to_be_bytes().to_vec();
                reply.extend_from_slice(&code.to_be_bytes());
                reply.extend_from_slice(&request.cookie.to_be_bytes());
                reply.extend_from_slice(data);
                stream.write_all(&reply)?;
                input.drain(..consumed);
            }
        }
    }
}

fn run(what: &str, fault: Fault, time_limit: Duration) -> Result<Outcome, ClientError> {
    let scratch = Scratch::new(what);
    let path = scratch.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        // The client leaves as it likes; that is no failure of the server.
        let _ = serve(listener.accept().unwrap().0, fault);
    });
    let connection = Connection::open(&path, "vol0", 16)?;
    assert_eq!(connection.size(), SIZE);
    let progress = Progress::default();
    let plan = Plan { seed: 7, overwrites: 2, time_limit };
    let outcome = Workload::new(connection, plan, &progress).run();
    server.join().unwrap();
    outcome
}

#[test]
fn a_server_that_keeps_everything_passes() {
    let outcome = run("demo-good", Fault::None, Duration::from_secs(60)).unwrap();
    assert_eq!((outcome.wrong_blocks, outcome.verified_bytes), (0, SIZE));
    assert!(outcome.written_bytes >= 3 * SIZE && !outcome.cut_short && !outcome.aborted);
    assert!(outcome.write_latency.count() > 0);
}

#[test]
fn a_lost_write_is_found() {
    // A write of the fill may be overwritten whole before it is read; of eight, some blocks survive.
    let lost = |write| run("demo-lost", Fault::LosesWrite(write), Duration::from_secs(60)).unwrap().wrong_blocks;
    assert!((1..=8).map(lost).sum::<u64>() > 0);
}

#[test]
fn an_error_names_the_request() {
    let error = run("demo-error", Fault::RefusesReads, Duration::from_secs(60)).unwrap_err();
    assert!(error.to_string().starts_with("Read of 262144 bytes at "), "{error}");
}

#[test]
fn the_time_limit_ends_the_writing_and_what_was_written_is_verified() {
    let outcome = run("demo-limit", Fault::None, Duration::ZERO).unwrap();
    assert!(outcome.cut_short && outcome.wrong_blocks == 0 && outcome.verified_bytes == SIZE);
}

#[test]
fn blocks_differ_by_seed_place_and_version() {
    let block = |seed, block, version| {
        let mut out = Vec::new();
        write_block(&mut out, seed, block, version);
        out
    };
    let base = block(1, 2, 3);
    assert_eq!(base.len(), BLOCK);
    assert!(is_intact(&base, 1, 2, 3) && is_intact(&[0; BLOCK], 1, 2, 0));
    for other in [block(2, 2, 3), block(1, 3, 3), block(1, 2, 4)] {
        assert!(!is_intact(&other, 1, 2, 3) && other != base);
    }
}
