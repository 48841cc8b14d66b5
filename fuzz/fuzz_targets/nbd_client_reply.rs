//! The client against any server: the negotiation and then the replies, never a panic, never an endless buffer.
#![no_main]

use cygnus_nbd::{ClientHandshake, ClientStep, ExtentIter, Goal, ReplyBody, ReplyParsed, parse_reply};
use libfuzzer_sys::fuzz_target;

const READ: u32 = 65_536;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else { return };
    if mode & 4 != 0 {
        return replies(rest);
    }
    let go = Goal::Go { export: "v".into(), structured: mode & 1 != 0, allocation: mode & 2 != 0 };
    if let Some(after) = negotiate(if mode & 8 != 0 { Goal::List } else { go }, rest) {
        replies(after);
    }
});

fn negotiate(goal: Goal, mut rest: &[u8]) -> Option<&[u8]> {
    let (mut client, mut out) = (ClientHandshake::new(goal), Vec::new());
    loop {
        out.clear();
        let (consumed, step) = client.step(rest, &mut out).ok()?;
        rest = &rest[consumed..];
        match step {
            ClientStep::Again => assert!(consumed > 0),
            ClientStep::NeedMore(total) => {
                assert!(total > rest.len() && total < 1 << 20);
                return None;
            }
            ClientStep::Ready(_) => return Some(rest),
            ClientStep::Exports(_) => return None,
        }
    }
}

fn replies(mut rest: &[u8]) {
    loop {
        match parse_reply(rest, |cookie| (cookie < 1 << 16).then_some(READ)) {
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
