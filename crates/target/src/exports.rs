//! What a server offers, and where each of its exports leads.

use std::collections::BTreeMap;
use std::rc::Rc;

use cygnus_types::ByteSize;
use cygnus_volume::{BlockVolume, Tap, VolumeSet};

/// An export that a client has opened.
#[derive(Clone)]
pub struct Export<V> {
    /// Its name, as listings have it; a client may have asked for the default export.
    pub name: String,
    /// A line for humans; may be empty.
    pub description: String,
    /// The volume that it gives access to.
    pub volume: V,
    /// Who wants to see its requests.
    pub tap: Option<Rc<dyn Tap>>,
}

/// The volume that a client means: the one of that name, or with no name the only one there is.
fn meant<'a>(asked: &'a str, names: &'a [String]) -> Option<&'a str> {
    match (asked, names) {
        ("", [only]) => Some(only),
        ("", _) => None,
        (name, _) => Some(name),
    }
}

/// The exports of a server, looked up for each client anew, so volumes may come and go while it runs.
pub trait Exports: 'static {
    /// What they lead to.
    type Volume: BlockVolume;

    /// Name and description of each.
    fn list(&self) -> Vec<(String, String)>;

    /// The export of that name. The empty name asks for a default export, if there is one.
    fn open(&self, name: &str) -> Option<Export<Self::Volume>>;
}

/// All volumes of an array, each under its name; an array with a single volume has it as the default export too.
pub struct ArrayExports<S> {
    /// The volumes of the array.
    pub volumes: S,
    /// The array's name, for descriptions.
    pub array: String,
    /// By volume, who wants to see its requests.
    pub taps: BTreeMap<String, Rc<dyn Tap>>,
}

impl<S: VolumeSet> ArrayExports<S> {
    fn description(&self, volume: &S::Volume) -> String {
        format!("{}/{}, {}", self.array, volume.name(), ByteSize(volume.size()))
    }
}

impl<S: VolumeSet> Exports for ArrayExports<S> {
    type Volume = S::Volume;

    fn list(&self) -> Vec<(String, String)> {
        let mut names = self.volumes.names();
        names.sort();
        let described = |name: String| {
            let description = self.description(&self.volumes.volume(&name)?);
            Some((name, description))
        };
        names.into_iter().filter_map(described).collect()
    }

    fn open(&self, name: &str) -> Option<Export<S::Volume>> {
        let names = self.volumes.names();
        let name = meant(name, &names)?;
        let volume = self.volumes.volume(name)?;
        let (description, tap) = (self.description(&volume), self.taps.get(name).cloned());
        Some(Export { name: name.into(), description, volume, tap })
    }
}
