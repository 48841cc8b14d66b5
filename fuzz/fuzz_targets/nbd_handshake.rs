//! The server's negotiation against any client: no panic, no growth beyond the limits, always progress.
#![no_main]

use cygnus_nbd::wire::{EXPORT_WRITABLE, MAX_OPTION, OPTION_HEADER_BYTES};
use cygnus_nbd::{Catalogue, ExportInfo, Next, ServerHandshake};
use libfuzzer_sys::fuzz_target;

struct Shop;

impl Catalogue for Shop {
    fn list(&mut self) -> Vec<(String, String)> {
        vec![("a".into(), "first".into()), ("b".into(), String::new())]
    }

    fn find(&mut self, name: &str) -> Option<ExportInfo> {
        let known = ["", "a", "b"].contains(&name);
        known.then(|| ExportInfo { name: name.into(), description: "x".into(), size: 1 << 20, flags: EXPORT_WRITABLE })
    }
}

fuzz_target!(|input: &[u8]| {
    let mut out = Vec::new();
    let mut server = ServerHandshake::new(&mut out);
    let mut rest = input;
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
                return;
            }
            Next::Close => return,
        }
    }
});
