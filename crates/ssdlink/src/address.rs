//! Where a drive listens, as users write it: `unix:PATH` or `tcp:HOST:PORT`; among members of arrays with `ssd:` before it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What tells the address of a drive from the path of a file, among the members of an array.
const MEMBER: &str = "ssd:";

/// Where a drive listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket file.
    Unix(PathBuf),
    /// `HOST:PORT`, or `[IPV6]:PORT`.
    Tcp(String),
}

/// The text is no address of a drive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no address of a drive: write unix:PATH or tcp:HOST:PORT")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let wrong = || AddressError(text.to_owned());
        let bare = text.strip_prefix(MEMBER).unwrap_or(text);
        if let Some(path) = bare.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let place = bare.strip_prefix("tcp:").ok_or_else(wrong)?;
        let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
        let inner = host.strip_prefix('[').map_or(Some(host), |rest| rest.strip_suffix(']')).ok_or_else(wrong)?;
        let bare_ipv6 = host.contains(':') && !host.starts_with('[');
        if inner.is_empty() || bare_ipv6 || inner.contains(['/', ' ', '[', ']']) || port.parse::<u16>().is_err() {
            return Err(wrong());
        }
        Ok(Self::Tcp(place.to_owned()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(place) => write!(f, "tcp:{place}"),
        }
    }
}

impl Address {
    /// The address in a member's path, if it is one of a drive: `ssd:unix:PATH` or `ssd:tcp:HOST:PORT`.
    pub fn of_member(path: &Path) -> Option<Result<Self, AddressError>> {
        path.to_str().filter(|text| text.starts_with(MEMBER)).map(str::parse)
    }

    /// As a member's path, which means the same from every directory.
    pub fn to_member(&self) -> PathBuf {
        let absolute = match self {
            Self::Unix(path) => Self::Unix(absolute(path)),
            tcp => tcp.clone(),
        };
        format!("{MEMBER}{absolute}").into()
    }
}

/// The path without the directory that this process happens to be in, and without links on the way to the socket.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["unix:/run/d0.sock", "tcp:localhost:4420", "tcp:10.0.0.7:1", "tcp:[::1]:4420"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::of_member(Path::new(&format!("ssd:{text}"))), Some(Ok(address.clone())));
            assert_eq!(address.to_member(), PathBuf::from(format!("ssd:{text}")));
        }
        for text in ["", "unix:", "tcp:", "tcp:host", "tcp::5", "tcp:host:99999", "tcp:::1:5", "/run/d0.sock", "ssd:"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
        assert_eq!(Address::of_member(Path::new("/dev/sda")), None);
        assert!(Address::of_member(Path::new("ssd:nonsense")).unwrap().is_err());
        let relative = Address::Unix("no-such-directory/x.sock".into()).to_member();
        assert!(relative.to_str().unwrap().starts_with("ssd:unix:/"), "{relative:?}");
    }
}
