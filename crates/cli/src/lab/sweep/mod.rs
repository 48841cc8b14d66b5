//! `cygnus lab sweep`

mod answer;
mod table;

use super::side_by_side::side_by_side;
use crate::args::lab::SweepArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept;
use crate::outfile;
use crate::output::Output;
use crate::progress::Runs;
use crate::sim;
use answer::{Answer, Plan};
use cygnus_lab::{Outcome, Rows, RunFailed, Sweep, SweepRun, Varied, result_files};
use std::path::{Path, PathBuf};
use table::TableFile;

/// A sweep that was read, with its runs.
struct Asked {
    rows: Rows,
    runs: Vec<SweepRun>,
    /// Files that it was read from and that its runs read.
    files: Vec<PathBuf>,
    out: PathBuf,
}

pub(super) fn run(args: &SweepArgs, output: Output) -> Result<Exit, Failure> {
    let asked = ask(args)?;
    let wanted = wanted(args, &asked.runs)?;
    if args.dry_run {
        let known = table::known(&asked.out, &asked.rows, &asked.runs)?;
        let plan = Plan::new(&asked.out, &asked.files, &asked.runs, &wanted, &known);
        return output.answer(&plan, |paint| plan.text(paint)).map(Exit::from);
    }
    let mut file = TableFile::open(&asked.out, asked.rows.clone(), &asked.runs)?;
    let left = |number: &usize| {
        let files = args.files.as_ref().map(|dir| dir.join(&asked.runs[*number].id));
        !file.has(*number) || files.is_some_and(|dir| !dir.join(LAST_FILE).exists())
    };
    let pending: Vec<usize> = wanted.iter().copied().filter(left).collect();
    if pending.len() < wanted.len() {
        output.detail(&format!("{} runs are done already.", wanted.len() - pending.len()));
    }
    let failed = run_all(args, &asked.runs, &pending, &mut file, output)?;
    let rows = file.finish()?;
    let answer = Answer::new(&asked, &wanted, pending.len(), failed.len(), rows);
    output.answer(&answer, |_| answer.text())?;
    let first = failed.first().map_or(String::new(), |(number, why)| format!("{}: {why}", asked.runs[*number]));
    let complaint = format!(
        "{} failed; their rows say why, and the same command tries them again. The first is {first}",
        cygnus_types::counted(failed.len() as u64, "run")
    );
    Ok(output.verdict(failed.is_empty(), &complaint))
}

/// The file of a run that is written last: when it is there, all are.
const LAST_FILE: &str = "scenario.toml";

/// Runs what is pending: each row is in the file as soon as its run has ended. Those that failed, and why.
fn run_all(
    args: &SweepArgs,
    runs: &[SweepRun],
    pending: &[usize],
    file: &mut TableFile,
    output: Output,
) -> Result<Vec<(usize, RunFailed)>, Failure> {
    let bar = Runs::new(output, pending.len());
    let carry_out = |&number: &usize| {
        let run = &runs[number];
        let (part, duration) = (bar.part(run.to_string()), run.duration());
        (number, run.carry_out(move |progress| part.show(progress, duration)))
    };
    let mut failed = Vec::new();
    side_by_side(pending, args.jobs, carry_out, |outcomes| {
        for (number, outcome) in outcomes {
            let run = &runs[number];
            if let (Ok(outcome), Some(dir)) = (&outcome, &args.files) {
                leave_files(dir, run, outcome)?;
            }
            file.add(number, run, outcome.as_ref())?;
            bar.suspend(|| output.detail(&format!("done: {run}")));
            failed.extend(outcome.err().map(|why| (number, why)));
        }
        Ok(())
    })?;
    drop(bar);
    failed.sort_by_key(|(number, _)| *number);
    Ok(failed)
}

fn leave_files(dir: &Path, run: &SweepRun, outcome: &Outcome) -> Result<(), Failure> {
    let dir = dir.join(&run.id);
    outfile::write_all(&dir, &result_files(&run.scenario(), outcome))?;
    run.trace().map_or(Ok(()), |trace| kept::link_trace(&dir, trace))
}

fn ask(args: &SweepArgs) -> Result<Asked, Failure> {
    let usage = |error: cygnus_lab::SweepError| Failure::Usage(error.to_string());
    let (name, text) = sim::load(&args.sweep)?;
    let mut files: Vec<PathBuf> = Vec::new();
    let (mut sweep, scenario_name, scenario) = match Sweep::parse(&name, &text).map_err(usage)? {
        None => (Sweep::of_scenario(&name), name, text),
        Some(sweep) => {
            files.push(args.sweep.clone());
            let beside = args.sweep.with_file_name(sweep.scenario());
            let path = if beside.exists() { beside } else { sweep.scenario().into() };
            let (file, text) = sim::load(&path)?;
            (sweep, file, text)
        }
    };
    files.extend(Some(PathBuf::from(&scenario_name)).filter(|path| path.exists()));
    for varied in &args.vary {
        sweep.vary(Varied::parse(varied).map_err(usage)?);
    }
    if let Some(count) = args.seeds {
        sweep.set_seeds(count.get());
    }
    let runs = sweep.runs(&scenario_name, &scenario).map_err(usage)?;
    for trace in runs.iter().filter_map(SweepRun::trace) {
        if !files.iter().any(|file| file == trace) {
            files.push(trace.into());
        }
    }
    let stem = args.sweep.file_stem().unwrap_or_default().to_string_lossy();
    let out = args.out.clone().unwrap_or_else(|| format!("{stem}.csv").into());
    Ok(Asked { rows: Rows::new(sweep.keys(), env!("CYGNUS_COMMIT")), runs, files, out })
}

/// Numbers of the runs that are wanted.
fn wanted(args: &SweepArgs, runs: &[SweepRun]) -> Result<Vec<usize>, Failure> {
    if args.only.is_empty() {
        return Ok((0..runs.len()).collect());
    }
    let number = |id: &String| {
        let unknown = || Failure::Usage(format!("the sweep has no run {id}: --dry-run lists those that it has"));
        runs.iter().position(|run| run.id == *id).ok_or_else(unknown)
    };
    args.only.iter().map(number).collect()
}
