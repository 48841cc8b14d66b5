//! Requests from any client: each is parsed as it would be encoded, in range or refused.
#![no_main]

use cygnus_nbd::wire::{EXPORT_WRITABLE, MAX_PAYLOAD, REQUEST_BYTES};
use cygnus_nbd::{Command, ExportInfo, Parsed, Session, parse_request};
use libfuzzer_sys::fuzz_target;

const SIZE: u64 = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, mut rest)) = input.split_first() else { return };
    let export =
        ExportInfo { name: "v".into(), description: String::new(), size: SIZE, page: 4096, flags: EXPORT_WRITABLE };
    let session = Session { export, structured: mode & 1 != 0, allocation: mode & 2 != 0 };
    loop {
        match parse_request(rest) {
            Parsed::Request { request, payload, consumed } => {
                assert_eq!(request.encode(), rest[..REQUEST_BYTES]);
                assert!(payload.end == consumed && consumed <= rest.len());
                assert!(request.command == Command::Write || payload.is_empty());
                let ranged = !matches!(request.command, Command::Flush | Command::Disconnect);
                if request.check(&session, SIZE).is_ok() && ranged {
                    assert!(request.length > 0);
                    assert!(request.offset.checked_add(request.length.into()).is_some_and(|end| end <= SIZE));
                }
                rest = &rest[consumed..];
            }
            Parsed::NeedMore(total) => {
                assert!(total > rest.len() && total <= REQUEST_BYTES + MAX_PAYLOAD as usize);
                return;
            }
            Parsed::Bad(_) => return,
        }
    }
});
