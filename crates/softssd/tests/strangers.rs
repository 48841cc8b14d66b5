//! The server against whoever connects: wrong words, silence, requests that nobody may make, and answers that nobody takes.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cygnus_softssd::{Listener, Options, Server, file_bytes, format};
use cygnus_ssdlink::{
    Address, Command, DialError, Hello, REPLY_BYTES, Reply, Request, Status, Stream, VERSION, WELCOME_BYTES, Welcome,
    dial, fetch_status,
};

const B: u64 = 4096;
const SIZE: u64 = 32 << 20;

struct Drive {
    file: PathBuf,
    socket: PathBuf,
    server: Option<Server>,
}

impl Drive {
    fn new(name: &str) -> Self {
        let base = std::env::temp_dir().join(format!("cygnus-strangers-{}-{name}", std::process::id()));
        let (file, socket) = (base.with_extension("drive"), base.with_extension("sock"));
        let _ = (std::fs::remove_file(&file), std::fs::remove_file(&socket));
        std::fs::File::create(&file).unwrap().set_len(file_bytes(SIZE)).unwrap();
        format(&file, SIZE, true, "sata").unwrap();
        let listener = Listener::Unix(UnixListener::bind(&socket).unwrap());
        let server = Server::start(&Options { file: file.clone(), timed: false }, listener).unwrap();
        Self { file, socket, server: Some(server) }
    }

    fn address(&self) -> Address {
        Address::Unix(self.socket.clone())
    }

    fn connections(&self) -> usize {
        self.server.as_ref().unwrap().report().connections
    }

    fn wait_for_connections(&self, wanted: usize) {
        let begun = Instant::now();
        while self.connections() != wanted {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} connections, not {wanted}", self.connections());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let _ = self.server.take().unwrap().stop();
        let _ = (std::fs::remove_file(&self.file), std::fs::remove_file(&self.socket));
    }
}

fn ask(mut stream: &Stream, id: u64, command: Command, payload: &[u8]) {
    stream.write_all(&Request::new(id, command, payload).encode()).unwrap();
    stream.write_all(payload).unwrap();
}

fn answer(mut stream: &Stream) -> (Reply, Vec<u8>) {
    let mut header = [0; REPLY_BYTES];
    stream.read_exact(&mut header).unwrap();
    let reply = Reply::decode(&header).unwrap();
    let mut payload = vec![0; reply.payload_bytes as usize];
    stream.read_exact(&mut payload).unwrap();
    (reply, payload)
}

fn is_hung_up(mut stream: &Stream) -> bool {
    stream.set_patience(Some(Duration::from_secs(10)), None).unwrap();
    matches!(stream.read(&mut [0; 1]), Ok(0)) || stream.read(&mut [0; 1]).is_err_and(|e| e.raw_os_error().is_some())
}

#[test]
fn wrong_greetings_end_the_connection() {
    let drive = Drive::new("greetings");
    for words in [&b"GET / HTTP/1.1\r\n\r\nand so on and on and on and on"[..], &[0; 64], &[255; 64]] {
        let mut stream = UnixStream::connect(&drive.socket).unwrap();
        stream.write_all(words).unwrap();
        let mut told = Vec::new();
        // What was not read of the words may turn the end into a reset.
        let _ = stream.read_to_end(&mut told);
        assert!(told.is_empty());
    }
    let mut stream = UnixStream::connect(&drive.socket).unwrap();
    stream.write_all(&Hello { version: VERSION + 1, claims: true, host: [1; 16] }.encode()).unwrap();
    let mut welcome = [0; WELCOME_BYTES];
    stream.read_exact(&mut welcome).unwrap();
    let welcome = Welcome::decode(&welcome).unwrap();
    assert_eq!((welcome.version, welcome.admission), (VERSION, cygnus_ssdlink::Admission::Version));
    // Whoever says nothing is given up.
    let silent = UnixStream::connect(&drive.socket).unwrap();
    drive.wait_for_connections(1);
    drive.wait_for_connections(0);
    drop(silent);
}

#[test]
fn what_can_be_answered_is_and_the_rest_ends_the_connection() {
    let drive = Drive::new("requests");
    let (looker, _) = dial(&drive.address(), false, [1; 16]).unwrap();
    let write = Command::Write { offset: 0, len: B as u32, oob: 0, transient: true };
    let convert = cygnus_ssdlink::Convert { source: 0, destination: 8 * B, chunk: B, chunks: 2, row: 0, keeps: false };
    for (id, (command, payload, status)) in (0..).zip([
        (write, vec![7; B as usize], Status::Refused),
        (Command::Trim { offset: 0, len: B }, vec![], Status::Refused),
        (Command::Convert(convert), vec![], Status::Refused),
        (Command::Unknown(77), vec![], Status::Unsupported),
        (Command::Read { offset: SIZE, len: B }, vec![], Status::Range),
        (Command::Read { offset: 0, len: u64::MAX }, vec![], Status::Range),
        (Command::ReadOob { offset: 0, blocks: u32::MAX, oob: u16::MAX }, vec![], Status::Range),
        (Command::Flush, vec![], Status::Done),
        (Command::Read { offset: 0, len: B }, vec![], Status::Done),
    ]) {
        ask(&looker, id, command, &payload);
        let (reply, bytes) = answer(&looker);
        assert_eq!((reply.id, reply.status), (id, status), "{command:?}");
        assert!(bytes.iter().all(|&byte| byte == 0), "nothing was written");
    }
    // A payload that was changed on the way.
    let (host, _) = dial(&drive.address(), true, [1; 16]).unwrap();
    let mut request = Request::new(9, write, &[7; B as usize]);
    request.payload_crc ^= 1;
    (&host).write_all(&request.encode()).unwrap();
    (&host).write_all(&[7; B as usize]).unwrap();
    assert!(is_hung_up(&host));
    // A header that was.
    let mut header = Request::new(9, Command::Flush, &[]).encode();
    header[20] ^= 1;
    (&looker).write_all(&header).unwrap();
    assert!(is_hung_up(&looker));
    let (_, status) = fetch_status(&drive.address()).unwrap();
    assert!(status.contains("\"host_writes\": 0"), "{status}");
}

#[test]
fn those_who_look_leave_room_for_the_host() {
    let drive = Drive::new("crowd");
    let lookers: Vec<_> = (0..32).map(|n| dial(&drive.address(), false, [n; 16]).unwrap()).collect();
    assert!(matches!(dial(&drive.address(), false, [99; 16]), Err(DialError::Crowded)));
    let (host, _) = dial(&drive.address(), true, [99; 16]).unwrap();
    assert!(matches!(dial(&drive.address(), true, [98; 16]), Err(DialError::Claimed)));
    // The same host comes again: its earlier connection ends.
    let (again, _) = dial(&drive.address(), true, [99; 16]).unwrap();
    assert!(is_hung_up(&host));
    drop((again, lookers));
    drive.wait_for_connections(0);
    assert!(dial(&drive.address(), true, [98; 16]).is_ok());
}

#[test]
fn answers_that_nobody_takes_stop_the_requests() {
    let drive = Drive::new("glutton");
    let (greedy, _) = dial(&drive.address(), true, [1; 16]).unwrap();
    greedy.set_patience(None, Some(Duration::from_millis(300))).unwrap();
    // A terabyte is asked for, and nothing is read. The drive takes no more requests from the socket.
    let request = |id| Request::new(id, Command::Read { offset: 0, len: 1 << 20 }, &[]).encode();
    let taken = (0..1 << 20).take_while(|&id| (&greedy).write_all(&request(id)).is_ok()).count();
    assert!(taken < 20_000, "{taken} requests were taken");
    let before = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: u64 = before.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(resident * 4096 < 200 << 20, "{resident} pages are in memory");
    // Others are served meanwhile.
    assert!(fetch_status(&drive.address()).is_ok());
}
