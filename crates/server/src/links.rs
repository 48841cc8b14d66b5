//! The links that a server's array has: those that were declared, and those that Linux tells of.

use crate::ServeError;
use crate::event::ServerEvent;
use crate::log::ServerLog;
use crate::options::Options;
use cygnus_engine::{ArrayError, Link, LinkError};
use cygnus_host::links::{Machine, Proposal, SharedLink};
use cygnus_policy::Preset;
use std::path::{Path, PathBuf};

/// What an array's devices share: as declared, and as found if that is wanted. What is found is told, and what is not.
///
/// # Errors
/// When links are looked for, and data does not move out of the way of contention.
pub(crate) fn links<'a>(
    options: &Options,
    preset: &str,
    devices: impl Iterator<Item = &'a str>,
    log: &ServerLog,
) -> Result<Vec<Link>, ServeError> {
    let devices: Vec<&str> = devices.collect();
    let mut links: Vec<Link> = options.links.iter().map(|link| by_names_of(&devices, link)).collect();
    if !options.find_links {
        return Ok(links);
    }
    let moves = options.autonomics || preset.parse().is_ok_and(|preset: Preset| preset.policies().autonomics);
    if !moves {
        return Err(ArrayError::from(LinkError::Unused("auto".into())).into());
    }
    let undeclared = devices.into_iter().filter(|device| !is_declared(device, &links));
    let found = Machine::this().shared_links(undeclared);
    tell(&found, log);
    if let Some(link) = one_for_all(&found).filter(|_| options.links.is_empty()) {
        log.tell(&ServerEvent::OneLinkForAll(link));
    }
    links.extend(found.links.into_iter().map(|link| Link {
        name: link.name,
        devices: link.members,
        switch: 0,
        times: None,
        declared_at: None,
    }));
    Ok(links)
}

/// A link whose devices go by the names that the array has for them. They may be given by other paths: those below `/dev/disk/by-id` stay
/// when the kernel names its devices anew.
fn by_names_of(devices: &[&str], link: &Link) -> Link {
    let canonical = |path: &str| Path::new(path).canonicalize().ok();
    let name = |given: &String| {
        let is_name = |device: &&&str| **device == given || device.rsplit('/').next() == Some(given);
        let leads_to = |real: PathBuf| devices.iter().find(|device| canonical(device).is_some_and(|own| own == real));
        let device = devices.iter().find(is_name).is_none().then(|| canonical(given).and_then(leads_to)).flatten();
        device.map_or_else(|| given.clone(), |device| String::from(*device))
    };
    Link { devices: link.devices.iter().map(name).collect(), ..link.clone() }
}

/// Whether a device is named in a link, by its path or the last part of that.
fn is_declared(device: &str, links: &[Link]) -> bool {
    let short = device.rsplit('/').next();
    links.iter().flat_map(|link| &link.devices).any(|named| named == device || Some(&**named) == short)
}

/// The link that all members share, if they do.
fn one_for_all(found: &Proposal) -> Option<&SharedLink> {
    match &found.links[..] {
        [link] if found.alone.is_empty() && found.unknown.is_empty() => Some(link),
        _ => None,
    }
}

fn tell(found: &Proposal, log: &ServerLog) {
    found.links.iter().for_each(|link| log.tell(&ServerEvent::SharedLink(link)));
    for (member, why) in &found.unknown {
        log.tell(&ServerEvent::WayUnknown { member, why });
    }
    if found.links.is_empty() {
        log.tell(&ServerEvent::NoSharedLink { alone: found.alone.len(), unknown: found.unknown.len() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cygnus_host::links::{Hop, NoWay};
    use cygnus_host::scratch::Scratch;

    #[test]
    fn one_link_for_all_members_is_told_apart_from_several_and_from_unknown_ways() {
        let hop = |device: &str| Hop::Interface(device.into());
        let found = |ways: &[(&str, Option<&str>)]| {
            let way = |&(member, by): &(&str, Option<&str>)| {
                (member.to_owned(), by.map(|by| vec![hop(by)]).ok_or(NoWay::Here))
            };
            let proposal = Proposal::of(ways.iter().map(way).collect());
            one_for_all(&proposal).map(|link| ServerEvent::OneLinkForAll(link).to_string())
        };
        let all = found(&[("a", Some("eth0")), ("b", Some("eth0"))]).expect("one link");
        assert!(
            all.contains("nothing can move out of the way of that link") && all.contains("--link NAME:MEMBERS"),
            "{all}"
        );
        assert_eq!(found(&[("a", Some("eth0")), ("b", Some("eth0")), ("c", None)]), None);
        assert_eq!(found(&[("a", Some("eth0")), ("b", Some("eth0")), ("c", Some("eth1"))]), None);
        let two = [("a", Some("eth0")), ("b", Some("eth0")), ("c", Some("eth1")), ("d", Some("eth1"))];
        assert_eq!(found(&two), None);
    }

    #[test]
    fn a_member_may_be_declared_by_any_path_that_leads_to_it() {
        let scratch = Scratch::new("links");
        let at = |name: &str| scratch.path().join(name).display().to_string();
        for (disk, id) in [("sda", "by-id-x"), ("sdb", "by-id-y")] {
            std::fs::write(at(disk), "").expect("a file");
            std::os::unix::fs::symlink(at(disk), at(id)).expect("a link");
        }
        let devices = [at("sda"), at("sdb")];
        let devices = [&*devices[0], &*devices[1]];
        let named = |given: [&str; 3]| {
            let link: Link = format!("nic0:{}", given.join(",")).parse().expect("a link");
            by_names_of(&devices, &link).devices
        };
        let (by_id, gone) = (at("by-id-x"), at("by-id-z"));
        assert_eq!(named([&by_id, "sdb", &gone]), [devices[0], "sdb", &*gone]);
    }

    #[test]
    fn what_was_declared_is_not_looked_for() {
        let links: Vec<Link> = ["nic0:/dev/sda,sdb".parse().expect("a link")].into();
        let declared = |device| is_declared(device, &links);
        assert_eq!(["/dev/sda", "/dev/sdb", "/dev/sdc"].map(declared), [true, true, false]);
    }
}
