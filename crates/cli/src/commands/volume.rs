//! `cygnus volume ...`: by the running `serve` if there is one, else on the array itself.

use super::{Context, status};
use crate::args::values::{Setting, VolumeName};
use crate::args::volume::VolumeCommand;
use crate::backend::{self, Opened};
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::output::LogLines;
use cygnus_control::ack::Ack;
use cygnus_control::media::{HybridOn, Media, MediumName};
use cygnus_control::paging::Pages;
use cygnus_control::protocol::{Request, Response};
use cygnus_control::render;
use cygnus_control::status::VolumeStatus;
use cygnus_host::ArrayName;
use cygnus_host::members::Assembly;
use cygnus_server::check_shrink;
use cygnus_server::status::stopped;
use cygnus_types::{Acknowledged, ByteSize, Medium, Paging, Tiers};
use serde::Serialize;
use std::sync::Arc;

/// Does what a volume verb asks.
pub fn run(command: VolumeCommand, context: &Context) -> Result<(), Failure> {
    match command {
        VolumeCommand::List { name } => list(&name, context),
        VolumeCommand::Create { volume, size, ack, media, prefer, hybrid, page, fine } => {
            let media = media_of(&media, prefer, hybrid)?;
            let paging = paging_of(page.map(|page| page.0), fine.map(|fine| fine.0))?;
            create(&volume, size.0, ack, media, paging, context)
        }
        VolumeCommand::Set { volume, setting: Setting::Ack(level) } => set(&volume, level, context),
        VolumeCommand::Resize { volume, size, shrink, yes } => resize(&volume, size.0, shrink, yes, context),
        VolumeCommand::Delete { volume, yes, force } => delete(&volume, yes, force, context),
    }
}

/// On which media a volume is to be.
fn media_of(media: &[Medium], prefer: Option<Medium>, hybrid: bool) -> Result<Media, Failure> {
    match (media, prefer, hybrid) {
        ([], None, false) => Ok(Media::Any),
        ([], Some(medium), _) => Ok(Media::Prefers(MediumName(medium))),
        (&[medium], _, false) => Ok(Media::Only(MediumName(medium))),
        ([], None, true) => Ok(Media::Hybrid(None)),
        (&[one, other], _, true) => Tiers::new(one, other)
            .map(|tiers| Media::Hybrid(Some(HybridOn(tiers))))
            .map_err(|error| Failure::Usage(error.to_string())),
        (_, _, true) => Err(Failure::Usage(format!(
            "a hybrid volume is on two media, and {} were named: --hybrid --media flash,disk, or --hybrid alone for the fastest and the \
             slowest that the array has",
            media.len()
        ))),
        (_, _, false) => Err(Failure::Usage(format!(
            "a volume is bound to one medium, and {} were named: name one, or have it hybrid on two (--hybrid)",
            media.len()
        ))),
    }
}

/// What `volume list` answers.
#[derive(Debug, Serialize)]
struct Volumes {
    volumes: Vec<VolumeStatus>,
}

/// What `volume create`, `set`, `resize` and `delete` answer.
#[derive(Debug, Serialize)]
struct Changed {
    array: String,
    /// The volume's name in it, which is also that of its NBD export.
    volume: String,
    /// Its size before; absent if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_before_bytes: Option<u64>,
    /// Its size now; absent if it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Where a write is when it is answered, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ack: Option<Ack>,
    /// On which media its blocks may be, if not on any.
    #[serde(skip_serializing_if = "Media::is_any")]
    media: Media,
    /// How it is mapped, if by pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pages: Option<Pages>,
}

impl Changed {
    fn new(name: &VolumeName, before: Option<ByteSize>, now: Option<ByteSize>) -> Self {
        Self {
            array: name.array.to_string(),
            volume: name.volume.clone(),
            size_before_bytes: before.map(ByteSize::bytes),
            size_bytes: now.map(ByteSize::bytes),
            ack: None,
            media: Media::Any,
            pages: None,
        }
    }
}

fn volumes(name: &ArrayName, context: &Context) -> Result<Vec<VolumeStatus>, Failure> {
    match context.served(name)? {
        Some(mut serve) => match serve.call(&Request::VolumeList)? {
            Response::Volumes { volumes } => Ok(volumes),
            other => Err(serve.unexpected(&other).into()),
        },
        None => {
            let (_, assembly) = Assembly::at_rest(&context.state, name)?;
            context.warn_if_elsewhere(&assembly);
            Ok(stopped::volumes(&assembly))
        }
    }
}

fn list(name: &ArrayName, context: &Context) -> Result<(), Failure> {
    let volumes = Volumes { volumes: volumes(name, context)? };
    context.output.answer(&volumes, |paint| render::volumes(name.as_str(), &volumes.volumes, paint))
}

/// The size of a volume that exists.
fn size_of(name: &VolumeName, context: &Context) -> Result<ByteSize, Failure> {
    let volumes = volumes(&name.array, context)?;
    let found = volumes.iter().find(|volume| volume.name == name.volume);
    found.map(|volume| ByteSize(volume.size_bytes)).ok_or_else(|| {
        let known: Vec<&str> = volumes.iter().map(|volume| volume.name.as_str()).collect();
        let known = if known.is_empty() { "has none".into() } else { format!("has {}", known.join(", ")) };
        Failure::Failed(format!("no volume named {:?}: {} {known}", name.volume, name.array))
    })
}

/// Asks the running `serve`, or else opens the array and does `work` on it.
fn change(
    context: &Context,
    array: &ArrayName,
    request: Request,
    work: impl AsyncFnOnce(Opened<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(mut serve) = context.served(array)? {
        return match context.change(&mut serve, &request, array)? {
            Response::Done => Ok(()),
            other => Err(serve.unexpected(&other).into()),
        };
    }
    let assembly = Assembly::of_record(&context.state.load(array)?)?;
    backend::with_either(&assembly, Arc::new(LogLines::details(context.output)), work)
}

fn create(
    volume: &VolumeName,
    size: ByteSize,
    level: Option<Acknowledged>,
    media: Media,
    paging: Paging,
    context: &Context,
) -> Result<(), Failure> {
    let (name, ack) = (volume.volume.clone(), level.map(Ack));
    let pages = Pages::of(paging);
    let request = Request::VolumeCreate { name: name.clone(), size: size.0, ack, media, pages };
    let create = async |array: Opened<'_>| Ok(array.create_volume(&name, size, level, media, paging).await?);
    change(context, &volume.array, request, create)?;
    warn_of_size(volume, size, context);
    let sentence = format!("Created volume {volume} of {size}; its NBD export name is '{name}'.");
    context.output.done(&Changed { ack, media, pages, ..Changed::new(volume, None, Some(size)) }, &sentence)
}

/// How a volume is to be mapped.
fn paging_of(page: Option<ByteSize>, fine: Option<ByteSize>) -> Result<Paging, Failure> {
    if fine == Some(ByteSize(0)) {
        let text = "--fine 0 lets nothing have entries by 4 KiB: leave it out, and pages that are written in part are read and \
                    written whole";
        return Err(Failure::Usage(text.into()));
    }
    let Some(page) = page else { return Ok(Paging::BLOCKS) };
    Paging::of_sizes(page, fine.unwrap_or_default()).map_err(|error| Failure::Usage(error.to_string()))
}

fn set(volume: &VolumeName, level: Acknowledged, context: &Context) -> Result<(), Failure> {
    let (name, size) = (volume.volume.clone(), size_of(volume, context)?);
    let request = Request::VolumeSet { name: name.clone(), ack: Ack(level) };
    change(context, &volume.array, request, async |array| Ok(array.set_acknowledged(&name, level).await?))?;
    let sentence = format!("{volume} is {level} now: {}.", level.may_lose());
    context.output.done(&Changed { ack: Some(Ack(level)), ..Changed::new(volume, Some(size), Some(size)) }, &sentence)
}

/// A volume may be larger than all that its array can hold where the volume may be; somebody who does not mean that should hear of it.
fn warn_of_size(volume: &VolumeName, size: ByteSize, context: &Context) {
    // The volume is there, whether or not the state can be had now.
    let Ok(array) = status::of(&volume.array, context) else { return };
    let media = array.volumes.iter().find(|known| known.name == volume.volume).map_or(Media::Any, |known| known.media);
    let Some(usable) = array.usable_for(media).filter(|&usable| size.0 > usable) else { return };
    let there = match media {
        Media::Only(only) => format!(" on {}", only.0),
        Media::Hybrid(Some(HybridOn(on))) => format!(" on {} and {}", on.fast(), on.slow()),
        Media::Any | Media::Prefers(_) | Media::Hybrid(None) => String::new(),
    };
    context.output.warn(&format!(
        "{volume} is larger than all that {} can hold{there}: once {} are written its clients get ENOSPC, unless they trim, or \
         R-groups are added",
        volume.array,
        ByteSize(usable)
    ));
}

fn resize(volume: &VolumeName, size: ByteSize, shrink: bool, yes: bool, context: &Context) -> Result<(), Failure> {
    let (name, before) = (volume.volume.clone(), size_of(volume, context)?);
    check_shrink(before.0, &name, size, shrink).map_err(Failure::of)?;
    if size < before {
        confirm(&format!("Make {volume} of {before} smaller and lose what lies behind {size}?"), yes)?;
    }
    let request = Request::VolumeResize { name: name.clone(), size: size.0, shrink };
    change(context, &volume.array, request, async |array| {
        // It may have grown since.
        check_shrink(array.volume_size(&name), &name, size, shrink).map_err(Failure::of)?;
        Ok(array.resize_volume(&name, size).await?)
    })?;
    warn_of_size(volume, size, context);
    let sentence = format!("{volume} is {size} now; clients see it when they connect again.");
    context.output.done(&Changed::new(volume, Some(before), Some(size)), &sentence)
}

fn delete(volume: &VolumeName, yes: bool, force: bool, context: &Context) -> Result<(), Failure> {
    let (name, before) = (volume.volume.clone(), size_of(volume, context)?);
    confirm(&format!("Delete volume {volume} of {before} and all that is in it?"), yes)?;
    let request = Request::VolumeDelete { name: name.clone(), force };
    change(context, &volume.array, request, async |array| Ok(array.delete_volume(&name).await?))?;
    context.output.done(&Changed::new(volume, Some(before), None), &format!("Deleted volume {volume}."))
}
