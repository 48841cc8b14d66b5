//! An NBD server with a fault planted in it: what proves that the checks of this project can fail.
//!
//! `flawed-nbd SOCKET FILE SIZE FAULT` keeps written sectors in memory, as a disk with a volatile cache does, and
//! carries them to FILE on FLUSH and FUA. Faults:
//!
//! - `none`: an honest disk;
//! - `drop-flush`: every other flush is answered without anything being carried to the file;
//! - `late-flush`: a flush carries only what was written before the flush before it;
//! - `ignore-fua`: FUA writes stay in the cache;
//! - `flush-own`: a flush covers its own connection only, although MULTI_CONN is advertised;
//! - `misplace`: one write in 50 lands 64 KiB further on;
//! - `tear`: one write in 50 leaves the second half of its first sector as it was;
//! - `trim-nothing`: TRIM and WRITE_ZEROES are answered and not done;
//! - `stale-read`: one read in 50 is served from the file, past the cache;
//! - `resurrect`: unflushed sectors are journaled and appear not at the next start but at the one after.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard};

const SECTOR: usize = 512;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [socket, file, size, fault] = args.as_slice() else {
        eprintln!("usage: flawed-nbd SOCKET FILE SIZE FAULT");
        return ExitCode::from(2);
    };
    let Ok(size) = size.parse() else {
        eprintln!("SIZE is a number of bytes");
        return ExitCode::from(2);
    };
    match serve(socket, Path::new(file), size, fault) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("flawed-nbd: {e}");
            ExitCode::FAILURE
        }
    }
}

fn serve(socket: &str, file: &Path, size: u64, fault: &str) -> io::Result<()> {
    let disk = Arc::new(Mutex::new(Disk::open(file, size, fault)?));
    let _ = fs::remove_file(socket);
    for (id, stream) in UnixListener::bind(socket)?.incoming().enumerate() {
        let (stream, disk) = (stream?, Arc::clone(&disk));
        // A connection that ends, however it ends, concerns nobody else.
        std::thread::spawn(move || session(&stream, &disk, id));
    }
    Ok(())
}

/// A sector not yet carried to the file.
struct Dirty {
    /// The connection that wrote it.
    owner: usize,
    /// The number of flushes before it was written.
    epoch: u64,
    data: [u8; SECTOR],
}

/// A file under a volatile cache of sectors.
struct Disk {
    file: File,
    size: u64,
    fault: String,
    cache: BTreeMap<u64, Dirty>,
    epoch: u64,
    journal: File,
    counter: u64,
}

impl Disk {
    fn open(path: &Path, size: u64, fault: &str) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len(size)?;
        let (fresh, aged) = (suffixed(path, "journal"), suffixed(path, "aged"));
        replay(&aged, &file)?;
        let _ = fs::rename(&fresh, &aged);
        let journal = File::create(&fresh)?;
        Ok(Disk { file, size, fault: fault.to_owned(), cache: BTreeMap::new(), epoch: 0, journal, counter: 0 })
    }

    /// True in the first of every `n` calls for `fault`, if that is the one planted.
    fn strikes(&mut self, fault: &str, n: u64) -> bool {
        let planted = self.fault == fault;
        self.counter += u64::from(planted);
        planted && self.counter % n == 1
    }

    fn sector(&self, n: u64, past_cache: bool) -> io::Result<[u8; SECTOR]> {
        if let (Some(dirty), false) = (self.cache.get(&n), past_cache) {
            return Ok(dirty.data);
        }
        let mut data = [0; SECTOR];
        self.file.read_exact_at(&mut data, n * SECTOR as u64)?;
        Ok(data)
    }

    fn read(&mut self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let past_cache = self.strikes("stale-read", 50);
        let first = offset / SECTOR as u64;
        let last = (offset + length as u64).div_ceil(SECTOR as u64);
        let mut data = Vec::with_capacity(length + 2 * SECTOR);
        for n in first..last {
            data.extend(self.sector(n, past_cache)?);
        }
        let skip = (offset % SECTOR as u64) as usize;
        Ok(data[skip..skip + length].to_vec())
    }

    fn write(&mut self, owner: usize, mut offset: u64, mut data: &[u8], fua: bool) -> io::Result<()> {
        let carry = fua && self.fault != "ignore-fua";
        if self.strikes("misplace", 50) && offset + data.len() as u64 + 65536 <= self.size {
            offset += 65536;
        }
        let mut torn = self.strikes("tear", 50);
        while !data.is_empty() {
            let (n, skip) = (offset / SECTOR as u64, (offset % SECTOR as u64) as usize);
            let len = data.len().min(SECTOR - skip);
            let mut sector = self.sector(n, false)?;
            let kept = if torn { len / 2 } else { len };
            torn = false;
            sector[skip..skip + kept].copy_from_slice(&data[..kept]);
            self.put(owner, n, sector, carry)?;
            offset += len as u64;
            data = &data[len..];
        }
        Ok(())
    }

    fn put(&mut self, owner: usize, n: u64, sector: [u8; SECTOR], carry: bool) -> io::Result<()> {
        if carry {
            self.cache.remove(&n);
            return self.file.write_all_at(&sector, n * SECTOR as u64);
        }
        if self.fault == "resurrect" && self.cache.len().is_multiple_of(64) {
            self.journal.write_all(&n.to_be_bytes())?;
            self.journal.write_all(&sector)?;
        }
        self.cache.insert(n, Dirty { owner, epoch: self.epoch, data: sector });
        Ok(())
    }

    fn flush(&mut self, owner: usize) -> io::Result<()> {
        if self.strikes("drop-flush", 2) {
            return Ok(());
        }
        let (own_only, late) = (self.fault == "flush-own", self.fault == "late-flush");
        for (n, dirty) in std::mem::take(&mut self.cache) {
            if (own_only && dirty.owner != owner) || (late && dirty.epoch == self.epoch) {
                self.cache.insert(n, dirty);
            } else {
                self.file.write_all_at(&dirty.data, n * SECTOR as u64)?;
            }
        }
        self.epoch += 1;
        self.journal.set_len(0)
    }
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    path.with_extension(suffix)
}

/// Applies a journal of (sector number, contents) records, if there is one.
fn replay(journal: &Path, file: &File) -> io::Result<()> {
    for record in fs::read(journal).unwrap_or_default().chunks_exact(8 + SECTOR) {
        let n = u64::from_be_bytes(record[..8].try_into().expect("eight bytes"));
        file.write_all_at(&record[8..], n * SECTOR as u64)?;
    }
    Ok(())
}

fn session(stream: &UnixStream, disk: &Mutex<Disk>, id: usize) -> io::Result<()> {
    let lock = || -> MutexGuard<'_, Disk> { disk.lock().expect("no session panics") };
    let mut s = stream;
    s.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    let _client_flags = take::<4>(s)?;
    while !option(s, lock().size)? {}
    loop {
        let head = take::<28>(s)?;
        let number = |range: std::ops::Range<usize>| head[range].iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
        let (flags, command, offset, length) = (number(4..6), number(6..8), number(16..24), number(24..28) as usize);
        let outside = offset.checked_add(length as u64).is_none_or(|end| end > lock().size);
        let mut payload = vec![0; if command == 1 { length } else { 0 }];
        s.read_exact(&mut payload)?;
        let (fua, zeros) = (flags & 1 != 0, vec![0; if matches!(command, 4 | 6) && !outside { length } else { 0 }]);
        let done = match command {
            2 => return Ok(()),
            0 | 1 | 4 | 6 if outside => Err(22),
            0 => lock().read(offset, length).map_err(|_| 5),
            1 => lock().write(id, offset, &payload, fua).map_err(|_| 5).map(|()| Vec::new()),
            3 => lock().flush(id).map_err(|_| 5).map(|()| Vec::new()),
            4 | 6 if lock().fault == "trim-nothing" => Ok(Vec::new()),
            4 | 6 => lock().write(id, offset, &zeros, fua).map_err(|_| 5).map(|()| Vec::new()),
            _ => Err(22),
        };
        let mut reply = 0x6744_6698u32.to_be_bytes().to_vec();
        reply.extend(done.as_ref().err().map_or(0u32, |&e: &u32| e).to_be_bytes());
        reply.extend(&head[8..16]);
        reply.extend(done.unwrap_or_default());
        s.write_all(&reply)?;
    }
}

/// Answers one option; true when the transmission phase begins.
fn option(mut s: &UnixStream, size: u64) -> io::Result<bool> {
    const HAS_FLAGS_FLUSH_FUA_TRIM_ZEROES_MULTI: u16 = 1 | 4 | 8 | 32 | 64 | 256;
    let head = take::<16>(s)?;
    let kind = u32::from_be_bytes(head[8..12].try_into().expect("four bytes"));
    let mut data = vec![0; u32::from_be_bytes(head[12..16].try_into().expect("four bytes")) as usize];
    s.read_exact(&mut data)?;
    let mut reply = |code: u32, body: &[u8]| {
        let mut r = 0x0003_e889_0455_65a9u64.to_be_bytes().to_vec();
        r.extend(kind.to_be_bytes());
        r.extend(code.to_be_bytes());
        r.extend((body.len() as u32).to_be_bytes());
        r.extend(body);
        s.write_all(&r)
    };
    match kind {
        6 | 7 => {
            let mut export = 0u16.to_be_bytes().to_vec();
            export.extend(size.to_be_bytes());
            export.extend(HAS_FLAGS_FLUSH_FUA_TRIM_ZEROES_MULTI.to_be_bytes());
            reply(3, &export)?;
            reply(1, &[])?;
            Ok(kind == 7)
        }
        2 => {
            reply(1, &[])?;
            Err(io::ErrorKind::ConnectionAborted.into())
        }
        _ => reply(0x8000_0001, &[]).map(|()| false),
    }
}

fn take<const N: usize>(mut s: &UnixStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    s.read_exact(&mut bytes).map(|()| bytes)
}
