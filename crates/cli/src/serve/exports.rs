//! The array's volumes as the NBD server sees them.

use cygnus_engine::{Array, ArrayPeer};
use cygnus_target::{Export, Exports};
use cygnus_types::ByteSize;

/// The array on one reactor.
#[derive(Clone)]
pub enum Side {
    /// Its home.
    Home(Array),
    /// Any other.
    Peer(ArrayPeer),
}

impl Side {
    fn volume(&self, name: &str) -> Option<cygnus_engine::Volume> {
        match self {
            Self::Home(array) => array.volume(name),
            Self::Peer(peer) => peer.volume(name),
        }
    }

    fn names(&self) -> Vec<String> {
        match self {
            Self::Home(array) => array.volume_names(),
            Self::Peer(peer) => peer.volume_names(),
        }
    }
}

/// All volumes of the array, each under its name; an array with a single volume has it as the default export too.
pub struct ArrayExports {
    /// The array.
    pub side: Side,
    /// Its name, for descriptions.
    pub array: String,
}

impl ArrayExports {
    fn description(&self, volume: &cygnus_engine::Volume) -> String {
        format!("{}/{}, {}", self.array, volume.name(), ByteSize(volume.size()))
    }
}

impl Exports for ArrayExports {
    type Volume = cygnus_engine::Volume;

    fn list(&self) -> Vec<(String, String)> {
        let mut names = self.side.names();
        names.sort();
        names
            .into_iter()
            .filter_map(|name| {
                let description = self.description(&self.side.volume(&name)?);
                Some((name, description))
            })
            .collect()
    }

    fn open(&self, name: &str) -> Option<Export<Self::Volume>> {
        let names = self.side.names();
        let name = match (name, &names[..]) {
            ("", [only]) => only,
            ("", _) => return None,
            (name, _) => name,
        };
        let volume = self.side.volume(name)?;
        Some(Export { name: name.into(), description: self.description(&volume), volume })
    }
}
