//! The control protocol: one JSON object per line in each direction, over the Unix socket `<state>/<array>.ctl`.
//!
//! ```text
//! {"schema":1,"request":"volume-create","name":"vol0","size":4294967296}
//! {"schema":1,"response":"done"}
//! ```
//!
//! Each request gets exactly one response, in order. A line that cannot be understood gets an error response and the
//! connection stays open; only a line longer than [`crate::lines::MAX_LINE`] closes it.

use crate::SCHEMA;
use crate::ack::Ack;
use crate::media::{Media, MediumName};
use crate::paging::Pages;
use crate::stats::Stats;
use crate::status::{ArrayStatus, Growth, JobStatus, VolumeStatus};
use serde::{Deserialize, Serialize};

/// What a command asks of a running `serve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// Are you there? Answered by [`Response::Done`].
    Ping,
    /// Everything about the array. Answered by [`Response::Status`].
    Status,
    /// The counters for the live view. Answered by [`Response::Stats`].
    Stats,
    /// All volumes. Answered by [`Response::Volumes`].
    VolumeList,
    /// Make a volume that reads as zeros.
    VolumeCreate {
        /// Name of the new volume.
        name: String,
        /// Its size in bytes, a multiple of 4096.
        size: u64,
        /// Where a write is when it is answered, if not what is usual for arrays of this kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ack: Option<Ack>,
        /// On which media its blocks may be.
        #[serde(default, skip_serializing_if = "Media::is_any")]
        media: Media,
        /// How many bytes have one entry in the map; absent if every 4096 have one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pages: Option<Pages>,
    },
    /// Change where a write of a volume is when it is answered.
    VolumeSet {
        /// Name of the volume.
        name: String,
        /// Where a write is from now on when it is answered.
        ack: Ack,
    },
    /// Delete a volume and everything in it. Answered by [`Response::Done`].
    VolumeDelete {
        /// Name of the volume.
        name: String,
        /// Delete it although clients are connected to it.
        #[serde(default)]
        force: bool,
    },
    /// Change a volume's size.
    VolumeResize {
        /// Name of the volume.
        name: String,
        /// Its new size in bytes.
        size: u64,
        /// Allow it to shrink, which drops what lies behind the new end.
        #[serde(default)]
        shrink: bool,
    },
    /// Put another device into the place of a member. Answered by [`Response::Job`].
    Replace {
        /// The member: its index, or the path where it is or was.
        member: String,
        /// Absolute path of the new device; the member's own if it has come back.
        device: String,
        /// Use the device although it holds something, and although the member still works.
        #[serde(default)]
        force: bool,
    },
    /// Move a member's place to a spare while the member works. Answered by [`Response::Job`].
    Drain {
        /// The member: its index, or its path.
        member: String,
    },
    /// Keep a device ready to take a lost member's place.
    SpareAdd {
        /// Absolute path of the device.
        device: String,
        /// Use it although it holds something.
        #[serde(default)]
        force: bool,
    },
    /// Let go of a spare.
    SpareRemove {
        /// The spare: its path, or its UUID.
        spare: String,
    },
    /// Add devices as whole R-groups. Answered by [`Response::Growth`].
    GroupAdd {
        /// Absolute paths of the devices, group by group.
        devices: Vec<String>,
        /// What the groups store on: of all of them, or of each; empty: as the devices say.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<MediumName>,
        /// Use them although they hold something.
        #[serde(default)]
        force: bool,
    },
    /// Verify everything that live data depends on and mend what is wrong. Answered by [`Response::Job`].
    Scrub,
    /// Move an R-group's data to the others, then let go of it. Answered by [`Response::Job`].
    GroupRetire {
        /// The R-group: its number, or the path of one of its members.
        group: String,
    },
    /// How a job stands. Requests that start one are answered by its [`Response::Job`] too; a command that waits for its end
    /// asks with this again and again.
    Job {
        /// Number of the job, as [`JobStatus::id`] has it.
        id: u64,
    },
    /// Ask a job to end early.
    CancelJob {
        /// Number of the job, as [`JobStatus::id`] has it.
        id: u64,
    },
    /// Stop serving: flush, checkpoint, close. Answered before the process ends.
    Stop,
}

/// What `serve` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// Answers [`Request::Status`].
    Status {
        /// Everything about the array.
        array: Box<ArrayStatus>,
    },
    /// Answers [`Request::Stats`].
    Stats {
        /// What was counted up to this moment.
        stats: Box<Stats>,
    },
    /// Answers [`Request::VolumeList`].
    Volumes {
        /// All volumes by name.
        volumes: Vec<VolumeStatus>,
    },
    /// Answers [`Request::Job`], and every request that starts a job.
    Job {
        /// How the job stands.
        job: Box<JobStatus>,
    },
    /// Answers [`Request::GroupAdd`].
    Growth {
        /// What was added.
        growth: Box<Growth>,
    },
    /// Done, with nothing to tell.
    Done,
    /// Not done, and why.
    Error {
        /// What kind of failure, for programs.
        kind: ErrorKind,
        /// What went wrong and what to do, for people.
        message: String,
    },
}

/// Kinds of failure that a caller may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The line was no request, or of an unknown schema.
    BadRequest,
    /// No volume, device or job of that name.
    NotFound,
    /// There already is a volume of that name.
    Exists,
    /// Clients are connected to the volume.
    Busy,
    /// Not enough space in the array.
    NoSpace,
    /// Too little of the array is there, or it takes no writes any more.
    Unavailable,
    /// The argument is outside what is possible.
    Invalid,
    /// The array could not do it.
    Failed,
}

impl Response {
    /// The response to a request that was not carried out: what kind of failure, and a sentence for people.
    pub fn error(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Error { kind, message: message.into() }
    }
}

/// A body with the schema number beside it.
#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    schema: u32,
    #[serde(flatten)]
    body: T,
}

/// Only the schema number: read first, so that a newer peer is told so instead of "unknown request".
#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

/// Writes a message as one line, newline included.
fn encode<T: Serialize>(body: &T) -> String {
    let envelope = Envelope { schema: SCHEMA, body };
    // Only maps with non-string keys or failing Serialize impls can fail here; these types have neither.
    let mut line = serde_json::to_string(&envelope).expect("control messages are plain structs");
    line.push('\n');
    line
}

/// Why a line is no message.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// It is something else.
    #[error("not a control message: {0}")]
    NotAMessage(#[source] serde_json::Error),
    /// Another version said it.
    #[error("schema {0} is not spoken here, only {SCHEMA}: use the same cygnus on both sides")]
    Schema(u32),
    /// Its body is not as it should be.
    #[error(transparent)]
    Body(#[from] serde_json::Error),
}

fn decode<T: for<'de> Deserialize<'de>>(line: &str) -> Result<T, DecodeError> {
    let SchemaOnly { schema } = serde_json::from_str(line).map_err(DecodeError::NotAMessage)?;
    if schema != SCHEMA {
        return Err(DecodeError::Schema(schema));
    }
    let envelope: Envelope<T> = serde_json::from_str(line)?;
    Ok(envelope.body)
}

/// The server's way in: one line to a request, or the error response to send instead.
pub fn decode_request(line: &str) -> Result<Request, Response> {
    decode(line).map_err(|error| Response::error(ErrorKind::BadRequest, error.to_string()))
}

/// The server's way out: a response as one line.
pub fn encode_response(response: &Response) -> String {
    encode(response)
}

/// The client's way out: a request as one line.
pub fn encode_request(request: &Request) -> String {
    encode(request)
}

/// The client's way in: one line to a response.
///
/// # Errors
/// When it is none that this version understands.
pub fn decode_response(line: &str) -> Result<Response, DecodeError> {
    decode(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_types::{Acknowledged, Medium};
    use proptest::prelude::*;

    #[test]
    fn the_line_is_the_documented_one() {
        let request =
            Request::VolumeCreate { name: "vol0".into(), size: 4 << 30, ack: None, media: Media::Any, pages: None };
        assert_eq!(
            encode_request(&request),
            "{\"schema\":1,\"request\":\"volume-create\",\"name\":\"vol0\",\"size\":4294967296}\n"
        );
        assert_eq!(encode_response(&Response::Done), "{\"schema\":1,\"response\":\"done\"}\n");
    }

    #[test]
    fn bad_lines_are_answered_not_fatal() {
        for (line, says) in [
            ("", "not a control message"),
            ("hello", "not a control message"),
            ("[]", "not a control message"),
            ("{\"request\":\"status\"}", "missing field `schema`"),
            ("{\"schema\":2,\"request\":\"status\"}", "schema 2 is not spoken here"),
            ("{\"schema\":1,\"request\":\"dance\"}", "unknown variant `dance`"),
            ("{\"schema\":1,\"request\":\"volume-create\",\"name\":\"x\"}", "missing field `size`"),
            ("{\"schema\":1,\"request\":\"volume-create\",\"name\":\"x\",\"size\":-1}", "invalid value"),
            (
                "{\"schema\":1,\"request\":\"volume-set\",\"name\":\"x\",\"ack\":\"soon\"}",
                "use memory, written or durable",
            ),
        ] {
            match decode_request(line) {
                Err(Response::Error { kind: ErrorKind::BadRequest, message }) => {
                    assert!(message.contains(says), "{line}: {message}")
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn options_added_later_have_defaults() {
        let line = "{\"schema\":1,\"request\":\"volume-delete\",\"name\":\"v\"}";
        assert_eq!(decode_request(line).unwrap(), Request::VolumeDelete { name: "v".into(), force: false });
    }

    fn levels() -> impl Strategy<Value = Ack> {
        prop::sample::select(&Acknowledged::ALL[..]).prop_map(Ack)
    }

    fn media() -> impl Strategy<Value = Medium> {
        prop::sample::select(&Medium::ALL[..])
    }

    fn requests() -> impl Strategy<Value = Request> {
        prop_oneof![
            Just(Request::Ping),
            Just(Request::Status),
            Just(Request::Stats),
            Just(Request::VolumeList),
            Just(Request::Stop),
            Just(Request::Scrub),
            any::<u64>().prop_map(|id| Request::Job { id }),
            (".{0,40}", ".{0,40}", any::<bool>()).prop_map(|(member, device, force)| Request::Replace {
                member,
                device,
                force
            }),
            (prop::collection::vec(".{0,40}", 0..4), prop::collection::vec(media(), 0..3), any::<bool>()).prop_map(
                |(devices, media, force)| Request::GroupAdd {
                    devices,
                    media: media.into_iter().map(MediumName).collect(),
                    force
                }
            ),
            ".{0,40}".prop_map(|group| Request::GroupRetire { group }),
            ".{0,40}".prop_map(|member| Request::Drain { member }),
            any::<u64>().prop_map(|id| Request::CancelJob { id }),
            (
                ".{0,40}",
                any::<u64>(),
                prop::option::of(levels()),
                prop::option::of(media()),
                prop::option::of(any::<u64>())
            )
                .prop_map(|(name, size, ack, only, page)| Request::VolumeCreate {
                    name,
                    size,
                    ack,
                    media: only.map_or(Media::Any, |medium| Media::Only(MediumName(medium))),
                    pages: page.map(|page_bytes| Pages { page_bytes, fine_bytes: size }),
                }),
            (".{0,40}", levels()).prop_map(|(name, ack)| Request::VolumeSet { name, ack }),
            (".{0,40}", any::<bool>()).prop_map(|(name, force)| Request::VolumeDelete { name, force }),
            (".{0,40}", any::<u64>(), any::<bool>()).prop_map(|(name, size, shrink)| Request::VolumeResize {
                name,
                size,
                shrink
            }),
        ]
    }

    proptest! {
        #[test]
        fn requests_survive_the_wire(request in requests()) {
            let line = encode_request(&request);
            prop_assert_eq!(line.matches('\n').count(), 1);
            prop_assert_eq!(decode_request(line.trim_end_matches('\n')).unwrap(), request);
        }

        #[test]
        fn any_line_is_a_request_or_an_error(line in ".{0,200}") {
            let _ = decode_request(&line);
            let _ = decode_response(&line);
        }
    }
}
