//! Who shares a link: the clusters of autonomics.
//!
//! Devices that somebody named as sharing a link are a cluster; every other device is one by itself. A link is a property of devices
//! and not of the members' seats in the array, so a spare that takes over brings its own link with it.

use std::collections::BTreeSet;
use std::str::FromStr;

use cygnus_policy::PageTimes;
use cygnus_runtime::{DeviceInfo, DeviceIx};

/// A link, as somebody declares it: `nic0:/dev/sda,/dev/sdb`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name, for messages.
    pub name: String,
    /// The devices that share it: their paths, or the last parts of these.
    pub devices: Vec<String>,
    /// The switch that it is below: data that a contended link delivers goes to links below the same one. All are below switch 0 on a
    /// real machine, whose devices tell nothing of switches.
    pub switch: u32,
    /// What a page takes on the link and in a device, where that is known, as it is of modelled devices.
    pub times: Option<PageTimes>,
    /// The file and line that declare it, for messages, if a file does.
    pub declared_at: Option<String>,
}

/// A declaration of links that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No name, or no colon.
    #[error("link {0:?}: write NAME:DEVICE,DEVICE, as in nic0:/dev/sda,/dev/sdb")]
    NotALink(String),
    /// Nothing shares it.
    #[error("link {0}: no device is named: write {0}:DEVICE,DEVICE, or leave the link out")]
    Empty(String),
    /// Two of one name.
    #[error("link {0} is declared twice: name all its devices at once")]
    Twice(String),
    /// A device is unknown.
    #[error("link {link}: there is no member or spare {device}: the array has {known}")]
    NoDevice {
        /// The link.
        link: String,
        /// What was asked for.
        device: String,
        /// Those that there are.
        known: String,
    },
    /// A short name that fits several devices.
    #[error("link {link}: several devices are called {device}: write the whole path")]
    Ambiguous {
        /// The link.
        link: String,
        /// What was asked for.
        device: String,
    },
    /// A device is named more than once.
    #[error("{device} is named in link {first} and again in link {second}: a device is behind one link")]
    Shared {
        /// The device.
        device: String,
        /// Where it was named first.
        first: String,
        /// And where then.
        second: String,
    },
    /// Nobody looks at links.
    #[error("link {0} is declared, but data does not move out of the way of contention here: add --autonomics")]
    Unused(String),
}

impl Link {
    /// Its name, and where it is declared, for messages.
    pub(crate) fn told(&self) -> String {
        self.declared_at.as_ref().map_or_else(|| self.name.clone(), |place| format!("{} ({place})", self.name))
    }

    /// Whether these links make sense for an array of these devices, all of which are there: what opening such an array would say.
    ///
    /// # Errors
    /// A link without devices, a name of no device or of several, a link or a device that is named twice.
    pub fn check_all(links: &[Link], devices: &[DeviceInfo]) -> Result<(), LinkError> {
        Links::resolve(links, devices, Strangers::AreRefused).map(drop)
    }
}

impl FromStr for Link {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let parts = text.split_once(':').filter(|(name, _)| !name.trim().is_empty());
        let (name, devices) = parts.ok_or_else(|| LinkError::NotALink(text.into()))?;
        let devices: Vec<String> = devices.split(',').map(|device| device.trim().to_owned()).collect();
        if devices.iter().any(String::is_empty) {
            return Err(LinkError::Empty(name.into()));
        }
        Ok(Self { name: name.trim().into(), devices, switch: 0, times: None, declared_at: None })
    }
}

/// What is done about names that no device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strangers {
    /// They are wrong: all devices are known.
    AreRefused,
    /// The member may be missing, or have been replaced since the links were written down: that an array does not open would be a high
    /// price for a hint that is out of date, and a link without it still helps.
    AreLeftOut,
}

/// Devices that share a link, or one that shares none.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The link's, or the device's.
    pub name: String,
    pub devices: Vec<DeviceIx>,
    /// See [`Link`].
    pub switch: u32,
    pub times: Option<PageTimes>,
}

impl Cluster {
    pub(crate) fn is_shared(&self) -> bool {
        self.devices.len() > 1
    }
}

/// The clusters of all devices that were there when the array was opened. Those that come later are in none until the next opening.
#[derive(Debug)]
pub(crate) struct Links {
    pub clusters: Vec<Cluster>,
    of_device: Vec<Option<usize>>,
}

impl Links {
    /// Finds the devices that the links name, and returns what it leaves out.
    pub(crate) fn resolve(
        links: &[Link],
        devices: &[DeviceInfo],
        strangers: Strangers,
    ) -> Result<(Self, Vec<LinkError>), LinkError> {
        let numbers = devices.iter().map(|device| usize::from(device.ix.0) + 1).max().unwrap_or(0);
        let mut unknown = Vec::new();
        let mut found = Self { clusters: Vec::new(), of_device: vec![None; numbers] };
        for link in links {
            if found.clusters.iter().any(|cluster| cluster.name == link.name) {
                return Err(LinkError::Twice(link.told()));
            }
            if link.devices.is_empty() {
                return Err(LinkError::Empty(link.told()));
            }
            let at = found.clusters.len();
            for name in &link.devices {
                let device = match device_called(name, link, devices) {
                    Err(error @ LinkError::NoDevice { .. }) if strangers == Strangers::AreLeftOut => {
                        unknown.push(error);
                        continue;
                    }
                    device => device?,
                };
                if let Some(first) = found.of_device[usize::from(device.ix.0)].replace(at) {
                    let name = |at: usize| found.clusters.get(at).map_or(&link.name, |cluster| &cluster.name).clone();
                    return Err(LinkError::Shared {
                        device: device.name.clone(),
                        first: name(first),
                        second: link.told(),
                    });
                }
                found.put(at, link, device.ix);
            }
        }
        for device in devices {
            if found.cluster_of(device.ix).is_none() {
                found.of_device[usize::from(device.ix.0)] = Some(found.clusters.len());
                let devices = vec![device.ix];
                found.clusters.push(Cluster { name: device.name.clone(), devices, switch: 0, times: None });
            }
        }
        Ok((found, unknown))
    }

    fn put(&mut self, at: usize, link: &Link, dev: DeviceIx) {
        if self.clusters.len() == at {
            let Link { ref name, switch, times, .. } = *link;
            self.clusters.push(Cluster { name: name.clone(), devices: Vec::new(), switch, times });
        }
        self.clusters[at].devices.push(dev);
    }

    /// The cluster of a device.
    pub(crate) fn cluster_of(&self, dev: DeviceIx) -> Option<usize> {
        self.of_device.get(usize::from(dev.0)).copied().flatten()
    }

    /// Switches that links are below.
    pub(crate) fn switches(&self) -> usize {
        self.clusters.iter().map(|cluster| cluster.switch).collect::<BTreeSet<_>>().len()
    }

    /// Numbers that devices have, or more.
    pub(crate) fn device_numbers(&self) -> usize {
        self.of_device.len()
    }
}

fn device_called<'a>(name: &str, link: &Link, devices: &'a [DeviceInfo]) -> Result<&'a DeviceInfo, LinkError> {
    if let Some(device) = devices.iter().find(|device| device.name == name) {
        return Ok(device);
    }
    let mut called = devices.iter().filter(|device| device.name.rsplit('/').next() == Some(name));
    match (called.next(), called.next()) {
        (Some(device), None) => Ok(device),
        (Some(_), Some(_)) => Err(LinkError::Ambiguous { link: link.told(), device: name.into() }),
        (None, _) => {
            let known: Vec<&str> = devices.iter().map(|device| &*device.name).collect();
            Err(LinkError::NoDevice { link: link.told(), device: name.into(), known: known.join(", ") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> Vec<DeviceInfo> {
        let device = |(n, name): (u16, &&str)| DeviceInfo {
            ix: DeviceIx(n),
            name: (*name).into(),
            size: 1 << 30,
            logical_block: 4096,
        };
        (0..).zip(&["/dev/a", "/dev/b", "/dev/c", "/mnt/x/d", "/mnt/y/d", "ssd:unix:/run/e"]).map(device).collect()
    }

    fn links(texts: &[&str]) -> Result<Links, LinkError> {
        let links: Result<Vec<Link>, _> = texts.iter().map(|text| text.parse()).collect();
        let (links, devices) = (links?, devices());
        let found = Links::resolve(&links, &devices, Strangers::AreRefused).map(|(links, _)| links);
        assert_eq!(Link::check_all(&links, &devices).err().as_ref(), found.as_ref().err());
        found
    }

    #[test]
    fn devices_that_share_no_link_are_clusters_of_their_own() {
        let found = links(&["nic0:b,/mnt/x/d", "nic1:ssd:unix:/run/e"]).unwrap();
        let shown: Vec<(&str, Vec<u16>)> =
            found.clusters.iter().map(|c| (&*c.name, c.devices.iter().map(|dev| dev.0).collect())).collect();
        let alone = [("/dev/a", vec![0]), ("/dev/c", vec![2]), ("/mnt/y/d", vec![4])];
        assert_eq!(shown, [&[("nic0", vec![1, 3]), ("nic1", vec![5])], &alone[..]].concat());
        assert_eq!([0, 1, 3, 9].map(|n| found.cluster_of(DeviceIx(n))), [Some(2), Some(0), Some(0), None]);
    }

    #[test]
    fn a_link_goes_without_members_that_are_missing() {
        let link: Link = "nic0:a,z".parse().unwrap();
        let (found, unknown) = Links::resolve(&[link], &devices(), Strangers::AreLeftOut).unwrap();
        assert_eq!(found.clusters[0].devices, [DeviceIx(0)]);
        assert!(matches!(&unknown[..], [LinkError::NoDevice { device, .. }] if device == "z"), "{unknown:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_names() {
        let error = |texts: &[&str]| links(texts).unwrap_err().to_string();
        assert!(error(&["b,c"]).contains("\"b,c\": write NAME:DEVICE"), "{}", error(&["b,c"]));
        assert!(error(&[":b"]).contains("write NAME:DEVICE"));
        assert!(error(&["nic0:"]).contains("link nic0: no device is named"));
        assert!(error(&["nic0:a,"]).contains("link nic0: no device is named"));
        assert_eq!(error(&["n:a", "n:b"]), "link n is declared twice: name all its devices at once");
        assert!(error(&["n:z"]).starts_with("link n: there is no member or spare z: the array has /dev/a, /dev/b"));
        assert!(error(&["n:d"]).contains("several devices are called d"));
        assert!(error(&["n:a", "m:b,/dev/a"]).contains("/dev/a is named in link n and again in link m"));
        assert!(error(&["n:a,a"]).contains("/dev/a is named in link n and again in link n"));
    }

    #[test]
    fn a_link_of_a_file_is_told_with_its_place() {
        let error = |texts: [&str; 2], strangers| {
            let at = |(line, text): (u32, &str)| Link {
                declared_at: Some(format!("tank.toml:{line}")),
                ..text.parse().expect("it is a link")
            };
            let links: Vec<Link> = (3..).zip(texts).map(at).collect();
            let found = Links::resolve(&links, &devices(), strangers);
            found.map_or_else(|error| error.to_string(), |(_, unknown)| unknown[0].to_string())
        };
        let refused = |texts| error(texts, Strangers::AreRefused);
        assert!(refused(["n:a", "n:b"]).starts_with("link n (tank.toml:4) is declared twice"));
        assert!(refused(["n:a", "m:a"]).contains("in link n and again in link m (tank.toml:4)"));
        assert!(refused(["n:d", "m:a"]).starts_with("link n (tank.toml:3): several devices are called d"));
        let left_out = error(["n:a", "m:b,z"], Strangers::AreLeftOut);
        assert!(left_out.starts_with("link m (tank.toml:4): there is no member or spare z"), "{left_out}");
    }
}
