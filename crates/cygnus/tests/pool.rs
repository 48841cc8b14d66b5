//! A program that knows this crate and no other: a pool on flash and disks with volumes of each kind, and two threads that serve one array.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cygnus::check::{Verdict, check};
use cygnus::policy::{Autonomics, HybridRule, MapRule, ParityPlacement, Streams, UntilFull, Victim};
use cygnus::reactors::{ArrayHandle, Message, ReactorId, spawn_reactors};
use cygnus::status::{GroupStatus, MediumStatus, MemberStatus, Traffic};
use cygnus::zoned::{NewZones, create_zoned_file};
use cygnus::{
    Access, Array, ByteSize, Config, Constraint, CreateOptions, Device, Log, Medium, OpenOptions, Paging, Preset,
    Reactor, Runtime, Tiers, Volume, VolumeAdminError, VolumeOptions, block_on, create, create_file,
};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const MIB: u64 = 1 << 20;

struct Quiet;

impl Log for Quiet {
    fn line(&self, _: &str) {}
}

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cygnus-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn files(&self, count: usize) -> Vec<PathBuf> {
        let paths: Vec<_> = (0..count).map(|n| self.0.join(format!("d{n}"))).collect();
        paths.iter().for_each(|path| create_file(path, 64 * MIB).unwrap());
        paths
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn config(paths: &[PathBuf]) -> Config {
    let open = |path: &PathBuf| Device::open(path, Access::Exclusive).unwrap();
    Config { devices: paths.iter().map(open).collect(), ..Config::default() }
}

fn options() -> OpenOptions {
    OpenOptions {
        map: MapRule { limit: ByteSize(64 * MIB), ..MapRule::default() },
        hybrid: HybridRule { hot_from: 64, ..HybridRule::default() },
        autonomics: Autonomics::Off,
        ..OpenOptions::new(Arc::new(Quiet))
    }
}

/// The kinds of volumes, with their names.
fn kinds() -> Outcome<[(&'static str, VolumeOptions); 5]> {
    let page = ByteSize(64 << 10);
    let by_pages =
        |fine| Paging::of_sizes(page, fine).map(|paging| VolumeOptions { paging, ..VolumeOptions::default() });
    let on = |constraint| VolumeOptions { constraint, ..VolumeOptions::default() };
    Ok([
        ("plain", VolumeOptions::default()),
        ("pages", by_pages(ByteSize(0))?),
        ("dual", by_pages(ByteSize(MIB))?),
        ("hybrid", on(Constraint::Hybrid(Tiers::FLASH_AND_DISK))),
        ("flash", on(Constraint::Only(Medium::Flash))),
    ])
}

async fn put(rt: &Runtime, volume: &Volume, offset: u64, text: &str) -> Outcome {
    let mut block = rt.alloc(4096);
    block.bytes_mut().fill(0);
    block.write(0, text.as_bytes());
    Ok(volume.write(offset, block.full()).await?)
}

async fn get(rt: &Runtime, volume: &Volume, offset: u64, len: usize) -> Outcome<String> {
    let read = volume.read(offset, rt.alloc(4096).full()).await?;
    Ok(String::from_utf8_lossy(&read.bytes()[..len]).into_owned())
}

fn pool() -> CreateOptions {
    CreateOptions {
        media: vec![Medium::Flash, Medium::Disk],
        victim: Some(Victim::CostBenefit),
        streams: Some(Streams::ByHeat),
        placement: Some(ParityPlacement::Fixed),
        ..CreateOptions::new("tank", Preset::Salsa, 2, 2, 1)
    }
}

async fn make_and_write(Reactor { rt, devices, .. }: Reactor) -> Outcome {
    create(&rt, &devices, &pool()).await?;
    let array = Array::open(&rt, &devices, &options()).await?;
    for (name, options) in kinds()? {
        let volume = array.create_volume_with(name, ByteSize(8 * MIB), options, 0).await?;
        put(&rt, &volume, 0, name).await?;
        put(&rt, &volume, 5 * MIB, "swans").await?;
        volume.flush().await?;
    }
    let odd = VolumeOptions { paging: Paging::of_sizes(ByteSize(64 << 10), ByteSize(0))?, ..VolumeOptions::default() };
    let refused = array.create_volume_with("odd", ByteSize(4096), odd, 0).await.map(drop);
    assert!(matches!(refused, Err(VolumeAdminError::PartOfPage { .. })), "{refused:?}");
    Ok(array.close().await?)
}

async fn open_and_read(Reactor { rt, devices, .. }: Reactor) -> Outcome {
    let report = check(&rt, &devices, &options(), |_| ()).await?;
    assert_eq!((report.verdict(), &report.findings[..]), (Verdict::Consistent, &[][..]));
    let array = Array::open(&rt, &devices, &options()).await?;
    for (name, _) in kinds()? {
        let volume = array.volume(name).expect("it is recorded");
        assert_eq!(get(&rt, &volume, 0, name.len()).await?, name);
        assert_eq!(get(&rt, &volume, 5 * MIB, 5).await?, "swans", "{name}");
    }
    let status = array.status();
    let media: Vec<Medium> = status.groups.iter().map(|group: &GroupStatus| group.medium).collect();
    assert_eq!(media, [Medium::Flash, Medium::Disk]);
    assert!(status.media.iter().all(|medium: &MediumStatus| medium.usable.0 > 0));
    assert!(status.members.iter().all(MemberStatus::is_online));
    assert_eq!((status.cleaning, status.streams), (Victim::CostBenefit, Streams::ByHeat));
    assert_eq!(status.until_full, UntilFull::FullStripe);
    let pages = status.volumes.iter().find(|volume| volume.name == "dual").expect("it is there").paging;
    assert_eq!((pages.page(), pages.fine()), (ByteSize(64 << 10), 256));
    let Traffic { user_read, .. } = array.traffic();
    assert!(user_read >= 10, "{user_read} blocks");
    Ok(array.close().await?)
}

#[test]
fn a_pool_on_two_media_has_volumes_of_each_kind() {
    let folder = Folder::new("pool");
    let paths = folder.files(6);
    block_on(&config(&paths), make_and_write).unwrap().unwrap();
    block_on(&config(&paths), open_and_read).unwrap().unwrap();
}

/// What the home says to the other reactor, and back.
enum Say {
    Attach(ArrayHandle),
    Served(Outcome<String>),
    Closed,
}

async fn home(Reactor { rt, devices, .. }: Reactor) -> Outcome<String> {
    let array = Array::open(&rt, &devices, &OpenOptions { reactors: 2, ..options() }).await?;
    put(&rt, &array.volume("v").expect("it was made"), 0, "swans").await?;
    rt.send_msg(ReactorId(1), Box::new(Say::Attach(array.handle(2))));
    let served = loop {
        let Some(message) = array.handle_message(rt.recv_msg().await) else { continue };
        if let Say::Served(read) = told(message) {
            break read;
        }
    };
    // To close, the home needs its messages answered as they come.
    let handling = array.clone();
    let messages = rt.clone();
    rt.spawn(async move {
        loop {
            handling.handle_message(messages.recv_msg().await);
        }
    });
    array.close().await?;
    rt.send_msg(ReactorId(1), Box::new(Say::Closed));
    served
}

async fn peer(rt: Runtime) -> Outcome<String> {
    let Say::Attach(handle) = told(rt.recv_msg().await) else { return Err("the home attaches first".into()) };
    let peer = handle.attach(&rt);
    let (volume, reader) = (peer.volume("v").expect("it was made"), rt.clone());
    rt.spawn(async move {
        let read = get(&reader, &volume, 0, 5).await;
        drop(volume);
        reader.send_msg(ReactorId(0), Box::new(Say::Served(read)));
    });
    loop {
        let Some(message) = peer.handle_message(rt.recv_msg().await) else { continue };
        if let Say::Closed = told(message) {
            return Ok("closed".into());
        }
    }
}

fn told(message: Message) -> Say {
    *message.downcast::<Say>().expect("the engine takes its own messages")
}

#[test]
fn two_threads_serve_one_array() {
    let folder = Folder::new("two");
    let paths = folder.files(3);
    let made = block_on(&config(&paths), async |Reactor { rt, devices, .. }: Reactor| -> Outcome {
        create(&rt, &devices, &CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1)).await?;
        let array = Array::open(&rt, &devices, &options()).await?;
        array.create_volume("v", ByteSize(8 * MIB), 0).await?;
        Ok(array.close().await?)
    });
    made.unwrap().unwrap();
    let config = Config { reactors: 2, ..config(&paths) };
    let both = spawn_reactors(&config, async |reactor: Reactor| match reactor.rt.id() {
        ReactorId(0) => home(reactor).await,
        _ => peer(reactor.rt.clone()).await,
    });
    let both: Vec<String> = both.unwrap().join().into_iter().collect::<Outcome<_>>().unwrap();
    assert_eq!(both, ["swans", "closed"]);
}

#[test]
fn a_file_stands_for_a_device_with_zones() {
    let folder = Folder::new("zones");
    let file = folder.0.join("z");
    let zones = NewZones { bytes: MIB, capacity: MIB, conventional: 8, active_limit: 0 };
    create_zoned_file(&file, 32 * MIB, zones).unwrap();
    let named = format!("zoned:{}", file.display());
    let device = Device::open(Path::new(&named), Access::ReadOnly).unwrap();
    assert_eq!(device.capabilities().zones.map(|zones| zones.bytes), Some(MIB));
}
