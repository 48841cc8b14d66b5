//! The negotiation, message by message as bytes, and both our sides against each other.

use cygnus_nbd::wire::*;
use cygnus_nbd::*;
use proptest::prelude::*;

struct Shop(Vec<ExportInfo>);

impl Shop {
    fn with(names: &[&str]) -> Shop {
        let export = |name: &&str| ExportInfo {
            name: name.to_string(),
            description: format!("volume {name}"),
            size: 1 << 30,
            page: 4096,
            flags: EXPORT_WRITABLE,
        };
        Shop(names.iter().map(export).collect())
    }
}

impl Catalogue for Shop {
    fn list(&mut self) -> Vec<(String, String)> {
        self.0.iter().map(|export| (export.name.clone(), export.description.clone())).collect()
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        self.0.iter().find(|export| export.name == name || (name.is_empty() && self.0.len() == 1)).cloned()
    }
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

fn go(name: &str, infos: &[u16]) -> Vec<u8> {
    let infos: Vec<u8> = [infos.len() as u16].iter().chain(infos).flat_map(|info| info.to_be_bytes()).collect();
    [text(name), infos].concat()
}

fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = [text(name), (queries.len() as u32).to_be_bytes().to_vec()].concat();
    queries.iter().for_each(|query| data.extend(text(query)));
    data
}

/// A server that has had its greeting answered with `flags`.
fn greeted(flags: u16) -> ServerHandshake {
    let mut out = Vec::new();
    let mut server = ServerHandshake::new(&mut out);
    assert_eq!(out, b"NBDMAGICIHAVEOPT\0\x03");
    let progress = server.step(&u32::from(flags).to_be_bytes(), &mut Shop::with(&[]), &mut out).unwrap();
    assert_eq!(progress, Progress { consumed: 4, next: Next::Again });
    server
}

fn modern() -> ServerHandshake {
    greeted(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES)
}

/// The type and data of each option reply in `out`, which must all answer `asked`.
fn replies(asked: u32, mut out: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let mut found = Vec::new();
    while !out.is_empty() {
        assert_eq!(&out[..8], OPTION_REPLY_MAGIC.to_be_bytes());
        assert_eq!(&out[8..12], asked.to_be_bytes());
        let number = |at: usize| u32::from_be_bytes(out[at..at + 4].try_into().unwrap());
        let end = 20 + number(16) as usize;
        found.push((number(12), out[20..end].to_vec()));
        out = &out[end..];
    }
    found
}

/// Sends one option; returns what the server does next and its replies.
fn ask(server: &mut ServerHandshake, shop: &mut Shop, number: u32, data: &[u8]) -> (Next, Vec<(u32, Vec<u8>)>) {
    let mut out = Vec::new();
    let bytes = option(number, data);
    let progress = server.step(&bytes, shop, &mut out).unwrap();
    assert_eq!(progress.consumed, bytes.len());
    (progress.next, replies(number, &out))
}

fn kinds(replies: &[(u32, Vec<u8>)]) -> Vec<u32> {
    replies.iter().map(|(kind, _)| *kind).collect()
}

#[test]
fn go_tells_what_was_asked_and_the_block_sizes() {
    let mut shop = Shop::with(&["vol0"]);
    let asked = go("vol0", &[INFO_NAME, INFO_DESCRIPTION]);
    let (next, told) = ask(&mut modern(), &mut shop, OPT_GO, &asked);
    let flags = EXPORT_WRITABLE;
    assert_eq!(told[0], (REP_INFO, [&[0, 0][..], &(1u64 << 30).to_be_bytes(), &flags.to_be_bytes()].concat()));
    assert_eq!(told[1], (REP_INFO, b"\0\x01vol0".to_vec()));
    assert_eq!(told[2], (REP_INFO, b"\0\x02volume vol0".to_vec()));
    assert_eq!(told[3], (REP_INFO, b"\0\x03\0\0\0\x01\0\0\x10\0\x02\0\0\0".to_vec()));
    assert_eq!(told[4], (REP_ACK, vec![]));
    assert_eq!(next, Next::Transmission(Session { export: shop.0[0].clone(), structured: false, allocation: false }));

    let (next, told) = ask(&mut modern(), &mut shop, OPT_INFO, &go("", &[]));
    assert_eq!((next, kinds(&told)), (Next::Again, vec![REP_INFO, REP_INFO, REP_ACK]));
}

#[test]
fn structured_replies_bring_df_and_contexts() {
    let mut shop = Shop::with(&["a", "b"]);
    let mut server = modern();
    let set = contexts("a", &["base:allocation"]);
    assert_eq!(kinds(&ask(&mut server, &mut shop, OPT_SET_META_CONTEXT, &set).1), [REP_ERR_INVALID]);
    assert_eq!(kinds(&ask(&mut server, &mut shop, OPT_STRUCTURED_REPLY, &[]).1), [REP_ACK]);

    let all = (REP_META_CONTEXT, b"\0\0\0\0base:allocation".to_vec());
    for queries in [&[][..], &["base:"], &["x:y", "base:allocation"]] {
        let (_, told) = ask(&mut server, &mut shop, OPT_LIST_META_CONTEXT, &contexts("a", queries));
        assert_eq!(told, [all.clone(), (REP_ACK, vec![])], "{queries:?}");
    }
    let (_, told) = ask(&mut server, &mut shop, OPT_LIST_META_CONTEXT, &contexts("a", &["qemu:"]));
    assert_eq!(kinds(&told), [REP_ACK]);
    let (_, told) = ask(&mut server, &mut shop, OPT_LIST_META_CONTEXT, &contexts("nobody", &[]));
    assert_eq!(kinds(&told), [REP_ERR_UNKNOWN]);

    let (_, told) = ask(&mut server, &mut shop, OPT_SET_META_CONTEXT, &set);
    assert_eq!(told, [(REP_META_CONTEXT, b"\0\0\0\x01base:allocation".to_vec()), (REP_ACK, vec![])]);
    let (next, told) = ask(&mut server, &mut shop, OPT_GO, &go("a", &[]));
    let flags = EXPORT_WRITABLE | EXPORT_SEND_DF;
    assert_eq!(told[0].1[10..], flags.to_be_bytes());
    let Next::Transmission(session) = next else { panic!("{next:?}") };
    assert!(session.structured && session.allocation);
}

#[test]
fn contexts_count_only_for_the_export_entered_and_until_replaced() {
    let mut shop = Shop::with(&["a", "b"]);
    for (sets, expected) in [
        (vec![("a", "base:allocation")], true),
        (vec![("b", "base:allocation")], false),
        (vec![("a", "base:allocation"), ("a", "x:y")], false),
        (vec![("a", "base:allocation"), ("nobody", "base:allocation")], false),
        (vec![("a", "base:")], false),
    ] {
        let mut server = modern();
        ask(&mut server, &mut shop, OPT_STRUCTURED_REPLY, &[]);
        for (name, query) in &sets {
            ask(&mut server, &mut shop, OPT_SET_META_CONTEXT, &contexts(name, &[query]));
        }
        let (next, _) = ask(&mut server, &mut shop, OPT_GO, &go("a", &[]));
        let Next::Transmission(session) = next else { panic!("{next:?}") };
        assert_eq!(session.allocation, expected, "{sets:?}");
    }
}

#[test]
fn export_name_pads_unless_told_not_to() {
    for (flags, padding) in [(FLAG_FIXED_NEWSTYLE, 124), (FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES, 0)] {
        let mut out = Vec::new();
        let mut shop = Shop::with(&["vol0"]);
        let progress = greeted(flags).step(&option(OPT_EXPORT_NAME, b"vol0"), &mut shop, &mut out).unwrap();
        assert!(matches!(progress.next, Next::Transmission(_)));
        assert_eq!(out.len(), 10 + padding);
        assert_eq!(out[..8], (1u64 << 30).to_be_bytes());
    }
    let step = |data: &[u8]| modern().step(&option(OPT_EXPORT_NAME, data), &mut Shop::with(&["v"]), &mut Vec::new());
    assert_eq!(step(b"w"), Err(Malformed::UnknownExport("w".into())));
    assert_eq!(step(b"\xff"), Err(Malformed::ExportName(1)));
    assert_eq!(step(&[b'a'; 4097]), Err(Malformed::ExportName(4097)));
    assert_eq!(step(&[b'a'; MAX_OPTION + 1]), Err(Malformed::ExportName(MAX_OPTION + 1)));
}

#[test]
fn options_that_fail_keep_the_negotiation_going() {
    let mut shop = Shop::with(&["v"]);
    let mut server = modern();
    let cases: [(u32, &[u8], u32); 9] = [
        (OPT_STARTTLS, b"", REP_ERR_UNSUP),
        (OPT_EXTENDED_HEADERS, b"", REP_ERR_UNSUP),
        (4, b"junk", REP_ERR_UNSUP),
        (0xdead_beef, b"", REP_ERR_UNSUP),
        (OPT_LIST, b"x", REP_ERR_INVALID),
        (OPT_STRUCTURED_REPLY, b"x", REP_ERR_INVALID),
        (OPT_GO, b"", REP_ERR_INVALID),
        (OPT_GO, b"\0\0\0\x01w\0\0", REP_ERR_UNKNOWN),
        (OPT_INFO, b"\0\0\x20\0", REP_ERR_TOO_BIG),
    ];
    for (number, data, error) in cases {
        let (next, told) = ask(&mut server, &mut shop, number, data);
        assert_eq!((next, kinds(&told)), (Next::Again, vec![error]), "option {number}");
    }
    let (_, told) = ask(&mut server, &mut shop, OPT_LIST, b"");
    assert_eq!(told, [(REP_SERVER, b"\0\0\0\x01vvolume v".to_vec()), (REP_ACK, vec![])]);
    assert_eq!(ask(&mut server, &mut shop, OPT_ABORT, b""), (Next::Close, vec![(REP_ACK, vec![])]));
}

#[test]
fn an_overlong_option_is_skipped_without_being_held() {
    let (mut shop, mut server, mut out) = (Shop::with(&["v"]), modern(), Vec::new());
    let long = option(OPT_GO, &vec![0; MAX_OPTION + 7]);
    assert_eq!(server.step(&long[..16], &mut shop, &mut out).unwrap(), Progress { consumed: 16, next: Next::Again });
    assert_eq!(kinds(&replies(OPT_GO, &out)), [REP_ERR_TOO_BIG]);
    let progress = server.step(&long[16..1000], &mut shop, &mut out).unwrap();
    assert_eq!(progress, Progress { consumed: 984, next: Next::NeedMore(1) });
    let progress = server.step(&long[1000..], &mut shop, &mut out).unwrap();
    assert_eq!(progress, Progress { consumed: long.len() - 1000, next: Next::Again });
    assert!(matches!(ask(&mut server, &mut shop, OPT_GO, &go("v", &[])).0, Next::Transmission(_)));
}

#[test]
fn nonsense_ends_the_connection() {
    let step = |mut server: ServerHandshake, bytes: &[u8]| server.step(bytes, &mut Shop::with(&["v"]), &mut Vec::new());
    let fresh = || ServerHandshake::new(&mut Vec::new());
    assert_eq!(step(fresh(), b"GET "), Err(Malformed::ClientFlags(0x4745_5420)));
    assert_eq!(step(fresh(), b"\0\0\0"), Ok(Progress { consumed: 0, next: Next::NeedMore(4) }));
    assert_eq!(step(modern(), &[0; 16]), Err(Malformed::OptionMagic(0)));
    let mut absurd = option(OPT_GO, b"");
    absurd[12..16].copy_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(step(modern(), &absurd), Err(Malformed::OptionLength { option: OPT_GO, length: u32::MAX }));

    let mut server = modern();
    let endless = (0..=MAX_OPTIONS).map(|_| server.step(&option(99, b""), &mut Shop::with(&[]), &mut Vec::new()));
    assert_eq!(endless.last().unwrap(), Err(Malformed::TooManyOptions(MAX_OPTIONS)));
}

#[test]
fn whoever_has_many_exports_listed_may_ask_about_each() {
    let names: Vec<String> = (0..MAX_OPTIONS).map(|number| format!("v{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (mut shop, mut server) = (Shop::with(&names), modern());
    ask(&mut server, &mut shop, OPT_STRUCTURED_REPLY, b"");
    ask(&mut server, &mut shop, OPT_LIST, b"");
    for name in &names {
        for (number, data) in [
            (OPT_LIST_META_CONTEXT, contexts(name, &[])),
            (OPT_SET_META_CONTEXT, contexts(name, &[BASE_ALLOCATION])),
            (OPT_INFO, go(name, &[])),
        ] {
            let (next, told) = ask(&mut server, &mut shop, number, &data);
            assert_eq!((next, kinds(&told).last()), (Next::Again, Some(&REP_ACK)), "{name}");
        }
    }
    // It may not go on for ever all the same, however often it has them listed.
    let lists = (0..=MAX_OPTIONS * (1 + MAX_OPTIONS_FOR_EACH_LISTED))
        .map(|_| server.step(&option(OPT_LIST, b"x"), &mut shop, &mut Vec::new()));
    assert!(matches!(lists.last().unwrap(), Err(Malformed::TooManyOptions(_))));
}

/// Lets our client and our server talk, `piece` bytes at a time.
fn converse(goal: Goal, shop: &mut Shop, piece: usize) -> (Option<Session>, Result<ClientStep, Malformed>) {
    let (mut to_client, mut to_server, mut session) = (Vec::new(), Vec::new(), None);
    let mut server = ServerHandshake::new(&mut to_client);
    let mut client = ClientHandshake::new(goal);
    let (mut at_client, mut at_server) = (Vec::new(), Vec::new());
    for _ in 0..100_000 {
        let n = piece.min(to_client.len());
        at_client.extend(to_client.drain(..n));
        match client.step(&at_client, &mut to_server) {
            Err(malformed) => return (session, Err(malformed)),
            Ok((consumed, step)) => {
                at_client.drain(..consumed);
                if matches!(step, ClientStep::Ready(_) | ClientStep::Exports(_)) {
                    return (session, Ok(step));
                }
            }
        }
        let n = piece.min(to_server.len());
        at_server.extend(to_server.drain(..n));
        if session.is_none() {
            let progress = server.step(&at_server, shop, &mut to_client).unwrap();
            at_server.drain(..progress.consumed);
            if let Next::Transmission(agreed) = progress.next {
                session = Some(agreed);
            }
        }
    }
    panic!("the two never agree");
}

#[test]
fn our_client_lists_and_is_refused() {
    let mut shop = Shop::with(&["a", "b"]);
    let (_, step) = converse(Goal::List, &mut shop, 1000);
    let Ok(ClientStep::Exports(exports)) = step else { panic!("{step:?}") };
    assert_eq!(exports.iter().map(|export| export.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let nobody = Goal::Go { export: "nobody".into(), structured: true, allocation: true };
    let (_, step) = converse(nobody, &mut shop, 1000);
    assert!(matches!(step, Err(Malformed::Refused { option: OPT_GO, code: REP_ERR_UNKNOWN, .. })), "{step:?}");
}

#[test]
fn our_client_believes_only_replies_that_belong_to_the_option() {
    let reply = |option: u32, kind: u32, data: &[u8]| {
        let head = [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes()].concat();
        [&head[..], &(data.len() as u32).to_be_bytes(), data].concat()
    };
    for (goal, option, kind, data) in [
        (Goal::List, OPT_LIST, REP_INFO, &b"\0\x01name"[..]),
        (Goal::List, OPT_LIST, 99, b""),
        (
            Goal::Go { export: "v".into(), structured: false, allocation: false },
            OPT_GO,
            REP_META_CONTEXT,
            b"\0\0\0\x01x",
        ),
        (Goal::Go { export: "v".into(), structured: false, allocation: false }, OPT_GO, REP_SERVER, b"\0\0\0\x01x"),
        (
            Goal::Go { export: "v".into(), structured: true, allocation: true },
            OPT_STRUCTURED_REPLY,
            REP_INFO,
            b"\0\x01n",
        ),
    ] {
        let (mut client, mut out) = (ClientHandshake::new(goal), Vec::new());
        client.step(b"NBDMAGICIHAVEOPT\0\x03", &mut out).unwrap();
        let answer = client.step(&reply(option, kind, data), &mut out);
        assert_eq!(answer, Err(Malformed::OptionReplyType { option, kind }));
    }
    let mut client = ClientHandshake::new(Goal::List);
    assert!(matches!(client.step(b"SSH-2.0-OpenSSH_9.2", &mut Vec::new()), Err(Malformed::Greeting(_))));
    assert!(matches!(
        client.step(b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53\0\0", &mut Vec::new()),
        Err(Malformed::OldStyle(0))
    ));
}

proptest! {
    #[test]
    fn both_sides_agree(structured: bool, allocation: bool, piece in 1usize..200) {
        let mut shop = Shop::with(&["a", "b"]);
        let goal = Goal::Go { export: "b".into(), structured, allocation };
        let (session, step) = converse(goal, &mut shop, piece);
        let Ok(ClientStep::Ready(reached)) = step else { panic!("{step:?}") };
        prop_assert_eq!(Some(&reached.session), session.as_ref());
        prop_assert_eq!(reached.session.structured, structured);
        prop_assert_eq!(reached.session.allocation, structured && allocation);
        prop_assert_eq!(reached.block_size, Some([MIN_BLOCK, PREFERRED_BLOCK, MAX_PAYLOAD]));
    }

    #[test]
    fn noise_never_panics(options in prop::collection::vec((0u32..13, prop::collection::vec(any::<u8>(), 0..40)), 0..8)) {
        let (mut server, mut shop) = (modern(), Shop::with(&["a"]));
        for (number, data) in options {
            let bytes = option(number, &data);
            match server.step(&bytes, &mut shop, &mut Vec::new()) {
                Ok(Progress { next: Next::Again, consumed }) => prop_assert_eq!(consumed, bytes.len()),
                _ => break,
            }
        }
    }
}
