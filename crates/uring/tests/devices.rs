//! Opening, probing and locking devices, and what they do that the common suite cannot know.

mod support;

use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cygnus_runtime::{Capabilities, DeviceClass, DeviceIx, IoErrorKind, Runtime};
use cygnus_uring::{Access, Config, Device, Holder, OpenError, Reactor, allocate_file, block_on, create_file};
use support::{LoopDevice, TempPath};

const MIB: u64 = 1 << 20;

fn on<T>(device: &Device, main: impl AsyncFnOnce(Reactor) -> T) -> T {
    block_on(&Config { devices: vec![device.clone()], ..Config::default() }, main).unwrap()
}

#[test]
fn a_file_is_exclusive_while_open() {
    let path = TempPath::file("locked", MIB);
    let first = Device::open(&path, Access::Exclusive).unwrap();
    let second = Device::open(&path, Access::Exclusive);
    assert!(matches!(&second, Err(OpenError::InUse { path: at, by: Some(by), .. }) if **at == *path && **by == *path));
    assert!(second.err().unwrap().to_string().contains("the same device as"));
    // Looking is always allowed.
    let looked_at = Device::open(&path, Access::ReadOnly).unwrap();
    assert_eq!(looked_at.size(), MIB);
    // And tells who has it.
    let Some(Holder::Process(process, _)) = looked_at.holder() else { panic!("the kernel lists our own locks") };
    assert_eq!((process, first.holder()), (std::process::id(), None));

    let clone = first.clone();
    drop(first);
    assert!(Device::open(&path, Access::Exclusive).is_err(), "a clone keeps it open");
    drop(clone);
    assert_eq!(looked_at.holder(), None);
    Device::open(&path, Access::Exclusive).unwrap();
}

#[test]
fn a_block_device_is_exclusive_while_open() {
    let Some(device) = LoopDevice::new(MIB, 512) else { return };
    let _held = Device::open(&device.path, Access::Exclusive).unwrap();
    assert!(matches!(Device::open(&device.path, Access::Exclusive), Err(OpenError::InUse { .. })));
    assert_eq!(Device::open(&device.path, Access::ReadOnly).unwrap().size(), MIB);
}

#[test]
fn what_cannot_be_a_device_is_refused_with_a_reason() {
    let missing = TempPath::new("missing");
    assert!(matches!(Device::open(&missing, Access::Exclusive), Err(OpenError::NotFound { .. })));
    for (path, reason) in [("/", "directory"), ("/dev/null", "neither a regular file nor a block device")] {
        let error = Device::open(Path::new(path), Access::Exclusive).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    }
    // A pipe that nobody writes to would keep whoever opens it for reading waiting.
    let pipe = TempPath::new("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&*pipe).status().unwrap().success());
    for access in [Access::ReadOnly, Access::Exclusive] {
        let error = Device::open(&pipe, access).err().unwrap();
        assert!(error.to_string().contains("neither a regular file nor a block device"), "{error}");
    }
    let tiny = TempPath::file("tiny", 4095);
    let error = Device::open(&tiny, Access::Exclusive).err().unwrap();
    assert!(error.to_string().contains("smaller than one block"), "{error}");
    let error = create_file(&tiny, MIB).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(std::fs::metadata(&*tiny).unwrap().len(), 4095, "an existing file is left alone");
}

#[test]
fn size_is_rounded_down_to_blocks() {
    let path = TempPath::file("odd", MIB + 4095);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    assert_eq!(device.size(), MIB);
    assert!([512, 4096].contains(&device.logical_block()));
    let info = device.info(DeviceIx(3));
    assert_eq!((info.ix, info.size, info.name), (DeviceIx(3), MIB, path.display().to_string()));
}

#[test]
fn a_loop_device_and_the_file_beneath_are_one_device() {
    let Some(looped) = LoopDevice::new(8 * MIB, 4096) else { return };
    let (device, file): (&Path, &Path) = (&looped.path, &looped.file);
    for [first, second] in [[device, file], [file, device]] {
        let held = Device::open(first, Access::Exclusive).unwrap();
        let refused = Device::open(second, Access::Exclusive);
        assert!(matches!(refused, Err(OpenError::InUse { .. })), "{second:?} beside {first:?}");
        let words = refused.err().unwrap().to_string();
        let names = |path: &Path| words.contains(&path.display().to_string());
        assert!(names(device) && names(file) && words.contains("the same device as"), "{words}");
        drop(held);
        drop(Device::open(second, Access::Exclusive).unwrap());
    }
}

#[test]
fn trim_gives_space_back() {
    let files = TempPath::file("trimmed", 8 * MIB);
    let looped = LoopDevice::new(8 * MIB, 4096);
    for path in [Some(&*files), looped.as_ref().map(|looped| looped.path.as_path())].into_iter().flatten() {
        let device = Device::open(path, Access::Exclusive).unwrap();
        if !device.capabilities().trim {
            println!("SKIPPED: {} cannot trim", device.name());
            continue;
        }
        on(&device, async |Reactor { rt, devices, .. }| {
            let dev = devices[0].ix;
            let mut full = rt.alloc(MIB as usize);
            full.bytes_mut().fill(0xAB);
            for at in 0..8 {
                rt.write(dev, at * MIB, full.full()).await.unwrap();
            }
            rt.flush(dev).await.unwrap();
            rt.trim(dev, MIB, 6 * MIB).await.unwrap();
            rt.flush(dev).await.unwrap();
            for (at, byte) in [(0, 0xAB), (MIB, 0), (7 * MIB - 4096, 0), (7 * MIB, 0xAB)] {
                let buf = rt.alloc(4096);
                rt.read(dev, at, buf.full()).await.unwrap();
                assert!(buf.bytes().iter().all(|&b| b == byte), "{path:?} at {at}");
            }
        });
    }
    let used = std::fs::metadata(&*files).unwrap().blocks() * 512;
    assert!(used < 4 * MIB, "{used} bytes are still taken");
}

#[test]
fn memory_keeps_what_was_trimmed_and_null_touches_nothing() {
    let memory = Device::memory("memory", MIB, false).unwrap();
    on(&memory, async |Reactor { rt, devices, .. }| {
        let mut buf = rt.alloc(4096);
        buf.bytes_mut().fill(7);
        rt.write(devices[0].ix, 0, buf.full()).await.unwrap();
        rt.trim(devices[0].ix, 0, MIB).await.unwrap();
        let back = rt.alloc(4096);
        rt.read(devices[0].ix, 0, back.full()).await.unwrap();
        assert_eq!(back.bytes(), buf.bytes());
    });
    assert_eq!(memory.read_now(0, 4096).unwrap(), [7; 4096]);
    on(&Device::null("null", MIB, 4096).unwrap(), async |Reactor { rt, devices, .. }| {
        let mut buf = rt.alloc(4096);
        buf.bytes_mut().fill(9);
        rt.read(devices[0].ix, 8192, buf.full()).await.unwrap();
        assert!(buf.bytes().iter().all(|&b| b == 0));
        buf.bytes_mut().fill(9);
        rt.write(devices[0].ix, 0, buf.full()).await.unwrap();
        let kept = rt.alloc(4096);
        rt.read(devices[0].ix, 0, kept.full()).await.unwrap();
        assert_eq!(kept.bytes(), buf.bytes());
    });
}

#[test]
fn one_memory_is_shared_by_two_reactors() {
    let memory = Device::memory("memory", MIB, false).unwrap();
    on(&memory, async |Reactor { rt, devices, .. }| {
        let mut buf = rt.alloc(8192);
        buf.bytes_mut().fill(1);
        rt.write(devices[0].ix, 4096, buf.full()).await.unwrap();
    });
    on(&memory, async |Reactor { rt, devices, .. }| {
        let buf = rt.alloc(8192);
        rt.read(devices[0].ix, 4096, buf.full()).await.unwrap();
        assert!(buf.bytes().iter().all(|&b| b == 1));
    });
}

#[test]
fn bad_ranges_and_unknown_devices_are_errors() {
    let path = TempPath::file("range", MIB);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        let unaligned = rt.read(dev, 100, rt.alloc(4096).full()).await.unwrap_err();
        assert_eq!(unaligned.kind, IoErrorKind::Range);
        assert_eq!(rt.trim(dev, MIB, 4096).await.unwrap_err().kind, IoErrorKind::Range);
        assert_eq!(rt.trim(dev, u64::MAX - 4095, 8192).await.unwrap_err().kind, IoErrorKind::Range);
        rt.trim(dev, MIB, 0).await.unwrap();
        assert_eq!(rt.flush(DeviceIx(9)).await.unwrap_err().kind, IoErrorKind::Gone);
    });
    assert_eq!(device.read_now(MIB - 4096, 8192).unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_file_cut_short_underneath_is_told() {
    let path = TempPath::file("cut", MIB);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    std::fs::OpenOptions::new().write(true).open(&*path).unwrap().set_len(8192).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let short = rt.read(devices[0].ix, 4096, rt.alloc(8192).full()).await.unwrap_err();
        assert_eq!(short.kind, IoErrorKind::CutShort);
        // Whoever cannot tell zeros from data is told once and for all.
        rt.read(devices[0].ix, 0, rt.alloc(4096).full()).await.unwrap();
        rt.guard_length(devices[0].ix);
        let last = rt.alloc(4096);
        let written = rt.write(devices[0].ix, MIB - 4096, last.full()).await.unwrap_err();
        let read = rt.read(devices[0].ix, 0, rt.alloc(4096).full()).await.unwrap_err();
        assert_eq!((written.kind, read.kind), (IoErrorKind::CutShort, IoErrorKind::CutShort));
    });
    assert_eq!(std::fs::metadata(&*path).unwrap().len(), 8192, "it has not become longer");
}

/// A block of this byte, written or expected.
async fn write_byte(rt: &Runtime, dev: DeviceIx, byte: u8) {
    let mut buf = rt.alloc(4096);
    buf.bytes_mut().fill(byte);
    rt.write(dev, 0, buf.full()).await.unwrap();
}

async fn first_byte(rt: &Runtime, dev: DeviceIx) -> u8 {
    let buf = rt.alloc(4096);
    rt.read(dev, 0, buf.full()).await.unwrap();
    buf.bytes()[0]
}

#[test]
fn devices_say_what_they_are() {
    let memory = Device::memory("memory", MIB, false).unwrap();
    let wanted = Capabilities { class: DeviceClass::Memory, ..Capabilities::default() };
    assert_eq!(memory.capabilities(), wanted);
    let path = TempPath::new("says");
    create_file(&path, MIB).unwrap();
    let file = Device::open(&path, Access::Exclusive).unwrap();
    // What the file lies on depends on the machine. It has no commands of its own anywhere.
    let said = file.capabilities();
    assert_eq!(Capabilities { class: wanted.class, trim: false, ..said }, wanted);
    on(&file, async |Reactor { rt, devices, .. }| {
        assert_eq!(rt.capabilities(devices[0].ix), said);
        assert_eq!(rt.capabilities(DeviceIx(99)), Capabilities::default());
    });
}

#[test]
fn a_file_whose_space_was_set_aside_keeps_it() {
    let path = TempPath::new("aside");
    let mut told = Vec::new();
    let note = |done| {
        told.push(done);
        ControlFlow::Continue(())
    };
    allocate_file(&path, 8 * MIB, note).unwrap();
    assert_eq!(told, [8 * MIB]);
    let allocated = || std::fs::metadata(&*path).unwrap().blocks() * 512;
    assert!(allocated() >= 8 * MIB);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    if device.capabilities().trim {
        return println!("SKIPPED: the file system has no attributes for users");
    }
    on(&device, async |Reactor { rt, devices, .. }| {
        rt.write(devices[0].ix, 0, rt.alloc(MIB as usize).full()).await.unwrap();
        rt.trim(devices[0].ix, 0, 4 * MIB).await.unwrap();
    });
    assert!(allocated() >= 8 * MIB);
}

#[test]
fn nothing_is_left_of_a_file_that_is_broken_off() {
    let path = TempPath::new("broken-off");
    let error = allocate_file(&path, 8 * MIB, |_| ControlFlow::Break(())).unwrap_err();
    assert!(matches!(error, OpenError::BrokenOff { .. }), "{error}");
    assert!(!path.exists());
}

#[test]
fn what_the_file_system_has_no_room_for_is_not_begun() {
    let path = TempPath::new("huge");
    let error = allocate_file(&path, 1 << 55, |_| panic!("nothing is set aside")).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, OpenError::NoSpace { .. })
            && text.contains("it needs 32 PiB, and the file system mounted at /"),
        "{text}"
    );
    assert!(!path.exists());
}

#[test]
fn a_device_that_went_away_is_opened_anew_when_it_is_back() {
    let (path, elsewhere) = (TempPath::file("away", MIB), TempPath::new("elsewhere"));
    let device = Device::open(&path, Access::Exclusive).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        write_byte(&rt, dev, 1).await;
        std::fs::rename(&*path, &*elsewhere).unwrap();
        assert_eq!(rt.reopen(dev).await.unwrap_err().kind, IoErrorKind::Gone);
        assert_eq!(first_byte(&rt, dev).await, 1, "what was open stays open");
        std::fs::rename(&*elsewhere, &*path).unwrap();
        rt.reopen(dev).await.unwrap();
        assert_eq!(first_byte(&rt, dev).await, 1);
        std::fs::File::open(&*path).unwrap().try_lock().expect_err("it is claimed without a break");
    });
}

#[test]
fn what_took_a_devices_name_must_be_large_enough_and_free() {
    let (path, old) = (TempPath::file("name", MIB), TempPath::new("old"));
    let device = Device::open(&path, Access::Exclusive).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let dev = devices[0].ix;
        write_byte(&rt, dev, 1).await;
        std::fs::rename(&*path, &*old).unwrap();
        create_file(&path, MIB / 2).unwrap();
        assert_eq!(rt.reopen(dev).await.unwrap_err().kind, IoErrorKind::Gone);
        let other = std::fs::OpenOptions::new().write(true).open(&*path).unwrap();
        other.set_len(2 * MIB).unwrap();
        other.lock().unwrap();
        let error = rt.reopen(dev).await.unwrap_err();
        assert_eq!(error.to_string(), "it is not allowed: Device or resource busy (EBUSY)");
        assert_eq!(first_byte(&rt, dev).await, 1, "what was open stays open");
        other.unlock().unwrap();
        rt.reopen(dev).await.unwrap();
        assert_eq!(first_byte(&rt, dev).await, 0, "another file");
        other.try_lock().expect_err("which is claimed now");
        std::fs::File::open(&*old).unwrap().try_lock().expect("as the old one is not any more");
    });
}

/// Writes of a reactor that ends at once, its futures dropped: the driver must keep the buffers until the kernel is done.
#[test]
fn a_reactor_that_ends_finishes_its_writes() {
    let path = TempPath::file("ending", 64 * MIB);
    let device = Device::open(&path, Access::Exclusive).unwrap();
    on(&device, async |Reactor { rt, devices, .. }| {
        let write_all = |byte: u8| -> Vec<_> {
            let write = |n| {
                let mut buf = rt.alloc(MIB as usize);
                buf.bytes_mut().fill(byte);
                rt.write(devices[0].ix, n * MIB, buf.full())
            };
            (0..64).map(write).collect()
        };
        // Space that is allocated already is overwritten in the background, without the submitter waiting.
        for write in write_all(1) {
            write.await.unwrap();
        }
        rt.flush(devices[0].ix).await.unwrap();
        drop(write_all(2));
        rt.yield_now().await;
    });
    let first_bytes = || -> Vec<u8> { (0..64).map(|n| device.read_now(n * MIB, 4096).unwrap()[0]).collect() };
    let at_the_end = first_bytes();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(first_bytes(), at_the_end, "a write went on after its reactor had ended");
    for (n, first) in (0..64).zip(at_the_end) {
        // Cancelled before it began, or whole: nothing between, and nobody else's bytes.
        assert!([1, 2].contains(&first), "MiB {n} holds {first}");
        let bytes = device.read_now(n * MIB, MIB as usize).unwrap();
        assert!(bytes.iter().all(|&b| b == first), "MiB {n} is torn");
    }
}
