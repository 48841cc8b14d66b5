//! The links that a server's array has: those that were declared, and those that Linux tells of.

use crate::ServeError;
use crate::event::ServerEvent;
use crate::log::ServerLog;
use crate::options::Options;
use cygnus_engine::{ArrayError, Link, LinkError};
use cygnus_host::links::{Machine, Proposal, SharedLink};
use cygnus_policy::Preset;

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
    let mut links = options.links.clone();
    if !options.find_links {
        return Ok(links);
    }
    let moves = options.autonomics || preset.parse().is_ok_and(|preset: Preset| preset.policies().autonomics);
    if !moves {
        return Err(ArrayError::from(LinkError::Unused("auto".into())).into());
    }
    let undeclared = devices.filter(|device| !is_declared(device, &options.links));
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
    }));
    Ok(links)
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
    use cygnus_host::links::Hop;

    #[test]
    fn one_link_for_all_members_is_told_apart_from_several_and_from_unknown_ways() {
        let hop = |device: &str| Hop::Interface(device.into());
        let found = |ways: &[(&str, Option<&str>)]| {
            let way = |&(member, by): &(&str, Option<&str>)| {
                (member.to_owned(), by.map(|by| vec![hop(by)]).ok_or_else(|| "a file".to_owned()))
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
    fn what_was_declared_is_not_looked_for() {
        let links: Vec<Link> = ["nic0:/dev/sda,sdb".parse().expect("a link")].into();
        let declared = |device| is_declared(device, &links);
        assert_eq!(["/dev/sda", "/dev/sdb", "/dev/sdc"].map(declared), [true, true, false]);
    }
}
