//! The client against any server: the negotiation and then the replies, never a panic, never an endless buffer.
//!
//! The server's bytes are the input, or follow a plan that knows the protocol and gets some of it wrong.
#![no_main]

use cygnus_nbd::wire::*;
use cygnus_nbd::{ClientHandshake, ClientStep, ExtentIter, Goal, ReplyBody, ReplyParsed, parse_reply};
use libfuzzer_sys::fuzz_target;

const READ: u32 = 65_536;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else { return };
    let go = Goal::Go { export: "v".into(), structured: mode & 1 != 0, allocation: mode & 2 != 0 };
    let goal = if mode & 8 != 0 { Goal::List } else { go };
    match mode >> 4 & 3 {
        0 => negotiate(goal, rest),
        1 => converse(goal, rest),
        2 => replies(rest),
        _ => replies(&server_replies(rest)),
    }
});

fn negotiate(goal: Goal, mut rest: &[u8]) {
    let (mut client, mut out) = (ClientHandshake::new(goal), Vec::new());
    loop {
        out.clear();
        let Ok((consumed, step)) = client.step(rest, &mut out) else { return };
        rest = &rest[consumed..];
        match step {
            ClientStep::Again => assert!(consumed > 0),
            ClientStep::NeedMore(total) => {
                assert!(total > rest.len() && total < 1 << 20);
                return;
            }
            ClientStep::Ready(_) => return replies(rest),
            ClientStep::Exports(_) => return,
        }
    }
}

/// A server that answers what was asked, as the plan says: two bytes for each answer.
fn converse(goal: Goal, plan: &[u8]) {
    let (mut client, mut out, mut asked) = (ClientHandshake::new(goal), Vec::new(), 0);
    let mut input = b"NBDMAGICIHAVEOPT\0\x03".to_vec();
    let mut plan = plan.chunks_exact(2);
    loop {
        out.clear();
        let Ok((consumed, step)) = client.step(&input, &mut out) else { return };
        input.drain(..consumed);
        if let Some(option) = last_option(&out) {
            asked = option;
        }
        match step {
            ClientStep::Again => assert!(consumed > 0),
            ClientStep::NeedMore(total) => {
                assert!(total > input.len() && total < 1 << 20);
                let Some(answer) = plan.next() else { return };
                input.extend_from_slice(&option_reply(asked, answer[0], answer[1]));
            }
            ClientStep::Ready(agreed) => {
                assert!(agreed.session.structured || !agreed.session.allocation);
                return;
            }
            ClientStep::Exports(exports) => {
                assert!(exports.len() < 1 << 16);
                return;
            }
        }
    }
}

/// The number of the option that ends the client's bytes.
fn last_option(out: &[u8]) -> Option<u32> {
    let at = out.windows(8).rposition(|window| window == OPTION_MAGIC.to_be_bytes())?;
    Some(u32::from_be_bytes(out[at + 8..at + 12].try_into().ok()?))
}

fn option_reply(option: u32, kind: u8, wrong: u8) -> Vec<u8> {
    let (kind, mut data): (u32, Vec<u8>) = match kind % 8 {
        0 => (REP_ACK, vec![]),
        1 => (REP_INFO, [&[0, 0][..], &[0, 0, 0, 0, 0, 16, 0, 0], &EXPORT_WRITABLE.to_be_bytes()].concat()),
        2 => (REP_INFO, b"\0\x03\0\0\0\x01\0\0\x10\0\x02\0\0\0".to_vec()),
        3 => (REP_INFO, b"\0\x01name".to_vec()),
        4 => (REP_META_CONTEXT, b"\0\0\0\x05base:allocation".to_vec()),
        5 => (REP_SERVER, b"\0\0\0\x02abdescription".to_vec()),
        6 => (REP_ERR_UNSUP, b"no".to_vec()),
        _ => (u32::from(wrong), vec![]),
    };
    match wrong {
        0..128 => {}
        128..192 if !data.is_empty() => {
            let at = usize::from(wrong) % data.len();
            data[at] ^= wrong;
        }
        _ => data.truncate(usize::from(wrong % 16)),
    }
    let length = data.len() as u32;
    [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &kind.to_be_bytes(), &length.to_be_bytes(), &data]
        .concat()
}

/// Replies with sound magic numbers and everything else as the plan says: six bytes, and data, for each.
fn server_replies(plan: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = plan;
    while let Some(([simple, kind, cookie, length, high, fill], after)) = rest.split_first_chunk::<6>() {
        let length = u32::from(*length) | u32::from(*high) << 16;
        let cookie = u64::from(*cookie).to_be_bytes();
        if simple & 1 != 0 {
            let error = u32::from(*kind);
            bytes.extend([&SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &cookie].concat());
        } else {
            let kind = u16::from(kind & 0x80) << 8 | u16::from(kind & 7);
            let flags = u16::from(simple & 2 != 0);
            let parts = [&STRUCTURED_REPLY_MAGIC.to_be_bytes()[..], &flags.to_be_bytes(), &kind.to_be_bytes(), &cookie];
            bytes.extend([&parts.concat()[..], &length.to_be_bytes()].concat());
        }
        let data = after.len().min(usize::from(*fill));
        bytes.extend_from_slice(&after[..data]);
        rest = &after[data..];
    }
    bytes
}

fn replies(mut rest: &[u8]) {
    loop {
        match parse_reply(rest, |cookie| (cookie < 1 << 16).then_some(if cookie & 1 == 0 { READ } else { 16 })) {
            ReplyParsed::Reply { reply, consumed } => {
                assert!(consumed > 0);
                match reply.body {
                    ReplyBody::Data { data, .. } => assert!(data.end <= consumed && data.len() <= READ as usize),
                    ReplyBody::Status { extents, .. } => {
                        let told = extents.len() / 8;
                        assert!(told > 0 && ExtentIter::new(&rest[extents]).count() == told);
                    }
                    ReplyBody::Error { message, .. } => assert!(message.end <= consumed),
                    ReplyBody::Done | ReplyBody::Hole { .. } => {}
                }
                rest = &rest[consumed..];
            }
            ReplyParsed::NeedMore(total) => {
                assert!(total > rest.len() && total < 10 << 20);
                return;
            }
            ReplyParsed::Bad(_) => return,
        }
    }
}
