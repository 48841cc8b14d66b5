//! The drive over its file: blocks and what is beside them, stored together.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::RwLock;

use cygnus_parity::{ALIGNMENT, MAX_DATA_COLUMNS, MAX_PARITY_COLUMNS};
use cygnus_ssdlink::{Convert, MAX_DATA, crc32c};
use cygnus_types::{BLOCK, Uuid};

use crate::error::DriveError;
use crate::layout::Layout;
use crate::record::{OOB, PAIR_BYTES, Pair, Record};

/// Most bytes that a conversion takes in: what the drive's memory for it holds.
const MOST_CONVERTED: u64 = 8 << 20;

/// Most blocks whose neighbouring bytes are read by one request: all blocks may have to be read for it.
const MOST_BESIDE: u32 = 2048;

/// Why the drive does not do what it is asked.
#[derive(Debug)]
pub enum Fault {
    /// A block does not fit what is known of it: its file was changed, or the power failed while it was written.
    Medium,
    /// The range is not within the drive, not of whole blocks, or too long.
    Range,
    /// The system below failed.
    System(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Of which blocks the newer record is known to be the one that fits. After an opening, of none: a server may have been killed
/// between a record and its block.
struct Known(Vec<u64>);

impl Known {
    fn has(&self, block: u64) -> bool {
        self.0[(block / 64) as usize] >> (block % 64) & 1 != 0
    }

    fn set(&mut self, block: u64, known: bool) {
        let (word, bit) = (&mut self.0[(block / 64) as usize], 1 << (block % 64));
        *word = if known { *word | bit } else { *word & !bit };
    }
}

/// A drive that is open, for this process alone.
pub struct Store {
    file: File,
    layout: Layout,
    /// Held by all who read, and alone by who writes: so blocks and records are always seen together.
    known: RwLock<Known>,
}

impl Store {
    /// Opens the drive in a file.
    ///
    /// # Errors
    /// If there is none, it is not whole, or another process has it.
    pub fn open(path: &Path) -> Result<Self, DriveError> {
        let failed = |doing| move |source| DriveError::Io { path: path.to_owned(), doing, source };
        let file = File::options().read(true).write(true).open(path).map_err(failed("open it"))?;
        // SAFETY: no pointers involved.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => DriveError::InUse { path: path.to_owned() },
                error => failed("lock it")(error),
            });
        }
        let layout = Layout::read(path, &file)?;
        let words = (layout.size / BLOCK as u64).div_ceil(64);
        Ok(Self { file, layout, known: RwLock::new(Known(vec![0; words as usize])) })
    }

    /// Which drive it is.
    pub fn drive(&self) -> Uuid {
        self.layout.drive
    }

    /// Capacity in bytes.
    pub fn size(&self) -> u64 {
        self.layout.size
    }

    /// The make of the modelled drive that goes along.
    pub fn model(&self) -> &str {
        &self.layout.model
    }

    /// The blocks of a range.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, Fault> {
        let blocks = self.blocks(offset, len)?;
        if len > u64::from(MAX_DATA) {
            return Err(Fault::Range);
        }
        let _together = self.known.read().expect("no holder panics");
        let mut data = vec![0; len as usize];
        self.file.read_exact_at(&mut data, self.layout.data_at(offset))?;
        for (block, pair) in data.chunks_exact(BLOCK).zip(self.pairs(&blocks)?) {
            if !pair.is_empty() && pair.fitting(crc32c(block)).is_none() {
                return Err(Fault::Medium);
            }
        }
        Ok(data)
    }

    /// Stores blocks, and beside each its part of `oob`.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn write(&self, offset: u64, data: &[u8], oob: &[u8]) -> Result<(), Fault> {
        let blocks = self.blocks(offset, data.len() as u64)?;
        let each = oob.len() / (data.len() / BLOCK);
        if each > OOB || each * (data.len() / BLOCK) != oob.len() {
            return Err(Fault::Range);
        }
        let mut known = self.known.write().expect("no holder panics");
        let mut records = Vec::with_capacity(data.len() / BLOCK * PAIR_BYTES);
        for (n, (block, pair)) in blocks.clone().zip(self.pairs(&blocks)?).enumerate() {
            let pair = if pair.is_empty() { Pair::unwritten(self.crc_of(block)?) } else { pair };
            let counts = self.counting(&known, block, &pair)?;
            let mut beside = [0; OOB];
            beside[..each].copy_from_slice(&oob[n * each..(n + 1) * each]);
            records.extend(pair.after(counts, crc32c(&data[n * BLOCK..(n + 1) * BLOCK]), beside).encode());
        }
        blocks.clone().for_each(|block| known.set(block, false));
        self.file.write_all_at(&records, self.layout.records_of(blocks.start))?;
        self.file.write_all_at(data, self.layout.data_at(offset))?;
        blocks.for_each(|block| known.set(block, true));
        Ok(())
    }

    /// The bytes beside blocks, `each` of every one.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn read_oob(&self, offset: u64, blocks: u32, each: u16) -> Result<Vec<u8>, Fault> {
        let range = self.blocks(offset, u64::from(blocks) * BLOCK as u64)?;
        let each = usize::from(each);
        if blocks > MOST_BESIDE || each > OOB || each == 0 {
            return Err(Fault::Range);
        }
        let known = self.known.read().expect("no holder panics");
        let mut beside = Vec::with_capacity(blocks as usize * each);
        for (block, pair) in range.clone().zip(self.pairs(&range)?) {
            match self.counting(&known, block, &pair)? {
                Some(record) => beside.extend(&record.oob[..each]),
                None if pair.is_empty() => beside.resize(beside.len() + each, 0),
                None => return Err(Fault::Medium),
            }
        }
        Ok(beside)
    }

    /// Forgets a range. A server that is killed meanwhile leaves blocks with nothing beside them.
    ///
    /// # Errors
    /// See [`Fault`].
    pub fn trim(&self, offset: u64, len: u64) -> Result<(), Fault> {
        let blocks = self.blocks(offset, len)?;
        let mut known = self.known.write().expect("no holder panics");
        blocks.clone().for_each(|block| known.set(block, false));
        let records = self.layout.records_of(blocks.start);
        self.zero(records, self.layout.records_of(blocks.end) - records)?;
        match self.clear(self.layout.data_at(offset), len) {
            // What was there stays there, which nobody may count on.
            Err(error) if is_unsupported(&error) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Makes everything durable that was done before.
    ///
    /// # Errors
    /// The operating system's.
    pub fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Lets others open the drive, although this process has not closed it yet.
    pub fn unlock(&self) {
        // SAFETY: no pointers involved. What could fail is that there is no lock.
        unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
    }

    /// Computes a parity of chunks and of what is beside their blocks, stores it durably, and then forgets the chunks if they do not
    /// stay. Says how many blocks were read and written for it.
    ///
    /// # Errors
    /// See [`Fault`]; then the chunks are as they were.
    pub fn convert(&self, what: &Convert) -> Result<u64, Fault> {
        let Convert { source, destination, chunk, chunks, row, keeps } = *what;
        let taken = chunk.checked_mul(chunks.into()).filter(|&taken| taken <= MOST_CONVERTED).ok_or(Fault::Range)?;
        self.blocks(source, taken)?;
        self.blocks(destination, chunk)?;
        let apart = destination >= source + taken || destination + chunk <= source;
        let fits = chunk <= u64::from(MAX_DATA) && chunks as usize <= MAX_DATA_COLUMNS;
        if !apart || !fits || usize::from(row) >= MAX_PARITY_COLUMNS {
            return Err(Fault::Range);
        }
        let (mut data, mut beside) = (Vec::new(), Vec::new());
        for nth in 0..u64::from(chunks) {
            data.push(self.read(source + nth * chunk, chunk)?);
            beside.push(self.read_oob(source + nth * chunk, (chunk / BLOCK as u64) as u32, OOB as u16)?);
        }
        self.write(destination, &row_of_parity(&data, row), &row_of_parity(&beside, row))?;
        self.flush()?;
        if !keeps {
            self.trim(source, taken)?;
        }
        Ok((taken + chunk) / BLOCK as u64)
    }

    /// The blocks of a range that has some and lies within the drive.
    fn blocks(&self, offset: u64, len: u64) -> Result<std::ops::Range<u64>, Fault> {
        let block = BLOCK as u64;
        let end = offset.checked_add(len).filter(|&end| end <= self.layout.size);
        match end {
            Some(end) if len > 0 && offset.is_multiple_of(block) && len.is_multiple_of(block) => {
                Ok(offset / block..end / block)
            }
            _ => Err(Fault::Range),
        }
    }

    fn pairs(&self, blocks: &std::ops::Range<u64>) -> io::Result<Vec<Pair>> {
        let mut bytes = vec![0; (blocks.end - blocks.start) as usize * PAIR_BYTES];
        self.file.read_exact_at(&mut bytes, self.layout.records_of(blocks.start))?;
        Ok(bytes.chunks_exact(PAIR_BYTES).map(Pair::decode).collect())
    }

    /// The record that goes with a block. Where a server may have been killed, the block itself tells.
    fn counting(&self, known: &Known, block: u64, pair: &Pair) -> io::Result<Option<Record>> {
        if pair.is_empty() || known.has(block) {
            return Ok(pair.newest().copied());
        }
        Ok(pair.fitting(self.crc_of(block)?).copied())
    }

    fn crc_of(&self, block: u64) -> io::Result<u32> {
        let mut data = [0; BLOCK];
        self.file.read_exact_at(&mut data, self.layout.data_at(block * BLOCK as u64))?;
        Ok(crc32c(&data))
    }

    /// Zeros in the file, whatever its file system can do.
    fn zero(&self, at: u64, len: u64) -> io::Result<()> {
        match self.clear(at, len) {
            Err(error) if is_unsupported(&error) => {}
            result => return result,
        }
        let zeros = vec![0; (1 << 20).min(len as usize)];
        for done in (0..len).step_by(zeros.len().max(1)) {
            self.file.write_all_at(&zeros[..(len - done).min(zeros.len() as u64) as usize], at + done)?;
        }
        Ok(())
    }

    /// Zeros that take no space, or keep the space that was set aside.
    fn clear(&self, at: u64, len: u64) -> io::Result<()> {
        let mode = if self.layout.sparse { libc::FALLOC_FL_PUNCH_HOLE } else { libc::FALLOC_FL_ZERO_RANGE };
        loop {
            // SAFETY: no pointers involved.
            let done = unsafe {
                libc::fallocate(self.file.as_raw_fd(), mode | libc::FALLOC_FL_KEEP_SIZE, at as i64, len as i64)
            };
            match io::Error::last_os_error() {
                _ if done == 0 => return Ok(()),
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            }
        }
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS))
}

/// The parity of this row over columns of the same length.
fn row_of_parity(columns: &[Vec<u8>], row: u8) -> Vec<u8> {
    let len = columns.first().map_or(0, Vec::len);
    let padded = len.next_multiple_of(ALIGNMENT);
    let columns: Vec<Vec<u8>> = columns.iter().map(|one| [&one[..], &vec![0; padded - len]].concat()).collect();
    let sources: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    let mut parities = vec![vec![0; padded]; usize::from(row) + 1];
    cygnus_parity::generate(&sources, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    let mut last = parities.pop().expect("there is a row");
    last.truncate(len);
    last
}
