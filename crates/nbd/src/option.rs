//! What the data of a negotiation option says.

use crate::wire::{self, u16_at, u32_at};

/// Why an option's data was not understood; becomes the type of the error reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Lengths that do not add up, or a name that is not UTF-8.
    Invalid(&'static str),
    /// A string longer than the protocol allows.
    TooBig(&'static str),
}

/// The data of INFO and GO.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InfoRequest<'a> {
    pub(crate) name: &'a str,
    /// Big-endian u16s, in place.
    wanted: &'a [u8],
}

impl InfoRequest<'_> {
    pub(crate) fn wants(&self, info: u16) -> bool {
        self.wanted.chunks_exact(2).any(|pair| u16_at(pair, 0) == info)
    }
}

/// The data of LIST_META_CONTEXT and SET_META_CONTEXT.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContextRequest<'a> {
    pub(crate) name: &'a str,
    pub(crate) queries: Vec<&'a str>,
}

/// A string with its length in the four bytes before it; returns it and what follows.
fn string(data: &[u8]) -> Result<(&str, &[u8]), Unfit> {
    if data.len() < 4 {
        return Err(Unfit::Invalid("the data ends inside a length"));
    }
    let length = u32_at(data, 0) as usize;
    let rest = &data[4..];
    if length > wire::MAX_STRING {
        return Err(Unfit::TooBig("a string is longer than 4096 bytes"));
    }
    if length > rest.len() {
        return Err(Unfit::Invalid("a string is longer than the data"));
    }
    let (text, rest) = rest.split_at(length);
    let text = std::str::from_utf8(text).map_err(|_| Unfit::Invalid("a string is not UTF-8"))?;
    Ok((text, rest))
}

pub(crate) fn info_request(data: &[u8]) -> Result<InfoRequest<'_>, Unfit> {
    let (name, rest) = string(data)?;
    if rest.len() < 2 {
        return Err(Unfit::Invalid("the count of information requests is missing"));
    }
    let wanted = &rest[2..];
    if wanted.len() != 2 * usize::from(u16_at(rest, 0)) {
        return Err(Unfit::Invalid("the count of information requests does not fit the data"));
    }
    Ok(InfoRequest { name, wanted })
}

pub(crate) fn context_request(data: &[u8]) -> Result<ContextRequest<'_>, Unfit> {
    let (name, rest) = string(data)?;
    if rest.len() < 4 {
        return Err(Unfit::Invalid("the count of queries is missing"));
    }
    let (count, mut rest) = (u32_at(rest, 0) as usize, &rest[4..]);
    // Each query takes at least its length field: a larger count is a lie, told before allocating.
    if count > rest.len() / 4 {
        return Err(Unfit::Invalid("more queries are announced than fit into the data"));
    }
    let mut queries = Vec::with_capacity(count);
    for _ in 0..count {
        let (query, after) = string(rest)?;
        queries.push(query);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(Unfit::Invalid("data after the last query"));
    }
    Ok(ContextRequest { name, queries })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_requests() {
        let good = [&b"\0\0\0\x03vol\0\x02\0\x03\0\x01"[..]].concat();
        let parsed = info_request(&good).unwrap();
        assert_eq!(parsed.name, "vol");
        assert!(parsed.wants(wire::INFO_BLOCK_SIZE) && parsed.wants(wire::INFO_NAME));
        assert!(!parsed.wants(wire::INFO_DESCRIPTION));
        let bad: [&[u8]; 6] = [
            b"",
            b"\0\0\0\x04vol\0\0",
            b"\0\0\0\x06vol\0\0",
            b"\0\0\0\x03vol\0\x01",
            b"\0\0\0\x03vol\0\0\0",
            b"\0\0\0\x01\xff\0\0",
        ];
        for data in bad {
            assert!(matches!(info_request(data), Err(Unfit::Invalid(_))), "{data:?}");
        }
        let long = [&5000u32.to_be_bytes()[..], &[b'a'; 5000], b"\0\0"].concat();
        assert!(matches!(info_request(&long), Err(Unfit::TooBig(_))));
    }

    #[test]
    fn context_requests() {
        let good = b"\0\0\0\x01v\0\0\0\x02\0\0\0\x05base:\0\0\0\0";
        let parsed = context_request(good).unwrap();
        assert_eq!((parsed.name, parsed.queries), ("v", vec!["base:", ""]));
        let bad: [&[u8]; 4] = [
            b"\0\0\0\x01v",
            b"\0\0\0\x01v\xff\xff\xff\xff\0\0\0\0",
            b"\0\0\0\x01v\0\0\0\x01\0\0\0\x09base:",
            b"\0\0\0\x01v\0\0\0\0x",
        ];
        for data in bad {
            assert!(matches!(context_request(data), Err(Unfit::Invalid(_))), "{data:?}");
        }
    }
}
