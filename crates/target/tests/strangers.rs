//! Clients that mean harm, or know no better: what they can take of a server, and what others notice of it.

mod common;

use common::client::{self, Answer, Client};
use common::world::{MIB, World, closed, error};
use cygnus_nbd::wire::*;
use cygnus_nbd::{Command, Errno, Extent, Request};
use cygnus_runtime::{Peer, Rng};
use cygnus_target::*;
use cygnus_types::{BLOCK, Nanos};
use std::net::IpAddr;

const STRANGER: Peer = Peer::User(666);

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut data = vec![0; len];
    Rng::new(seed).fill(&mut data);
    data
}

fn header(command: Command, offset: u64, length: u32) -> [u8; REQUEST_BYTES] {
    Request { cookie: 1, offset, length, flags: 0, command }.encode()
}

impl World {
    fn held(&self) -> usize {
        self.config.memory.usage().used
    }

    fn events(&self) -> Vec<String> {
        self.log.borrow().iter().filter(|event| event.trouble().is_some()).map(ToString::to_string).collect()
    }
}

#[test]
fn announcing_takes_no_memory() {
    let world = World::new();
    world.run(async {
        let mut strangers = Vec::new();
        for _ in 0..60 {
            let stranger = world.client_of(STRANGER).await;
            client::send(&world.rt, stranger.sock, &header(Command::Write, 0, MAX_PAYLOAD)).await.unwrap();
            strangers.push(stranger);
        }
        world.rt.sleep(Nanos::millis(1)).await;
        assert_eq!(world.held(), 0, "what they have to themselves is enough for that");
        assert!(world.rt.buffer_bytes() < 8 * MIB, "{} bytes of buffers", world.rt.buffer_bytes());
    });
}

#[test]
fn whoever_asks_nothing_more_holds_little() {
    const CLIENTS: usize = 100;
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.run(async {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = world.client().await;
            // As a busy client: enough at a time for the buffer to grow, and many reads that have to wait.
            for n in 0..30 {
                let data = bytes(60 << 10, n);
                client.start(Command::Write, 0, 0, data.len() as u32, &data).await;
            }
            world.volume.0.slow.set(true);
            for _ in 0..32 {
                client.start(Command::Read, 0, 0, 4096, &[]).await;
            }
            for _ in 0..62 {
                client.next().await.expect("the server answers");
            }
            world.volume.0.slow.set(false);
            clients.push(client);
        }
        let small = CLIENTS * (64 << 10);
        assert!(world.held() > small, "{} bytes of memory are held by the busy", world.held());
        for _ in 0..6 {
            world.rt.give_back_buffers();
            world.rt.sleep(Nanos::secs(1)).await;
        }
        assert_eq!(world.held(), 0, "what they have to themselves is enough for that");
        assert!(world.rt.buffer_bytes() < small, "{} bytes of buffers", world.rt.buffer_bytes());
        for client in &mut clients {
            let data = bytes(300 << 10, 7);
            assert_eq!(client.write(4096, &data, 0).await, Answer::Done);
            assert!(client.read(4096, 300 << 10).await == Answer::Data(data), "it is served as before");
        }
        assert_eq!(world.ends(), []);
    });
}

#[test]
fn long_writes_come_in_pieces() {
    for slow in [false, true] {
        let world = World::with(10_000, 8 * MIB, ServerConfig::default());
        world.volume.0.slow.set(slow);
        world.run(async {
            let mut client = world.client().await;
            let mut expected = vec![0; 8 * MIB];
            for (n, (offset, len)) in
                [(0, 3 * MIB), (5, 2 * MIB + 1), (4 * MIB - 7, 4 * MIB + 7)].into_iter().enumerate()
            {
                let data = bytes(len, n as u64);
                expected[offset..offset + len].copy_from_slice(&data);
                assert_eq!(client.write(offset as u64, &data, CMD_FLAG_FUA).await, Answer::Done);
            }
            assert_eq!(world.volume.0.flushes.get(), 3, "one for each write, not for each piece");
            assert!(world.volume.contents() == expected);
            assert_eq!(world.server.stats().of(OpClass::Write).ops, 3);
            // Half a window of pieces that wait, at most.
            assert!(world.config.memory.usage().peak < 8 * MIB, "{:?}", world.config.memory.usage());
        });
    }
}

#[test]
fn long_writes_that_fail_are_answered_once_and_the_stream_goes_on() {
    for slow in [false, true] {
        let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
        world.volume.0.slow.set(slow);
        world.run(async {
            let mut client = world.client().await;
            let data = bytes(4 * MIB, 1);
            world.volume.0.full.set(true);
            assert_eq!(error(client.write(0, &data, 0).await), Errno::NoSpc);
            world.volume.0.full.set(false);
            assert_eq!(error(client.write(5 * MIB as u64, &data, 0).await), Errno::NoSpc, "past the end");
            assert_eq!(error(client.write(u64::MAX - 100, &data, 0).await), Errno::NoSpc);
            assert_eq!(client.write(4 * MIB as u64, &data, 0).await, Answer::Done);
            assert!(client.read(4 * MIB as u64, 4 << 20).await == Answer::Data(data));
            assert_eq!(client.ask(Command::Flush, 0, 0, 0).await, Answer::Done);
        });
    }
}

#[test]
fn a_long_write_that_is_cut_off_is_not_waited_for() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.0.slow.set(true);
    world.run(async {
        let client = world.client().await;
        let data = bytes(MIB, 1);
        client::send(&world.rt, client.sock, &header(Command::Write, 0, 4 << 20)).await.unwrap();
        client::send(&world.rt, client.sock, &data).await.unwrap();
        let begun = world.rt.now();
        world.rt.close(client.sock).await.unwrap();
        while world.server.stats().connections > 0 {
            world.rt.sleep(Nanos::millis(1)).await;
        }
        assert!(world.rt.now().since(begun) < Nanos::millis(100));
        world.rt.sleep(Nanos::secs(2)).await;
        assert_eq!((world.held(), world.ends()), (0, vec![EndReason::Hangup]));
        let whole = MIB - (256 << 10);
        assert!(world.volume.contents()[..whole] == data[..whole], "the pieces that had come were written");
    });
}

#[test]
fn large_reads_come_in_pieces_unless_that_is_forbidden() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    let data = bytes(8 * MIB, 9);
    world.volume.fill(1);
    world.run(async {
        let mut client = world.client().await;
        assert_eq!(client.write(0, &data, 0).await, Answer::Done);
        for (offset, len) in [(0, 8 * MIB), (3, 5 * MIB), (MIB, MIB + 1)] {
            client.parts_seen = 0;
            let expected = Answer::Data(data[offset..offset + len].to_vec());
            assert!(client.read(offset as u64, len as u32).await == expected);
            assert_eq!(client.parts_seen, len.div_ceil(MIB));
            assert!(client.ask(Command::Read, CMD_FLAG_DF, offset as u64, len as u32).await == expected);
            assert_eq!(client.parts_seen, len.div_ceil(MIB), "in one chunk");
        }
        // What fails in the middle says so, and the stream goes on.
        world.volume.0.bad.set(Some(cygnus_types::Lba(1000)));
        match client.read(0, 8 << 20).await {
            Answer::Error(errno, _, at) => assert_eq!((errno, at), (Errno::Io, Some(1000 * BLOCK as u64))),
            other => panic!("{other:?}"),
        }
        assert!(client.read(0, 4096).await == Answer::Data(data[..4096].to_vec()));
    });
}

/// The whole account is wanted by readers that take no replies, and there is a part for whoever comes then.
#[test]
fn readers_that_take_nothing_leave_something() {
    for flags in [0, CMD_FLAG_DF] {
        readers_take_nothing(flags);
    }
}

fn readers_take_nothing(flags: u16) {
    const LIMIT: usize = ServerConfig::LEAST_MEMORY;
    let memory = std::sync::Arc::new(cygnus_runtime::MemoryPart::new(LIMIT));
    let config = ServerConfig { memory, ..ServerConfig::default() };
    let world = World::with(usize::MAX, 32 * MIB, config);
    let data = bytes(32 * MIB, 2);
    world.volume.fill(1);
    world.run(async {
        let mut first = world.client().await;
        assert_eq!(first.write(0, &data, 0).await, Answer::Done);
        assert!(first.disconnect().await);
        let mut strangers = Vec::new();
        for _ in 0..60 {
            let mut stranger = world.client_of(STRANGER).await;
            for _ in 0..50 {
                stranger.start(Command::Read, flags, 0, 32 << 20, &[]).await;
            }
            strangers.push(stranger);
        }
        world.rt.sleep(Nanos::millis(50)).await;
        assert!(world.held() > LIMIT * 2 / 5, "they do take what they can get");
        // Some take the beginning of a reply, and no more.
        for stranger in &strangers[..20] {
            for _ in 0..24 {
                client::receive(&world.rt, stranger.sock, &mut Vec::new()).await;
            }
        }
        world.rt.sleep(Nanos::millis(50)).await;
        world.rt.give_back_buffers();
        world.rt.give_back_buffers();
        let (taken, counted) = (world.rt.buffer_bytes(), world.held() + 61 * ServerConfig::RESERVE);
        assert!(taken <= counted, "{taken} bytes of buffers, {counted} are accounted for");
        let mut other = world.client().await;
        assert_eq!(other.write(0, &data[..MIB], 0).await, Answer::Done);
        for n in 0..100 {
            let at = n * 40_000;
            assert!(other.read(at as u64, 20_000).await == Answer::Data(data[at..at + 20_000].to_vec()));
        }
        assert!(other.read(0, 32 << 20).await == Answer::Data(data.clone()));
        assert!(world.rt.now() < Nanos::secs(1), "the strangers hold up others");
        assert!(world.config.memory.usage().peak <= LIMIT);
        // They do not wait for each other's memory for ever, either.
        world.rt.sleep(Nanos::secs(70)).await;
        let whole = other.ask(Command::Read, CMD_FLAG_DF, 0, 32 << 20).await;
        assert!(whole == Answer::Data(data.clone()));
        assert_eq!(world.server.stats().cut, 60);
        let told = world.events();
        assert!(told[0].contains("closed by us: the client did not take its replies for 5."), "{told:?}");
        assert!(told.len() < 5, "{told:?}");
        assert!(other.disconnect().await);
        world.rt.sleep(Nanos::secs(1)).await;
        assert_eq!(world.held(), 0);
        // And the memory itself is the system's again.
        world.rt.give_back_buffers();
        world.rt.give_back_buffers();
        assert_eq!(world.rt.buffer_bytes(), 0);
    });
}

/// A server whose connections have nothing but what each has to itself.
fn poor_world() -> World {
    let memory = std::sync::Arc::new(cygnus_runtime::MemoryPart::new(0));
    World::with(usize::MAX, 8 * MIB, ServerConfig { memory, ..ServerConfig::default() })
}

#[test]
fn what_a_connection_has_to_itself_is_enough_for_any_request() {
    let world = poor_world();
    let mut data = bytes(8 * MIB, 3);
    world.run(async {
        for structured in [true, false] {
            let sock = world.network.connect_as(Peer::User(1));
            let mut client = Client::go(&world.rt, sock, "vol0", structured).await;
            assert_eq!(client.write(0, &data, CMD_FLAG_FUA).await, Answer::Done);
            for (offset, len) in
                [(0, 8 * MIB), (3, 5 * MIB), (MIB - 1, MIB), (1, 32 << 10), (4096, 300_000), (77, 20_000)]
            {
                let expected = Answer::Data(data[offset..offset + len].to_vec());
                for flags in [0, CMD_FLAG_DF].into_iter().filter(|&flags| flags == 0 || structured) {
                    client.parts_seen = 0;
                    assert!(client.ask(Command::Read, flags, offset as u64, len as u32).await == expected);
                    let in_chunks = structured && flags == 0 && len > 100_000;
                    let seen = if structured { len.div_ceil(16 << 10) } else { 0 };
                    assert!(!in_chunks || client.parts_seen == seen, "{} chunks", client.parts_seen);
                }
            }
            world.volume.0.slow.set(true);
            assert_eq!(client.write(1, &data[1..3 * MIB], 0).await, Answer::Done);
            world.volume.0.slow.set(false);
            assert_eq!(client.ask(Command::Flush, 0, 0, 0).await, Answer::Done);
            assert!(client.disconnect().await);
            data.reverse();
        }
        assert_eq!(world.config.memory.usage().peak, 0);
    });
}

/// While a long read is sent as one chunk, others' replies of the same connection wait behind it, and it gets through.
#[test]
fn a_reply_that_is_sent_as_it_is_read_is_not_interrupted() {
    let world = poor_world();
    let data = bytes(8 * MIB, 4);
    world.run(async {
        let mut client = world.client().await;
        assert_eq!(client.write(0, &data, 0).await, Answer::Done);
        let mut expected = std::collections::BTreeMap::new();
        for n in 0..60 {
            let (flags, offset, len) = match n % 5 {
                0 => (CMD_FLAG_DF, n * 10_007, 3 * MIB),
                1 => (0, n * 4096, 2 * MIB),
                _ => (0, n * 999, 4096),
            };
            let cookie = client.start(Command::Read, flags, offset as u64, len as u32, &[]).await;
            expected.insert(cookie, &data[offset..offset + len]);
        }
        while !expected.is_empty() {
            let Some((cookie, Answer::Data(got))) = client.next().await else { panic!("{} are left", expected.len()) };
            assert!(expected.remove(&cookie) == Some(&got[..]));
        }
    });
}

#[test]
fn a_reply_whose_rest_cannot_be_read_ends_the_connection() {
    let bad = |world: &World| world.volume.0.bad.set(Some(cygnus_types::Lba(1000)));
    let world = poor_world();
    world.volume.fill(1);
    world.run(async {
        bad(&world);
        let mut client = world.client().await;
        // It is not begun if the first piece cannot be read, and chunks can say that they end.
        assert_eq!(error(client.ask(Command::Read, CMD_FLAG_DF, 1000 * 4096, 2 << 20).await), Errno::Io);
        assert_eq!(error(client.read(0, 8 << 20).await), Errno::Io);
        client.start(Command::Read, CMD_FLAG_DF, 0, 8 << 20, &[]).await;
        assert_eq!(client.next().await, None);
        world.rt.sleep(Nanos::millis(1)).await;
        assert!(matches!(&world.ends()[..], [EndReason::BrokenReply(_)]), "{:?}", world.ends());
        assert_eq!(world.held(), 0);
    });
    // With memory for the whole of it there is an answer.
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.fill(1);
    world.run(async {
        bad(&world);
        let mut client = world.client().await;
        assert_eq!(error(client.ask(Command::Read, CMD_FLAG_DF, 0, 8 << 20).await), Errno::Io);
    });
}

/// How many turns of the loop a request takes.
async fn turns(world: &World, client: &mut Client) -> u64 {
    let begun = world.rt.turn();
    assert_eq!(client.write(0, &[1; 4096], 0).await, Answer::Done);
    world.rt.turn() - begun
}

#[test]
fn asking_for_the_state_of_everything_keeps_nobody_waiting() {
    let world = World::with(usize::MAX, 64 * MIB, ServerConfig::default());
    world.run(async {
        let mut other = world.client().await;
        // Every other block is mapped: the most there can be to tell.
        for block in (0..64 * MIB / BLOCK).step_by(2) {
            other.write((block * BLOCK) as u64, &[7], 0).await;
        }
        let alone = turns(&world, &mut other).await;
        let mut strangers = Vec::new();
        for _ in 0..8 {
            let stranger = world.client_of(STRANGER).await;
            let many = header(Command::BlockStatus, 0, 64 << 20).repeat(2000);
            let (rt, sock) = (world.rt.clone(), stranger.sock);
            world.rt.spawn(async move {
                // It ends when the session does.
                let _ = client::send(&rt, sock, &many).await;
            });
            strangers.push(stranger);
        }
        let mut worst = 0;
        for _ in 0..200 {
            worst = worst.max(turns(&world, &mut other).await);
        }
        assert!(worst <= alone + 3, "{worst} turns instead of {alone}");
        // Each holds his window at most.
        world.rt.sleep(Nanos::secs(1)).await;
        assert!(world.held() <= 9 * (17 << 20), "{}", world.held());
        // The answers are right, and go on where the last one ended.
        let Answer::Status(extents) = other.ask(Command::BlockStatus, 0, 0, 64 << 20).await else { panic!() };
        assert_eq!(extents.len(), 2040);
        let expected = |n: usize| Extent { length: BLOCK as u32, hole: n % 2 == 1 };
        assert!(extents.iter().enumerate().all(|(n, extent)| *extent == expected(n)));
    });
}

#[test]
fn beside_a_modest_client_long_reads_are_done_in_small_steps() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.fill(1);
    world.run(async {
        let (mut modest, mut busy) = (world.client().await, world.client_of(STRANGER).await);
        // To connect is work like a busy client's.
        world.rt.sleep(Nanos::secs(1)).await;
        let longest = async |busy: &mut Client| {
            world.volume.0.longest_read.set(0);
            for _ in 0..4 {
                busy.start(Command::Read, 0, 0, 1 << 20, &[]).await;
            }
            for _ in 0..4 {
                assert!(matches!(busy.next().await, Some((_, Answer::Data(data))) if data == vec![1; 1 << 20]));
            }
            world.volume.0.longest_read.get()
        };
        assert_eq!(longest(&mut busy).await, 1 << 20, "nobody else is there");
        assert_eq!(modest.write(0, &[1; 4096], 0).await, Answer::Done);
        assert_eq!(longest(&mut busy).await, 32 << 10);
        world.rt.sleep(Nanos::secs(1)).await;
        assert_eq!(longest(&mut busy).await, 1 << 20, "the other one asks nothing any more");
    });
}

#[test]
fn all_that_wait_for_a_flush_share_it() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.0.flushes_wait.set(true);
    world.run(async {
        let mut client = world.client().await;
        for n in 0..500 {
            client.start(Command::Write, CMD_FLAG_FUA, n * 4096, 4096, &[1; 4096]).await;
        }
        world.rt.sleep(Nanos::secs(1)).await;
        world.volume.open_gate();
        for _ in 0..500 {
            assert_eq!(client.next().await.unwrap().1, Answer::Done);
        }
        assert_eq!(world.volume.0.flushes.get(), 2, "one for the first, one for all that came meanwhile");
    });
}

/// A volume of 64 TiB is not looked through, whoever asks.
#[test]
fn long_discards_are_done_in_turns() {
    let world = World::with(usize::MAX, 256 * MIB, ServerConfig::default());
    world.run(async {
        let (mut other, mut long) = (world.client().await, world.client_of(STRANGER).await);
        world.volume.fill(3);
        for _ in 0..20 {
            long.start(Command::Trim, 0, 1, 255 << 20, &[]).await;
            long.start(Command::WriteZeroes, 0, 0, 2 << 20, &[]).await;
        }
        assert_eq!(other.write(200 << 20, &[9; 4096], 0).await, Answer::Done);
        for _ in 0..40 {
            assert_eq!(long.next().await.unwrap().1, Answer::Done);
        }
        let contents = world.volume.contents();
        assert_eq!(contents[0..4097], [0; 4097]);
        assert_eq!(contents[(255 << 20) + 1], 3);
    });
}

/// What a client has asked and nobody waits for any more is not begun.
#[test]
fn what_was_queued_goes_with_its_client() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    let ram = &world.volume.0;
    ram.slow.set(true);
    ram.writes_wait.set(true);
    world.run(async {
        let mut client = world.client_of(STRANGER).await;
        for n in 0..1000 {
            client.start(Command::Write, 0, n * 4096, 4096, &[1; 4096]).await;
        }
        world.rt.close(client.sock).await.unwrap();
        while world.server.stats().connections > 0 {
            world.rt.sleep(Nanos::secs(1)).await;
        }
        let begun = ram.slow_writes.get();
        assert!((1..1000).contains(&begun), "some wait for the volume, the others for those: {begun}");
        world.volume.open_gate();
        world.rt.sleep(Nanos::secs(1)).await;
        assert_eq!((ram.slow_writes.get(), world.held()), (begun, 0));
    });
}

#[test]
fn requests_that_never_come_to_an_end_are_not_waited_for() {
    let world = World::new();
    world.run(async {
        let (drip, rest) = (world.client_of(STRANGER).await, world.client().await);
        let (rt, sock) = (world.rt.clone(), drip.sock);
        world.rt.spawn(async move {
            for byte in header(Command::Write, 0, 4096) {
                rt.sleep(Nanos::secs(20)).await;
                if client::send(&rt, sock, &[byte]).await.is_err() {
                    return;
                }
            }
        });
        closed(&world.rt, drip.sock).await;
        assert_eq!(world.ends(), [EndReason::Unfinished]);
        assert!(world.rt.now() < Nanos::secs(90));
        // One that asks nothing may do so for ever.
        world.rt.sleep(Nanos::secs(1000)).await;
        assert!(rest.disconnect().await);
    });
}

#[test]
fn the_idle_go_if_the_operator_wants_it() {
    let config = ServerConfig { idle_after: Some(Nanos::secs(100)), ..ServerConfig::default() };
    let world = World::with(usize::MAX, MIB, config);
    world.run(async {
        let (mut idle, mut busy) = (world.client().await, world.client().await);
        for _ in 0..10 {
            world.rt.sleep(Nanos::secs(30)).await;
            assert_eq!(busy.write(0, b"x", 0).await, Answer::Done);
        }
        assert_eq!(idle.next().await, None);
        assert_eq!(world.ends(), [EndReason::Idle(Nanos::secs(100))]);
        // Who waits for us is not idle.
        world.volume.0.shut.set(true);
        let asked = busy.start(Command::Read, 0, 0, 4096, &[]).await;
        world.rt.sleep(Nanos::secs(300)).await;
        world.volume.open_gate();
        assert_eq!(busy.next().await.unwrap().0, asked);
    });
}

#[test]
fn one_peer_takes_half_of_the_places() {
    let world = World::with(usize::MAX, MIB, ServerConfig { door: Door::new(8), ..ServerConfig::default() });
    world.run(async {
        let mut strangers = Vec::new();
        for _ in 0..4 {
            strangers.push(world.client_of(STRANGER).await);
        }
        for _ in 0..1000 {
            closed(&world.rt, world.network.connect_as(STRANGER)).await;
        }
        let mut other = world.client().await;
        assert_eq!(other.read(0, 1).await, Answer::Data(vec![0]));
        assert_eq!(world.server.stats().refused, 1000);
        assert_eq!(world.server.stats().connections, 5);
        // Once there was a line, then a count.
        world.rt.sleep(Nanos::secs(30)).await;
        let refused = "nbd connection of user 666 refused: it has 4 connections, and others need places too \
                       (--max-connections)";
        assert_eq!(world.events(), [refused, "nbd, user 666: connections refused: 999 times more"]);
        // A place that is free again is had again.
        assert!(strangers.pop().unwrap().disconnect().await);
        world.client_of(STRANGER).await;
    });
}

#[test]
fn whoever_does_not_say_what_he_wants_makes_room_for_those_who_do() {
    let world = World::with(usize::MAX, MIB, ServerConfig { door: Door::new(8), ..ServerConfig::default() });
    world.run(async {
        let silent: Vec<_> = (0..4).map(|_| world.network.connect_as(STRANGER)).collect();
        world.rt.sleep(Nanos::secs(2)).await;
        let mut client = world.client_of(STRANGER).await;
        assert_eq!(client.read(0, 1).await, Answer::Data(vec![0]));
        closed(&world.rt, silent[0]).await;
        assert_eq!(world.ends(), [EndReason::MadeRoom], "the oldest one");
        assert_eq!(world.server.stats().connections, 4);
    });
}

#[test]
fn a_host_has_one_part_by_whatever_address_it_comes() {
    let address = |text: &str| Peer::Address(text.parse::<IpAddr>().unwrap()).household();
    assert_eq!(address("2001:db8:0:1::1"), address("2001:db8:0:1:ffff::9"));
    assert_ne!(address("2001:db8:0:1::1"), address("2001:db8:0:2::1"));
    assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
    assert_ne!(address("10.0.0.1"), address("10.0.0.2"));
}

/// A process that was stopped, or a reactor that was held up, has no client to blame.
#[test]
fn our_own_absence_is_not_held_against_clients() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.fill(1);
    world.run(async {
        let mut client = world.client().await;
        for _ in 0..10 {
            client.start(Command::Read, CMD_FLAG_DF, 0, 1 << 20, &[]).await;
        }
        world.rt.sleep(Nanos::secs(30)).await;
        world.network.skip(Nanos::secs(300));
        world.rt.sleep(Nanos::secs(10)).await;
        assert_eq!(world.ends(), []);
        for _ in 0..10 {
            assert!(matches!(client.next().await, Some((_, Answer::Data(_)))));
        }
    });
}
