//! Stories as text: one line for each thing that happens, in order.
//!
//! ```text
//! cygnus torture story 1
//! world 4711
//! array swan groups 2 raid 2+1 chunk 2 stripe 8 segment 20 segments 18 parity rotated spare 200 reactors 1
//! volume v0 blocks 1200
//! level v0 written
//! keep v0 only flash
//! cycle
//!   rest d3 lost
//!   open cut 512
//!   force cut 700 without d1
//!   beyond header flipped 17 cut 90 d0 d1 d2
//!   absent d5 until 70000
//!   client v0 reactor 0
//!     write 8192 4096 fua pause 12000
//!     flush 0 0
//!   at 100000 d2 hangs 1000000
//!   at 200000 trouble away 5000000 d0 d1
//!   requests wait 3000000
//!   end power-cut 600
//! salvage without d0 d2
//! ```
//!
//! The array's line goes on with `more 1` where one R-group can be added, with `spares 2` where two devices can be spares, and
//! with `media flash,disk` where R-groups store on these, set by set of their devices, with `disks 4+2` where those on disks and smr have these
//! data and parity members, with
//! `keeps` where what is on its way to members outlasts a killed process, with `transient 24` where members have so many blocks
//! for copies, with `autonomics` where data moves out of the way of contention (`autonomics naive`: by reads of its own) and `link d0,d1` for members that share a link, with `converts 1` where they compute parity from these (`converts 3`: all but every third), with `postponed 3` where so many full stripes may wait for that, with `beside 1` where they store bytes beside each block, in which copies are described (`beside 2`: all but every second), or with `parity-buffer` where the parity of rows may take their place, `every-second-group` behind `zoned` and its numbers where only every second set of devices has zones, `drives modelled` where members are modelled, and `drives slow` where they are as slow as disks. Offsets and lengths are bytes, times are nanoseconds. Lines that begin with `#` are remarks.

use std::fmt::{self, Display, Formatter};
use std::str::{FromStr, SplitWhitespace};

use cygnus_format::{Geometry, Raid};
use cygnus_policy::{Migration, ParityPlacement, Preset};
use cygnus_types::{Constraint, Medium, Nanos, Paging, Tiers};

use super::error::{StoryError, WrongLine};
use super::{
    Absent, Admin, Beyond, Cycle, Decay, Drives, Ending, Force, Harm, Manner, Part, Passing, Regroup, Request,
    RequestKind, Ruin, Script, Scrubs, Shape, Sort, Story, What,
};
use crate::zones::{Flash, LEAST_OF_FLASH, Zoned};

const TITLE: &str = "cygnus torture story 1";

const REQUESTS: [(RequestKind, &str); 5] = [
    (RequestKind::Read, "read"),
    (RequestKind::Write, "write"),
    (RequestKind::Zero, "zero"),
    (RequestKind::Trim, "trim"),
    (RequestKind::Flush, "flush"),
];

const MANNERS: [(Manner, &str); 6] = [
    (Manner::LosesWrites, "loses-writes"),
    (Manner::TearsWrites, "tears-writes"),
    (Manner::MisdirectsWrites, "misdirects-writes"),
    (Manner::FailsSomeWrites, "fails-some-writes"),
    (Manner::FlipsBits, "flips-bits"),
    (Manner::CannotRead, "cannot-read"),
];

const PARTS: [(Part, &str); 3] = [(Part::Superblock, "superblock"), (Part::Header, "header"), (Part::Page, "page")];

const DECAYS: [(Decay, &str); 3] =
    [(Decay::Flipped, "flipped"), (Decay::Unreadable, "unreadable"), (Decay::Zeroed, "zeroed")];

fn name_of<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> &'static str {
    table.iter().find(|(known, _)| known == value).map(|(_, name)| *name).expect("every value is in its table")
}

impl Display for Story {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}\nworld {}\n{}", self.world, self.shape)?;
        for (name, blocks) in &self.volumes {
            writeln!(f, "volume {name} blocks {blocks}")?;
        }
        for (name, level) in &self.levels {
            writeln!(f, "level {name} {level}")?;
        }
        for (name, constraint) in &self.constraints {
            writeln!(f, "keep {name} {constraint}")?;
        }
        for (name, paging) in &self.pages {
            writeln!(f, "map {name} pages {} fine {}", paging.blocks(), paging.fine())?;
        }
        self.cycles.iter().try_for_each(|cycle| write!(f, "{cycle}"))?;
        if self.salvage.is_empty() {
            return Ok(());
        }
        f.write_str("salvage without")?;
        self.salvage.iter().try_for_each(|n| write!(f, " d{n}"))?;
        writeln!(f)
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Geometry { data, parity, chunk_blocks, stripe_rows, segment_blocks, transient_blocks, lead_blocks: _ } =
            self.geometry;
        let placement = if self.placement == ParityPlacement::Fixed { "fixed" } else { "rotated" };
        write!(
            f,
            "array {} groups {} raid {data}+{parity} chunk {chunk_blocks} stripe {stripe_rows} segment {segment_blocks} \
             segments {} parity {placement} spare {} reactors {}",
            self.preset.name(),
            self.groups,
            self.segments,
            self.over_provision_permille,
            self.reactors,
        )?;
        if let Some(parity) = self.clients_parity {
            write!(f, " clients {parity}")?;
        }
        if let Some(rules) = &self.cleaning {
            write!(f, " cleaning {rules}")?;
        }
        self.streams.iter().try_for_each(|streams| write!(f, " streams {streams}"))?;
        if !self.media.is_empty() {
            let media: Vec<&str> = self.media.iter().map(|medium| medium.word()).collect();
            write!(f, " media {}", media.join(","))?;
        }
        self.disks.iter().try_for_each(|raid| write!(f, " disks {raid}"))?;
        if transient_blocks > 0 {
            write!(f, " transient {transient_blocks}")?;
        }
        if self.converts > 0 {
            write!(f, " converts {}", self.converts)?;
        }
        if self.postponed > 0 {
            write!(f, " postponed {}", self.postponed)?;
        }
        if self.beside > 0 {
            write!(f, " beside {}", self.beside)?;
        }
        if self.parity_buffer {
            write!(f, " parity-buffer")?;
        }
        if let Some(Zoned { zone, but, patches, flash, on, every_second_group }) = self.zoned {
            write!(f, " zoned {zone} but {but} patches {patches}")?;
            f.write_str(if every_second_group { " every-second-group" } else { "" })?;
            on.iter().try_for_each(|medium| write!(f, " on {medium}"))?;
            if let Some(Flash { hole, active }) = flash {
                write!(f, " flash {hole} active {active}")?;
            }
        }
        if self.more > 0 {
            write!(f, " more {}", self.more)?;
        }
        if self.spares > 0 {
            write!(f, " spares {}", self.spares)?;
        }
        f.write_str(if self.keeps { " keeps" } else { "" })?;
        match self.autonomics {
            None => {}
            Some(Migration::ShadowCloning) => f.write_str(" autonomics")?,
            Some(migration) => write!(f, " autonomics {migration}")?,
        }
        for link in &self.links {
            let members: Vec<String> = link.iter().map(|member| format!("d{member}")).collect();
            write!(f, " link {}", members.join(","))?;
        }
        match Drives::NAMES.into_iter().find(|(drives, _)| *drives == self.drives) {
            Some((_, name)) => write!(f, " drives {name}"),
            None => Ok(()),
        }
    }
}

impl Display for Cycle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "cycle")?;
        self.at_rest.iter().try_for_each(|harm| writeln!(f, "  rest {harm}"))?;
        write!(f, "  open{}", if self.stale { " stale" } else { "" })?;
        self.cuts.iter().try_for_each(|steps| write!(f, " cut {steps}"))?;
        writeln!(f)?;
        if let Some(Force { without, cuts }) = &self.force {
            write!(f, "  force")?;
            cuts.iter().try_for_each(|steps| write!(f, " cut {steps}"))?;
            f.write_str(" without")?;
            without.iter().try_for_each(|n| write!(f, " d{n}"))?;
            writeln!(f)?;
        }
        if let Some(Beyond { part, decay, nth, members, cuts }) = &self.beyond {
            write!(f, "  beyond {} {} {nth}", name_of(&PARTS, part), name_of(&DECAYS, decay))?;
            cuts.iter().try_for_each(|steps| write!(f, " cut {steps}"))?;
            members.iter().try_for_each(|n| write!(f, " d{n}"))?;
            writeln!(f)?;
        }
        if let Some(Absent { member, until }) = self.absent {
            writeln!(f, "  absent d{member} until {}", until.0)?;
        }
        for Ruin { volume, block, columns } in &self.ruins {
            writeln!(f, "  ruin {volume} block {block} columns {columns}")?;
        }
        let Scrubs { first, beside } = self.scrubs;
        if first {
            writeln!(f, "  scrub")?;
        }
        if let Some(at) = beside {
            writeln!(f, "  scrub at {}", at.0)?;
        }
        match &self.admin {
            None => {}
            Some(Admin::Create(name, blocks)) => writeln!(f, "  create {name} blocks {blocks}")?,
            Some(Admin::Delete(name)) => writeln!(f, "  delete {name}")?,
            Some(Admin::Resize(name, blocks)) => writeln!(f, "  resize {name} blocks {blocks}")?,
        }
        for Script { volume, reactor, requests } in &self.clients {
            writeln!(f, "  client {volume} reactor {reactor}")?;
            requests.iter().try_for_each(|request| writeln!(f, "    {request}"))?;
        }
        self.during.iter().try_for_each(|(at, harm)| writeln!(f, "  at {} {harm}", at.0))?;
        for (at, Passing { sort, span, members }) in &self.passing {
            write!(f, "  at {} trouble {} {}", at.0, name_of(&Sort::ALL, sort), span.0)?;
            members.iter().try_for_each(|n| write!(f, " d{n}"))?;
            writeln!(f)?;
        }
        if let Some(span) = self.suspended_for {
            writeln!(f, "  requests wait {}", span.0)?;
        }
        self.regroups.iter().try_for_each(|(at, what)| writeln!(f, "  at {} {what}", at.0))?;
        match self.ending {
            Ending::PowerCut(None) => writeln!(f, "  end power-cut"),
            Ending::PowerCut(Some(steps)) => writeln!(f, "  end power-cut {steps}"),
            Ending::Kill(at, false) => writeln!(f, "  end kill {}", at.0),
            Ending::Kill(at, true) => writeln!(f, "  end kill {} power-cut", at.0),
            Ending::Clean(None) => writeln!(f, "  end clean"),
            Ending::Clean(Some(steps)) => writeln!(f, "  end clean cut {steps}"),
        }
    }
}

impl Display for Regroup {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(set) => write!(f, "add {set}"),
            Self::Retire(group) => write!(f, "retire {group}"),
            Self::Refresh(group, set) => write!(f, "refresh {group} by {set}"),
            Self::Replace(member) => write!(f, "replace {member}"),
            Self::Spare(n) => write!(f, "spare {n}"),
            Self::Drain(member) => write!(f, "drain {member}"),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", name_of(&REQUESTS, &self.kind), self.offset, self.len)?;
        if self.fua {
            f.write_str(" fua")?;
        }
        if self.pause > Nanos::ZERO {
            write!(f, " pause {}", self.pause.0)?;
        }
        Ok(())
    }
}

impl Display for Harm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "d{} ", self.member)?;
        match self.what {
            What::Lost => f.write_str("lost"),
            What::Unreadable(at) => write!(f, "unreadable {at}"),
            What::Flip(at, bit) => write!(f, "flip {at} {bit}"),
            What::Rots(part, decay, nth) => {
                write!(f, "rots {} {} {nth}", name_of(&PARTS, &part), name_of(&DECAYS, &decay))
            }
            What::Misbehaves(manner, rate) => write!(f, "{} {rate}", name_of(&MANNERS, &manner)),
            What::FailsWrites => f.write_str("fails-writes"),
            What::Full => f.write_str("full"),
            What::Hangs(span) => write!(f, "hangs {}", span.0),
            What::Slow(factor) => write!(f, "slow {factor}"),
            What::Saved => f.write_str("saved"),
            What::PutBack => f.write_str("put-back"),
            What::New => f.write_str("new"),
        }
    }
}

/// The words of a line, asked for one after the other.
struct Words<'a>(SplitWhitespace<'a>);

impl<'a> Words<'a> {
    fn next(&mut self) -> Result<&'a str, WrongLine> {
        self.0.next().ok_or(WrongLine::EndsEarly)
    }

    fn value<T: FromStr>(&mut self) -> Result<T, WrongLine> {
        let word = self.next()?;
        word.parse().map_err(|_| WrongLine::NoValue(word.to_owned()))
    }

    /// The word `name`, then a value.
    fn named<T: FromStr>(&mut self, name: &'static str) -> Result<T, WrongLine> {
        match self.next()? {
            word if word == name => self.value(),
            other => Err(WrongLine::OtherWord { word: other.to_owned(), wanted: name }),
        }
    }

    /// The next word, left where it is.
    fn peek(&self) -> Option<&'a str> {
        self.0.clone().next()
    }

    fn end(mut self) -> Result<(), WrongLine> {
        self.0.next().map_or(Ok(()), |word| Err(WrongLine::TooMuch(word.to_owned())))
    }
}

fn known<T: Copy>(table: &[(T, &str)], word: &str) -> Option<T> {
    table.iter().find(|(_, name)| *name == word).map(|(value, _)| *value)
}

impl FromStr for Story {
    type Err = StoryError;

    fn from_str(text: &str) -> Result<Self, StoryError> {
        let mut lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
        let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let mut head = |begin: &'static str| {
            let (line, text) = lines.next().ok_or(StoryError { line: 0, why: WrongLine::Missing(begin) })?;
            let rest = text.strip_prefix(begin).ok_or(StoryError { line, why: WrongLine::OtherLine(begin) })?;
            Ok((line, rest))
        };
        head(TITLE)?;
        let (line, world) = head("world")?;
        let world = Words(world.split_whitespace()).value().map_err(|why| StoryError { line, why })?;
        let (line, shape) = head("array")?;
        let shape = parse_shape(Words(shape.split_whitespace())).map_err(|why| StoryError { line, why })?;
        let mut story = Story {
            world,
            shape,
            volumes: Vec::new(),
            levels: Vec::new(),
            constraints: Vec::new(),
            pages: Vec::new(),
            cycles: Vec::new(),
            salvage: Vec::new(),
        };
        for (line, text) in lines {
            story.add_line(text).map_err(|why| StoryError { line, why })?;
        }
        Ok(story)
    }
}

fn parse_shape(mut words: Words<'_>) -> Result<Shape, WrongLine> {
    let preset = words.next()?.parse::<Preset>()?;
    let groups: u16 = words.named("groups")?;
    let raid: String = words.named("raid")?;
    let (data, parity) = raid.split_once('+').ok_or(WrongLine::Raid)?;
    let number = |text: &str| text.parse().map_err(|_| WrongLine::none_of(text, "is not a number of columns"));
    let mut geometry = Geometry {
        data: number(data)?,
        parity: number(parity)?,
        chunk_blocks: words.named("chunk")?,
        stripe_rows: words.named("stripe")?,
        segment_blocks: words.named("segment")?,
        transient_blocks: 0,
        lead_blocks: 0,
    };
    geometry.validate()?;
    let segments = words.named("segments")?;
    let placement: String = words.named("parity")?;
    let placement = match placement.as_str() {
        "fixed" => ParityPlacement::Fixed,
        "rotated" => ParityPlacement::Rotated,
        other => return Err(WrongLine::none_of(other, "is no parity: it is fixed or rotated")),
    };
    let over_provision_permille = words.named("spare")?;
    let reactors = words.named("reactors")?;
    if reactors == 0 {
        return Err(WrongLine::none_of("0", "is no number of reactors: there is one at least"));
    }
    let clients_parity = (words.peek() == Some("clients")).then(|| words.named("clients")).transpose()?;
    let cleaning = (words.peek() == Some("cleaning")).then(|| words.named("cleaning")).transpose()?;
    let streams = (words.peek() == Some("streams")).then(|| words.named("streams")).transpose()?;
    let media = if words.peek() == Some("media") { parse_media(&mut words)? } else { Vec::new() };
    let disks = (words.peek() == Some("disks")).then(|| words.named("disks")).transpose()?;
    if words.peek() == Some("transient") {
        geometry.transient_blocks = words.named("transient")?;
        geometry.validate()?;
    }
    let converts = if words.peek() == Some("converts") { words.named("converts")? } else { 0 };
    let postponed = if words.peek() == Some("postponed") { words.named("postponed")? } else { 0 };
    let beside = if words.peek() == Some("beside") { words.named("beside")? } else { 0 };
    let parity_buffer = words.peek() == Some("parity-buffer") && words.0.next().is_some();
    let zoned = (words.peek() == Some("zoned")).then(|| parse_zoned(&mut words, &mut geometry)).transpose()?;
    let more = if words.peek() == Some("more") { words.named("more")? } else { 0 };
    let spares = if words.peek() == Some("spares") { words.named("spares")? } else { 0 };
    let keeps = words.peek() == Some("keeps") && words.0.next().is_some();
    let autonomics = parse_autonomics(&mut words);
    let mut links = Vec::new();
    while words.peek() == Some("link") {
        let members: String = words.named("link")?;
        let widest = disks.map_or(0, |raid: Raid| raid.width()).max(geometry.width());
        let all = usize::from(groups) * usize::from(widest);
        links.push(members.split(',').map(|name| parse_device(name, all)).collect::<Result<_, _>>()?);
    }
    let drives: Option<String> = words.peek().map(|_| words.named("drives")).transpose()?;
    let by_name = |wanted: String| {
        let found = Drives::NAMES.into_iter().find(|(_, name)| *name == wanted);
        found.map(|(drives, _)| drives).ok_or_else(|| WrongLine::none_of(wanted, "are no drives"))
    };
    let drives = drives.map_or(Ok(Drives::Quick), by_name)?;
    words.end()?;
    Ok(Shape {
        preset,
        groups,
        geometry,
        placement,
        clients_parity,
        cleaning,
        streams,
        media,
        disks,
        over_provision_permille,
        segments,
        reactors,
        more,
        spares,
        drives,
        converts,
        postponed,
        beside,
        parity_buffer,
        zoned,
        keeps,
        autonomics,
        links,
    })
}

/// `autonomics`, or `autonomics naive`.
fn parse_autonomics(words: &mut Words<'_>) -> Option<Migration> {
    if words.peek() != Some("autonomics") {
        return None;
    }
    words.0.next();
    let given = words.peek().and_then(|word| word.parse().ok());
    if given.is_some() {
        words.0.next();
    }
    Some(given.unwrap_or_default())
}

fn parse_zoned(words: &mut Words<'_>, geometry: &mut Geometry) -> Result<Zoned, WrongLine> {
    let (zone, but, patches) = (words.named("zoned")?, words.named("but")?, words.named("patches")?);
    let every_second_group = words.peek() == Some("every-second-group");
    if every_second_group {
        words.0.next();
    }
    let on = (words.peek() == Some("on")).then(|| words.named("on")).transpose()?;
    let flash = match words.peek() {
        Some("flash") => Some(Flash { hole: words.named("flash")?, active: words.named("active")? }),
        _ => None,
    };
    let zoned = Zoned { zone, but, patches, flash, on, every_second_group };
    if flash.is_some_and(|Flash { hole, active }| zone < LEAST_OF_FLASH || hole > 1 << 20 || (1..=4).contains(&active))
    {
        return Err(WrongLine::Flash { least: LEAST_OF_FLASH });
    }
    if zoned.zone == 0
        || zoned.but == 0
        || zoned.patches > 1 << 20
        || !geometry.segment_blocks.is_multiple_of(zoned.zone)
    {
        return Err(WrongLine::Zones { segment: geometry.segment_blocks, zone: zoned.zone });
    }
    geometry.lead_blocks = zoned.lead_blocks(geometry.transient_blocks);
    Ok(zoned)
}

fn parse_media(words: &mut Words<'_>) -> Result<Vec<Medium>, WrongLine> {
    let media: String = words.named("media")?;
    media.split(',').map(|word| Ok(word.parse::<Medium>()?)).collect()
}

/// `flash/smr`.
fn parse_tiers(text: &str) -> Result<Tiers, WrongLine> {
    let (one, other) = text.split_once('/').ok_or_else(|| WrongLine::none_of(text, "are no two media"))?;
    Ok(Tiers::new(one.parse()?, other.parse()?)?)
}

impl Story {
    fn add_line(&mut self, line: &str) -> Result<(), WrongLine> {
        let mut words = Words(line.split_whitespace());
        let keyword = words.next()?;
        match keyword {
            "volume" => {
                let volume = (words.value()?, words.named("blocks")?);
                self.volumes.push(volume);
                return words.end();
            }
            "level" => {
                let level = (words.value()?, words.value()?);
                self.levels.push(level);
                return words.end();
            }
            "keep" => {
                let name = words.value()?;
                let constraint = match words.next()? {
                    "only" => Constraint::Only(words.value()?),
                    "prefers" => Constraint::Prefers(words.value()?),
                    "hybrid" => Constraint::Hybrid(words.0.next().map_or(Ok(Tiers::FLASH_AND_DISK), parse_tiers)?),
                    other => return Err(WrongLine::none_of(other, "is nothing that a volume wants")),
                };
                self.constraints.push((name, constraint));
                return words.end();
            }
            "map" => {
                let name = words.value()?;
                let (blocks, fine) = (words.named("pages")?, words.named("fine")?);
                let paging = Paging::new(blocks, fine).ok_or(WrongLine::Pages(blocks))?;
                self.pages.push((name, paging));
                return words.end();
            }
            "cycle" => {
                self.cycles.push(Cycle::default());
                return words.end();
            }
            "salvage" => {
                let mut lost = words.named::<String>("without").map(Some)?;
                while let Some(name) = lost {
                    self.salvage.push(parse_device(&name, self.shape.devices())?);
                    lost = words.0.next().map(str::to_owned);
                }
                return Ok(());
            }
            _ => {}
        }
        let members = self.shape.devices();
        let cycle = self.cycles.last_mut().ok_or(WrongLine::NoCycle)?;
        cycle.add_line(keyword, words, members)
    }
}

impl Cycle {
    fn add_line(&mut self, keyword: &str, mut words: Words<'_>, members: usize) -> Result<(), WrongLine> {
        match keyword {
            "rest" => self.at_rest.push(parse_harm(&mut words, members)?),
            "open" => {
                while let Some(word) = words.0.next() {
                    match word {
                        "stale" => self.stale = true,
                        "cut" => self.cuts.push(words.value()?),
                        other => return Err(WrongLine::none_of(other, "is not known here")),
                    }
                }
            }
            "force" => {
                let mut force = Force::default();
                while words.peek() == Some("cut") {
                    force.cuts.push(words.named("cut")?);
                }
                force.without.push(parse_device(&words.named::<String>("without")?, members)?);
                for name in words.0.by_ref() {
                    force.without.push(parse_device(name, members)?);
                }
                self.force = Some(force);
            }
            "beyond" => {
                let (part, decay) = parse_rot(&mut words)?;
                let mut beyond = Beyond { part, decay, nth: words.value()?, members: Vec::new(), cuts: Vec::new() };
                while words.peek() == Some("cut") {
                    beyond.cuts.push(words.named("cut")?);
                }
                for name in words.0.by_ref() {
                    beyond.members.push(parse_device(name, members)?);
                }
                self.beyond = Some(beyond);
            }
            "absent" => {
                let member = parse_device(words.next()?, members)?;
                self.absent = Some(Absent { member, until: Nanos(words.named("until")?) });
            }
            "ruin" => self.ruins.push(Ruin {
                volume: words.value()?,
                block: words.named("block")?,
                columns: words.named("columns")?,
            }),
            "scrub" => match words.0.next() {
                None => self.scrubs.first = true,
                Some("at") => self.scrubs.beside = Some(Nanos(words.value()?)),
                Some(other) => return Err(WrongLine::none_of(other, "is not known here")),
            },
            "create" => self.admin = Some(Admin::Create(words.value()?, words.named("blocks")?)),
            "delete" => self.admin = Some(Admin::Delete(words.value()?)),
            "resize" => self.admin = Some(Admin::Resize(words.value()?, words.named("blocks")?)),
            "client" => self.clients.push(Script {
                volume: words.value()?,
                reactor: words.named("reactor")?,
                requests: Vec::new(),
            }),
            "at" => {
                let at = Nanos(words.value()?);
                match words.peek() {
                    Some("add") => self.regroups.push((at, Regroup::Add(words.named("add")?))),
                    Some("refresh") => {
                        let what = Regroup::Refresh(words.named("refresh")?, words.named("by")?);
                        self.regroups.push((at, what));
                    }
                    Some("replace") => self.regroups.push((at, Regroup::Replace(words.named("replace")?))),
                    Some("spare") => self.regroups.push((at, Regroup::Spare(words.named("spare")?))),
                    Some("drain") => self.regroups.push((at, Regroup::Drain(words.named("drain")?))),
                    Some("trouble") => self.passing.push((at, parse_passing(&mut words, members)?)),
                    Some("retire") => self.regroups.push((at, Regroup::Retire(words.named("retire")?))),
                    _ => self.during.push((at, parse_harm(&mut words, members)?)),
                }
            }
            "requests" => self.suspended_for = Some(Nanos(words.named("wait")?)),
            "end" => self.ending = parse_ending(&mut words)?,
            other => {
                let kind = known(&REQUESTS, other).ok_or_else(|| WrongLine::none_of(other, "begins no line"))?;
                let script = self.clients.last_mut().ok_or(WrongLine::NoClient)?;
                script.requests.push(parse_request(kind, &mut words)?);
            }
        }
        words.end()
    }
}

fn parse_request(kind: RequestKind, words: &mut Words<'_>) -> Result<Request, WrongLine> {
    let mut request = Request { kind, offset: words.value()?, len: words.value()?, fua: false, pause: Nanos::ZERO };
    while let Some(word) = words.0.next() {
        match word {
            "fua" => request.fua = true,
            "pause" => request.pause = Nanos(words.value()?),
            other => return Err(WrongLine::none_of(other, "is not known here")),
        }
    }
    Ok(request)
}

fn parse_device(name: &str, devices: usize) -> Result<usize, WrongLine> {
    let number = name.strip_prefix('d').and_then(|n| n.parse().ok()).filter(|&n| n < devices);
    number.ok_or_else(|| WrongLine::Device { name: name.to_owned(), devices })
}

fn parse_passing(words: &mut Words<'_>, devices: usize) -> Result<Passing, WrongLine> {
    let name: String = words.named("trouble")?;
    let sort = known(&Sort::ALL, &name).ok_or_else(|| WrongLine::none_of(name, "is no trouble that passes"))?;
    let span = Nanos(words.value()?);
    let members = words.0.by_ref().map(|name| parse_device(name, devices)).collect::<Result<_, _>>()?;
    Ok(Passing { sort, span, members })
}

fn parse_harm(words: &mut Words<'_>, members: usize) -> Result<Harm, WrongLine> {
    let member = parse_device(words.next()?, members)?;
    let what = match words.next()? {
        "lost" => What::Lost,
        "unreadable" => What::Unreadable(words.value()?),
        "flip" => What::Flip(words.value()?, words.value::<u8>()? % 8),
        "rots" => {
            let (part, decay) = parse_rot(words)?;
            What::Rots(part, decay, words.value()?)
        }
        "fails-writes" => What::FailsWrites,
        "full" => What::Full,
        "hangs" => What::Hangs(Nanos(words.value()?)),
        "slow" => What::Slow(words.value()?),
        "saved" => What::Saved,
        "put-back" => What::PutBack,
        "new" => What::New,
        other => {
            let manner = known(&MANNERS, other).ok_or_else(|| WrongLine::none_of(other, "happens to no member"))?;
            What::Misbehaves(manner, words.value()?)
        }
    };
    Ok(Harm { member, what })
}

fn parse_rot(words: &mut Words<'_>) -> Result<(Part, Decay), WrongLine> {
    let (part, decay) = (words.next()?, words.next()?);
    let part = known(&PARTS, part).ok_or_else(|| WrongLine::none_of(part, "does not rot"))?;
    Ok((part, known(&DECAYS, decay).ok_or_else(|| WrongLine::none_of(decay, "is no way to rot"))?))
}

fn parse_ending(words: &mut Words<'_>) -> Result<Ending, WrongLine> {
    let optional = |words: &mut Words<'_>| words.peek().map(|_| words.value());
    Ok(match words.next()? {
        "power-cut" => Ending::PowerCut(optional(words).transpose()?),
        "kill" => Ending::Kill(Nanos(words.value()?), words.0.next() == Some("power-cut")),
        "clean" => Ending::Clean(if words.0.next().is_some() { Some(words.value()?) } else { None }),
        other => return Err(WrongLine::none_of(other, "is no way to end")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Tier;
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let about = |tier, seeds| (0..seeds).map(move |seed| Story::about(tier, seed));
        for story in about(Tier::All, 200).chain(about(Tier::Contention, 20)) {
            let text = story.to_string();
            assert_eq!(text.parse::<Story>().as_ref(), Ok(&story), "{text}");
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let good = Story::random(1).to_string();
        let line = good.lines().count() + 1;
        for bad in ["write 1", "at 5 d999 lost", "end sometime", "open sideways", "nonsense", "end kill 1 power-cut x"]
        {
            let error = format!("{good}{bad}\n").parse::<Story>().expect_err("it is refused");
            assert_eq!(error.line, line, "{error}");
        }
        let array = good.lines().position(|line| line.starts_with("array ")).expect("the line of the array") + 1;
        let none = [" reactors 1", " reactors 2"].iter().fold(good, |story, some| story.replace(some, " reactors 0"));
        let error = none.parse::<Story>().expect_err("nobody would run it");
        assert_eq!(error.line, array, "{error}");
        assert!("".parse::<Story>().is_err() && TITLE.parse::<Story>().is_err());
    }
}
