//! The least of a client: one request at a time, and none may fail.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;

/// A connection to a volume.
pub struct Client(UnixStream);

impl Client {
    pub fn of(socket: &Path, volume: &str) -> Self {
        let mut client = Self(UnixStream::connect(socket).unwrap());
        client.get(18);
        let mut hello = 3_u32.to_be_bytes().to_vec();
        hello.extend(b"IHAVEOPT");
        hello.extend(1_u32.to_be_bytes());
        hello.extend((volume.len() as u32).to_be_bytes());
        hello.extend(volume.as_bytes());
        client.0.write_all(&hello).unwrap();
        client.get(10);
        client
    }

    fn get(&mut self, bytes: usize) -> Vec<u8> {
        let mut reply = vec![0; bytes];
        self.0.read_exact(&mut reply).unwrap();
        reply
    }

    fn ask(&mut self, kind: u16, at: u64, length: usize, data: &[u8]) {
        let mut request = 0x2560_9513_u32.to_be_bytes().to_vec();
        request.extend([0; 2]);
        request.extend(kind.to_be_bytes());
        request.extend(7_u64.to_be_bytes());
        request.extend(at.to_be_bytes());
        request.extend((length as u32).to_be_bytes());
        request.extend(data);
        self.0.write_all(&request).unwrap();
        assert_eq!(self.get(16)[4..8], [0; 4], "no error");
    }

    pub fn write(&mut self, at: u64, data: &[u8]) {
        self.ask(WRITE, at, data.len(), data);
    }

    pub fn read(&mut self, at: u64, length: usize) -> Vec<u8> {
        self.ask(READ, at, length, &[]);
        self.get(length)
    }

    pub fn flush(&mut self) {
        self.ask(FLUSH, 0, 0, &[]);
    }
}

/// Writes a block of a served volume, and flushes it.
pub fn write_block(socket: &Path, volume: &str, at: u64, block: &[u8]) {
    let mut client = Client::of(socket, volume);
    client.write(at, block);
    client.flush();
}
