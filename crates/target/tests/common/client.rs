//! A client on the same reactor as the server it talks to.

use std::collections::BTreeMap;

use cygnus_nbd::*;
use cygnus_runtime::{IoError, Runtime, SocketId};

pub struct Client {
    pub rt: Runtime,
    pub sock: SocketId,
    pub agreed: Negotiated,
    input: Vec<u8>,
    cookie: u64,
    /// Lengths of the reads outstanding, 0 for other requests.
    outstanding: BTreeMap<u64, u32>,
    /// What has come of reads that are answered in parts.
    parts: BTreeMap<u64, Vec<u8>>,
    /// How many parts have come.
    pub parts_seen: usize,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    Data(Vec<u8>),
    Hole(u32),
    Status(Vec<Extent>),
    Error(Errno, String, Option<u64>),
}

pub async fn send(rt: &Runtime, sock: SocketId, bytes: &[u8]) -> Result<(), IoError> {
    for piece in bytes.chunks(1 << 20) {
        let mut buf = rt.alloc(piece.len());
        buf.bytes_mut().copy_from_slice(piece);
        rt.send(sock, vec![buf.full()]).await?;
    }
    Ok(())
}

/// Receives once; false at the end of the stream.
pub async fn receive(rt: &Runtime, sock: SocketId, input: &mut Vec<u8>) -> bool {
    let buf = rt.alloc(64 << 10);
    let bytes = rt.recv(sock, buf.full()).await.unwrap_or(0);
    input.extend_from_slice(&buf.bytes()[..bytes]);
    bytes > 0
}

impl Client {
    pub async fn go(rt: &Runtime, sock: SocketId, export: &str, structured: bool) -> Client {
        let goal = Goal::Go { export: export.into(), structured, allocation: structured };
        let (mut handshake, mut input, mut out) = (ClientHandshake::new(goal), Vec::new(), Vec::new());
        loop {
            let (consumed, step) = handshake.step(&input, &mut out).expect("a sound negotiation");
            input.drain(..consumed);
            send(rt, sock, &out).await.expect("the server listens");
            out.clear();
            match step {
                ClientStep::Again => {}
                ClientStep::NeedMore(_) => assert!(receive(rt, sock, &mut input).await, "closed while negotiating"),
                ClientStep::Ready(agreed) => {
                    let (rt, outstanding, parts) = (rt.clone(), BTreeMap::new(), BTreeMap::new());
                    return Client { rt, sock, agreed: *agreed, input, cookie: 0, outstanding, parts, parts_seen: 0 };
                }
                ClientStep::Exports(_) => unreachable!(),
            }
        }
    }

    /// Sends a request, with `data` after it; returns its cookie.
    pub async fn start(&mut self, command: Command, flags: u16, offset: u64, length: u32, data: &[u8]) -> u64 {
        self.cookie += 1;
        let cookie = self.cookie;
        self.outstanding.insert(cookie, if command == Command::Read { length } else { 0 });
        let request = Request { cookie, offset, length, flags, command };
        // A server that has closed shows at the receive.
        let _ = send(&self.rt, self.sock, &[&request.encode(), data].concat()).await;
        cookie
    }

    /// The next reply, with its cookie; None when the server has closed.
    pub async fn next(&mut self) -> Option<(u64, Answer)> {
        loop {
            match parse_reply(&self.input, |cookie| self.outstanding.get(&cookie).copied()) {
                ReplyParsed::Reply { reply, consumed } => {
                    if let ReplyBody::Data { data, .. } = &reply.body
                        && (!reply.last || self.parts.contains_key(&reply.cookie))
                    {
                        // This server sends parts in order.
                        let part = self.input[data.clone()].to_vec();
                        self.parts.entry(reply.cookie).or_default().extend(part);
                        self.parts_seen += 1;
                        self.input.drain(..consumed);
                        if !reply.last {
                            continue;
                        }
                        self.outstanding.remove(&reply.cookie);
                        return Some((reply.cookie, Answer::Data(self.parts.remove(&reply.cookie).unwrap())));
                    }
                    assert!(reply.last, "only data comes in parts");
                    self.parts.remove(&reply.cookie);
                    let text = |range: std::ops::Range<usize>| String::from_utf8(self.input[range].to_vec()).unwrap();
                    let answer = match reply.body {
                        ReplyBody::Done => Answer::Done,
                        ReplyBody::Data { data, .. } => Answer::Data(self.input[data].to_vec()),
                        ReplyBody::Hole { length, .. } => Answer::Hole(length),
                        ReplyBody::Status { extents, .. } => {
                            Answer::Status(ExtentIter::new(&self.input[extents]).collect())
                        }
                        ReplyBody::Error { errno, message, offset } => Answer::Error(errno, text(message), offset),
                    };
                    self.input.drain(..consumed);
                    self.outstanding.remove(&reply.cookie);
                    return Some((reply.cookie, answer));
                }
                ReplyParsed::NeedMore(_) => {
                    if !receive(&self.rt, self.sock, &mut self.input).await {
                        return None;
                    }
                }
                ReplyParsed::Bad(reason) => panic!("{reason}"),
            }
        }
    }

    /// One request from start to end.
    pub async fn ask(&mut self, command: Command, flags: u16, offset: u64, length: u32) -> Answer {
        let cookie = self.start(command, flags, offset, length, &[]).await;
        let (answered, answer) = self.next().await.expect("the server closed");
        assert_eq!(answered, cookie);
        answer
    }

    pub async fn read(&mut self, offset: u64, length: u32) -> Answer {
        self.ask(Command::Read, 0, offset, length).await
    }

    pub async fn write(&mut self, offset: u64, data: &[u8], flags: u16) -> Answer {
        let cookie = self.start(Command::Write, flags, offset, data.len() as u32, data).await;
        let (answered, answer) = self.next().await.expect("the server closed");
        assert_eq!(answered, cookie);
        answer
    }

    /// Says goodbye; true if the server then closed.
    pub async fn disconnect(mut self) -> bool {
        self.start(Command::Disconnect, 0, 0, 0, &[]).await;
        self.next().await.is_none()
    }
}
