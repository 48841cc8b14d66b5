//! Plain, gzip or bzip2, told by the first bytes rather than the name.

use std::cell::Cell;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::rc::Rc;

/// Bytes at the beginning of the file that tell how it is compressed.
const MAGIC: usize = 6;

/// What a file is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Bzip2,
    /// One that is not read here.
    Other(&'static str),
}

impl Compression {
    fn of(magic: &[u8]) -> Compression {
        match magic {
            [0x1F, 0x8B, ..] => Compression::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', ..] => Compression::Other("xz"),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Compression::Other("zstd"),
            [b'P', b'K', 3, 4, ..] => Compression::Other("zip"),
            [b'7', b'z', 0xBC, 0xAF, ..] => Compression::Other("7-Zip"),
            _ => Compression::None,
        }
    }
}

/// Counts what passes, so that progress can be shown in bytes of the file whatever its compression.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.count.set(self.count.get() + got as u64);
        Ok(got)
    }
}

/// The text of a file, whatever it was compressed with.
pub(super) type Text<'a> = Box<dyn Read + 'a>;

/// The sample that was taken, and then the rest.
pub(super) type Sampled<'a> = Chain<Cursor<Vec<u8>>, Text<'a>>;

/// The text of a file, how it was compressed, and a counter of the compressed bytes taken from it.
pub(super) fn open<'a>(file: impl Read + 'a) -> io::Result<(Text<'a>, Compression, Rc<Cell<u64>>)> {
    let count = Rc::new(Cell::new(0));
    let mut file = Counted { inner: file, count: count.clone() };
    let mut magic = Vec::new();
    file.by_ref().take(MAGIC as u64).read_to_end(&mut magic)?;
    let compression = Compression::of(&magic);
    let file = BufReader::with_capacity(128 << 10, Cursor::new(magic).chain(file));
    let text: Text<'a> = match compression {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Compression::None | Compression::Other(_) => Box::new(file),
    };
    Ok((text, compression, count))
}
