//! Where things are in the file of a drive: a header, the records of all blocks, the blocks.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use cygnus_ssdlink::crc32c;
use cygnus_types::{BLOCK, Uuid};

use crate::error::DriveError;
use crate::record::PAIR_BYTES;

/// Bytes that the drive can store beside each block.
pub const OOB_BYTES: u16 = crate::record::OOB as u16;

const MAGIC: &[u8; 8] = b"CYGSSDFL";
const VERSION: u16 = 2;
const HEADER: usize = BLOCK;
const MODEL: usize = 32;
/// As large as a drive can be modelled: what is kept in memory for each block stays bounded.
const LARGEST: u64 = 8 << 40;

/// The drive as its header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) drive: Uuid,
    /// Capacity in bytes.
    pub(crate) size: u64,
    /// Whether trims give space back to the file system.
    pub(crate) sparse: bool,
    pub(crate) model: String,
}

impl Layout {
    /// Where the records of a block are in the file.
    pub(crate) fn records_of(&self, block: u64) -> u64 {
        HEADER as u64 + block * PAIR_BYTES as u64
    }

    /// Where a byte of the drive is in the file.
    pub(crate) fn data_at(&self, offset: u64) -> u64 {
        file_bytes(self.size) - self.size + offset
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(MAGIC);
        put(&VERSION.to_le_bytes());
        put(&[u8::from(self.sparse), 0]);
        put(&self.drive.0);
        put(&self.size.to_le_bytes());
        put(self.model.as_bytes());
        let checksum = crc32c(&bytes[..HEADER - 4]);
        bytes[HEADER - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// What the header of a file says, when the file is as long as it says.
    pub(crate) fn read(path: &Path, file: &File) -> Result<Self, DriveError> {
        let failed = |doing| move |source| DriveError::Io { path: path.to_owned(), doing, source };
        let is = file.metadata().map_err(failed("examine it"))?.len();
        let mut bytes = vec![0; HEADER];
        let head = (is as usize).min(HEADER);
        file.read_exact_at(&mut bytes[..head], 0).map_err(failed("read its header"))?;
        if !bytes.starts_with(MAGIC) {
            return Err(DriveError::NotADrive { path: path.to_owned() });
        }
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            return Err(DriveError::Version { path: path.to_owned(), version, ours: VERSION });
        }
        let checksum = u32::from_le_bytes(bytes[HEADER - 4..].try_into().expect("four bytes"));
        let model: Vec<u8> = bytes[36..36 + MODEL].iter().copied().take_while(|&byte| byte != 0).collect();
        let size = number(28);
        let sound = crc32c(&bytes[..HEADER - 4]) == checksum && size > 0 && size.is_multiple_of(BLOCK as u64);
        let (true, Ok(model)) = (sound && size <= LARGEST, String::from_utf8(model)) else {
            return Err(DriveError::Damaged { path: path.to_owned() });
        };
        let needs = file_bytes(size);
        if is < needs {
            return Err(DriveError::Short { path: path.to_owned(), is, needs });
        }
        let drive = Uuid(bytes[12..28].try_into().expect("sixteen bytes"));
        Ok(Self { drive, size, sparse: bytes[10] != 0, model })
    }
}

/// Length of the file of a drive of `size` bytes: 7 % more, for what is beside the blocks.
pub fn file_bytes(size: u64) -> u64 {
    let records = size / BLOCK as u64 * PAIR_BYTES as u64;
    HEADER as u64 + records.next_multiple_of(BLOCK as u64) + size
}

/// Makes a new drive of a file of zeros that has [`file_bytes`]. The header is written last and made durable.
///
/// # Errors
/// When the system gives no random bytes, or the file cannot be written.
pub fn format(path: &Path, size: u64, sparse: bool, model: &str) -> Result<(), DriveError> {
    let failed = |source| DriveError::Io { path: path.to_owned(), doing: "write its header", source };
    let random = cygnus_ssdlink::random_bytes().map_err(failed)?;
    let half = |at: usize| u64::from_le_bytes(random[at..at + 8].try_into().expect("eight bytes"));
    let model: String = model.chars().take(MODEL).collect();
    let layout = Layout { drive: Uuid::from_random(half(0), half(8)), size, sparse, model };
    let file = File::options().write(true).open(path).map_err(failed)?;
    file.write_all_at(&layout.encode(), 0).and_then(|()| file.sync_all()).map_err(failed)
}
