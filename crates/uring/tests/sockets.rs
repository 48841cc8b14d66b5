//! Connections: whole and ordered sends through small socket buffers, receives, closing, listeners.

mod support;

use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use cygnus_runtime::{Buf, IoErrorKind, Runtime, SocketId};
use cygnus_types::{Nanos, ReactorId};
use cygnus_uring::{Config, Reactor, Signal, Signals, block_on, spawn_reactors};
use support::TempPath;

fn on<T>(main: impl AsyncFnOnce(Reactor) -> T) -> T {
    block_on(&Config::default(), main).unwrap()
}

/// A pattern without a short period, so that a lost or doubled piece shows.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn buf_of(rt: &Runtime, bytes: &[u8]) -> Buf {
    let mut buf = rt.alloc(bytes.len());
    buf.bytes_mut().copy_from_slice(bytes);
    buf
}

/// Makes a socket's buffer as small as the system lets it, so that sends are taken in pieces.
fn shrink(socket: &impl AsRawFd, option: libc::c_int) {
    let bytes: libc::c_int = 4096;
    let (value, len) = ((&raw const bytes).cast(), size_of_val(&bytes) as libc::socklen_t);
    // SAFETY: the socket is open and the option a C int that outlives the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, len) };
    assert_eq!(result, 0);
}

async fn echo(rt: Runtime, sock: SocketId) {
    let buf = rt.alloc(64 * 1024);
    loop {
        match rt.recv(sock, buf.full()).await {
            Ok(0) | Err(_) => break,
            Ok(n) => drop(rt.send(sock, vec![buf.slice(0..n / 2), buf.slice(n / 2..n)]).await.unwrap()),
        }
    }
    rt.close(sock).await.unwrap();
}

fn converse(mut stream: impl Read + Write + Send + 'static, try_clone: impl Read + Send + 'static) {
    let sent = pattern(3 << 20);
    let expected = sent.clone();
    let mut reader = try_clone;
    let reading = thread::spawn(move || {
        let mut back = vec![0; expected.len()];
        reader.read_exact(&mut back).unwrap();
        assert!(back == expected, "the echo differs");
    });
    for piece in sent.chunks(10_007) {
        stream.write_all(piece).unwrap();
    }
    reading.join().unwrap();
}

#[test]
fn echoes_over_tcp_and_unix() {
    let path = TempPath::new("echo");
    let unix_path = path.to_path_buf();
    on(async |Reactor { rt, io, .. }| {
        let (tcp, address) = io.listen_tcp((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let unix = io.listen_unix(&unix_path).unwrap();
        let clients = thread::spawn(move || {
            let tcp = TcpStream::connect(address).unwrap();
            let unix = UnixStream::connect(unix_path).unwrap();
            shrink(&unix, libc::SO_SNDBUF);
            let (tcp_reader, unix_reader) = (tcp.try_clone().unwrap(), unix.try_clone().unwrap());
            let tcp = thread::spawn(|| converse(tcp, tcp_reader));
            converse(unix, unix_reader);
            tcp.join().unwrap();
        });
        let sessions = [rt.accept(tcp).await.unwrap(), rt.accept(unix).await.unwrap()];
        let open = Rc::new(Cell::new(2));
        for sock in sessions {
            let (rt, open) = (rt.clone(), open.clone());
            rt.clone().spawn(async move {
                echo(rt, sock).await;
                open.set(open.get() - 1);
            });
        }
        while open.get() > 0 {
            rt.sleep(Nanos::millis(1)).await;
        }
        clients.join().unwrap();
    });
}

#[test]
fn many_sends_arrive_whole_and_in_order_through_a_small_buffer() {
    on(async |Reactor { rt, io, .. }| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        shrink(&ours, libc::SO_SNDBUF);
        let sock = io.add_socket(ours).unwrap();
        // Sizes from nothing to many times the socket's buffer, more pieces than one system call takes.
        let expected = pattern(4 << 20);
        let total = expected.len();
        let reading = thread::spawn(move || {
            let mut back = vec![0; total];
            theirs.read_exact(&mut back).unwrap();
            back
        });
        let mut sends = Vec::new();
        let mut at = 0;
        while at < total {
            let size = [1, 0, 300, 70_000, 17, 4096][sends.len() % 6].min(total - at);
            let buf = buf_of(&rt, &[&[0][..], &expected[at..at + size]].concat());
            let middle = 1 + size / 3;
            sends.push(
                rt.send(sock, vec![buf.slice(1..middle), buf.slice(middle..middle), buf.slice(middle..size + 1)]),
            );
            at += size;
        }
        for send in sends.into_iter().rev() {
            send.await.unwrap();
        }
        assert!(reading.join().unwrap() == expected, "sends were torn or reordered");
    });
}

#[test]
fn a_send_holds_its_buffers_until_the_peer_makes_room() {
    on(async |Reactor { rt, io, .. }| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sock = io.add_socket(ours).unwrap();
        let buf = buf_of(&rt, &pattern(8 << 20));
        let send = rt.send(sock, vec![buf.full()]);
        rt.sleep(Nanos::millis(20)).await;
        assert!(!buf.is_unshared(), "the driver let go of bytes it had not sent");
        let reading = thread::spawn(move || {
            let mut back = vec![0; 8 << 20];
            theirs.read_exact(&mut back).unwrap();
            back
        });
        send.await.unwrap();
        assert!(buf.is_unshared());
        assert!(reading.join().unwrap() == buf.bytes());
    });
}

#[test]
fn closing_fails_what_is_pending_and_names_are_not_reused() {
    on(async |Reactor { rt, io, .. }| {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let sock = io.add_socket(ours).unwrap();
        let waiting = rt.recv(sock, rt.alloc(10).full());
        let stuck = rt.send(sock, vec![rt.alloc(32 << 20).full()]);
        let behind = rt.send(sock, vec![rt.alloc(10).full()]);
        rt.sleep(Nanos::millis(5)).await;
        assert!(io.remove_socket(sock).is_none(), "operations are pending");
        let closed = rt.close(sock);
        assert_eq!(rt.recv(sock, rt.alloc(10).full()).await.unwrap_err().kind, IoErrorKind::Closed);
        assert_eq!(stuck.await.unwrap_err().kind, IoErrorKind::Closed);
        assert_eq!(behind.await.unwrap_err().kind, IoErrorKind::Closed);
        closed.await.unwrap();
        drop(waiting);
        theirs.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        theirs.read_to_end(&mut Vec::new()).unwrap();

        let (other, _peer) = UnixStream::pair().unwrap();
        let other = io.add_socket(other).unwrap();
        assert_ne!(other, sock);
        assert_eq!(rt.send(sock, vec![rt.alloc(1).full()]).await.unwrap_err().kind, IoErrorKind::Closed);
        assert_eq!(rt.close(sock).await.unwrap_err().kind, IoErrorKind::Closed);
        rt.close(other).await.unwrap();
    });
}

#[test]
fn a_pending_receive_ends_when_its_socket_is_closed() {
    on(async |Reactor { rt, io, .. }| {
        let (ours, _theirs) = UnixStream::pair().unwrap();
        let sock = io.add_socket(ours).unwrap();
        let task = rt.clone();
        rt.spawn(async move {
            task.sleep(Nanos::millis(5)).await;
            task.close(sock).await.unwrap();
        });
        assert_eq!(rt.recv(sock, rt.alloc(10).full()).await.unwrap_err().kind, IoErrorKind::Closed);
    });
}

#[test]
fn a_vanished_peer_is_an_end_or_an_error() {
    on(async |Reactor { rt, io, .. }| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let sock = io.add_socket(ours).unwrap();
        drop(theirs);
        assert_eq!(rt.recv(sock, rt.alloc(10).full()).await.unwrap(), 0);
        let sends = [0, 1].map(|_| rt.send(sock, vec![rt.alloc(10).full()]));
        for send in sends {
            assert_eq!(send.await.unwrap_err().kind, IoErrorKind::Closed);
        }
        rt.close(sock).await.unwrap();
    });
}

#[test]
fn tcp_connections_do_not_delay_small_segments() {
    on(async |Reactor { rt, io, .. }| {
        let (listener, address) = io.listen_tcp((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let _client = TcpStream::connect(address).unwrap();
        let sock = rt.accept(listener).await.unwrap();
        let stream = TcpStream::from(io.remove_socket(sock).unwrap());
        assert!(stream.nodelay().unwrap());
    });
}

#[test]
fn listeners() {
    let path = TempPath::new("listener");
    on(async |Reactor { rt, io, .. }| {
        // A socket file left by a killed process.
        drop(UnixListener::bind(&*path).unwrap());
        let listener = io.listen_unix(&path).unwrap();
        assert_eq!(io.listen_unix(&path).unwrap_err().kind(), std::io::ErrorKind::AddrInUse, "one of us listens there");
        // Finding that out took a connection.
        rt.accept(listener).await.unwrap();

        let task = (rt.clone(), io.clone());
        rt.spawn(async move {
            task.0.sleep(Nanos::millis(5)).await;
            task.1.close_listener(listener);
        });
        assert_eq!(rt.accept(listener).await.unwrap_err().kind, IoErrorKind::Closed);
        assert_eq!(rt.accept(listener).await.unwrap_err().kind, IoErrorKind::Closed);
        assert!(UnixStream::connect(&*path).is_err());
    });
}

#[test]
fn a_connection_moves_to_another_reactor() {
    let (socket, mut peer) = UnixStream::pair().unwrap();
    let socket = std::sync::Mutex::new(Some(socket));
    let reactors = spawn_reactors(&Config { reactors: 2, ..Config::default() }, move |Reactor { rt, io, .. }| {
        let socket = socket.lock().unwrap().take();
        async move {
            if let Some(socket) = socket {
                let other = ReactorId(1 - rt.id().0);
                let sock = io.add_socket(socket).unwrap();
                rt.send_msg(other, Box::new(io.remove_socket(sock).unwrap()));
            } else {
                let fd = rt.recv_msg().await.downcast::<std::os::fd::OwnedFd>().unwrap();
                echo(rt, io.add_socket(*fd).unwrap()).await;
            }
        }
    });
    peer.write_all(b"hello").unwrap();
    let mut back = [0; 5];
    peer.read_exact(&mut back).unwrap();
    assert_eq!(&back, b"hello");
    drop(peer);
    reactors.unwrap().join();
}

#[test]
fn stop_signals_can_be_awaited() {
    on(async |Reactor { rt, io, .. }| {
        // Under nohup it would stay ignored.
        // SAFETY: the call takes two numbers and no pointer. The default action is no code of this process, so no handler can run in
        // the midst of anything.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
        let signals = Signals::install(&io).unwrap();
        assert!(Signals::install(&io).is_err(), "a process has one set of handlers");
        for (number, signal) in
            [(libc::SIGTERM, Signal::Terminate), (libc::SIGINT, Signal::Interrupt), (libc::SIGHUP, Signal::HangUp)]
        {
            let raising = thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                // SAFETY: sends ourselves a signal that has a handler.
                assert_eq!(unsafe { libc::kill(libc::getpid(), number) }, 0);
            });
            assert_eq!(signals.next(&rt).await.unwrap(), signal);
            raising.join().unwrap();
        }
    });
}
