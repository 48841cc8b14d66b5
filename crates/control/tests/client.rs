//! The blocking client against peers that behave, misbehave and stay silent.

use cygnus_control::client::{Client, ClientError, TIMEOUT};
use cygnus_control::protocol::{ErrorKind, Request, Response, decode_request, encode_response};
use std::io::{BufRead, BufReader, Write};
use std::ops::Deref;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

/// The path of a socket, which goes with its test.
struct Socket(PathBuf);

impl Socket {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cygnus-control-{test}-{}.ctl", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Deref for Socket {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A socket of its own for each test, and a thread that treats its one connection as `peer` says.
fn serve(test: &str, peer: impl FnOnce(UnixStream) + Send + 'static) -> (Socket, JoinHandle<()>) {
    let path = Socket::new(test);
    let listener = UnixListener::bind(&*path).unwrap();
    (path, std::thread::spawn(move || peer(listener.accept().unwrap().0)))
}

/// Answers each request line with what `answer` makes of it.
fn answering(stream: UnixStream, answer: impl Fn(Request) -> Response) {
    let mut writer = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let response = decode_request(&line.unwrap()).map_or_else(|error| error, &answer);
        writer.write_all(encode_response(&response).as_bytes()).unwrap();
    }
}

#[test]
fn requests_are_answered_in_order_on_one_connection() {
    let (path, peer) = serve("order", |stream| {
        answering(stream, |request| match request {
            Request::VolumeList => Response::Volumes { volumes: Vec::new() },
            Request::VolumeDelete { .. } => Response::error(ErrorKind::NotFound, "there is no volume 'x'"),
            _ => Response::Done,
        })
    });
    let mut client = Client::connect(&path).unwrap();
    assert_eq!(client.call(&Request::Stop).unwrap(), Response::Done);
    assert_eq!(client.call(&Request::VolumeList).unwrap(), Response::Volumes { volumes: Vec::new() });
    let refused = client.call(&Request::VolumeDelete { name: "x".into(), force: false }).unwrap_err();
    assert!(matches!(refused, ClientError::Refused { kind: ErrorKind::NotFound, .. }));
    assert_eq!(refused.to_string(), "there is no volume 'x'");
    drop(client);
    peer.join().unwrap();
}

#[test]
fn who_waits_for_long_hears_of_it_once_and_still_gets_the_answer() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (path, peer) = serve("slow", move |stream| {
        wait.recv().unwrap();
        answering(stream, |_| Response::Done);
    });
    let mut client = Client::connect(&path).unwrap();
    let mut told = 0;
    let answer = client.call_noting(&Request::Stop, Duration::from_millis(20), || {
        told += 1;
        release.send(()).unwrap();
    });
    assert_eq!((answer.unwrap(), told), (Response::Done, 1));
    let answer = client.call_noting(&Request::Stop, TIMEOUT, || panic!("it was answered at once"));
    assert_eq!(answer.unwrap(), Response::Done);
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_silent_server_is_a_timeout() {
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let (path, peer) = serve("silent", move |stream| {
        let _ = wait.recv();
        drop(stream);
    });
    let mut client = Client::connect(&path).unwrap().with_timeout(Duration::from_millis(50));
    assert!(matches!(client.call(&Request::Status), Err(ClientError::Timeout { .. })));
    drop(release);
    peer.join().unwrap();
}

#[test]
fn a_server_that_dies_in_between_is_told() {
    let (path, peer) = serve("dies", |mut stream| stream.write_all(b"{\"schema\":1,").unwrap());
    let mut client = Client::connect(&path).unwrap();
    assert!(matches!(client.call(&Request::Status), Err(ClientError::Io { .. })));
    peer.join().unwrap();
}

#[test]
fn nonsense_is_a_protocol_error() {
    let (path, peer) = serve("nonsense", |mut stream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\n").unwrap();
        let _ = BufReader::new(stream).read_line(&mut String::new());
    });
    let mut client = Client::connect(&path).unwrap();
    assert!(matches!(client.call(&Request::Status), Err(ClientError::Protocol { .. })));
    drop(client);
    peer.join().unwrap();
}

#[test]
fn a_server_on_its_way_out_is_not_served() {
    // As after a kill: connections are still taken, then reset, and in the end refused.
    let path = Socket::new("going");
    let listener = UnixListener::bind(&*path).unwrap();
    let dying = std::thread::spawn(move || drop(listener.accept().unwrap()));
    assert!(Client::connect_if_served(&path, TIMEOUT).unwrap().is_none());
    dying.join().unwrap();
}

#[test]
fn no_socket_and_a_dead_one_both_mean_not_served() {
    let path = Socket::new("none");
    assert!(Client::connect_if_served(&path, TIMEOUT).unwrap().is_none());
    drop(UnixListener::bind(&*path).unwrap());
    assert!(Client::connect_if_served(&path, TIMEOUT).unwrap().is_none());
}
