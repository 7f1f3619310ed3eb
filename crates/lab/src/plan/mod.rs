//! Converts a scenario file to the list of its runs. All errors of the scenario are found here,
//! before anything runs.

mod identity;
mod limit;
mod mix_notes;
mod real_clock;
mod select;
mod shard;

pub use limit::PlanLimit;
pub use select::select_case;
pub use shard::Shard;

use crate::error::LabError;
use crate::pages::Archives;
use crate::population;
use crate::resolve::{Case, resolve, resolve_path};
use crate::task_id::CaseDigest;
use bentpipe_link::InputFiles;
use bentpipe_quic::qlog::Forms;
use bentpipe_results::{Clock, Point};
use bentpipe_results::{Figure, PathSummary, Rule, VariantSettings};
use bentpipe_scenario::{
    Axis, Crypto, Document, Output, Scenario, TimeSeries, check, figures, is_planned, rules,
    variant_names,
};
use bentpipe_scenario::{CaptureAt, Problem, ScenarioError, Source};
use bentpipe_sim::{CapturePoint, HopEnd, RunSpec};
use bentpipe_timeseries::SeriesLimit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Changes that the command line makes to a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// Assignments `key=value`, in order.
    pub sets: Vec<String>,
    /// Overrides `seed`.
    pub seed: Option<u64>,
    /// Overrides `repeat`.
    pub repeat: Option<u64>,
}

/// Everything that a plan follows from. Another process can make the same plan of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanInput {
    /// Name of the scenario file, for errors.
    pub name: String,
    /// Text of the scenario file.
    pub text: String,
    /// Changes of the command line.
    pub changes: Changes,
    /// Name and text of each file that the scenario names.
    pub files: BTreeMap<PathBuf, String>,
}

/// A checked scenario and the list of its runs.
#[derive(Debug)]
pub struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// Title of the scenario [default: its name].
    pub title: String,
    /// Purpose of the scenario.
    pub description: Option<String>,
    /// Metric that the scenario compares, if it names one.
    pub headline: Option<String>,
    /// Seed of all random values.
    pub seed: u64,
    /// Clock of the runs.
    pub clock: Clock,
    /// The scenario with all changes, as TOML.
    pub source: String,
    /// Commit that this version was built from, for the manifest. `None` if unknown.
    pub commit: Option<String>,
    /// Names of the variants, in order.
    pub variants: Vec<String>,
    /// The swept keys in order, each with its values.
    pub sweep: Vec<(String, Vec<String>)>,
    /// Every variant at every sweep point, ordered by point and then by variant.
    pub cases: Vec<Case>,
    /// All runs, in the order of the results.
    pub tasks: Vec<Task>,
    /// Notes for the reader of the results.
    pub notes: Vec<String>,
    /// What the plan follows from, without the files.
    origin: PlanInput,
    /// Files that the scenario names.
    files: Arc<InputFiles>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) crypto: Crypto,
    pub(crate) output: Output,
    /// Number of runs of each random case.
    pub(crate) repeat: u64,
}

/// One run of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Index into [`Plan::cases`].
    pub case: usize,
    /// Number of the run, from 0.
    pub run: u64,
}

/// What a run records besides its results.
#[derive(Debug)]
pub(crate) struct RecordingSpec {
    /// Limit of each time series, if there are any.
    pub trace: Option<SeriesLimit>,
    /// Whether these and qlog have the variables of congestion controllers.
    pub controller_state: bool,
    /// Forms of qlog files.
    pub qlog: Forms,
    /// Where to capture packets.
    pub capture: Option<CapturePoint>,
}

#[cfg(any(test, feature = "store"))]
impl RecordingSpec {
    /// Returns true if anything is recorded.
    pub fn any(&self) -> bool {
        self.trace.is_some() || self.qlog.any() || self.capture.is_some()
    }
}

impl Plan {
    /// Reads and checks the scenario in `file`.
    ///
    /// # Errors
    /// The file cannot be read, or the scenario is invalid.
    pub fn read(file: &Path, changes: &Changes) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(file).map_err(|error| LabError::read(file, error))?;
        let base_dir = file.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&file.display().to_string(), &text, base_dir, changes)?)
    }

    /// Makes the plan again from what [`Plan::input`] has returned, perhaps in another process.
    ///
    /// # Errors
    /// The scenario is invalid, or needs a file that `input` does not have.
    pub fn from_input(input: &PlanInput) -> Result<Self, Box<ScenarioError>> {
        Self::from_input_up_to(input, PlanLimit::NONE)
    }

    /// As [`Plan::from_input`], with the limit of [`Plan::parse_up_to`].
    ///
    /// # Errors
    /// The scenario is invalid, too large, or needs a file that `input` does not have.
    pub fn from_input_up_to(
        input: &PlanInput,
        limit: PlanLimit<'_>,
    ) -> Result<Self, Box<ScenarioError>> {
        let texts = input.files.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
        let files = InputFiles::from_texts(texts.collect());
        Self::with_files(&input.name, &input.text, Arc::new(files), &input.changes, limit)
    }

    /// Returns everything that the plan follows from, the files that the scenario names included.
    pub fn input(&self) -> PlanInput {
        let files = self.input_files().into_iter();
        let files = files.map(|(name, text)| (name, text.to_string())).collect();
        PlanInput { files, ..self.origin.clone() }
    }

    /// Returns the name and text of each file that the scenario names.
    pub(crate) fn input_files(&self) -> BTreeMap<PathBuf, Arc<str>> {
        self.files.texts()
    }

    /// Checks the scenario `text`, called `name` in errors. Paths in it are relative to `base_dir`.
    ///
    /// # Errors
    /// The scenario is invalid.
    pub fn parse(
        name: &str,
        text: &str,
        base_dir: &Path,
        changes: &Changes,
    ) -> Result<Self, Box<ScenarioError>> {
        Self::parse_up_to(name, text, base_dir, changes, PlanLimit::NONE)
    }

    /// Returns a plan over the built-in profile `name`, for callers that need only its path: a
    /// scenario needs a workload, which is a download of 1 MB.
    ///
    /// # Errors
    /// There is no such profile, or a change is invalid.
    pub fn profile(name: &str, changes: &Changes) -> Result<Self, Box<ScenarioError>> {
        let text = format!(
            "name = \"{name}\"\n[path]\nprofile = \"{name}\"\n[workload]\ndownload = \"1 MB\"\n"
        );
        Self::parse("the profile", &text, Path::new("."), changes)
    }

    /// As [`Plan::parse`], for callers that cannot wait for a large scenario.
    ///
    /// # Errors
    /// The scenario is invalid or exceeds the limit.
    pub fn parse_up_to(
        name: &str,
        text: &str,
        base_dir: &Path,
        changes: &Changes,
        limit: PlanLimit<'_>,
    ) -> Result<Self, Box<ScenarioError>> {
        let files = Arc::new(InputFiles::in_directory(base_dir));
        Self::with_files(name, text, files, changes, limit)
    }

    fn with_files(
        name: &str,
        text: &str,
        files: Arc<InputFiles>,
        changes: &Changes,
        limit: PlanLimit<'_>,
    ) -> Result<Self, Box<ScenarioError>> {
        let mut source = Source::new(name, text);
        for set in &changes.sets {
            source.add("--set", set);
        }
        for (option, key, value) in
            [("--seed", "seed", changes.seed), ("--repeat", "repeat", changes.repeat)]
        {
            if let Some(value) = value {
                source.add(option, format!("{key}={value}"));
            }
        }
        let origin = PlanInput {
            name: name.to_owned(),
            text: text.to_owned(),
            changes: changes.clone(),
            files: BTreeMap::new(),
        };
        plan(&source, files, origin, limit).map_err(|problem| source.locate(problem))
    }

    /// Checks that the virtual clock can run the plan.
    ///
    /// # Errors
    /// A flow runs external programs, which need real time.
    pub fn on_virtual_clock(self) -> Result<Self, LabError> {
        self.check_virtual_clock().map(|()| self)
    }

    /// Checks that the virtual clock can run the plan, as [`Plan::on_virtual_clock`].
    ///
    /// # Errors
    /// A flow runs external programs, which need real time.
    pub fn check_virtual_clock(&self) -> Result<(), LabError> {
        self.cases.iter().try_for_each(|case| {
            case.check_virtual_clock().map_err(|reason| case.usage_error("--clock virtual", reason))
        })
    }

    /// Returns the number of sweep points.
    pub fn points(&self) -> usize {
        self.cases.len() / self.variants.len().max(1)
    }

    /// Returns the settings of each variant at the first sweep point.
    pub fn variant_settings(&self) -> Vec<VariantSettings> {
        let first = self.cases.iter().take(self.variants.len());
        first
            .map(|case| VariantSettings {
                name: case.variant.clone(),
                flows: case.settings.clone(),
            })
            .collect()
    }

    /// Returns the path of the first case.
    pub fn path(&self) -> Option<&PathSummary> {
        self.cases.first().map(|case| &case.path)
    }

    /// Returns the name of the first hop of the path. `None` for a satellite network.
    pub fn first_hop(&self) -> Option<&str> {
        self.cases.first().and_then(Case::first_hop)
    }

    /// Returns the names of the flows under congestion control in the first case.
    pub fn controlled_flows(&self) -> Vec<String> {
        self.cases.first().map(Case::controlled_flows).unwrap_or_default()
    }

    /// Returns what the scenario expects.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the controller of each flow of a variant at the first point, by the flow's name; of
    /// all variants without a name. `None` if their controllers differ.
    fn controllers(&self, variant: Option<&str>) -> Option<BTreeMap<&str, &str>> {
        let first = self.cases.iter().take(self.variants.len());
        let cases = first.filter(|case| variant.is_none_or(|name| case.variant == name));
        let mut all = cases.map(Case::controllers);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// Keeps, of a plan that sweeps the controllers of `flows`, only the expectations about the
    /// controllers of `unswept`, the same scenario without that sweep, and only for these: an
    /// expectation about one pair is none about others.
    pub fn expect_only_of(&mut self, unswept: &Self, flows: &[String]) {
        let mut kept = Vec::new();
        for rule in &self.rules {
            let Some(own) = unswept.controllers(rule.variant.as_deref()) else { continue };
            let mut rule = rule.clone();
            let mut is_swept = true;
            for flow in flows {
                let key = format!("flow.{flow}.congestion");
                let controller = own.get(flow.as_str()).copied().unwrap_or_default();
                let value = rule.point.entry(key.clone()).or_insert_with(|| controller.to_owned());
                let values = self.sweep.iter().find(|(name, _)| *name == key);
                is_swept &= values.is_some_and(|(_, values)| values.contains(value));
            }
            if is_swept {
                kept.push(rule);
            }
        }
        self.rules = kept;
    }

    /// Returns roughly how long `task` takes, in bytes transferred over TCP.
    pub fn work(&self, task: Task) -> u64 {
        self.cases[task.case].work()
    }

    /// Keeps only run number `run` of `variant` at the sweep point, which names all keys with more
    /// than one value. It records everything that it can, and expects nothing.
    ///
    /// # Errors
    /// The plan has no such run.
    pub fn only(&mut self, variant: Option<&str>, point: &Point, run: u64) -> Result<(), LabError> {
        let axes = self.sweep.iter().map(|(key, values)| (key.as_str(), values.as_slice()));
        let (variant, point) = select_case(&self.variants, axes, variant, point)
            .map_err(|(argument, reason)| LabError::Usage { argument, reason })?;
        self.variants = vec![variant];
        for (key, values) in &mut self.sweep {
            values.retain(|value| point.get(key) == Some(value));
        }
        let chosen = |case: &Case| case.variant == self.variants[0] && case.point == point;
        let case = self.cases.iter().position(chosen);
        let task = self.tasks.iter().find(|task| Some(task.case) == case && task.run == run);
        if task.is_none() {
            let runs = self.tasks.iter().filter(|task| Some(task.case) == case).count();
            let reason = format!("there is no run {run}; allowed: 0 to {}", runs.saturating_sub(1));
            return Err(LabError::Usage { argument: "--run", reason });
        }
        self.cases = case.map(|index| self.cases.swap_remove(index)).into_iter().collect();
        self.tasks = vec![Task { case: 0, run }];
        (self.rules, self.figures) = (Vec::new(), Vec::new());
        Ok(())
    }

    /// Returns the number of runs with time series.
    pub(crate) fn traced_runs(&self) -> usize {
        match self.output.time_series {
            TimeSeries::All => self.tasks.len(),
            TimeSeries::First => self.cases.len(),
            TimeSeries::None => 0,
        }
    }

    /// Returns the specification of the run `task`.
    ///
    /// # Errors
    /// See [`Case::spec`].
    pub fn spec(&self, task: Task) -> Result<RunSpec, LabError> {
        let mut spec = self.cases[task.case].spec(self.seed, task.run)?;
        let RecordingSpec { trace, controller_state, qlog, capture } = self.recording_spec(task);
        spec.controller_state = controller_state;
        spec.encrypt = self.crypto == Crypto::Real;
        (spec.trace, spec.qlog, spec.capture) = (trace, qlog, capture);
        Ok(spec)
    }

    /// Returns what the run `task` records besides its results.
    pub(crate) fn recording_spec(&self, task: Task) -> RecordingSpec {
        let traced = match self.output.time_series {
            TimeSeries::All => true,
            TimeSeries::First => task.run == 0,
            TimeSeries::None => false,
        };
        let flows = self.cases[task.case].flow_count();
        // The first run has qlog files and captures even without time series.
        let detailed = traced || task.run == 0;
        let capture = self.output.capture.as_ref().filter(|_| detailed);
        RecordingSpec {
            trace: traced.then(|| match self.output.full_time_series {
                true => SeriesLimit::FULL,
                false => SeriesLimit::shared_by(self.traced_runs(), flows),
            }),
            controller_state: self.output.controller_state && detailed,
            qlog: match detailed {
                true => Forms { current: self.output.qlog, qvis: self.output.qvis },
                false => Forms::default(),
            },
            capture: capture.map(|capture| CapturePoint {
                hop: capture.get_ref().clone(),
                end: match self.output.capture_at {
                    CaptureAt::Server => HopEnd::Server,
                    CaptureAt::Client => HopEnd::Client,
                },
            }),
        }
    }
}

fn plan(
    source: &Source,
    files: Arc<InputFiles>,
    origin: PlanInput,
    limit: PlanLimit<'_>,
) -> Result<Plan, Problem> {
    let document = Document::parse(source)?;
    let axes = document.axes()?;
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
    let head = document.at(&axes, &vec![0; axes.len()])?;
    check(&head, &axes)?;
    let variants: Vec<String> = variant_names(&head).into_iter().map(str::to_owned).collect();
    limit.check_size(&head, &axes, variants.len())?;
    let mut cases = Vec::new();
    let mut archives = Archives::default();
    // If the transport is swept, a key has an effect at some points only.
    let mut ineffective: Option<Vec<Problem>> = None;
    let choices = choices(&sizes);
    let planned = choices.len() * variants.len();
    for choice in choices {
        limit.check(&head, &axes, (cases.len(), planned))?;
        let mut scenario = document.at(&axes, &choice)?;
        check(&scenario, &axes)?;
        archives.load(&mut scenario, &files)?;
        let here = &scenario.ineffective;
        match &mut ineffective {
            None => ineffective = Some(here.clone()),
            Some(all) => all.retain(|problem| here.iter().any(|other| other.span == problem.span)),
        }
        let point = point(&axes, &choice);
        let path = resolve_path(&scenario, &files)?;
        let populations = population::load(&scenario, &files)?;
        let used = files.take_used();
        for variant in 0..variants.len() {
            let mut case = resolve(&scenario, variant, &point, &path, &populations)?;
            let text = document.decisive_text(&axes, &choice, variant)?;
            case.digest = text
                .filter(|_| case.has_built_in_controllers())
                .map(|text| CaseDigest::new(&text, &used));
            cases.push(case);
        }
    }
    if let Some(problem) = ineffective.into_iter().flatten().next() {
        return Err(problem);
    }
    let repeat = *head.repeat.get_ref();
    let tasks = cases.iter().enumerate().flat_map(|(case, resolved)| {
        (0..if resolved.random { repeat } else { 1 }).map(move |run| Task { case, run })
    });
    let tasks = tasks.collect();
    Ok(Plan {
        notes: notes(&head, &axes, &cases).into_iter().chain(archives.notes).collect(),
        rules: rules(&head, &axes),
        figures: figures(&head, &axes),
        source: document.resolved(),
        title: head.title.clone().unwrap_or_else(|| head.name.get_ref().clone()),
        description: head.description.clone(),
        headline: head.headline.as_ref().map(|name| name.get_ref().clone()),
        seed: head.seed,
        clock: Clock::Virtual,
        commit: None,
        repeat,
        sweep: axes.iter().map(|axis| (axis.key.clone(), axis.values.clone())).collect(),
        crypto: head.crypto,
        output: head.output,
        name: head.name.into_inner(),
        origin,
        files,
        variants,
        cases,
        tasks,
    })
}

/// Returns all combinations of indices below `sizes`. The last index varies fastest.
fn choices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut choices = vec![Vec::new()];
    for &size in sizes {
        choices = choices
            .into_iter()
            .flat_map(|choice| {
                (0..size).map(move |index| {
                    let mut longer = choice.clone();
                    longer.push(index);
                    longer
                })
            })
            .collect();
    }
    choices
}

fn point(axes: &[Axis<'_>], choice: &[usize]) -> Point {
    axes.iter()
        .zip(choice)
        .map(|(axis, &index)| (axis.key.clone(), axis.values[index].clone()))
        .collect()
}

/// Returns notes about cases without random values, which are run once.
pub(crate) fn random_notes(cases: &[Case], repeat: u64) -> Vec<String> {
    let fixed = cases.iter().filter(|case| !case.random).count();
    if fixed == cases.len() {
        return vec![
            "nothing in this scenario is random: each variant is run once, and one run has no \
                interval"
                .to_owned(),
        ];
    }
    if fixed > 0 && repeat > 1 {
        return vec![format!(
            "nothing is random in {fixed} of {} cases: those are run once",
            cases.len()
        )];
    }
    Vec::new()
}

fn notes(head: &Scenario, axes: &[Axis<'_>], cases: &[Case]) -> Vec<String> {
    let mut notes = random_notes(cases, *head.repeat.get_ref());
    for note in cases.iter().flat_map(Case::notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes.extend(refused_early_data(cases));
    notes.extend(mix_notes::notes(head));
    let ignored = |point: &bentpipe_scenario::PointFilter| !is_planned(point, axes);
    let expects = head.expect.iter().filter(|expect| ignored(&expect.get_ref().point)).count();
    if expects > 0 {
        notes.push(format!(
            "{expects} of {} expectations are ignored: --set removed the values that they name",
            head.expect.len()
        ));
    }
    notes
}

/// Returns a note about variants whose early data no server takes.
fn refused_early_data(cases: &[Case]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for case in cases.iter().filter(|case| case.refuses_early_data()) {
        let name = format!("`{}`", case.variant);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| {
        format!(
            "servers with `quic.initial_rtt` below 10 s refuse early data if the RTT is longer \
             than 60 s: the requests of {} are then sent again after the handshake",
            names.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
