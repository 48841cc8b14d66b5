//! Looking for members that were absent when the array was opened, or gave no answer then: where they were last seen, and, if that was
//! a block device's name, at the other block devices that are as large, since a device that comes back may be given another name. Members that
//! left later the array asks itself; only by what names they go now is looked for here.
//!
//! What stands there may be anything: another array's member, a stranger's file, a file system that gives no answer. So a
//! thread of its own looks, which reads only, and claims nothing before a superblock says that this is the member. One that
//! does not come back is left there, and no other thread is sent after it. The array judges once more, and lets the member in.

use crate::error::RequestError;
use crate::event::ServerEvent;
use crate::files::{FileId, file_id};
use cygnus_engine::{Array, Disbelief, NotLetIn, Sought};
use cygnus_host::HostError;
use cygnus_host::members::{Found, look, look_in_time};
use cygnus_host::moved::BlockDevices;
use cygnus_runtime::{DeviceInfo, DeviceIx, Runtime};
use cygnus_types::{MemberIx, Nanos};
use cygnus_uring::{Access, Device, OpenError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use thiserror::Error;

/// How often to see whether somebody is to be sent, or is back.
const TURN: Nanos = Nanos::secs(1);
/// After how long the first look at a place is followed by the next.
const FIRST: Nanos = Nanos::secs(2);
/// It is doubled with each look that finds nothing, up to this.
const LONGEST: Nanos = Nanos::secs(60);

/// Why a member is not where it was last seen.
#[derive(Debug, Error)]
enum NotThere {
    #[error("what is at its path gives no answer")]
    Silent,
    #[error("its device is being opened")]
    IsOpened,
    #[error("there is nothing at its path")]
    NoPath,
    #[error("what is at its path holds {0}")]
    Other(String),
    #[error("what is at its path {0}")]
    Disbelieved(#[from] Disbelief),
    #[error(transparent)]
    Unreadable(#[from] HostError),
    #[error(transparent)]
    NotOpened(#[from] OpenError),
    #[error(transparent)]
    NotKnown(#[from] RequestError),
    #[error(transparent)]
    NotLetIn(#[from] NotLetIn),
}

/// What a look at a place brought.
enum Brought {
    /// A device that this process has open already, and has so many bytes.
    Known(FileId, u64),
    /// The member, opened.
    Opened(FileId, Device),
    /// The member by another name, which the array has open by the one that it had.
    Moved(FileId, PathBuf),
    /// What the array has open is still where it was.
    Stays,
}

/// The member, or why it is not there.
type Answer = Result<Brought, NotThere>;

/// A member that is looked for.
struct Search {
    /// When to look next.
    due: Nanos,
    /// How long to wait after that.
    nap: Nanos,
    /// Somebody is looking.
    out: Option<Receiver<Answer>>,
}

/// Where members were, and the devices of the process.
pub trait Places {
    /// Where a member was last seen.
    fn remembered(&self, member: MemberIx) -> Option<PathBuf>;
    /// What tells the devices that are open from others.
    fn known_ids(&self) -> Vec<FileId>;
    /// The device that is open and is this one.
    fn known_as(&self, id: FileId) -> Option<DeviceInfo>;
    /// Closes a device that no member in service has, so that it can be opened anew.
    fn close(&self, device: DeviceIx);
    /// Lets all reactors know a device that has been opened.
    async fn opened(&self, id: FileId, device: &Device) -> Result<DeviceInfo, RequestError>;
    /// A device that is open, and was that of a member, is this one now and goes by this name.
    fn moved(&self, member: MemberIx, device: DeviceIx, id: FileId, place: &Path);
    /// Says something in the log.
    fn tell(&self, event: &ServerEvent<'_>);
}

/// What is looked for, and where.
pub struct Seeker<P> {
    pub rt: Runtime,
    pub array: Array,
    pub places: Rc<P>,
    pub searches: Rc<Searches>,
}

/// Why members that are looked for are not there.
#[derive(Default)]
pub struct Searches {
    why: RefCell<BTreeMap<MemberIx, String>>,
}

impl Searches {
    /// Why a member that is looked for has not come back, as far as that is known.
    pub fn why(&self, member: MemberIx) -> Option<String> {
        self.why.borrow().get(&member).cloned()
    }

    /// Remembers it; says whether it is news.
    fn note(&self, member: MemberIx, why: &str) -> bool {
        self.why.borrow_mut().insert(member, why.to_owned()).is_none_or(|before| before != why)
    }

    fn keep(&self, sought: &[Sought]) {
        self.why.borrow_mut().retain(|member, _| sought.iter().any(|of| of.member == *member));
    }
}

/// Looks for members as long as the array is served.
pub async fn seek<P: Places>(seeker: Seeker<P>) {
    let mut searches: BTreeMap<MemberIx, Search> = BTreeMap::new();
    loop {
        seeker.rt.sleep(TURN).await;
        let all = seeker.array.sought();
        seeker.searches.keep(&all);
        // Whoever has not come back is waited for, also when the member is not looked for any more: it may be again.
        searches.retain(|member, search| search.out.is_some() || all.iter().any(|sought| sought.member == *member));
        for sought in all {
            let now = seeker.rt.now();
            let new = Search { due: now, nap: FIRST, out: None };
            turn(&seeker, searches.entry(sought.member).or_insert(new), sought).await;
        }
    }
}

/// Sends somebody to look for a member if it is time for that, or hears what was found.
async fn turn<P: Places>(seeker: &Seeker<P>, search: &mut Search, sought: Sought) {
    let Some(place) = seeker.places.remembered(sought.member) else { return };
    let (member, device) = (sought.member, sought.device);
    match search.out.as_ref().map(Receiver::try_recv) {
        None if seeker.rt.now() < search.due => {}
        None => search.out = send(place, seeker.places.known_ids(), sought),
        // A second one would be held up like the first.
        Some(Err(TryRecvError::Empty)) => drop(seeker.searches.note(member, &NotThere::Silent.to_string())),
        Some(brought) => {
            search.out = None;
            let brought = brought.unwrap_or(Err(NotThere::Silent));
            if matches!(brought, Err(NotThere::Disbelieved(Disbelief::Truncated { .. }))) {
                seeker.array.is_cut_short(member);
            }
            if let Err(why) = shown(seeker, member, device, brought).await.map_err(|why| why.to_string())
                && seeker.searches.note(member, &why)
            {
                seeker.places.tell(&ServerEvent::LookedFor { member, place: &place, why: &why });
            }
            search.due = seeker.rt.now() + search.nap;
            search.nap = (search.nap * 2).min(LONGEST);
        }
    }
}

/// Shows the array what was found, or has what it asks opened by another name.
async fn shown<P: Places>(
    seeker: &Seeker<P>,
    member: MemberIx,
    asked: Option<DeviceIx>,
    brought: Answer,
) -> Result<(), NotThere> {
    let device = match brought? {
        Brought::Known(id, size) => {
            let known = seeker.places.known_as(id).ok_or(NotThere::IsOpened)?;
            // As it was opened it is too short, or has no place for what it got since.
            if known.size != size {
                seeker.places.close(known.ix);
                return Err(NotThere::IsOpened);
            }
            known
        }
        Brought::Opened(id, device) => seeker.places.opened(id, &device).await?,
        Brought::Moved(id, place) => {
            // It may have left for good meanwhile: then nobody asks any more.
            asked.into_iter().for_each(|device| seeker.places.moved(member, device, id, &place));
            return Ok(());
        }
        Brought::Stays => return Ok(()),
    };
    Ok(seeker.array.show(member, &device).await?)
}

fn send(place: PathBuf, known: Vec<FileId>, sought: Sought) -> Option<Receiver<Answer>> {
    let (sender, receiver) = channel();
    // If the server has ended meanwhile, nobody wants it any more.
    let errand = move || drop(sender.send(find(&place, &known, &sought)));
    // Without a thread there is another time.
    thread::Builder::new().name("seek".into()).spawn(errand).ok().map(|_| receiver)
}

/// The member, opened, where it was last seen or by another name; blocking.
fn find(place: &Path, known: &[FileId], sought: &Sought) -> Answer {
    let devices = BlockDevices::of_this_machine();
    let may_move = devices.may_name(place);
    let elsewhere = || may_move.then(|| find_moved(&devices, known, sought)).flatten();
    match sought.device {
        // Files that the array asks are not looked at: theirs is a file system that may give no answer.
        Some(_) if !may_move || file_id(place).is_ok_and(|id| known.contains(&id)) => Ok(Brought::Stays),
        Some(_) => elsewhere().map(|(id, place)| Brought::Moved(id, place)).ok_or(NotThere::NoPath),
        None => find_at(place, known, sought).or_else(|why| match elsewhere() {
            Some((_, place)) => find_at(&place, known, sought),
            None => Err(why),
        }),
    }
}

/// The member, if it is one of the other block devices that are as large. One may have grown.
fn find_moved(devices: &BlockDevices, known: &[FileId], sought: &Sought) -> Option<(FileId, PathBuf)> {
    let new = |place: PathBuf| Some((file_id(&place).ok().filter(|id| !known.contains(id))?, place));
    let is_it = |(_, place): &(FileId, PathBuf)| match look_in_time(place) {
        Found::Member(found) => sought.judge(&found.superblock, found.size).is_ok(),
        _ => false,
    };
    devices.of_at_least(sought.size()).into_iter().filter_map(new).find(is_it)
}

/// What is at a place, opened if it is the member; blocking.
fn find_at(place: &Path, known: &[FileId], sought: &Sought) -> Answer {
    let id = file_id(place).map_err(|_| NotThere::NoPath)?;
    let size = match look(place) {
        Found::Member(found) => sought.judge(&found.superblock, found.size).map(|_| found.size)?,
        Found::Nothing => return Err(NotThere::Other("nothing".into())),
        Found::Other(what) => return Err(NotThere::Other(what)),
        Found::Unreadable(why) => return Err(why.into()),
    };
    match known.contains(&id) {
        true => Ok(Brought::Known(id, size)),
        false => Ok(Brought::Opened(id, Device::open(place, Access::Exclusive)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_news_is_told_once() {
        let searches = Searches::default();
        assert!(searches.note(MemberIx(1), "a") && !searches.note(MemberIx(1), "a") && searches.note(MemberIx(1), "b"));
        assert_eq!(searches.why(MemberIx(1)).as_deref(), Some("b"));
        searches.keep(&[]);
        assert_eq!(searches.why(MemberIx(1)), None);
    }
}
