//! What cannot be is an error, and neither a panic nor a wait without end.

use std::path::PathBuf;
use std::sync::Arc;

use cygnus::{
    Access, Array, ArrayError, Config, CreateOptions, Device, Log, OpenOptions, Preset, StartError, block_on, create,
    create_file, reactors,
};

struct Silent;

impl Log for Silent {
    fn line(&self, _: &str) {}
}

/// A folder that goes with its name.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn devices_for_reading_only_are_opened_for_nothing_else() {
    let folder = Folder(std::env::temp_dir().join(format!("cygnus-misuse-{}", std::process::id())));
    std::fs::create_dir(&folder.0).unwrap();
    let paths: Vec<_> = (0..3).map(|n| folder.0.join(format!("d{n}"))).collect();
    paths.iter().for_each(|path| create_file(path, 16 << 20).unwrap());
    let options = CreateOptions { force: true, ..CreateOptions::new("tank", Preset::LogRaid, 1, 2, 1) };
    for access in [Access::Exclusive, Access::ReadOnly] {
        let devices = paths.iter().map(|path| Device::open(path, access).unwrap()).collect();
        let config = Config { devices, ..Config::default() };
        let ended = block_on(&config, async |reactor| -> Result<(), ArrayError> {
            let (rt, devices) = (reactor.rt, reactor.devices);
            if access == Access::Exclusive {
                create(&rt, &devices, &options).await?;
            }
            Array::open(&rt, &devices, &OpenOptions::new(Arc::new(Silent))).await?.close().await
        });
        match (access, ended.unwrap()) {
            (Access::Exclusive, Ok(())) => {}
            (Access::ReadOnly, Err(ArrayError::Invalid(why))) => assert!(why.contains("for reading only"), "{why}"),
            (_, ended) => panic!("{access:?}: {ended:?}"),
        }
    }
}

#[test]
fn numbers_out_of_bounds_start_nothing() {
    let usual = Config { arena_bytes: 1 << 20, ..Config::default() };
    for config in [
        Config { queue_entries: 0, ..usual.clone() },
        Config { queue_entries: u32::MAX, ..usual.clone() },
        Config { arena_bytes: usize::MAX, ..usual.clone() },
    ] {
        let refused = block_on(&config, async |_| ()).unwrap_err();
        assert!(matches!(refused, StartError::OutOfBounds { .. }), "{refused}");
    }
    let none = Config { reactors: 0, ..usual };
    let refused = reactors::spawn_reactors(&none, async |_| ()).err().expect("there are none");
    assert!(refused.to_string().contains("reactors: 0 is not possible"), "{refused}");
}
