//! From a scenario file to the list of runs. Everything that can be wrong is found here, before
//! anything runs.

use crate::error::LabError;
use crate::resolve::{Case, resolve, resolve_path};
use bentpipe_results::{Clock, Point};
use bentpipe_results::{Figure, PathSummary, Rule, VariantSettings};
use bentpipe_scenario::{
    Axis, Document, Output, Scenario, TimeSeries, check, figures, is_planned, rules, variant_names,
};
use bentpipe_scenario::{Problem, ScenarioError, Source};
use bentpipe_sim::RunSpec;
use std::path::Path;

/// More runs than this are a slip of the pen.
const MOST_RUNS: u64 = 1_000_000;

/// What the command line changes in a scenario.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// `key=value` each, in order.
    pub sets: Vec<String>,
    /// Overrides `seed`.
    pub seed: Option<u64>,
    /// Overrides `repeat`.
    pub repeat: Option<u64>,
}

/// A scenario that can be run.
#[derive(Debug)]
pub struct Plan {
    /// The scenario's name.
    pub name: String,
    /// Its title, or else its name.
    pub title: String,
    /// What it is for.
    pub description: Option<String>,
    /// Seed of every random draw.
    pub seed: u64,
    /// Which clock is to run.
    pub clock: Clock,
    /// The scenario as it is run, as TOML.
    pub source: String,
    /// Commit that this version was built from, for the manifest; `None` if it is unknown.
    pub commit: Option<String>,
    /// The variants' names in order.
    pub variants: Vec<String>,
    /// The swept keys in order, each with its values.
    pub sweep: Vec<(String, Vec<String>)>,
    /// Each variant at each point: points in order, variants within them.
    pub cases: Vec<Case>,
    /// All runs, in the order of the results.
    pub tasks: Vec<Task>,
    /// Things that the reader of the results should know.
    pub notes: Vec<String>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) output: Output,
    /// Runs of each case, where they differ.
    #[cfg_attr(not(feature = "real-clock"), expect(dead_code, reason = "used by the real clock"))]
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

impl Plan {
    /// Reads and checks the scenario in `file`.
    ///
    /// # Errors
    /// A file that cannot be read, or a scenario that cannot be run.
    pub fn read(file: &Path, changes: &Changes) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(file).map_err(|error| LabError::read(file, error))?;
        let base_dir = file.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&file.display().to_string(), &text, base_dir, changes)?)
    }

    /// Checks the scenario `text`, called `name` in errors; traces that it names are looked for in
    /// `base_dir`.
    ///
    /// # Errors
    /// A scenario that cannot be run.
    pub fn parse(
        name: &str,
        text: &str,
        base_dir: &Path,
        changes: &Changes,
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
        plan(&source, base_dir).map_err(|problem| source.locate(problem))
    }

    /// Makes sure that the virtual clock can run it.
    ///
    /// # Errors
    /// A program, which takes real time.
    pub fn on_virtual_clock(self) -> Result<Self, LabError> {
        for case in &self.cases {
            case.check_virtual_clock()
                .map_err(|reason| case.usage_error("--clock virtual", reason))?;
        }
        Ok(self)
    }

    /// What each variant uses at the first point of the sweep.
    pub fn variant_settings(&self) -> Vec<VariantSettings> {
        let first = self.cases.iter().take(self.variants.len());
        first
            .map(|case| VariantSettings {
                name: case.variant.clone(),
                flows: case.settings.clone(),
            })
            .collect()
    }

    /// The path of the first case.
    pub fn path(&self) -> Option<&PathSummary> {
        self.cases.first().map(|case| &case.path)
    }

    /// The flows that congestion control holds back, of the first case.
    pub fn controlled_flows(&self) -> Vec<String> {
        self.cases.first().map(Case::controlled_flows).unwrap_or_default()
    }

    /// How many runs leave time series.
    pub(crate) fn traced_runs(&self) -> usize {
        match self.output.time_series {
            TimeSeries::All => self.tasks.len(),
            TimeSeries::First => self.cases.len(),
            TimeSeries::None => 0,
        }
    }

    /// What the simulator is told for `task`.
    ///
    /// # Errors
    /// See [`Case::spec`].
    pub fn spec(&self, task: Task) -> Result<RunSpec, LabError> {
        let mut spec = self.cases[task.case].spec(self.seed, task.run)?;
        let traced = match self.output.time_series {
            TimeSeries::All => true,
            TimeSeries::First => task.run == 0,
            TimeSeries::None => false,
        };
        spec.trace = traced;
        // Without traces, the first run still gives the files that were asked for by name.
        let detailed = traced || task.run == 0;
        spec.qlog = detailed && self.output.qlog;
        spec.capture = self
            .output
            .capture
            .as_ref()
            .filter(|_| detailed)
            .map(|capture| capture.get_ref().clone());
        Ok(spec)
    }
}

fn plan(source: &Source, base_dir: &Path) -> Result<Plan, Problem> {
    let document = Document::parse(source)?;
    let axes = document.axes()?;
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.values.len()).collect();
    let points = sizes.iter().try_fold(1u64, |product, size| product.checked_mul(*size as u64));
    let head = document.at(&axes, &vec![0; axes.len()])?;
    check(&head, &axes)?;
    let variants: Vec<String> = variant_names(&head).into_iter().map(str::to_owned).collect();
    let cases = points.and_then(|points| points.checked_mul(variants.len() as u64));
    let runs = cases.and_then(|cases| cases.checked_mul(*head.repeat.get_ref()));
    if runs.is_none_or(|runs| runs > MOST_RUNS) {
        let message = format!(
            "sweep, variants and `repeat` make more than {MOST_RUNS} runs; allowed: up to that many"
        );
        return Err(Problem::new(head.repeat.span(), message));
    }

    let mut cases = Vec::new();
    // A key may have an effect at some points only, if the transport is swept.
    let mut ineffective: Option<Vec<Problem>> = None;
    for choice in choices(&sizes) {
        let scenario = document.at(&axes, &choice)?;
        check(&scenario, &axes)?;
        let here = &scenario.ineffective;
        match &mut ineffective {
            None => ineffective = Some(here.clone()),
            Some(all) => all.retain(|problem| here.iter().any(|other| other.span == problem.span)),
        }
        let point = point(&axes, &choice);
        let path = resolve_path(&scenario, base_dir)?;
        for variant in 0..variants.len() {
            cases.push(resolve(&scenario, variant, &point, &path)?);
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
        notes: notes(&head, &axes, &cases),
        rules: rules(&head, &axes),
        figures: figures(&head, &axes),
        source: document.resolved(),
        title: head.title.clone().unwrap_or_else(|| head.name.get_ref().clone()),
        description: head.description.clone(),
        seed: head.seed,
        clock: Clock::Virtual,
        commit: None,
        repeat,
        sweep: axes.iter().map(|axis| (axis.key.clone(), axis.values.clone())).collect(),
        output: head.output,
        name: head.name.into_inner(),
        variants,
        cases,
        tasks,
    })
}

/// Every combination of indices below `sizes`, the last one fastest.
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

/// What is said where runs do not differ.
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
    let left_out = |point: &bentpipe_scenario::PointFilter| !is_planned(point, axes);
    let expects = head.expect.iter().filter(|expect| left_out(&expect.get_ref().point)).count();
    if expects > 0 {
        notes.push(format!(
            "{expects} of {} expectations are about values that --set left out",
            head.expect.len()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_sim::Stack;

    #[test]
    fn combinations_run_through_the_last_axis_first() {
        assert_eq!(choices(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(choices(&[]), [[0usize; 0]]);
    }

    use crate::testing;
    use bentpipe_sim::{DatagramTraffic, Direction};
    use bentpipe_units::{Bytes, Rate, Span};

    #[test]
    fn runs_stand_in_the_order_of_points_variants_and_runs() {
        let plan = testing::plan(testing::TWO_VARIANTS);
        let cases: Vec<String> = plan
            .cases
            .iter()
            .map(|case| format!("{} {}", case.point["workload.download"], case.variant))
            .collect();
        assert_eq!(cases, ["2 MB 1rtt", "2 MB 0rtt", "10 MB 1rtt", "10 MB 0rtt"]);
        assert_eq!((plan.tasks.len(), plan.tasks[6]), (24, Task { case: 1, run: 0 }));
    }

    #[test]
    fn where_nothing_is_random_there_is_one_run_and_a_note() {
        let plan = testing::plan(&testing::TWO_VARIANTS.replace("loss = 0.001", "loss = 0"));
        assert_eq!(plan.tasks.len(), 4);
        assert!(plan.notes[0].contains("nothing in this scenario is random"));
        let frames = testing::TWO_VARIANTS.replace("loss = 0.001", "frame = \"10 ms\"");
        assert_eq!(testing::plan(&frames).tasks.len(), 24, "where frames begin is drawn");
    }

    #[test]
    fn windows_follow_the_path_and_a_resumed_handshake_brings_a_first_visit() {
        let keys =
            "handshake = \"0rtt\"\nflow_control = { preset = \"auto\", send_buffer = \"0.5 BDP\" }";
        let text = testing::TWO_VARIANTS.replace("handshake = \"0rtt\"", keys);
        let plan = testing::plan(&text);
        let spec = plan.spec(Task { case: 1, run: 3 }).unwrap();
        let mut flow = spec.flows[0].clone();
        let settings = flow.stack.quic_mut().unwrap();
        // 4.0625 MB of path and as much of queue, twice.
        assert_eq!(settings.stream_window.get(), 16_250_000);
        assert_eq!(settings.send_window.get(), 2_031_250);
        assert_eq!((settings.initial_mtu, settings.max_mtu), (1472, 1472));
        let visits: Vec<(u64, bool)> = flow
            .visits
            .iter()
            .map(|visit| (visit.objects[0].bytes.get(), visit.measured))
            .collect();
        assert_eq!(visits, [(40_625_000, false), (2_000_000, true)]);
        assert!(plan.spec(Task { case: 1, run: 0 }).unwrap().trace && !spec.trace);
    }

    #[test]
    fn flows_that_last_and_datagrams_are_what_the_scenario_says() {
        let text = r#"
name = "flows"
[path]
profile = "geo-50-10"
[defaults]
http = "h2"
[[flow]]
name = "up"
bulk.duration = "30 s"
bulk.direction = "upload"
[[flow]]
name = "steady"
cbr.rate = "5 Mbps"
cbr.duration = "20 s"
[[flow]]
name = "bursts"
cbr.rate = "5 Mbps"
cbr.packet = "200 B"
cbr.on = "1 s"
cbr.off = "2 s"
cbr.duration = "20 s"
cbr.direction = "upload"
[[flow]]
name = "ping"
ping.interval = "100 ms"
ping.duration = "20 s"
"#;
        let plan = testing::plan(text);
        assert_eq!(plan.controlled_flows(), ["up"]);
        let spec = plan.spec(Task { case: 0, run: 0 }).unwrap();
        let visits: Vec<_> = spec.flows.iter().map(|flow| &flow.visits[0]).collect();
        assert_eq!(visits[0].duration, Some(Span::from_secs(30)));
        assert!(visits[0].objects[0].bytes.get() >= 1 << 40);
        let up: Vec<bool> =
            visits.iter().map(|visit| visit.direction == Direction::Upload).collect();
        assert_eq!(up, [true, false, true, true]);
        let sent = |place: usize| match spec.flows[place].stack {
            Stack::DatagramTraffic(sent) => sent,
            _ => panic!("flow {place} is controlled"),
        };
        let rate = Rate::from_mbps(5);
        assert_eq!(
            sent(1),
            DatagramTraffic::Constant { rate, packet: Bytes::new(1500), bursts: None }
        );
        let bursts = Some((Span::from_secs(1), Span::from_secs(2)));
        assert_eq!(sent(2), DatagramTraffic::Constant { rate, packet: Bytes::new(200), bursts });
        assert_eq!(
            sent(3),
            DatagramTraffic::Ping { interval: Span::from_millis(100), packet: Bytes::new(84) }
        );
        assert!(plan.cases[0].random, "bursts are drawn");
    }

    #[test]
    fn a_flow_goes_between_the_hops_that_it_names() {
        let hop =
            |name: &str| format!("[[path.hop]]\nname = \"{name}\"\nprofile = \"geo-50-10\"\n");
        let flow =
            "[[flow]]\nname = \"a\"\nbulk.duration = \"1 s\"\nfrom_hop = \"y\"\nto_hop = \"z\"\n";
        let text = format!("name = \"hops\"\n[path]\n{}{}{}{flow}", hop("x"), hop("y"), hop("z"));
        assert_eq!(
            testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap().flows[0].ends,
            Some((1, 3))
        );
        let wrong = text.replace("to_hop = \"z\"", "to_hop = \"x\"");
        let error =
            Plan::parse("test.toml", &wrong, Path::new("."), &Changes::default()).unwrap_err();
        assert!(error.message.contains("the hop `x` before `y`"), "{error}");
    }

    #[test]
    fn start_jitter_differs_between_runs_and_not_between_plans() {
        let text =
            testing::TWO_VARIANTS.replace("[workload]", "[workload]\nstart_jitter = \"1 s\"");
        let think = |run| {
            testing::plan(&text).spec(Task { case: 0, run }).unwrap().flows[0].visits[0]
                .start_jitter
        };
        assert_eq!(think(1), think(1));
        assert_ne!(think(1), think(2));
    }

    #[test]
    fn expectations_about_values_that_set_left_out_are_dropped_with_a_note() {
        let text = testing::TWO_VARIANTS
            .replace("relative_to = \"1rtt\"", "point = { \"workload.download\" = \"10 MB\" }");
        let changes = Changes {
            sets: vec!["workload.download=2 MB".to_owned()],
            seed: Some(9),
            repeat: Some(2),
        };
        let plan = Plan::parse("test.toml", &text, Path::new("."), &changes).unwrap();
        assert_eq!((plan.rules.len(), plan.tasks.len(), plan.seed), (0, 4, 9));
        assert!(
            plan.notes.iter().any(|note| note.contains("1 of 1 expectations")),
            "{:?}",
            plan.notes
        );
        assert!(
            plan.source.starts_with("# --set workload.download=2 MB\n# --set seed=9"),
            "{}",
            plan.source
        );
    }

    /// The only flow of the only variant with these keys, over a profile.
    fn quic(keys: &str) -> bentpipe_quic::Settings {
        let text = format!(
            "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 \
                MB\"\n[defaults]\n{keys}\n"
        );
        let mut spec = testing::plan(&text).spec(Task { case: 0, run: 0 }).unwrap();
        assert_eq!(spec.flows[0].visits.len(), 1, "nothing primes a first visit");
        spec.flows[0].stack.quic_mut().unwrap().clone()
    }

    #[test]
    fn a_variant_with_nothing_set_is_the_product() {
        let settings = quic("");
        assert_eq!(settings.ack, bentpipe_quic::AckRule::Auto);
        assert_eq!(settings.congestion.resume.as_str(), "careful");
        assert_eq!(settings.congestion.slow_start.as_str(), "auto");
        assert_eq!(settings.credit, bentpipe_quic::FlowControlRule::tuned());
        assert_eq!(
            (settings.connection_window, settings.stream_window),
            (Bytes::from_mb(4), Bytes::from_mb(64))
        );
        assert_eq!(quic("preset = \"bentpipe\""), settings);
    }

    #[test]
    fn the_preset_rfc_is_a_plain_endpoint_with_the_products_windows_and_can_be_overridden() {
        let (product, settings) = (quic(""), quic("preset = \"rfc\""));
        assert_eq!(settings.ack, bentpipe_quic::AckRule::Stack);
        let recipe = &settings.congestion;
        let names =
            (recipe.controller.as_str(), recipe.slow_start.as_str(), recipe.resume.as_str());
        assert_eq!(names, ("cubic", "standard", "none"));
        assert_eq!((settings.initial_window, settings.pacing), (10, product.pacing));
        assert_eq!(
            (settings.connection_window, &settings.credit),
            (product.connection_window, &product.credit)
        );
        assert_eq!(
            quic("preset = \"rfc\"\nslow_start = \"auto\"").congestion.slow_start.as_str(),
            "auto"
        );
    }

    #[test]
    fn a_program_s_windows_replace_tuned_ones_and_a_given_window_both() {
        let settings = quic("flow_control.preset = \"chrome\"");
        assert!(
            !settings.credit.tuned && settings.connection_window == Bytes::new(15 << 20),
            "{settings:?}"
        );
        let settings = quic("flow_control.connection_window = \"1 MB\"");
        assert!(
            !settings.credit.tuned && settings.connection_window == Bytes::from_mb(1),
            "{settings:?}"
        );
        let settings = quic(
            "flow_control = { connection_window = \"tuned\", initial_receive_window = \"64 kB\" }",
        );
        assert!(
            settings.credit.tuned && settings.connection_window == Bytes::new(64_000),
            "{settings:?}"
        );
    }

    #[test]
    fn layers_are_merged_key_by_key() {
        let text = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[defaults]\nquic = \
            { pacing = false, initial_rtt = \"1 s\" }\n\
                    parameters.cubic = { beta = 0.8, c = 0.5 }\n[[variant]]\nname \
                    = \"v\"\nquic.initial_rtt = \"2 s\"\n\
                    parameters.cubic.beta = 0.6\n[[flow]]\nname = \"f\"\ndownload = \"1 MB\"\nack \
                    = \"1:4\"\nquic.ack_by = \"receiver\"\n";
        let mut spec = testing::plan(text).spec(Task { case: 0, run: 0 }).unwrap();
        let settings = spec.flows[0].stack.quic_mut().unwrap();
        assert_eq!((settings.pacing, settings.initial_rtt), (false, Span::from_secs(2)));
        assert_eq!(
            (settings.ack, settings.ack_by),
            (bentpipe_quic::AckRule::Every(4), bentpipe_quic::AckBy::Receiver)
        );
        let cubic = &settings.congestion.parameters["cubic"];
        assert_eq!((cubic["beta"], cubic["c"]), (0.6, 0.5));
    }

    #[test]
    fn a_key_is_refused_only_if_no_flow_that_inherits_it_can_use_it() {
        let base = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\ndownload = \"1 \
            MB\"\n\
                    [defaults]\nquic.pacing = false\ntcp.ecn = true\n[[variant]]\nname \
                    = \"quic\"\n";
        let tcp = "[[variant]]\nname = \"tcp\"\ntransport = \"tcp\"\n";
        let parse =
            |text: &str| Plan::parse("test.toml", text, Path::new("."), &Changes::default());
        assert!(parse(&format!("{base}{tcp}")).is_ok());
        let error = parse(base).unwrap_err();
        assert!(error.message.starts_with("`tcp.ecn` has no effect over QUIC"), "{error}");
        let swept = format!("{base}[sweep]\n\"defaults.transport\" = [\"quic\", \"tcp\"]\n");
        assert!(parse(&swept).is_ok(), "one point uses each");
    }

    #[test]
    fn times_can_be_native_dates_of_toml() {
        let text = "name = \"x\"\n[path.orbit]\nconstellation = \"iridium\"\nlinks.all.rate = \"1 \
            Mbps\"\nepoch = EPOCH\n\
                    [workload]\nfrom = \"51.5,-0.1\"\nto = \"Tokyo\"\ndownload = \"1 MB\"\n";
        let begins = |epoch: &str| {
            let plan = testing::plan(&text.replace("EPOCH", epoch));
            plan.cases[0].orbit().unwrap().network.begins()
        };
        assert_eq!(begins("2024-05-01T12:00:00Z"), begins("\"2024-05-01T12:00:00Z\""));
        let wrong = text.replace("EPOCH", "2024-05-01");
        let error =
            Plan::parse("test.toml", &wrong, Path::new("."), &Changes::default()).unwrap_err();
        assert!(error.message.contains("`2024-05-01`") && error.line == 5, "{error}");
    }
}
