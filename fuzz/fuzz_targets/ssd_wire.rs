//! The four headers of the software SSD protocol: any bytes are a header or an error, and what was read is written alike.
//!
//! The input is taken as it is, or sealed with the magic and the checksum that it lacks.
#![no_main]

use cygnus_ssdlink::{
    HELLO_BYTES, Hello, MAX_PAYLOAD, REPLY_BYTES, REQUEST_BYTES, Reply, Request, WELCOME_BYTES, Welcome, crc32c,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&mode, rest)) = input.split_first() else { return };
    let sealed = mode & 4 != 0;
    match mode & 3 {
        0 => {
            let bytes: [u8; HELLO_BYTES] = header(rest, b"CYGSSD\r\n", sealed);
            if let Ok(hello) = Hello::decode(&bytes) {
                assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
            }
        }
        1 => {
            let bytes: [u8; WELCOME_BYTES] = header(rest, b"CYGDRV\r\n", sealed);
            if let Ok(welcome) = Welcome::decode(&bytes) {
                assert_eq!(Welcome::decode(&welcome.encode()), Ok(welcome));
            }
        }
        2 => {
            let bytes: [u8; REQUEST_BYTES] = header(rest, b"cSRq", sealed);
            if let Ok(request) = Request::decode(&bytes) {
                assert!(request.command.payload_bytes() <= MAX_PAYLOAD as usize);
                assert_eq!(Request::decode(&request.encode()), Ok(request));
            }
        }
        _ => {
            let bytes: [u8; REPLY_BYTES] = header(rest, b"cSRp", sealed);
            if let Ok(reply) = Reply::decode(&bytes) {
                assert!(reply.payload_bytes <= MAX_PAYLOAD);
                assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
            }
        }
    }
});

fn header<const N: usize>(input: &[u8], magic: &[u8], sealed: bool) -> [u8; N] {
    let mut bytes = [0; N];
    let len = input.len().min(N);
    bytes[..len].copy_from_slice(&input[..len]);
    if sealed {
        bytes[..magic.len()].copy_from_slice(magic);
        let checksum = crc32c(&bytes[..N - 4]);
        bytes[N - 4..].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}
