//! Whole sessions over a network of byte queues.

mod common;

use common::client::{self, Answer, Client};
use common::ram::RamVolume;
use common::world::{MIB, World, closed, error};
use cygnus_nbd::wire::*;
use cygnus_nbd::{Command, Errno, Extent, Malformed};
use cygnus_runtime::Peer;
use cygnus_target::*;
use cygnus_types::{Acknowledged, Lba, Nanos};
use proptest::prelude::*;

#[test]
fn every_command() {
    for structured in [false, true] {
        let world = World::new();
        world.run(async {
            let mut client = Client::go(&world.rt, world.network.connect(), "", structured).await;
            assert_eq!(client.agreed.session.export.size, MIB as u64);
            let data: Vec<u8> = (0..8192u32).map(|n| ((n * 31) >> 3) as u8).collect();
            assert_eq!(client.write(1000, &data, 0).await, Answer::Done);
            assert_eq!(client.read(1000, 8192).await, Answer::Data(data.clone()));
            assert_eq!(client.read(999, 2).await, Answer::Data(vec![0, data[0]]));
            assert_eq!(client.ask(Command::Flush, 0, 0, 0).await, Answer::Done);
            assert_eq!(client.ask(Command::Cache, 0, 0, MIB as u32).await, Answer::Done);
            assert_eq!(client.ask(Command::Trim, 0, 4096, 4096).await, Answer::Done);
            assert_eq!(client.read(4096, 4096).await, Answer::Data(vec![0; 4096]));
            assert_eq!(client.ask(Command::WriteZeroes, 0, 1000, 24).await, Answer::Done);
            assert_eq!(client.read(1000, 25).await, Answer::Data([&[0; 24], &data[24..25]].concat()));
            assert_eq!(client.ask(Command::WriteZeroes, CMD_FLAG_NO_HOLE, 65536, 4096).await, Answer::Done);

            let hole = client.read(131_072, 65536).await;
            assert_eq!(hole, if structured { Answer::Hole(65536) } else { Answer::Data(vec![0; 65536]) });
            let status = client.ask(Command::BlockStatus, 0, 0, 73_728).await;
            if structured {
                let runs = [(4096, false), (4096, true), (4096, false), (53248, true), (4096, false), (4096, true)];
                let extents = runs.map(|(length, hole)| Extent { length, hole });
                assert_eq!(status, Answer::Status(extents.into()));
                let one = client.ask(Command::BlockStatus, CMD_FLAG_REQ_ONE, 5000, 20_000).await;
                assert_eq!(one, Answer::Status(vec![Extent { length: 3192, hole: true }]));
            } else {
                assert_eq!(error(status), Errno::Inval);
            }
            assert!(client.disconnect().await);
            assert_eq!(world.ends(), [EndReason::Goodbye]);
        });
    }
}

#[test]
fn refused_requests_keep_the_connection() {
    let world = World::new();
    world.run(async {
        let mut client = world.client().await;
        let end = MIB as u64;
        for (command, flags, offset, length, errno) in [
            (Command::Read, 0, end - 1, 2, Errno::Inval),
            (Command::Read, 0, 0, MAX_PAYLOAD + 1, Errno::Inval),
            (Command::Trim, 0, end, 1, Errno::Inval),
            (Command::WriteZeroes, 0, end, 1, Errno::NoSpc),
            (Command::WriteZeroes, CMD_FLAG_FAST_ZERO | CMD_FLAG_NO_HOLE, 0, 4096, Errno::NotSup),
            (Command::Flush, 0, 1, 0, Errno::Inval),
            (Command::Unknown(55), 0, 0, 1, Errno::Inval),
        ] {
            assert_eq!(error(client.ask(command, flags, offset, length).await), errno, "{command:?}");
        }
        assert_eq!(error(client.write(end - 4, b"beyond", 0).await), Errno::NoSpc);
        assert_eq!(client.ask(Command::WriteZeroes, CMD_FLAG_FAST_ZERO, 0, 4096).await, Answer::Done);
        world.volume.0.full.set(true);
        assert_eq!(error(client.write(0, b"full", 0).await), Errno::NoSpc);
        world.volume.0.bad.set(Some(Lba(3)));
        let Answer::Error(errno, message, offset) = client.read(4096, 16384).await else { panic!() };
        assert_eq!((errno, offset), (Errno::Io, Some(3 * 4096)));
        assert!(message.contains("block 3"), "{message}");
        // The block begins before the read does: the offset told lies within the request.
        let Answer::Error(_, _, offset) = client.read(3 * 4096 + 7, 10).await else { panic!() };
        assert_eq!(offset, Some(3 * 4096 + 7));
        assert_eq!(world.server.stats().of(OpClass::Read).errors, 4);
        // A volume that shrinks while a request waits for a worker.
        let status = client.start(Command::BlockStatus, 0, end - 8192, 4096, &[]).await;
        world.volume.shrink_at_next_look(MIB - 8192);
        assert_eq!(client.next().await.map(|(cookie, answer)| (cookie, error(answer))), Some((status, Errno::Inval)));
        // One that shrinks while requests are on their way to it: they are refused, and the connection goes on.
        world.volume.0.full.set(false);
        world.volume.0.slow.set(true);
        world.volume.0.shut.set(true);
        world.volume.0.writes_wait.set(true);
        let read = client.start(Command::Read, 0, 65536, 4096, &[]).await;
        let write = client.start(Command::Write, 0, 65536, 4096, &[7; 4096]).await;
        world.rt.sleep(Nanos::millis(1)).await;
        world.volume.resize(65536);
        world.volume.open_gate();
        let mut refused =
            [client.next().await.unwrap(), client.next().await.unwrap()].map(|(of, why)| (of, error(why)));
        refused.sort_by_key(|&(of, _)| of);
        assert_eq!(refused, [(read, Errno::Inval), (write, Errno::Inval)]);
        world.volume.0.slow.set(false);
        world.volume.0.bad.set(None);
        assert!(matches!(client.read(0, 4096).await, Answer::Data(_)), "the rest is answered");
        world.volume.resize(MIB);
        // A resize counts from the next request on.
        world.volume.resize(2 * MIB);
        assert_eq!(client.write(end, b"more", 0).await, Answer::Done);
    });
}

#[test]
fn flush_and_fua_reach_the_volume() {
    for slow in [false, true] {
        let world = World::new();
        world.run(async {
            let mut client = world.client().await;
            world.volume.0.slow.set(slow);
            let flushes = || world.volume.0.flushes.get();
            assert_eq!(client.write(0, b"a", 0).await, Answer::Done);
            assert_eq!(flushes(), 0);
            assert_eq!(client.write(0, b"b", CMD_FLAG_FUA).await, Answer::Done);
            assert_eq!(flushes(), 1);
            assert_eq!(client.ask(Command::Trim, CMD_FLAG_FUA, 0, 4096).await, Answer::Done);
            assert_eq!(client.ask(Command::WriteZeroes, CMD_FLAG_FUA, 0, 4096).await, Answer::Done);
            assert_eq!(flushes(), 3);
            assert_eq!(client.ask(Command::Flush, 0, 0, 0).await, Answer::Done);
            assert_eq!(flushes(), 4);
            assert_eq!(world.volume.0.slow_writes.get(), if slow { 2 } else { 0 });
        });
    }
}

#[test]
fn answers_wait_for_their_volume_and_share_what_they_wait_for() {
    for (slow, level) in [(false, Acknowledged::Written), (true, Acknowledged::Written), (false, Acknowledged::Durable)]
    {
        let world = World::new();
        world.run(async {
            let volume = &world.volume.0;
            volume.level.set(level);
            volume.slow.set(slow);
            volume.flushes_wait.set(true);
            let mut client = world.client().await;
            let flags = client.agreed.session.export.flags;
            assert_eq!(
                flags & EXPORT_SEND_FLUSH != 0,
                level != Acknowledged::Durable,
                "what needs no flush offers none"
            );
            for n in 0..100 {
                client.start(Command::Write, 0, n * 4096, 4096, &[7; 4096]).await;
            }
            client.start(Command::Trim, 0, 0, 4096, &[]).await;
            // A read is answered before them all.
            let read = client.start(Command::Read, 0, 50 * 4096, 1, &[]).await;
            assert!(matches!(client.next().await, Some((first, Answer::Data(_))) if first == read));
            world.rt.sleep(Nanos::secs(1)).await;
            world.volume.open_gate();
            for _ in 0..101 {
                assert_eq!(client.next().await.expect("an answer").1, Answer::Done);
            }
            assert_eq!(volume.waits.get(), 5, "one for each of the first four, one for all that came meanwhile");
            assert_eq!(volume.flushes.get(), 0);
            let done = client.write(0, b"b", CMD_FLAG_FUA).await;
            let flushes = if level == Acknowledged::Durable { 0 } else { 1 };
            assert_eq!((done, volume.flushes.get()), (Answer::Done, flushes), "what is durable needs no flush");
        });
    }
}

#[test]
fn writes_that_wait_hold_up_no_read() {
    let world = World::new();
    world.run(async {
        let mut client = world.client().await;
        world.volume.0.slow.set(true);
        world.volume.0.writes_wait.set(true);
        for n in 0..200 {
            client.start(Command::Write, 0, n * 4096, 4096, &[7; 4096]).await;
        }
        assert_eq!(client.read(0, 4096).await, Answer::Data(vec![0; 4096]));
        world.volume.open_gate();
        for _ in 0..200 {
            assert_eq!(client.next().await.unwrap().1, Answer::Done);
        }
        assert_eq!(client.read(0, 4096).await, Answer::Data(vec![7; 4096]));
    });
}

#[test]
fn the_largest_requests() {
    let world = World::with(usize::MAX, 64 * MIB, ServerConfig::default());
    world.run(async {
        let mut client = world.client().await;
        let data: Vec<u8> = (0..MAX_PAYLOAD).map(|n| (n >> 9 ^ n) as u8).collect();
        for slow in [false, true] {
            world.volume.0.slow.set(slow);
            let offset = if slow { 5 } else { 32 << 20 };
            assert_eq!(client.write(offset, &data, 0).await, Answer::Done);
            assert!(client.read(offset, MAX_PAYLOAD).await == Answer::Data(data.clone()));
        }
        assert_eq!(client.ask(Command::Trim, 0, 0, 64 << 20).await, Answer::Done);
        assert_eq!(client.write(1, b"small again", 0).await, Answer::Done);
    });
}

#[test]
fn malformed_input_closes_one_connection_only() {
    let world = World::new();
    world.run(async {
        let mut bystander = world.client().await;
        let noise = world.network.connect_as(Peer::Unknown);
        client::send(&world.rt, noise, b"GET / HTTP/1.1\r\n").await.unwrap();
        closed(&world.rt, noise).await;
        let mut confused = world.client().await;
        // Three good requests, then a stream out of step: the good ones are answered.
        for n in 0..3 {
            confused.start(Command::Read, 0, n * 4096, 4096, &[]).await;
        }
        client::send(&world.rt, confused.sock, &[0xaa; 64]).await.unwrap();
        for _ in 0..3 {
            assert_eq!(confused.next().await.unwrap().1, Answer::Data(vec![0; 4096]));
        }
        assert_eq!(confused.next().await, None);
        assert_eq!(bystander.write(0, b"unharmed", 0).await, Answer::Done);
        let expected = [Malformed::ClientFlags(0x4745_5420), Malformed::RequestMagic(0xaaaa_aaaa)];
        assert_eq!(world.ends(), expected.map(EndReason::Malformed));
        assert_eq!((world.server.stats().malformed, world.server.stats().connections), (2, 1));
    });
}

#[test]
fn a_peer_that_does_not_read_harms_nobody() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.fill(1);
    world.run(async {
        let mut stuck = world.client().await;
        let flood = world.rt.clone();
        // 2000 reads of 64 KiB are asked for and none is taken: most must not even be begun.
        world.rt.spawn(async move {
            for n in 0..2000 {
                stuck.start(Command::Read, CMD_FLAG_DF, n % 8 * 65536, 65536, &[]).await;
            }
            flood.sleep(Nanos::secs(1000)).await;
        });
        let mut other = world.client().await;
        for n in 0..100 {
            let data = [n as u8; 4096];
            assert_eq!(other.write(n * 4096, &data, 0).await, Answer::Done);
            assert_eq!(other.read(n * 4096, 4096).await, Answer::Data(data.into()));
            world.rt.sleep(Nanos::millis(1)).await;
        }
        let reads = world.server.sessions()[0].ops[OpClass::Read as usize];
        assert!(reads * 65536 <= 17 << 20, "{reads} reads of 64 KiB are held for a peer that takes none");
        assert!(reads >= 200, "only {reads} reads");
    });
}

#[test]
fn slow_negotiators_are_cut_off() {
    let world = World::new();
    world.run(async {
        let idle = world.network.connect();
        let mut settled = world.client().await;
        let half = world.network.connect_as(Peer::Unknown);
        client::send(&world.rt, half, b"\0\0\0\x03IHAVE").await.unwrap();
        closed(&world.rt, idle).await;
        closed(&world.rt, half).await;
        assert_eq!(world.ends(), [EndReason::TooSlow, EndReason::TooSlow]);
        assert_eq!(world.rt.now(), ServerConfig::default().handshake_time);
        // A settled client may be idle for ever.
        world.rt.sleep(Nanos::secs(1000)).await;
        assert_eq!(settled.write(0, b"x", 0).await, Answer::Done);
    });
}

#[test]
fn shutdown_answers_what_was_received() {
    let world = World::new();
    world.run(async {
        let (mut busy, mut idle) = (world.client().await, world.client().await);
        let negotiating = world.network.connect();
        world.volume.0.shut.set(true);
        for n in 0..5 {
            busy.start(Command::Read, 0, n * 4096, 4096, &[]).await;
        }
        world.rt.sleep(Nanos::millis(1)).await;
        let (server, volume, rt) = (world.server.clone(), world.volume.clone(), world.rt.clone());
        world.rt.spawn(async move {
            rt.sleep(Nanos::secs(2)).await;
            volume.open_gate();
        });
        let begun = world.rt.now();
        server.shutdown().await;
        assert_eq!(world.rt.now().since(begun), Nanos::secs(2), "it waited for the reads, and no longer");
        for _ in 0..5 {
            assert_eq!(busy.next().await.unwrap().1, Answer::Data(vec![0; 4096]));
        }
        assert_eq!((busy.next().await, idle.next().await), (None, None));
        closed(&world.rt, negotiating).await;
        assert_eq!(world.ends(), [EndReason::Stopped, EndReason::Stopped, EndReason::Stopped]);
    });
}

#[test]
fn shutdown_does_not_wait_for_ever() {
    let world = World::new();
    world.run(async {
        let mut client = world.client().await;
        world.volume.0.shut.set(true);
        client.start(Command::Read, 0, 0, 4096, &[]).await;
        world.rt.sleep(Nanos::millis(1)).await;
        let begun = world.rt.now();
        world.server.shutdown().await;
        assert_eq!(world.rt.now().since(begun), ServerConfig::default().grace);
        assert_eq!(client.next().await, None);
        // The read that comes back late finds nobody, and no harm is done.
        world.volume.open_gate();
        world.rt.sleep(Nanos::millis(1)).await;
    });
}

#[test]
fn shutdown_does_not_wait_for_peers_that_do_not_read() {
    let world = World::with(usize::MAX, 8 * MIB, ServerConfig::default());
    world.volume.fill(1);
    world.shelf.0.borrow_mut().push(("x".repeat(4000), world.volume.clone()));
    world.run(async {
        let mut stuck = world.client().await;
        let rt = world.rt.clone();
        rt.clone().spawn(async move {
            for _ in 0..2000 {
                stuck.start(Command::Read, CMD_FLAG_DF, 0, 65536, &[]).await;
            }
            rt.sleep(Nanos::secs(1000)).await;
        });
        // The other is stuck in the negotiation: it never takes the listings it asks for.
        let lister = world.network.connect();
        let list = [&OPTION_MAGIC.to_be_bytes()[..], &OPT_LIST.to_be_bytes(), &[0; 4]].concat();
        client::send(&world.rt, lister, &[&[0, 0, 0, 3], &list.repeat(100)[..]].concat()).await.unwrap();
        world.rt.sleep(Nanos::secs(1)).await;
        let begun = world.rt.now();
        world.server.shutdown().await;
        assert_eq!(world.rt.now().since(begun), ServerConfig::default().grace);
        assert_eq!(world.ends(), [EndReason::Stopped, EndReason::Stopped]);
    });
}

#[test]
fn a_deleted_volume_ends_its_sessions() {
    let world = World::new();
    let other = RamVolume::new(MIB);
    world.shelf.0.borrow_mut().push(("vol1".into(), other));
    world.run(async {
        let mut victim = world.client().await;
        let mut bystander = Client::go(&world.rt, world.network.connect(), "vol1", true).await;
        world.shelf.0.borrow_mut().remove(0);
        world.volume.0.gone.set(true);
        assert_eq!(error(victim.read(0, 4096).await), Errno::Shutdown);
        assert_eq!(victim.next().await, None);
        assert_eq!(bystander.read(0, 1).await, Answer::Data(vec![0]));
        assert_eq!(world.ends(), [EndReason::VolumeGone]);
    });
}

#[test]
fn goodbye_waits_for_outstanding_requests() {
    let world = World::new();
    world.run(async {
        let mut client = world.client().await;
        world.volume.0.shut.set(true);
        client.start(Command::Read, 0, 0, 4096, &[]).await;
        client.start(Command::Disconnect, 0, 0, 0, &[]).await;
        world.rt.sleep(Nanos::millis(5)).await;
        world.volume.open_gate();
        assert_eq!(client.next().await.unwrap().1, Answer::Data(vec![0; 4096]));
        assert_eq!(client.next().await, None);
    });
}

#[test]
fn a_vanished_client_leaves_nothing_behind() {
    let world = World::new();
    world.run(async {
        for _ in 0..3 {
            let mut client = world.client().await;
            for n in 0..100 {
                client.start(Command::Read, 0, n * 4096, 4096, &[]).await;
            }
            world.rt.close(client.sock).await.unwrap();
        }
        world.rt.sleep(Nanos::secs(11)).await;
        assert_eq!(world.server.stats().connections, 0);
        // The one that looks after sessions finds that there are none.
        world.rt.sleep(Nanos::secs(1)).await;
        assert_eq!(world.rt.tasks(), 1, "only the accept loop is left");
        assert_eq!(world.config.memory.usage().used, 0);
    });
}

#[test]
fn counters() {
    let world = World::new();
    world.run(async {
        let mut client = world.client().await;
        client.write(0, &[1; 5000], 0).await;
        client.read(0, 5000).await;
        client.read(0, 1000).await;
        client.ask(Command::Flush, 0, 0, 0).await;
        let stats = world.server.stats();
        let counted = |class| (stats.of(class).ops, stats.of(class).bytes, stats.of(class).latency.count());
        assert_eq!(counted(OpClass::Read), (2, 6000, 2));
        assert_eq!(counted(OpClass::Write), (1, 5000, 1));
        assert_eq!(counted(OpClass::Flush).0, 1);
        let session = &world.server.sessions()[0];
        assert_eq!((session.read_bytes, session.written_bytes, session.id), (6000, 5000, 1));
        assert_eq!((session.export.as_deref(), session.listener.as_str()), (Some("vol0"), "loopback"));
    });
}

#[derive(Clone, Debug)]
enum Step {
    Write { offset: u64, data: Vec<u8>, fua: bool },
    Zero { offset: u64, len: u32 },
    Slow(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let offset = 0..(MIB as u64 - 70_000);
    let data = prop_oneof![prop::collection::vec(any::<u8>(), 1..300), (1usize..70_000).prop_map(|n| vec![n as u8; n])];
    prop_oneof![
        6 => (offset.clone(), data, any::<bool>()).prop_map(|(offset, data, fua)| Step::Write { offset, data, fua }),
        1 => (offset, 1u32..60_000).prop_map(|(offset, len)| Step::Zero { offset, len }),
        1 => any::<bool>().prop_map(Step::Slow),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever pieces the network makes of the stream, the volume ends up as the client meant, and reads say so.
    #[test]
    fn pipelined_requests_in_any_pieces(steps in prop::collection::vec(step(), 1..40), piece in 1usize..100_000) {
        let world = World::with(piece.max(16), MIB, ServerConfig::default());
        world.run(async {
            let mut client = world.client().await;
            let mut model = vec![0; MIB];
            for step in steps {
                match step {
                    Step::Slow(slow) => {
                        world.volume.0.slow.set(slow);
                        continue;
                    }
                    Step::Write { offset, data, fua } => {
                        model[offset as usize..][..data.len()].copy_from_slice(&data);
                        let flags = if fua { CMD_FLAG_FUA } else { 0 };
                        let cookie = client.start(Command::Write, flags, offset, data.len() as u32, &data).await;
                        let read = client.start(Command::Cache, 0, offset, 1, &[]).await;
                        let mut answers = [client.next().await.unwrap(), client.next().await.unwrap()];
                        answers.sort_by_key(|answer| answer.0);
                        assert_eq!(answers, [(cookie, Answer::Done), (read, Answer::Done)]);
                    }
                    Step::Zero { offset, len } => {
                        model[offset as usize..][..len as usize].fill(0);
                        assert_eq!(client.ask(Command::WriteZeroes, 0, offset, len).await, Answer::Done);
                    }
                }
            }
            assert!(world.volume.contents() == model);
            let reads: Vec<_> = (0..32).map(|n| (n * 32_768, 10_000 + n as u32 * 700)).collect();
            let mut cookies = Vec::new();
            for (offset, len) in &reads {
                cookies.push(client.start(Command::Read, 0, *offset, *len, &[]).await);
            }
            for _ in &reads {
                let (cookie, answer) = client.next().await.unwrap();
                let (offset, len) = reads[cookies.iter().position(|have| *have == cookie).unwrap()];
                assert!(answer == Answer::Data(model[offset as usize..][..len as usize].to_vec()));
            }
            assert!(client.disconnect().await);
        });
    }
}
