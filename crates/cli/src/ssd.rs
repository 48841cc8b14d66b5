//! `cygnus ssd`: software SSDs, served and looked at.

use crate::args::ssd::{SsdCommand, SsdServeArgs};
use crate::args::values::Size;
use crate::commands::space::Space;
use crate::failure::Failure;
use crate::output::{Output, print};
use cygnus_control::SCHEMA;
use cygnus_control::paint::{Paint, Tone};
use cygnus_softssd::{Listener, Options, Report, Server, StopSignals, construction, file_bytes, format};
use cygnus_ssdlink::{Address, DialError, Welcome, dial, fetch_status};
use cygnus_target::{BoundListener, ListenAddress};
use cygnus_types::{ByteSize, counted};
use serde::Serialize;
use std::os::fd::AsFd;

/// The modelled drive that goes along when none is named: ScalaAFA's own.
const MODEL: &str = "scalaafa-femu";

/// Carries out `cygnus ssd`.
pub fn run(command: SsdCommand, output: Output) -> Result<(), Failure> {
    match command {
        SsdCommand::Serve(args) => serve(&args, &output),
        SsdCommand::Status { address } => status(&address, &output),
        SsdCommand::Identify { address } => identify(&address, &output),
    }
}

fn serve(args: &SsdServeArgs, output: &Output) -> Result<(), Failure> {
    let signals = StopSignals::hold();
    make(args, output)?;
    let (bound, listener, address) = listen(&args.listen)?;
    let options = Options { file: args.file.clone(), timed: args.timed };
    let server = Server::start(&options, listener).map_err(Failure::of)?;
    let member = address.to_member();
    let (drive, size) = (server.store().drive(), server.store().size());
    let line = match output.json() {
        true => {
            let ready = serde_json::json!({
                "schema": SCHEMA, "ready": member, "drive": drive.to_string(), "size_bytes": size,
            });
            ready.to_string()
        }
        false => format!("ready {} {drive} {}", member.display(), ByteSize(size)),
    };
    print(&format!("{line}\n"))?;
    signals.wait();
    // Nobody finds it any more.
    drop(bound);
    server.stop().map_err(|error| {
        Failure::Failed(format!(
            "{}: the last flush failed: {error}; what was written last may be lost",
            args.file.display()
        ))
    })
}

/// Makes the drive, if there is none and that is wanted.
fn make(args: &SsdServeArgs, output: &Output) -> Result<(), Failure> {
    let file = args.file.display();
    let there = args.file.symlink_metadata().is_ok();
    let Some(size) = args.create else {
        return match there {
            true => Ok(()),
            false => {
                Err(Failure::Failed(format!("{file}: no such file: check the path, or let --create SIZE make it")))
            }
        };
    };
    let bytes = size.0.bytes();
    if there {
        let is = std::fs::metadata(&args.file).map_err(|error| Failure::Failed(format!("{file}: {error}")))?.len();
        return match is == file_bytes(bytes) {
            true => Ok(()),
            false => {
                Err(Failure::Failed(format!("{file}: exists, and holds no drive of {}: leave --create out", size.0)))
            }
        };
    }
    let model = args.model.as_deref().unwrap_or(MODEL);
    construction(model, bytes).map_err(|error| Failure::Usage(error.to_string()))?;
    let space = Space::of(Some(Size(ByteSize(file_bytes(bytes)))), args.sparse).expect("there is a size");
    space.make(&args.file, output)?;
    format(&args.file, bytes, args.sparse, model).map_err(|error| {
        // It was made for this alone, and says already what went wrong.
        let _ = std::fs::remove_file(&args.file);
        Failure::of(error)
    })
}

/// Listens. The first of the three removes the socket file when it is dropped.
fn listen(address: &Address) -> Result<(BoundListener, Listener, Address), Failure> {
    let wanted = match address {
        Address::Unix(_) => address.to_string(),
        Address::Tcp(place) => place.clone(),
    };
    let wanted: ListenAddress = wanted.parse().map_err(Failure::of)?;
    let bound = BoundListener::bind(&wanted).map_err(Failure::of)?;
    let socket = bound.as_fd().try_clone_to_owned().map_err(Failure::of)?;
    let (listener, address) = match address {
        Address::Unix(_) => (Listener::Unix(socket.into()), bound.address().to_string()),
        Address::Tcp(_) => (Listener::Tcp(socket.into()), format!("tcp:{}", bound.address())),
    };
    Ok((bound, listener, address.parse().map_err(Failure::of)?))
}

fn failed(address: &Address) -> impl Fn(DialError) -> Failure {
    let address = address.to_string();
    move |error| Failure::Failed(format!("{address}: {error}"))
}

fn status(address: &Address, output: &Output) -> Result<(), Failure> {
    let (_, text) = fetch_status(address).map_err(failed(address))?;
    let report: Report = serde_json::from_str(&text).map_err(|error| {
        Failure::Failed(format!("{address}: its status cannot be read ({error}): use one release for both"))
    })?;
    output.answer(&report, |paint| in_words(&report, paint))
}

fn in_words(report: &Report, paint: Paint) -> String {
    let pages = |pages: u64| ByteSize::of_blocks(pages);
    let claim = if report.claimed { "claimed by a host" } else { "free" };
    let timed = if report.timed { ", answers take as long" } else { "" };
    let name = paint.tone(Tone::Heading, &report.drive);
    let mut out =
        format!("{name}: {}, {claim}, {}\n", ByteSize(report.size_bytes), counted(report.connections, "connection"));
    out += "Since the server was started:\n";
    out += &format!(
        "  hosts       wrote {}, read {}, trimmed {}, {}\n",
        pages(report.host_writes),
        pages(report.host_reads),
        pages(report.trims),
        counted(report.flushes, "flush").or("flushes")
    );
    out += &format!(
        "  inside      {} computed, {} of them\n",
        counted(report.conversions, "parity").or("parities"),
        pages(report.parity_writes)
    );
    out += &format!("  modelled as {}{timed}; {:.1} s of its time\n", report.model, report.modelled_seconds);
    out += &format!(
        "  flash       {} programmed in SLC mode and {} in denser ones, {} of it by collection; write amplification {:.2}\n",
        pages(report.slc_programs),
        pages(report.dense_programs),
        pages(report.collected),
        report.write_amplification
    );
    out += &format!(
        "  wear        {}, of one flash block {} to {}\n",
        counted(report.erases, "erase"),
        report.least_erases,
        report.most_erases
    );
    out
}

/// What `ssd identify` answers.
#[derive(Serialize)]
struct Identity {
    drive: String,
    size_bytes: u64,
    oob_bytes: u16,
    converts: bool,
    trims: bool,
    depth: u32,
    model: String,
    protocol_version: u16,
}

fn identify(address: &Address, output: &Output) -> Result<(), Failure> {
    let (_, welcome) = dial(address, false, [0; 16]).map_err(failed(address))?;
    let Welcome { version, drive, size, oob_bytes, converts, trims, depth, model, .. } = welcome;
    let drive = drive.to_string();
    let identity =
        Identity { drive, size_bytes: size, oob_bytes, converts, trims, depth, model, protocol_version: version };
    output.answer(&identity, |paint| {
        let yes = |can: bool| if can { "yes" } else { "no" };
        format!(
            "{}: {}\n  beside each block         {oob_bytes} bytes\n  computes parity inside    {}\n  gains by trims            {}\n  \
             requests at a time        {depth}\n  modelled as               {}\n",
            paint.tone(Tone::Heading, &identity.drive),
            ByteSize(size),
            yes(converts),
            yes(trims),
            identity.model
        )
    })
}
