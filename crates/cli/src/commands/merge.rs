//! `bentpipe merge`: joins the run directories of shards.

use crate::args::Merge;
use crate::study::{Shown, Study, bars, output_directory, print, stop_on_interrupt};
use bentpipe_lab::{Changes, Deliver, ENGINE, Executor, LabError, Plan, RunDirectory, ShardFiles};
use std::sync::atomic::AtomicBool;

/// Executor that runs nothing: what the shards lack stays missing.
struct Nothing;

impl Executor for Nothing {
    fn execute(
        &self,
        _: &Plan,
        _: &[usize],
        _: &AtomicBool,
        _: &Deliver<'_>,
    ) -> Result<(), LabError> {
        Ok(())
    }
}

/// Joins the shards that `args` name into one run directory, as if one machine had run them all.
pub fn run(args: &Merge) -> Result<u8, LabError> {
    let mut first: Option<RunDirectory> = None;
    for path in &args.dirs {
        let directory = RunDirectory::open(path)?;
        let manifest = &directory.manifest;
        let refuse = |reason: String| {
            Err(LabError::Usage {
                argument: "DIR",
                reason: format!("{}: {reason}", path.display()),
            })
        };
        if manifest.shard.is_none() {
            return refuse("not a shard; allowed: directories of `run --shard`".to_owned());
        }
        if manifest.engine != ENGINE {
            let (other, own) = (&manifest.engine, ENGINE);
            return refuse(format!(
                "it was run by the simulator {other}, and this one is {own}; allowed: the same \
                    version of Bentpipe on all machines"
            ));
        }
        match &first {
            None => first = Some(directory),
            Some(first) if first.manifest.source != manifest.source => {
                return refuse(format!(
                    "its scenario or its options differ from those of {}",
                    args.dirs[0].display()
                ));
            }
            Some(_) => {}
        }
    }
    let Some(first) = first else {
        let reason = "no directory is given".to_owned();
        return Err(LabError::Usage { argument: "DIR", reason });
    };
    let mut plan = first.plan(&Changes::default())?;
    plan.commit.clone_from(&first.manifest.commit);
    let records = ShardFiles::open(&args.dirs)?;
    let target = output_directory(args.out.as_deref(), &plan.name)?;
    let (stop, bars) = (stop_on_interrupt(), bars());
    let study = Study { store: Some(&records), ..Study::new(&Nothing, &stop, &bars) };
    let recorded = study.run(&plan, &target)?;
    let status = study.exit_status(&recorded, &target);
    print(&recorded, &plan, Shown::usual(args.json))?;
    Ok(status)
}
