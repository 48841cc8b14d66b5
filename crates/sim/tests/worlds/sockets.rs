//! Simulated sockets behave as streams do.

use cygnus_runtime::{IoErrorKind, Rng, Runtime, SocketId};
use cygnus_sim::{Cluster, World};
use cygnus_types::Nanos;

async fn receive_all(rt: &Runtime, socket: SocketId) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let buf = rt.alloc(1000);
        match rt.recv(socket, buf.full()).await.expect("the stream is in order") {
            0 => return all,
            n => all.extend_from_slice(&buf.bytes()[..n]),
        }
    }
}

#[test]
fn bytes_arrive_in_order_and_then_the_end() {
    for seed in 0..50 {
        let world = World::new(seed);
        let cluster = Cluster::new(&world, 2, &[]);
        let listener = world.listen();
        let mut sent = vec![0; 20_000];
        Rng::new(seed).fill(&mut sent);
        let (rt, bytes, client) = (cluster.reactor(1).clone(), sent.clone(), world.connect(listener));
        cluster.reactor(1).spawn(async move {
            for piece in bytes.chunks(3_001) {
                let buf = rt.alloc(piece.len());
                buf.full().copy_from(0, piece);
                let (head, tail) = (buf.slice(0..1), buf.slice(1..piece.len()));
                rt.send(client, vec![head, tail]).await.expect("the peer is there");
            }
            rt.close(client).await.expect("closing succeeds");
        });
        let rt = cluster.reactor(0).clone();
        let received = cluster.run(async move {
            let socket = rt.accept(listener).await.expect("a client is coming");
            let all = receive_all(&rt, socket).await;
            let error = rt.send(socket, vec![rt.alloc(1).full()]).await.expect_err("nobody is there");
            assert_eq!(error.kind, IoErrorKind::Closed);
            all
        });
        assert_eq!(received, Ok(sent));
    }
}

#[test]
fn closing_ends_a_pending_receive() {
    let world = World::new(1);
    let cluster = Cluster::new(&world, 1, &[]);
    let (socket, _peer) = world.socket_pair();
    let rt = cluster.reactor(0).clone();
    let ended = cluster.run(async move {
        let (other, buf) = (rt.clone(), rt.alloc(10));
        rt.spawn(async move {
            other.sleep(Nanos::millis(1)).await;
            other.close(socket).await.expect("closing succeeds");
        });
        rt.recv(socket, buf.full()).await
    });
    assert_eq!(ended.expect("the task ends").expect_err("it was closed").kind, IoErrorKind::Closed);
}
