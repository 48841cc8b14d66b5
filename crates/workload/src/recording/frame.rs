//! A frame: requests of one reactor, each told by what differs from the one before.

use super::number;
use crate::Kind;
use crate::trace::Record;
use cygnus_parity::checksum::crc32c;
use cygnus_types::Nanos;

/// Bytes of a frame's header.
pub(super) const HEADER: usize = 32;
/// What frames begin with.
pub(super) const MAGIC: [u8; 4] = *b"FRME";
/// No frame is longer.
pub(super) const LONGEST: usize = 1 << 20;
/// A frame of this length in bytes is full.
const FULL: usize = 60 << 10;

/// The unit of offsets and lengths, where they are whole ones.
const SECTOR: u64 = 512;
const KIND: u8 = 0b111;
const FUA: u8 = 1 << 3;
const SECTORS: u8 = 1 << 4;
const FOLLOWS: u8 = 1 << 5;
const SAME_LENGTH: u8 = 1 << 6;

/// The order is the format's.
const KINDS: [Kind; 5] = [Kind::Read, Kind::Write, Kind::Flush, Kind::Trim, Kind::WriteZeroes];

fn kind_code(kind: Kind) -> u8 {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
        Kind::Flush => 2,
        Kind::Trim => 3,
        Kind::WriteZeroes => 4,
    }
}

/// What the next request is told against.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    at: u64,
    end: u64,
    len: u64,
}

/// Collects the requests of a reactor into frames.
#[derive(Debug)]
pub struct FrameBuilder {
    reactor: u16,
    bytes: Vec<u8>,
    first: u64,
    requests: u32,
    lost: u32,
    before: Before,
}

impl FrameBuilder {
    /// An empty frame of the requests that this reactor takes.
    pub fn new(reactor: u16) -> FrameBuilder {
        FrameBuilder { reactor, bytes: vec![0; HEADER], first: 0, requests: 0, lost: 0, before: Before::default() }
    }

    /// Adds a request; its time is that of the frames' clock. Times that go backwards are moved up.
    pub fn push(&mut self, record: &Record) {
        if self.requests == 0 {
            self.first = record.at.0;
            self.before = Before { at: record.at.0, end: 0, len: 0 };
        }
        self.requests += 1;
        let Before { at, end, len } = self.before;
        let (offset, new_len) = (record.offset, u64::from(record.len));
        let flags = if record.fua { FUA } else { 0 } | kind_code(record.kind);
        let now = record.at.0.max(at);
        if !record.kind.has_range() {
            self.bytes.push(flags);
            put_varint(&mut self.bytes, now - at);
            self.before.at = now;
            return;
        }
        let sectors = offset.is_multiple_of(SECTOR) && new_len.is_multiple_of(SECTOR) && end.is_multiple_of(SECTOR);
        let (follows, same) = (offset == end, new_len == len);
        let flag = |set, flag| if set { flag } else { 0 };
        self.bytes.push(flags | flag(sectors, SECTORS) | flag(follows, FOLLOWS) | flag(same, SAME_LENGTH));
        put_varint(&mut self.bytes, now - at);
        let unit = if sectors { SECTOR } else { 1 };
        if !same {
            put_varint(&mut self.bytes, new_len / unit);
        }
        if !follows {
            let distance = (offset / unit) as i64 - (end / unit) as i64;
            put_varint(&mut self.bytes, ((distance << 1) ^ (distance >> 63)) as u64);
        }
        self.before = Before { at: now, end: offset + new_len, len: new_len };
    }

    /// Whether it is time to [`take`](Self::take) the frame.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// The frame's bytes, to be written at once; a new one begins. `None` when there was no request.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        if self.requests == 0 {
            return None;
        }
        let mut bytes = std::mem::replace(&mut self.bytes, Vec::with_capacity(FULL + 64));
        self.bytes.resize(HEADER, 0);
        let payload = (bytes.len() - HEADER) as u32;
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&payload.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.reactor.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.requests.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.lost.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first.to_le_bytes());
        let sum = crc32c(&bytes[8..]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        (self.requests, self.lost) = (0, 0);
        Some(bytes)
    }

    /// A frame that was taken could not be written: the next one says how many requests are missing.
    pub fn lose(&mut self, frame: &[u8]) {
        let [requests, lost] = [16, 20].map(|at| u32::from_le_bytes(number(frame, at)));
        self.lost = self.lost.saturating_add(requests).saturating_add(lost);
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number off the front of `bytes`.
fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7F);
        if part << shift >> shift != part {
            return None;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// What a frame holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub records: Vec<Record>,
    /// Requests missing before it.
    pub lost: u32,
}

/// The length of the frame with this header, if it is one.
pub(super) fn length(header: &[u8; HEADER]) -> Option<usize> {
    let payload = u32::from_le_bytes(number(header, 8)) as usize;
    (header.starts_with(&MAGIC) && payload <= LONGEST - HEADER).then_some(HEADER + payload)
}

/// Reads a frame of the right length; `None` if anything about it is wrong. `clock` is added to all times.
pub(super) fn decode(bytes: &[u8], clock: u64) -> Option<Frame> {
    if crc32c(&bytes[8..]) != u32::from_le_bytes(number(bytes, 4)) {
        return None;
    }
    let requests = u32::from_le_bytes(number(bytes, 16)) as usize;
    let first = clock.checked_add(u64::from_le_bytes(number(bytes, 24)))?;
    let mut before = Before { at: first, end: 0, len: 0 };
    let mut rest = &bytes[HEADER..];
    // A request takes two bytes at least.
    let mut records = Vec::with_capacity(requests.min(rest.len() / 2));
    while !rest.is_empty() {
        records.push(decode_request(&mut rest, &mut before)?);
    }
    let lost = u32::from_le_bytes(number(bytes, 20));
    (records.len() == requests).then_some(Frame { records, lost })
}

fn decode_request(rest: &mut &[u8], before: &mut Before) -> Option<Record> {
    let (&head, left) = rest.split_first()?;
    *rest = left;
    let (kind, fua) = (*KINDS.get(usize::from(head & KIND))?, head & FUA != 0);
    before.at = before.at.checked_add(take_varint(rest)?)?;
    let at = Nanos(before.at);
    if !kind.has_range() {
        return (head & !(KIND | FUA) == 0).then_some(Record { at, kind, offset: 0, len: 0, volume: 0, fua });
    }
    let unit = if head & SECTORS != 0 { SECTOR } else { 1 };
    if head & 0x80 != 0 || !before.end.is_multiple_of(unit) {
        return None;
    }
    if head & SAME_LENGTH == 0 {
        before.len = take_varint(rest)?.checked_mul(unit)?;
    }
    let mut offset = before.end;
    if head & FOLLOWS == 0 {
        let coded = take_varint(rest)?;
        let distance = (coded >> 1) as i64 ^ -((coded & 1) as i64);
        offset = (offset / unit).checked_add_signed(distance)?.checked_mul(unit)?;
    }
    let len = u32::try_from(before.len).ok().filter(|&len| len > 0)?;
    before.end = offset.checked_add(before.len).filter(|&end| end < 1 << 63)?;
    Some(Record { at, kind, offset, len, volume: 0, fua })
}
