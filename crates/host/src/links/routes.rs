//! Through which network interface an address is reached, by the tables of routes that Linux shows in `/proc/net`.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

/// A route is up, and one that refuses (`RTF_UP` and `RTF_REJECT` of Linux's `route.h`).
const UP: u32 = 0x1;
const REJECTS: u32 = 0x200;

/// Addresses in a table: those that begin like this.
struct Route {
    begins: u128,
    /// In so many bits, of 32 or 128.
    bits: u32,
    metric: u32,
    flags: u32,
    interface: String,
}

/// The interface of the longest prefix that an address has, and of the least metric of several. `proc_net` is `/proc/net`, or stands for it.
pub(super) fn interface_to(proc_net: &Path, address: IpAddr) -> Option<String> {
    let (file, wanted, width, parse): (_, _, _, fn(&str) -> Option<Route>) = match address.to_canonical() {
        IpAddr::V4(v4) => ("route", u128::from(u32::from(v4)), 32, v4_route),
        IpAddr::V6(v6) => ("ipv6_route", u128::from(v6), 128, v6_route),
    };
    let table = fs::read_to_string(proc_net.join(file)).ok()?;
    let begins_so = |route: &Route| route.bits == 0 || (wanted ^ route.begins) >> (width - route.bits) == 0;
    let serves = |route: &Route| route.flags & UP != 0 && route.flags & REJECTS == 0 && begins_so(route);
    let routes = table.lines().filter_map(parse).filter(serves);
    routes.min_by_key(|route| (width - route.bits, route.metric)).map(|route| route.interface)
}

/// `eth0 000200C0 00000000 0001 0 0 0 00FFFFFF ...`: interface, destination, gateway, flags, two counts, metric, mask. Addresses are in
/// the order of this machine's bytes.
fn v4_route(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let hex = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    let address = |at: usize| Some(u32::from_be_bytes(hex(at)?.to_ne_bytes()));
    Some(Route {
        begins: address(1)?.into(),
        bits: address(7)?.leading_ones(),
        metric: words.get(6)?.parse().ok()?,
        flags: hex(3)?,
        interface: (*words.first()?).into(),
    })
}

/// `fe80...00 40 00...00 00 00...00 00000100 00000001 00000000 00000001 eth0`: destination and the bits that count, the same of the
/// source, next hop, metric, two counts, flags, interface.
fn v6_route(line: &str) -> Option<Route> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let hex = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
    Some(Route {
        begins: u128::from_str_radix(words.first()?, 16).ok()?,
        bits: hex(1).filter(|bits| *bits <= 128)?,
        metric: hex(5)?,
        flags: hex(8)?,
        interface: (*words.get(9)?).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn the_longest_prefix_decides_and_then_the_metric() {
        let dir = Scratch::new("routes");
        let ne = |a: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(a));
        let row = |interface: &str, to: [u8; 4], mask: [u8; 4], metric: u32, flags: &str| {
            format!("{interface}\t{}\t00000000\t{flags}\t0\t0\t{metric}\t{}\t0\t0\t0\n", ne(to), ne(mask))
        };
        let table = ["Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n".to_owned()]
            .into_iter()
            .chain([
                row("eth0", [0; 4], [0; 4], 100, "0003"),
                row("ib0", [10, 1, 0, 0], [255, 255, 0, 0], 0, "0001"),
                row("ib1", [10, 1, 2, 0], [255, 255, 255, 0], 200, "0001"),
                row("ib2", [10, 1, 2, 0], [255, 255, 255, 0], 100, "0001"),
                row("ib3", [10, 1, 2, 9], [255; 4], 0, "0201"),
            ]);
        fs::write(dir.path().join("route"), table.collect::<String>()).expect("it can be written");
        let v6 = "fd000000000000000000000000000000 08 00000000000000000000000000000000 00 \
                  00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth2\n";
        fs::write(dir.path().join("ipv6_route"), v6).expect("it can be written");
        let to = |address: &str| interface_to(dir.path(), address.parse().expect("an address"));
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(["8.8.8.8", "10.1.9.9", "10.1.2.9"].map(to), [some("eth0"), some("ib0"), some("ib2")]);
        assert_eq!(["fd00::1", "2001::1", "::ffff:10.1.2.3"].map(to), [some("eth2"), None, some("ib2")]);
        assert_eq!(interface_to(&dir.path().join("none"), IpAddr::from([10, 1, 2, 3])), None);
    }
}
