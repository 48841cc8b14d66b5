//! One connection: a greeting, then requests in and answers out, each on a thread of its own.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use cygnus_ssdlink::{
    Admission, Command, HELLO_BYTES, Hello, REQUEST_BYTES, Reply, Request, Status, Stream, VERSION, Welcome,
    check_payload,
};

use crate::clock::Ticket;
use crate::gate::{CLAIMED_BYTES, DEPTH, Gate, LOOKER_BYTES};
use crate::layout::OOB_BYTES;
use crate::server::Drive;
use crate::work::{Answer, carry_out, changes, modelled};

/// How long a greeting may take.
const GREETING: Duration = Duration::from_secs(5);
/// How long an answer waits for a peer that takes none.
const SENDING: Duration = Duration::from_secs(30);

/// An answer on its way, and the room that it has in the gate.
struct Outgoing {
    bytes: Vec<u8>,
    room: usize,
}

/// What requests under way need of their connection.
struct Session {
    gate: Arc<Gate>,
    out: Sender<Outgoing>,
    claims: bool,
}

/// A request under way.
pub(crate) struct Job {
    session: Arc<Session>,
    id: u64,
    command: Command,
    payload: Vec<u8>,
    ticket: Option<Ticket>,
    room: usize,
}

/// Converses with whoever has connected, until the end.
pub(crate) fn converse(drive: &Arc<Drive>, stream: &Arc<Stream>) {
    // Whoever greets wrongly or not at all is told nothing.
    let Ok(Some(claims)) = greet(drive, stream) else { return };
    // The end of a connection has many names, and all are one to the drive.
    let _ = serve(drive, stream, claims);
    stream.hang_up();
    if claims {
        drive.claims.release(stream);
    }
}

/// Hears the greeting and answers it. Says whether the host has claimed the drive; `None` if it was turned away.
fn greet(drive: &Drive, stream: &Arc<Stream>) -> io::Result<Option<bool>> {
    stream.prepare()?;
    stream.set_patience(Some(GREETING), Some(GREETING))?;
    let mut hello = [0; HELLO_BYTES];
    (&**stream).read_exact(&mut hello)?;
    let Hello { version, claims, host } = Hello::decode(&hello).map_err(io::Error::other)?;
    let admission = if version != VERSION {
        Admission::Version
    } else if !claims && drive.is_crowded() {
        Admission::Crowded
    } else if claims && !drive.claims.claim(host, stream) {
        Admission::Claimed
    } else {
        Admission::Admitted
    };
    let welcome = Welcome {
        version: VERSION,
        admission,
        drive: drive.store.drive(),
        size: drive.store.size(),
        oob_bytes: OOB_BYTES,
        converts: true,
        // The modelled drive gains by every trim, and a sparse file too.
        trims: true,
        depth: DEPTH,
        model: drive.store.model().to_owned(),
    };
    let admitted = admission == Admission::Admitted;
    let told = (&**stream).write_all(&welcome.encode());
    let told = told.and_then(|()| stream.set_patience(None, Some(SENDING)));
    if told.is_err() && admitted && claims {
        drive.claims.release(stream);
    }
    told.map(|()| admitted.then_some(claims))
}

/// Takes requests until the connection ends. When it returns, nothing of them is under way any more.
fn serve(drive: &Arc<Drive>, stream: &Arc<Stream>, claims: bool) -> io::Result<()> {
    let (out, answers) = channel();
    let gate = Arc::new(Gate::new(if claims { CLAIMED_BYTES } else { LOOKER_BYTES }));
    let writer = (stream.clone(), gate.clone());
    thread::Builder::new().name("answers".into()).spawn(move || send(&writer.0, &answers, &writer.1))?;
    let session = Arc::new(Session { gate: gate.clone(), out, claims });
    let ended = take_requests(drive, stream, &session);
    stream.hang_up();
    gate.wait_until_empty();
    ended
}

fn take_requests(drive: &Arc<Drive>, mut stream: &Stream, session: &Arc<Session>) -> io::Result<()> {
    loop {
        let mut header = [0; REQUEST_BYTES];
        stream.read_exact(&mut header)?;
        let request = Request::decode(&header).map_err(io::Error::other)?;
        let answer_bytes = match request.command {
            Command::Read { len, .. } => len.min(u64::from(cygnus_ssdlink::MAX_DATA)) as usize,
            _ => 0,
        };
        let room = request.command.payload_bytes() + answer_bytes;
        session.gate.enter(room);
        let mut payload = vec![0; request.command.payload_bytes()];
        let read = stream.read_exact(&mut payload);
        let sound = read.and_then(|()| check_payload(&payload, request.payload_crc).map_err(io::Error::other));
        if let Err(error) = sound {
            session.gate.leave(room);
            return Err(error);
        }
        let refused = changes(&request.command) && !session.claims;
        let command = modelled(&request.command, drive.store.size()).filter(|_| !refused);
        let ticket = command.map(|command| drive.clock.arrived(command));
        let job = Job { session: session.clone(), id: request.id, command: request.command, payload, ticket, room };
        match request.command {
            _ if refused => job.answer(drive, Answer::bare(Status::Refused)),
            Command::Status => {
                let text = serde_json::to_vec_pretty(&drive.report()).expect("a report is a plain struct");
                job.answer(drive, Answer::with(text));
            }
            command => drive.give(job, matches!(command, Command::Flush | Command::Convert(_) | Command::Trim { .. })),
        }
    }
}

impl Job {
    /// Does what was asked, and answers.
    pub(crate) fn run(self, drive: &Drive) {
        let answer = carry_out(&drive.store, &self.command, &self.payload);
        self.answer(drive, answer);
    }

    fn answer(self, drive: &Drive, answer: Answer) {
        let Answer { status, value, payload } = answer;
        let mut bytes = Reply::new(self.id, status, value, &payload).encode().to_vec();
        bytes.extend(payload);
        let (session, room) = (self.session, self.room);
        let release = move || {
            if session.out.send(Outgoing { bytes, room }).is_err() {
                session.gate.leave(room);
            }
        };
        match self.ticket {
            Some(ticket) => drive.clock.answered(ticket, release),
            None => release(),
        }
    }
}

/// Sends answers as they come, several at a time where there are. When the peer takes none any more, they are dropped.
fn send(mut stream: &Stream, answers: &Receiver<Outgoing>, gate: &Gate) {
    /// As much goes out at once.
    const TOGETHER: usize = 256 << 10;
    let mut broken = false;
    while let Ok(first) = answers.recv() {
        let (mut bytes, mut rooms) = (first.bytes, vec![first.room]);
        while bytes.len() < TOGETHER
            && let Ok(next) = answers.try_recv()
        {
            bytes.extend(next.bytes);
            rooms.push(next.room);
        }
        if !broken && stream.write_all(&bytes).is_err() {
            broken = true;
            stream.hang_up();
        }
        rooms.into_iter().for_each(|room| gate.leave(room));
    }
}
