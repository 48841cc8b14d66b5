//! The ways to members, as Linux shows them: realpaths in `/sys`, and routes in `/proc/net`.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use cygnus_ssdlink::Address;
use cygnus_uring::{beneath, block_numbers};

use super::routes::interface_to;
use super::{Hop, NoWay, Proposal, Way};

/// Devices below devices that are followed: more stand on one another nowhere.
const DEEPEST: usize = 8;

/// Where a machine tells of itself.
#[derive(Clone, Debug)]
pub struct Machine {
    sys: PathBuf,
    proc_net: PathBuf,
}

impl Machine {
    /// The one that this runs on.
    pub fn this() -> Self {
        Self::at("/sys", "/proc/net")
    }

    /// One that tells of itself in these directories.
    pub fn at(sys: impl Into<PathBuf>, proc_net: impl Into<PathBuf>) -> Self {
        Self { sys: sys.into(), proc_net: proc_net.into() }
    }

    /// Which of these members share links. Names of hosts are resolved, which may take its time.
    pub fn shared_links<'a>(&self, members: impl IntoIterator<Item = &'a str>) -> Proposal {
        Proposal::of(members.into_iter().map(|member| (member.to_owned(), self.way_to(Path::new(member)))).collect())
    }

    /// The way to a member: a path, or the address of a software SSD.
    fn way_to(&self, member: &Path) -> Way {
        match Address::of_member(member) {
            Some(Ok(Address::Unix(_))) => Err(NoWay::Here),
            Some(Ok(Address::Tcp(place))) => {
                let unresolved = |source| NoWay::Unresolved { place: place.clone(), source };
                let resolved = place.to_socket_addrs().map_err(unresolved)?.next();
                self.way_over_network(resolved.ok_or(NoWay::NoAddress(place))?.ip())
            }
            Some(Err(error)) => Err(error.into()),
            None => {
                let (major, minor) = block_numbers(beneath(member))?;
                self.way_to_block(&format!("{major}:{minor}"), DEEPEST)
            }
        }
    }

    /// The way to the block device of these numbers.
    fn way_to_block(&self, numbers: &str, deepest: usize) -> Way {
        let device = fs::canonicalize(self.sys.join("dev/block").join(numbers))
            .map_err(|_| NoWay::NoBlockDevice { sys: self.sys.clone(), numbers: numbers.into() })?;
        if let Some(subsystem) = parent_called(&device, "nvme-subsys") {
            return self.way_to_controller(&only_entry(&subsystem, "nvme", "NVMe controllers lead to it")?);
        }
        if let Some(controller) = parent_called(&device, "nvme").filter(|_| is_below(&device, "nvme-fabrics")) {
            return self.way_to_controller(&controller);
        }
        let hops = pci_hops(&device);
        if !hops.is_empty() {
            return Ok(hops);
        }
        // Encryption, a volume of LVM and the like stand on a device.
        match (fs::read_dir(device.join("slaves")).is_ok(), deepest) {
            (true, 1..) => {
                let below = only_entry(&device.join("slaves"), "", "devices are below it")?;
                let path = below.join("dev");
                let numbers = fs::read_to_string(&path).map_err(|source| NoWay::Unreadable { path, source })?;
                self.way_to_block(numbers.trim(), deepest - 1)
            }
            _ => Err(NoWay::NoBus(device)),
        }
    }

    /// The way to an NVMe controller, in this machine or behind a network.
    fn way_to_controller(&self, controller: &Path) -> Way {
        let unreadable = |source| NoWay::Unreadable { path: controller.to_owned(), source };
        let device = fs::canonicalize(controller).map_err(unreadable)?;
        let address = fs::read_to_string(device.join("address")).unwrap_or_default();
        match address.trim().split(',').find_map(|part| part.strip_prefix("traddr=")) {
            Some(text) => self.way_over_network(text.parse().map_err(|_| NoWay::NoIpAddress(text.into()))?),
            None => Some(pci_hops(&device)).filter(|hops| !hops.is_empty()).ok_or_else(|| NoWay::NoBus(device.clone())),
        }
    }

    /// The way to a host: the network interface of the route there, and what that is behind.
    fn way_over_network(&self, address: IpAddr) -> Way {
        if address.is_loopback() {
            return Err(NoWay::ThisMachine(address));
        }
        let interface = interface_to(&self.proc_net, address).ok_or(NoWay::NoRoute(address))?;
        let card = fs::canonicalize(self.sys.join("class/net").join(&interface).join("device"));
        let mut hops = card.map(|card| pci_hops(&card)).unwrap_or_default();
        hops.push(Hop::Interface(interface));
        Ok(hops)
    }
}

/// What on PCI Express the path of a device goes through. A bridge stands in it before what is behind it.
fn pci_hops(device: &Path) -> Vec<Hop> {
    let names = device.components().filter_map(|part| part.as_os_str().to_str());
    names.filter(|name| is_pci(name)).map(|name| Hop::Pci(name.into())).collect()
}

/// `0000:40:01.1`: domain, bus, device and function, in hexadecimal digits.
fn is_pci(name: &str) -> bool {
    let is_hex = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit())
    };
    let Some((address, function)) = name.rsplit_once('.') else { return false };
    let parts: Vec<&str> = address.split(':').collect();
    matches!(parts[..], [domain, bus, device]
        if is_hex(domain, 4..=8) && is_hex(bus, 2..=2) && is_hex(device, 2..=2) && is_hex(function, 1..=1))
}

/// The nearest directory above a device that is called so, with a number behind.
fn parent_called(device: &Path, prefix: &str) -> Option<PathBuf> {
    let mut above = device.ancestors().skip(1);
    above
        .find(|above| above.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_nth(name, prefix)))
        .map(Path::to_path_buf)
}

fn is_nth(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_digit()))
}

fn is_below(device: &Path, name: &str) -> bool {
    device.components().any(|part| part.as_os_str() == name)
}

/// The one entry of a directory that is called so, with a number behind; with any name, if that is empty. `several` is what is wrong with
/// more than one.
fn only_entry(directory: &Path, prefix: &str, several: &'static str) -> Result<PathBuf, NoWay> {
    let unreadable = |source| NoWay::Unreadable { path: directory.to_owned(), source };
    let entries = fs::read_dir(directory).map_err(unreadable)?;
    let is_meant = |path: &PathBuf| {
        prefix.is_empty() || path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_nth(name, prefix))
    };
    let found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_meant).collect();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([only]) => Ok(only),
        Err(found) => Err(NoWay::Several { number: found.len(), of_what: several }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::scratch::Scratch;

    /// A machine with two NVMe drives behind a switch, one behind a port of its own, two disks behind one controller, a volume on one of
    /// them, a drive with two ways, one over a network, a memory device, and a network card with two ports.
    fn machine(scratch: &Scratch) -> Machine {
        let sys = scratch.path().join("sys");
        let switch = "devices/pci0000:40/0000:40:01.1/0000:41:00.0";
        let disks = "devices/pci0000:00/0000:00:17.0";
        let fabrics = "devices/virtual/nvme-fabrics/ctl/nvme5";
        let blocks = [
            ("259:0", format!("{switch}/0000:42:04.0/0000:43:00.0/nvme/nvme0/nvme0n1")),
            ("259:1", format!("{switch}/0000:42:05.0/0000:44:00.0/nvme/nvme1/nvme1n1/nvme1n1p1")),
            ("259:2", "devices/pci0000:40/0000:40:03.1/0000:50:00.0/nvme/nvme2/nvme2n1".into()),
            ("8:0", format!("{disks}/ata1/host0/target0:0:0/0:0:0:0/block/sda")),
            ("8:16", format!("{disks}/ata2/host1/target1:0:0/1:0:0:0/block/sdb")),
            ("253:0", "devices/virtual/block/dm-0".into()),
            ("259:3", "devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1".into()),
            ("259:4", "devices/virtual/nvme-subsystem/nvme-subsys4/nvme4n1".into()),
            ("259:5", format!("{fabrics}/nvme5n1")),
            ("1:0", "devices/virtual/block/ram0".into()),
        ];
        let make = |directory: &Path| fs::create_dir_all(directory).expect("it can be made");
        let link = |target: &Path, at: &Path| {
            make(at.parent().expect("it is in the tree"));
            symlink(target, at).expect("it can be made");
        };
        for (numbers, device) in &blocks {
            make(&sys.join(device));
            link(&sys.join(device), &sys.join("dev/block").join(numbers));
        }
        // The volume is on sdb.
        let sdb = sys.join(&blocks[4].1);
        fs::write(sdb.join("dev"), "8:16\n").expect("it can be written");
        link(&sdb, &sys.join(&blocks[5].1).join("slaves/sdb"));
        // One controller leads to one subsystem, two to the other.
        let controller = sys.join("devices/pci0000:40/0000:40:03.1/0000:51:00.0/nvme/nvme3");
        make(&controller);
        fs::write(controller.join("address"), "0000:51:00.0\n").expect("it can be written");
        link(&controller, &sys.join("devices/virtual/nvme-subsystem/nvme-subsys3/nvme3"));
        for name in ["nvme4", "nvme6"] {
            link(&controller, &sys.join("devices/virtual/nvme-subsystem/nvme-subsys4").join(name));
        }
        fs::write(sys.join(fabrics).join("address"), "traddr=10.1.2.3,trsvcid=4420\n").expect("it can be written");
        for (port, interface) in [("0000:05:00.0", "eth0"), ("0000:05:00.1", "eth1")] {
            let card = sys.join("devices/pci0000:00/0000:00:1c.0").join(port);
            make(&card);
            link(&card, &sys.join("class/net").join(interface).join("device"));
        }
        let route = |interface: &str, to: [u8; 4]| {
            let to = u32::from_ne_bytes(to);
            format!("{interface} {to:08X} 0 0001 0 0 0 {:08X}\n", u32::from_ne_bytes([255, 255, 0, 0]))
        };
        let proc_net = scratch.path().join("net");
        make(&proc_net);
        let table = route("eth0", [10, 1, 0, 0]) + &route("eth1", [10, 2, 0, 0]);
        fs::write(proc_net.join("route"), table).expect("it can be written");
        Machine::at(sys, proc_net)
    }

    fn pci(addresses: &[&str]) -> Result<Vec<Hop>, String> {
        Ok(addresses.iter().map(|address| Hop::Pci((*address).into())).collect())
    }

    #[test]
    fn ways_are_read_from_sysfs() {
        let scratch = Scratch::new("ways");
        let machine = machine(&scratch);
        let in_words = |way: Way| way.map_err(|why| why.to_string());
        let way = |numbers: &str| in_words(machine.way_to_block(numbers, DEEPEST));
        assert_eq!(way("259:0"), pci(&["0000:40:01.1", "0000:41:00.0", "0000:42:04.0", "0000:43:00.0"]));
        assert_eq!(way("8:0"), pci(&["0000:00:17.0"]));
        assert_eq!(way("253:0"), way("8:16"));
        assert_eq!(way("259:3"), pci(&["0000:40:03.1", "0000:51:00.0"]));
        assert_eq!(way("259:4"), Err("2 NVMe controllers lead to it".into()));
        let over_network =
            Ok(vec![Hop::Pci("0000:00:1c.0".into()), Hop::Pci("0000:05:00.0".into()), Hop::Interface("eth0".into())]);
        assert_eq!(
            (way("259:5"), in_words(machine.way_to(Path::new("ssd:tcp:10.1.9.9:4420")))),
            (over_network.clone(), over_network)
        );
        assert!(way("1:0").unwrap_err().contains("ram0 is on no bus that is known"), "{:?}", way("1:0"));
        assert!(way("9:9").unwrap_err().contains("has no block device 9:9"), "{:?}", way("9:9"));
    }

    #[test]
    fn members_meet_at_switches_controllers_and_network_interfaces() {
        let scratch = Scratch::new("links");
        let machine = machine(&scratch);
        let at = |numbers: &str| (numbers.to_owned(), machine.way_to_block(numbers, DEEPEST));
        let found = Proposal::of(["259:0", "259:1", "259:2", "259:3", "8:0", "8:16", "1:0"].map(at).into());
        let links: Vec<_> = found.links.iter().map(|link| (&*link.name, link.members.join(" "))).collect();
        let expected = [
            ("pci-0000-00-17.0", "8:0 8:16".to_owned()),
            ("pci-0000-40-03.1", "259:2 259:3".to_owned()),
            ("pci-0000-41-00.0", "259:0 259:1".to_owned()),
        ];
        assert_eq!(links, expected);
        assert_eq!(found.unknown.len(), 1);
        let remote = [
            "ssd:tcp:10.1.0.1:1",
            "ssd:tcp:10.1.0.2:1",
            "ssd:tcp:10.2.0.1:1",
            "ssd:tcp:127.0.0.1:1",
            "ssd:tcp:8.8.8.8:1",
        ];
        let found = machine.shared_links(remote);
        assert_eq!(found.links.len(), 1, "{found:?}");
        assert_eq!((&*found.links[0].name, &*found.links[0].members.join(" ")), ("net-eth0", &*remote[..2].join(" ")));
        // Another port of the same card.
        assert_eq!(found.alone, [remote[2]]);
        let why: Vec<&str> = found.unknown.iter().map(|(_, why)| &**why).collect();
        assert_eq!(why, ["127.0.0.1 is this machine", "there is no route to 8.8.8.8"]);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_links() {
        let scratch = Scratch::new("nothing");
        let machine = Machine::at(scratch.path(), scratch.path());
        let file = scratch.path().join("member");
        fs::write(&file, "").expect("it can be written");
        let members = [file.display().to_string(), "/no/such/member".into(), "ssd:unix:/run/d0".into()];
        let found = machine.shared_links(members.iter().map(String::as_str));
        assert!(found.links.is_empty() && found.alone.is_empty() && found.unknown.len() == 3, "{found:?}");
    }

    #[test]
    fn pci_addresses_are_told_from_other_names() {
        assert!(["0000:40:01.1", "10000:00:02.0"].iter().all(|name| is_pci(name)));
        assert!(
            ["pci0000:40", "0:0:0:0", "target0:0:0", "0000:40:01", "nvme0", "0000:40:01.x"]
                .iter()
                .all(|name| !is_pci(name))
        );
    }
}
