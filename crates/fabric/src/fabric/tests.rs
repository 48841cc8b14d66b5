use proptest::prelude::*;

use super::*;
use crate::pcie::ENVELOPE;

/// A module that works on one command after the other.
struct Modules {
    free: Vec<Nanos>,
    due: Vec<(Nanos, Passage)>,
    takes: Nanos,
}

/// Answers of a run: what was asked for, when the answer came, how long it took, and what it waited for.
type Answers = Vec<(u64, Nanos, Nanos, Stalls)>;

/// Submits each request at its time and plays until nothing is left.
fn play(fabric: &mut Fabric, requests: &[(Nanos, Request)], takes: Nanos) -> Answers {
    let mut modules = Modules { free: vec![Nanos::ZERO; fabric.topology().modules() as usize], due: Vec::new(), takes };
    let (mut happened, mut answers, mut coming) = (Vec::new(), Vec::new(), requests.iter().peekable());
    let by_id: std::collections::BTreeMap<u64, Request> = requests.iter().map(|(_, r)| (r.id, *r)).collect();
    loop {
        let due = modules.due.iter().map(|(at, _)| *at).min();
        let next = [fabric.next_event(), due, coming.peek().map(|(at, _)| *at)].into_iter().flatten().min();
        let Some(now) = next else { return answers };
        fabric.advance(now, &mut happened);
        for what in happened.drain(..) {
            match what {
                Happened::Arrived { id, passage } => {
                    let free = &mut modules.free[by_id[&id].module as usize];
                    *free = (*free).max(now) + modules.takes;
                    modules.due.push((*free, passage));
                }
                Happened::Answered { id, submitted, stalls } => answers.push((id, now, now - submitted, stalls)),
            }
        }
        while let Some(n) = modules.due.iter().position(|(at, _)| *at <= now) {
            let (_, passage) = modules.due.remove(n);
            fabric.ready(now, passage, modules.takes);
        }
        while let Some((_, request)) = coming.next_if(|(at, _)| *at <= now) {
            fabric.submit(now, *request);
        }
    }
}

fn network(shorthand: &str) -> Topology {
    Topology::from_shorthand(shorthand).unwrap()
}

fn read(id: u64, module: u32) -> Request {
    Request { id, module, down: 0, up: 4096 }
}

fn write(id: u64, module: u32, bytes: u32) -> Request {
    Request { id, module, down: bytes, up: 0 }
}

/// What a read of 4 KiB takes in an idle network, the module aside, by the topology's numbers.
fn base(topology: &Topology) -> Nanos {
    let (wide, narrow) = (topology.links[0].wires, topology.links[1].wires);
    let cluster = &topology.clusters[0];
    let sent = |bytes: u32, rate: u64| Nanos((u64::from(bytes + ENVELOPE) * 1_000_000_000).div_ceil(rate));
    let links = |bytes| sent(bytes, wide.rate()) + sent(bytes, narrow.rate()) + wide.latency + narrow.latency;
    // Root complex, switch and endpoint, each there and back; the command, the inquiry, and 4 KiB over the bus.
    let nodes = (topology.root.latency + Nanos(150) + cluster.latency) * 2;
    links(0) + links(4096) + nodes + cluster.bus_command * 2 + Nanos(5120)
}

#[test]
fn a_lonely_read_takes_what_the_parts_take() {
    let topology = network("1x2");
    let expected = base(&topology) + Nanos::micros(75);
    let answers = play(&mut Fabric::new(topology), &[(Nanos(10), read(1, 0))], Nanos::micros(75));
    let [(1, _, latency, stalls)] = answers[..] else { panic!("{answers:?}") };
    assert_eq!((latency, stalls), (expected, Stalls::default()));
}

#[test]
fn the_bus_bounds_a_cluster_and_is_what_its_requests_wait_for() {
    let topology = network("1x2");
    let requests: Vec<_> = (0..400).map(|id| (Nanos::ZERO, read(id, (id % 4) as u32))).collect();
    let mut fabric = Fabric::new(topology);
    // Modules that take no time.
    let answers = play(&mut fabric, &requests, Nanos(1));
    let (end, total) = (answers.iter().map(|a| a.1).max().unwrap(), fabric.counters()[0]);
    let bus = (Nanos(5120) + Nanos(350)) * 400;
    assert_eq!((total.bus, total.requests, total.up), (bus, 400, 400 * 4096));
    assert!(end > bus && end < bus + Nanos::micros(10), "{end:?} for {bus:?} of the bus");
    assert!(total.stalls.link > total.stalls.storage * 50, "{total:?}");
    assert_eq!(fabric.counters()[1], ClusterCounters::default());
}

#[test]
fn slow_modules_are_what_requests_wait_for_however_far_away_they_wait() {
    // More than module, endpoint and switch have room for: some wait at the root complex, and its queue is full.
    let requests: Vec<_> = (0..1000).map(|id| (Nanos::ZERO, read(id, 0))).collect();
    let mut fabric = Fabric::new(network("1x2").with_queue(100));
    play(&mut fabric, &requests, Nanos::micros(75));
    let Stalls { root, switch, endpoint, module, link, storage } = fabric.counters()[0].stalls;
    assert!(storage > link * 20, "{storage:?} {link:?}");
    assert!([root, switch, endpoint, module].iter().all(|wait| *wait > Nanos::millis(1)), "{root:?} {switch:?}");
}

#[test]
fn an_endpoint_that_is_full_holds_up_its_neighbours_in_the_switch() {
    let mut requests: Vec<_> = (0..200).map(|id| (Nanos(id), read(id, 0))).collect();
    // They come when the first cluster is full.
    requests.extend((200..210).map(|id| (Nanos::micros(300), read(id, 4))));
    let held_up = |queue| {
        let mut fabric = Fabric::new(network("1x2").with_queue(queue));
        play(&mut fabric, &requests, Nanos::micros(75));
        fabric.counters()[1]
    };
    let stalls = held_up(1000).stalls;
    assert!(stalls.root > Nanos::millis(1) && stalls.storage > stalls.link, "{stalls:?}");
    // As many as fit into module, endpoint and switch hold up nobody else; the network is too narrow only if it is full.
    let stalls = held_up(16).stalls;
    assert!(stalls.switch < Nanos::micros(10), "{stalls:?}");
}

#[test]
fn no_more_packets_are_under_way_than_there_is_room_for() {
    let topology = network("1x1");
    let mut fabric = Fabric::new(topology.clone());
    for id in 0..300 {
        fabric.submit(Nanos::ZERO, read(id, 0));
    }
    let mut happened = Vec::new();
    // The module answers nothing.
    fabric.advance(Nanos::secs(1), &mut happened);
    let cluster = &topology.clusters[0];
    assert_eq!(happened.len(), cluster.commands as usize);
    let waits = |way: usize| fabric.ways[way].channels[0].waiting.len() as u32;
    // 16 in the module, 16 in the endpoint, 16 in the switch, the rest in the root complex.
    assert_eq!((waits(2), waits(0)), (16, 300 - 16 - cluster.down_buffer - 16));
}

#[test]
fn buffers_may_be_as_large_as_their_numbers() {
    let mut topology = network("1x2");
    let most = u32::MAX;
    for node in &mut topology.nodes {
        if let Kind::Switch { buffer, .. } = &mut node.kind {
            *buffer = most;
        }
    }
    for cluster in &mut topology.clusters {
        (cluster.down_buffer, cluster.up_buffer, cluster.commands) = (most, most, most);
    }
    let requests: Vec<_> = (0..400).map(|id| (Nanos::ZERO, write(id, (id % 8) as u32, 16384))).collect();
    assert_eq!(play(&mut Fabric::new(topology.with_queue(most)), &requests, Nanos::micros(20)).len(), 400);
}

/// Bytes of data per second that come up from a cluster behind an Ethernet link with such settings, when nothing else is in the way.
fn payload_rate(settings: &str) -> f64 {
    let text = format!(
        "name = \"far\"\n[root]\nname = \"rc\"\n[[switch]]\nname = \"nic\"\n[[endpoint]]\nname = \"e\"\nbus-rate = \"100GB\"\n\
         bus-command-ns = 0\n[[link]]\nname = \"slot\"\nup = \"rc\"\ndown = \"nic\"\nwidth = 8\n\
         [[link]]\nname = \"wire\"\nup = \"nic\"\ndown = \"e\"\nrate = \"1250MB\"\n{settings}\n"
    );
    let topology = Topology::parse("far.toml", &text).unwrap_or_else(|error| panic!("{error}"));
    let requests: Vec<_> = (0..10_000).map(|id| (Nanos::ZERO, read(id, (id % 4) as u32))).collect();
    let answers = play(&mut Fabric::new(topology), &requests, Nanos(1));
    let end = answers.iter().map(|answer| answer.1).max().unwrap();
    10_000.0 * 4096.0 / end.as_secs_f64()
}

#[test]
fn an_ethernet_link_brings_the_data_that_its_frames_have_room_for() {
    // 4 KiB take three frames with 78 bytes each besides, one jumbo frame, or three frames of UDP.
    let cases = [
        ("", 4096.0 / (4096.0 + 3.0 * 78.0)),
        ("frame = 8960", 4096.0 / (4096.0 + 78.0)),
        ("frame = 1472\noverhead = 66", 4096.0 / (4096.0 + 3.0 * 66.0)),
    ];
    for (settings, share) in cases {
        let (rate, most) = (payload_rate(settings), 1.25e9 * share);
        // The first packet's way there and the last one's back take a few microseconds of some thirty thousand.
        assert!(rate < most && rate > most * 0.999, "{settings}: {rate} of {most}");
    }
}

#[test]
fn without_interleaving_a_cluster_does_one_thing_at_a_time() {
    let requests: Vec<_> = (0..400).map(|id| (Nanos::ZERO, read(id, (id % 8) as u32))).collect();
    let took = |interleave| {
        let mut fabric = Fabric::new(network("1x2").with_interleaving(interleave));
        let answers = play(&mut fabric, &requests, Nanos::micros(75));
        (answers.iter().map(|answer| answer.1).max().unwrap(), fabric.counters()[0].stalls)
    };
    // 200 reads in each cluster: on four modules at once, or one after the other.
    let ((together, with), (alone, without)) = (took(true), took(false));
    assert!(together < Nanos::micros(50 * 75 + 200), "{together:?}");
    let each = Nanos::micros(75) + Nanos(5120 + 350);
    assert!(alone >= each * 200 && alone < each * 200 + Nanos::micros(20), "{alone:?}");
    assert!(with.storage > with.link && without.link > without.storage * 50, "{with:?} {without:?}");
}

#[test]
fn large_writes_come_in_packets_and_a_narrow_link_bounds_them() {
    let mut fabric = Fabric::new(network("1x1x1"));
    let answers = play(&mut fabric, &[(Nanos::ZERO, write(7, 0, 64 << 10))], Nanos(1));
    // 64 KiB over a bus of 800 MB/s.
    assert!(answers[0].2 > Nanos(81_920) && answers[0].2 < Nanos(90_000), "{answers:?}");
    assert_eq!(fabric.counters()[0].down, 64 << 10);
}

#[test]
fn with_a_channel_of_their_own_commands_do_not_wait_behind_data() {
    let mut requests: Vec<_> = (0..60).map(|id| (Nanos::ZERO, write(id, 0, 4096))).collect();
    requests.push((Nanos(1), read(60, 4)));
    let read_took = |channels| {
        let mut topology = network("1x2");
        topology.channels = channels;
        let answers = play(&mut Fabric::new(topology), &requests, Nanos::micros(10));
        answers.iter().find(|answer| answer.0 == 60).unwrap().2
    };
    assert!(read_took(1) > read_took(2) * 4, "{:?} {:?}", read_took(1), read_took(2));
}

#[test]
fn when_the_power_goes_all_is_gone_and_it_can_begin_anew() {
    let mut fabric = Fabric::new(network("2x2").with_queue(10));
    (0..50).for_each(|id| fabric.submit(Nanos::ZERO, write(id, (id % 16) as u32, 8192)));
    let mut happened = Vec::new();
    fabric.advance(Nanos::micros(20), &mut happened);
    assert!(fabric.outstanding() > 0);
    fabric.power_cut();
    assert_eq!((fabric.outstanding(), fabric.next_event()), (0, None));
    let answers = play(&mut fabric, &[(Nanos::micros(30), read(1, 0))], Nanos(1));
    assert_eq!((answers.len(), answers[0].3), (1, Stalls::default()));
}

/// What is asked for when: gap, module, what.
fn asked() -> impl Strategy<Value = (u64, u32, u32, u32)> {
    (0_u64..3000, 0_u32..16, 0_u32..20_000, 0_u32..20_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn all_are_answered_once_and_waits_add_up(
        asked in prop::collection::vec(asked(), 1..200),
        queue in 1_u32..40,
        channels in 1_u8..=2,
        buffers in 1_u32..4,
        commands in 1_u32..4,
        payload in 7_u32..=12,
        interleave in any::<bool>(),
    ) {
        let mut topology = network("2x2").with_queue(queue);
        (topology.channels, topology.payload) = (channels, 1 << payload);
        for cluster in &mut topology.clusters {
            cluster.interleave = interleave;
            (cluster.down_buffer, cluster.up_buffer, cluster.commands) = (buffers, buffers, commands);
        }
        for node in &mut topology.nodes {
            if let Kind::Switch { buffer, .. } = &mut node.kind {
                *buffer = buffers;
            }
        }
        let mut at = Nanos::ZERO;
        let requests: Vec<_> = (0..).zip(&asked).map(|(id, &(gap, module, down, up))| {
            at += Nanos(gap);
            // Mostly the usual: nothing one way.
            let (down, up) = if down > up { (down, 0) } else { (0, up) };
            (at, Request { id, module, down, up })
        }).collect();
        let mut fabric = Fabric::new(topology.clone());
        let answers = play(&mut fabric, &requests, Nanos::micros(20));
        let mut ids: Vec<u64> = answers.iter().map(|answer| answer.0).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..asked.len() as u64).collect::<Vec<_>>());
        let most = topology.payload;
        for (id, _, latency, stalls) in &answers {
            let Stalls { root, switch, endpoint, module, .. } = *stalls;
            prop_assert_eq!(root + switch + endpoint + module, stalls.total());
            prop_assert!(stalls.total() < *latency);
            let (_, Request { down, up, .. }) = requests[*id as usize];
            if down == 0 && up == 4096 && most == 4096 {
                prop_assert_eq!(base(&topology) + Nanos::micros(20) + stalls.total(), *latency);
            }
        }
        prop_assert_eq!(fabric.outstanding(), 0);
        let moved: u64 = fabric.counters().iter().map(|counters| counters.up + counters.down).sum();
        prop_assert_eq!(moved, requests.iter().map(|(_, request)| u64::from(request.up + request.down)).sum::<u64>());
        let again = play(&mut Fabric::new(topology), &requests, Nanos::micros(20));
        prop_assert_eq!(answers, again);
    }
}
