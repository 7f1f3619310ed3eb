//! `bentpipe matrix`: runs every congestion controller against every other on a path, and prints
//! heat maps.

use crate::args::Matrix;
use crate::output;
use crate::output::paint;
use crate::status::OK;
use crate::study::{Study, bars, jobs, json, output_directory, stop_on_interrupt};
use crate::tables::heat_map::heat_map;
use bentpipe_congestion::catalogue::{self, CONTROLLERS};
use bentpipe_lab::{Changes, LabError, Plan, Recorded, Simulator, Threads};
use bentpipe_results::{Fairness, Results, Stats};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Scenarios that run if no file is given: two flows each, over low Earth orbits and over a
/// geostationary satellite.
const BUILT_IN: [(&str, &str); 2] = [
    ("matrix-leo.toml", include_str!("../../../../scenarios/studies/matrix-leo.toml")),
    ("matrix-geo.toml", include_str!("../../../../scenarios/studies/matrix-geo.toml")),
];
/// Not included by default, because a fixed rate does not compete.
const NOT_COMPETING: &str = "fixed-rate";

/// A path, and the two flows that compete over it.
struct Contest {
    plan: Plan,
    /// Names of the flows. The controllers of the first one are the rows.
    flows: [String; 2],
}

/// Runs every controller against every other on each path. Reads all scenarios first, so that an
/// error there prevents any run.
pub fn run(args: &Matrix) -> Result<u8, LabError> {
    let controllers = controllers(&args.controllers)?;
    let contests = contests(args, &controllers)?;
    let jobs = jobs(args.jobs);
    let (stop, bars) = (stop_on_interrupt(), bars());
    let executor = Threads { runner: &Simulator, jobs };
    #[cfg(feature = "store")]
    let store = crate::study::store::open(&args.store)?;
    let study = Study {
        #[cfg(feature = "store")]
        store: store.as_ref().map(|store| store as _),
        #[cfg(feature = "store")]
        reuse: !args.store.no_reuse,
        ..Study::new(&executor, &stop, &bars)
    };
    let mut status = OK;
    let mut documents: Vec<Results> = Vec::new();
    for contest in &contests {
        let target = target(args, &contest.plan)?;
        let recorded = study.run(&contest.plan, &target)?;
        status = status.max(study.exit_status(&recorded, &target));
        if !args.json {
            output::print(&text(
                contest,
                &controllers,
                &recorded,
                output::coloured(&std::io::stdout()),
            ))?;
        }
        let complete = recorded.complete;
        documents.push(recorded.results);
        if stop.load(Ordering::Relaxed) || !complete {
            break;
        }
    }
    if args.json {
        output::document(&json(&documents, contests.len() > 1))?;
    }
    Ok(status)
}

/// Returns the requested controllers, or all that compete.
fn controllers(requested: &[String]) -> Result<Vec<String>, LabError> {
    if requested.is_empty() {
        let all = CONTROLLERS.iter().map(|part| part.name).filter(|name| *name != NOT_COMPETING);
        return Ok(all.map(str::to_owned).collect());
    }
    for (index, name) in requested.iter().enumerate() {
        if catalogue::find(CONTROLLERS, name).is_none() {
            let names: Vec<String> =
                CONTROLLERS.iter().map(|part| format!("`{}`", part.name)).collect();
            return Err(usage(format!(
                "no controller is named `{name}`; allowed: {}",
                names.join(", ")
            )));
        }
        if requested[..index].contains(name) {
            return Err(usage(format!("`{name}` is given twice; allowed: each controller once")));
        }
    }
    Ok(requested.to_vec())
}

fn usage(reason: String) -> LabError {
    LabError::Usage { argument: "--controllers", reason }
}

fn contests(args: &Matrix, controllers: &[String]) -> Result<Vec<Contest>, LabError> {
    let mut contests: Vec<Contest> = Vec::new();
    let mut add = |contest: Contest| {
        if contests.iter().any(|other| other.plan.name == contest.plan.name) {
            let reason =
                format!("two scenarios are named `{}`; allowed: each name once", contest.plan.name);
            return Err(LabError::Write { path: target(args, &contest.plan)?, reason });
        }
        contests.push(contest);
        Ok(())
    };
    if args.files.is_empty() {
        for (name, text) in BUILT_IN {
            add(contest(args, controllers, &|changes| {
                Ok(Plan::parse(name, text, Path::new(""), changes)?)
            })?)?;
        }
    }
    for file in &args.files {
        add(contest(args, controllers, &|changes| Plan::read(file, changes))?)?;
    }
    Ok(contests)
}

/// Returns a plan of the scenario that sweeps the controllers of its flows.
fn contest(
    args: &Matrix,
    controllers: &[String],
    read: &dyn Fn(&Changes) -> Result<Plan, LabError>,
) -> Result<Contest, LabError> {
    let mut changes = Changes { sets: args.set.clone(), seed: args.seed, repeat: args.repeat };
    let unswept = read(&changes)?;
    let names = unswept.controlled_flows();
    let [first, second] = names.as_slice() else {
        let flows = match names.len() {
            1 => "one flow".to_owned(),
            n => format!("{n} flows"),
        };
        let reason = format!(
            "scenario `{}` has {flows} with congestion control; allowed: two, of which one runs \
             beside the other",
            unswept.name,
        );
        return Err(LabError::Usage { argument: "FILE", reason });
    };
    let flows = [first.clone(), second.clone()];
    let list = format!("[\"{}\"]", controllers.join("\", \""));
    for flow in &flows {
        // Quotes a name with a dot, so that it stays one part of the key.
        let quote = if flow.contains('.') { "\"" } else { "" };
        changes.sets.push(format!("sweep.'flow.{quote}{flow}{quote}.congestion'={list}"));
    }
    let mut plan = read(&changes)?;
    plan.expect_only_of(&unswept, &flows);
    Ok(Contest { plan, flows })
}

fn target(args: &Matrix, plan: &Plan) -> Result<PathBuf, LabError> {
    match args.out.as_deref() {
        None => output_directory(None, &plan.name),
        out => Ok(output_directory(out, &plan.name)?.join(&plan.name)),
    }
}

/// Reads the value of a cell from a run.
type Reader<'a> = &'a dyn Fn(&Fairness) -> Option<f64>;

/// Returns the heat maps of one path.
fn text(contest: &Contest, controllers: &[String], recorded: &Recorded, colour: bool) -> String {
    let Contest { plan, flows: [first, second] } = contest;
    let mut text = format!("{}, seed {}\n", paint(colour, "1", &plan.title), plan.seed);
    let _ = writeln!(
        text,
        "controllers of flow `{first}` in rows, of flow `{second}` in columns; medians of runs"
    );
    let share = |fairness: &Fairness| {
        fairness.flows.iter().find(|flow| flow.flow == *first).map(|flow| flow.share * 100.0)
    };
    let maps: [(String, usize, Reader<'_>); 3] = [
        (format!("share of `{first}` in the bytes received by both, percent"), 0, &share),
        ("Jain's index".to_owned(), 2, &|fairness| Some(fairness.metrics.jain_index)),
        ("bottleneck utilisation".to_owned(), 2, &|fairness| {
            fairness.metrics.bottleneck_utilisation
        }),
    ];
    for (head, digits, read) in maps {
        let _ = write!(text, "\n{}\n", paint(colour, "1", &head));
        let value = |row: &str, column: &str| median(contest, &recorded.results, row, column, read);
        // A share of 50 % is ideal. Indices and utilisations are ideal at 1.
        let heat = |value: f64| if digits == 0 { value / 100.0 } else { value };
        text.push_str(&heat_map(controllers, controllers, digits, &value, &heat, colour));
    }
    for note in &recorded.notes {
        let _ = write!(text, "\nnote: {note}\n");
    }
    if let Some(directory) = &recorded.directory {
        let _ = write!(text, "\nreport: {}\n", directory.join("report.html").display());
    }
    text.push('\n');
    text
}

/// Returns the median over the runs of one pair.
fn median(
    contest: &Contest,
    results: &Results,
    row: &str,
    column: &str,
    read: Reader<'_>,
) -> Option<f64> {
    let uses = |flow: &str, controller: &str, run: &bentpipe_results::Run| {
        run.point.get(&format!("flow.{flow}.congestion")).is_some_and(|value| value == controller)
    };
    let [first, second] = &contest.flows;
    let runs = results.runs.iter().filter(|run| uses(first, row, run) && uses(second, column, run));
    let values: Vec<f64> = runs.filter_map(|run| run.fairness.as_ref()).filter_map(read).collect();
    Some(Stats::of(&values)?.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(files: &[&str]) -> Matrix {
        Matrix {
            files: files.iter().map(PathBuf::from).collect(),
            controllers: Vec::new(),
            set: Vec::new(),
            seed: None,
            repeat: None,
            jobs: None,
            out: None,
            #[cfg(feature = "store")]
            store: Default::default(),
            json: false,
        }
    }

    #[test]
    fn built_in_scenarios_pair_all_competing_controllers_in_both_orders() {
        let controllers = controllers(&[]).unwrap();
        assert_eq!(controllers.len(), CONTROLLERS.len() - 1);
        // A few of them, as each pair is a plan of its own over a constellation.
        let controllers = &controllers[..3];
        let contests = contests(&args(&[]), controllers).unwrap();
        let names: Vec<&str> = contests.iter().map(|contest| contest.plan.name.as_str()).collect();
        assert_eq!(names, ["matrix-leo", "matrix-geo"]);
        for contest in &contests {
            let pairs = controllers.len() * controllers.len();
            assert_eq!(
                (contest.plan.cases.len(), &contest.flows),
                (pairs, &["a".to_owned(), "b".to_owned()])
            );
        }
    }

    #[test]
    fn expectations_are_of_the_pair_that_the_scenario_names() {
        let of = |controllers: &[&str]| {
            let names: Vec<String> = controllers.iter().map(|name| (*name).to_owned()).collect();
            let contests = contests(&args(&[]), &names).unwrap();
            contests.into_iter().flat_map(|one| one.plan.rules().to_vec()).collect::<Vec<_>>()
        };
        let rules = of(&["cubic", "bbr3"]);
        assert!(!rules.is_empty());
        for rule in rules {
            let keys = ["flow.a.congestion", "flow.b.congestion"];
            assert!(keys.iter().all(|key| rule.point[*key] == "cubic"), "{rule:?}");
        }
        // No expectation of these scenarios is about these.
        assert!(of(&["bbr3", "copa"]).is_empty());
    }

    #[test]
    fn unknown_and_repeated_controllers_are_rejected() {
        let error = controllers(&["cubic".to_owned(), "qubic".to_owned()]).unwrap_err();
        assert!(
            error.is_usage()
                && error.to_string().contains("no controller is named `qubic`; allowed: `newreno`")
        );
        assert!(
            controllers(&["cubic".to_owned(), "cubic".to_owned()])
                .unwrap_err()
                .to_string()
                .contains("twice")
        );
        assert_eq!(controllers(&["fixed-rate".to_owned()]).unwrap(), ["fixed-rate"]);
    }
}
