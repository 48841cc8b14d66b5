//! Files that people write by hand, read as a whole.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than anybody writes by hand: what is longer is a device, or no text, and would fill the memory.
const LONGEST: u64 = 16 << 20;

/// The text of a file.
///
/// # Errors
/// When the file cannot be read, is no text, or is longer than 16 MiB.
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 16 MiB, so it is no such file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            1 + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is no text (UTF-8)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::scratch::Scratch;

    #[test]
    fn what_is_no_text_is_refused_with_the_line_and_what_never_ends_too() {
        let scratch = Scratch::new("infile");
        let path = scratch.path().join("file");
        std::fs::write(&path, "one\ntwo").unwrap();
        assert_eq!(read(&path).unwrap(), "one\ntwo");
        std::fs::write(&path, b"one\n\xfftwo").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("line 2"));
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("longer than 16 MiB"));
    }
}
