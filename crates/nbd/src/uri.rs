//! NBD URIs: `nbd://host[:port]/export` and `nbd+unix:///export?socket=path`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::wire::DEFAULT_PORT;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP endpoint; the host is a name or an address (IPv6 without brackets).
    Tcp {
        /// Name or address.
        host: String,
        /// Port, 10809 unless said.
        port: u16,
    },
    /// A Unix domain socket.
    Unix(PathBuf),
}

/// A server and one of its exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUri {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the default export.
    pub export: String,
}

/// Why a text is not an NBD URI we can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// Not `nbd` or `nbd+unix`.
    #[error("{0:?} does not start with nbd:// or nbd+unix://")]
    Scheme(String),
    /// A scheme of encrypted or otherwise unsupported transport.
    #[error("{0}: only plain TCP and Unix sockets are supported, use nbd:// or nbd+unix://")]
    Transport(String),
    /// Host or port is not one.
    #[error("{0:?} is not host[:port]")]
    Authority(String),
    /// `nbd+unix` without a socket.
    #[error("nbd+unix needs ?socket=PATH and no host, as in nbd+unix:///vol0?socket=/run/cygnus.sock")]
    Socket,
    /// A parameter that is not known here.
    #[error("unknown parameter {0:?}")]
    Parameter(String),
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("{0:?} is not valid percent-encoded UTF-8")]
    Encoding(String),
}

impl FromStr for NbdUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<NbdUri, UriError> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| UriError::Scheme(text.into()))?;
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let socket = socket_parameter(query)?;
        let address = match scheme {
            "nbd" if socket.is_some() => return Err(UriError::Parameter("socket".into())),
            "nbd" => tcp(authority)?,
            "nbd+unix" if !authority.is_empty() => return Err(UriError::Socket),
            "nbd+unix" => Address::Unix(socket.filter(|path| !path.is_empty()).ok_or(UriError::Socket)?.into()),
            "nbds" | "nbds+unix" | "nbd+vsock" | "nbds+vsock" | "nbd+ssh" => {
                return Err(UriError::Transport(scheme.into()));
            }
            _ => return Err(UriError::Scheme(text.into())),
        };
        Ok(NbdUri { address, export: decode(path)? })
    }
}

fn socket_parameter(query: &str) -> Result<Option<String>, UriError> {
    let mut socket = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("socket", value)) => socket = Some(decode(value)?),
            _ => return Err(UriError::Parameter(parameter.into())),
        }
    }
    Ok(socket)
}

fn tcp(authority: &str) -> Result<Address, UriError> {
    let wrong = || UriError::Authority(authority.into());
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or_else(wrong)?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| wrong())?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(wrong)?) };
            (host.to_string(), port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (decode(host)?, Some(port)),
            None => (decode(authority)?, None),
        },
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(digits) => digits.parse().map_err(|_| wrong())?,
    };
    // The specification lets an empty host mean the local one.
    let host = if host.is_empty() { "localhost".into() } else { host };
    Ok(Address::Tcp { host, port })
}

fn decode(text: &str) -> Result<String, UriError> {
    let wrong = || UriError::Encoding(text.into());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let digits = after.get(..2).filter(|pair| pair.iter().all(u8::is_ascii_hexdigit)).ok_or_else(wrong)?;
        let digits = std::str::from_utf8(digits).expect("hexadecimal digits are ASCII");
        bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// Percent-encodes all but unreserved characters and `/`, which reads well in names and paths.
fn encode(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                write!(f, "{}", byte as char)?
            }
            _ => write!(f, "%{byte:02X}")?,
        }
    }
    Ok(())
}

impl fmt::Display for NbdUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Tcp { host, port } => {
                f.write_str("nbd://")?;
                if host.contains(':') {
                    write!(f, "[{host}]")?;
                } else {
                    encode(f, host)?;
                }
                if *port != DEFAULT_PORT {
                    write!(f, ":{port}")?;
                }
                f.write_str("/")?;
                encode(f, &self.export)
            }
            Address::Unix(path) => {
                f.write_str("nbd+unix:///")?;
                encode(f, &self.export)?;
                f.write_str("?socket=")?;
                encode(f, &path.to_string_lossy())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tcp_uri(host: &str, port: u16, export: &str) -> NbdUri {
        NbdUri { address: Address::Tcp { host: host.into(), port }, export: export.into() }
    }

    #[test]
    fn good_ones() {
        let unix = |path: &str, export: &str| NbdUri { address: Address::Unix(path.into()), export: export.into() };
        let cases = [
            ("nbd://example.com", tcp_uri("example.com", 10809, "")),
            ("nbd://example.com/vol0", tcp_uri("example.com", 10809, "vol0")),
            ("nbd://127.0.0.1:10810/tank/vol%200", tcp_uri("127.0.0.1", 10810, "tank/vol 0")),
            ("nbd://[::1]:4000/x", tcp_uri("::1", 4000, "x")),
            ("nbd://[::1]", tcp_uri("::1", 10809, "")),
            ("nbd:///vol", tcp_uri("localhost", 10809, "vol")),
            ("nbd+unix:///vol?socket=/run/x.sock", unix("/run/x.sock", "vol")),
            ("nbd+unix:///?socket=relative%26.sock", unix("relative&.sock", "")),
        ];
        for (text, uri) in cases {
            assert_eq!(text.parse(), Ok(uri), "{text}");
        }
    }

    #[test]
    fn bad_ones() {
        let cases = [
            "",
            "vol",
            "http://x/",
            "nbds://x/",
            "nbd://x:99999/",
            "nbd://x:/",
            "nbd://[::1/",
            "nbd://[::1]5/",
            "nbd://[zz]/",
            "nbd://x/%4",
            "nbd://x/%zz",
            "nbd://x/%ff",
            "nbd://x/%+1",
            "nbd+unix:///vol",
            "nbd+unix://host/vol?socket=/a",
            "nbd+unix:///vol?socket=",
            "nbd://x/?tls=1",
            "nbd://x/?socket=/a",
        ];
        for text in cases {
            assert!(text.parse::<NbdUri>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_ones_read_back(host in "[a-z0-9.-]{1,20}", port: u16, export in ".{0,30}", path in "/.{0,30}", unix: bool) {
            let address = if unix { Address::Unix(path.into()) } else { Address::Tcp { host, port } };
            let uri = NbdUri { address, export };
            prop_assert_eq!(uri.to_string().parse(), Ok(uri));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            let _ = format!("nbd://{text}").parse::<NbdUri>();
        }
    }
}
