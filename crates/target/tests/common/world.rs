//! A server on a network of byte queues.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use super::client::{self, Answer, Client};
use super::loopback::{LISTENER, Loopback};
use super::ram::{RamVolume, Shelf};
use cygnus_nbd::Errno;
use cygnus_runtime::{Peer, Runtime, SocketId};
use cygnus_target::*;

pub const MIB: usize = 1 << 20;

/// A server of one volume "vol0" and all there is to poke at it.
pub struct World {
    pub rt: Runtime,
    pub network: Loopback,
    pub server: Server<Shelf>,
    pub shelf: Shelf,
    pub volume: RamVolume,
    pub config: ServerConfig,
    pub log: Rc<RefCell<Vec<SessionEvent>>>,
}

impl World {
    pub fn with(piece: usize, size: usize, config: ServerConfig) -> World {
        let (network, rt) = Loopback::reactor(piece);
        let volume = RamVolume::new(size);
        let shelf = Shelf::with("vol0", &volume);
        let log = Rc::new(RefCell::new(Vec::new()));
        let events = log.clone();
        let server = Server::new(&rt, shelf.clone(), config.clone(), move |event| events.borrow_mut().push(event));
        server.listen(LISTENER, "loopback");
        World { rt, network, server, shelf, volume, config, log }
    }

    pub fn new() -> World {
        World::with(usize::MAX, MIB, ServerConfig::default())
    }

    pub async fn client(&self) -> Client {
        self.client_of(Peer::User(1)).await
    }

    pub async fn client_of(&self, peer: Peer) -> Client {
        Client::go(&self.rt, self.network.connect_as(peer), "vol0", true).await
    }

    /// Why sessions ended, in order.
    pub fn ends(&self) -> Vec<EndReason> {
        let log = self.log.borrow();
        let reason = |event: &SessionEvent| match event {
            SessionEvent::Closed { reason, .. } => Some(reason.clone()),
            _ => None,
        };
        log.iter().filter_map(reason).collect()
    }

    pub fn run(&self, test: impl Future<Output = ()>) {
        self.rt.run(test).expect("nothing stalls");
        self.rt.drop_tasks();
    }
}

/// Reads until the server closes.
pub async fn closed(rt: &Runtime, sock: SocketId) {
    while client::receive(rt, sock, &mut Vec::new()).await {}
}

pub fn error(answer: Answer) -> Errno {
    match answer {
        Answer::Error(errno, ..) => errno,
        other => panic!("{other:?}"),
    }
}
