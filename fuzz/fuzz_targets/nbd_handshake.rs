//! The server's negotiation against any client: no panic, no growth beyond the limits, always progress.
//!
//! Half of the inputs are the client's bytes themselves. The other half say what a client that knows the protocol asks
//! for, and which of its bytes go wrong: mere noise would hardly ever get past the first magic numbers.
#![no_main]

use cygnus_nbd::wire::*;
use cygnus_nbd::{Catalogue, ExportInfo, Next, ServerHandshake};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 4] = ["", "a", "b", "nobody"];
const QUERIES: [&str; 4] = ["base:allocation", "base:", "", "qemu:dirty-bitmap:x"];

struct Shop;

impl Catalogue for Shop {
    fn list(&mut self) -> Vec<(String, String)> {
        vec![("a".into(), "first".into()), ("b".into(), String::new())]
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        let known = NAMES[..3].contains(&name);
        known.then(|| ExportInfo {
            name: name.into(),
            description: "x".into(),
            size: 1 << 20,
            page: 4096,
            flags: EXPORT_WRITABLE,
        })
    }
}

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        None => {}
        Some((mode, rest)) if mode & 1 == 0 => negotiate(rest),
        Some((_, plan)) => negotiate(&client(plan)),
    }
});

fn negotiate(mut rest: &[u8]) {
    let mut out = Vec::new();
    let mut server = ServerHandshake::new(&mut out);
    loop {
        out.clear();
        let Ok(progress) = server.step(rest, &mut Shop, &mut out) else { return };
        assert!(out.len() < 1 << 10, "{} bytes in answer to one option", out.len());
        assert!(progress.consumed <= rest.len());
        rest = &rest[progress.consumed..];
        match progress.next {
            Next::Again => assert!(progress.consumed > 0),
            Next::NeedMore(total) => {
                assert!(total > rest.len() && total <= OPTION_HEADER_BYTES + MAX_OPTION);
                return;
            }
            Next::Transmission(session) => {
                assert!(session.structured || !session.allocation);
                assert!(NAMES[..3].contains(&session.export.name.as_str()));
                return;
            }
            Next::Close => return,
        }
    }
}

/// The bytes of a client that follows a plan of four bytes per option: which, its name and query, what goes wrong where.
fn client(plan: &[u8]) -> Vec<u8> {
    let mut bytes = u32::from(FLAG_FIXED_NEWSTYLE | FLAG_NO_ZEROES).to_be_bytes().to_vec();
    for step in plan.chunks_exact(4) {
        let (option, choice) = (u32::from(step[0] % 13), usize::from(step[1]));
        let (name, query) = (text(NAMES[choice % 4]), text(QUERIES[choice / 4 % 4]));
        let mut data = match option {
            OPT_EXPORT_NAME => NAMES[choice % 4].as_bytes().to_vec(),
            OPT_INFO | OPT_GO => [name, vec![0, 2, 0, choice as u8 % 5, 0, 3]].concat(),
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT if choice < 128 => [name, vec![0, 0, 0, 1], query].concat(),
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => [name, vec![0, 0, 0, 2], query.clone(), query].concat(),
            _ => Vec::new(),
        };
        let mut length = data.len() as u32;
        match step[2] % 8 {
            1 if !data.is_empty() => {
                let at = usize::from(step[3]) % data.len();
                data[at] ^= step[2] | 1;
            }
            2 => data.truncate(usize::from(step[3])),
            3 => data.extend_from_slice(&step[2..]),
            4 => length ^= u32::from(step[3]),
            5 => length = u32::from(step[3]) << 16,
            _ => {}
        }
        if step[2] % 8 < 4 {
            length = data.len() as u32;
        }
        bytes.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
        bytes.extend_from_slice(&option.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&data);
    }
    bytes
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}
