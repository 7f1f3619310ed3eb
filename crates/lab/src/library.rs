//! Runs scenarios in memory, with congestion controllers and nodes of the calling program.

use crate::error::LabError;
use crate::execution::Threads;
use crate::execution::{Options, ResultsOnly, execute};
use crate::node_factory::{NodeFactory, SimulatorWithNodes};
use crate::plan::{Changes, Plan};
use bentpipe_quic::congestion::catalogue::{Registration, register};
use bentpipe_quic::congestion::{Controller, ControllerConfig};
use bentpipe_results::Results;
use bentpipe_sim::node::Node;
use bentpipe_sim::{HopEnd, Runner, Simulator};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Runs scenarios on the virtual clock and returns their results.
///
/// Register controllers of your own with [`Lab::controller`] before calling [`Lab::run`]; scenarios
/// then name them like any other. No files are written, and one thread is used unless
/// [`Lab::jobs`] sets another number. The same scenario and seed give the same results.
///
/// ```
/// let results = bentpipe_lab::Lab::new().run(
///     r#"
///     name = "example"
///     [path]
///     profile = "geo-50-10"
///     [workload]
///     download = "100 kB"
///     "#,
/// )?;
/// assert!(results.runs[0].flows[0].completed);
/// # Ok::<(), bentpipe_lab::LabError>(())
/// ```
#[derive(Debug)]
pub struct Lab {
    changes: Changes,
    jobs: NonZeroUsize,
    directory: PathBuf,
    nodes: Vec<NodeFactory>,
    /// The first argument that was wrong, and why, which `run` returns.
    failed: Option<(&'static str, String)>,
}

impl Default for Lab {
    fn default() -> Self {
        Self {
            changes: Changes::default(),
            jobs: NonZeroUsize::MIN,
            directory: PathBuf::new(),
            nodes: Vec::new(),
            failed: None,
        }
    }
}

impl Lab {
    /// Creates a laboratory with the built-in controllers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a congestion controller under `name`, for QUIC and TCP, in every laboratory of
    /// this process. `make` creates one for each connection. [`Lab::run`] fails if the name is
    /// taken or malformed.
    #[must_use]
    pub fn controller<C: Controller + 'static>(
        mut self,
        name: &'static str,
        make: impl Fn(&ControllerConfig) -> C + Send + Sync + 'static,
    ) -> Self {
        let registered = register(Registration {
            name,
            about: "registered by a program",
            source: "the program",
            parameters: &[],
            // The registry lives as long as the process.
            make: Box::leak(Box::new(move |config: &ControllerConfig, _: &_| {
                Box::new(make(config)) as Box<dyn Controller>
            })),
        });
        if let Err(error) = registered {
            self.failed.get_or_insert(("controller", error.to_string()));
        }
        self
    }

    /// Puts a [node](bentpipe_sim::node) at one end of a hop of every scenario. `make` creates one
    /// for each run. A path without `[[path.hop]]` has one hop, `access`. [`Lab::run`] fails if there
    /// is no such hop, or another node has this name.
    ///
    /// ```
    /// use bentpipe_lab::node::{Action, Node, NodeContext, NodePacket};
    /// use bentpipe_lab::{HopEnd, Lab};
    ///
    /// /// Loses every thousandth packet.
    /// #[derive(Default)]
    /// struct Loses(u64);
    ///
    /// impl Node for Loses {
    ///     fn on_packet(&mut self, _: &mut NodePacket<'_>, _: &mut NodeContext<'_>) -> Action {
    ///         self.0 += 1;
    ///         if self.0.is_multiple_of(1000) { Action::Drop } else { Action::Pass }
    ///     }
    /// }
    ///
    /// let results = Lab::new().node("loses", "access", HopEnd::Client, Loses::default).run(
    ///     r#"
    ///     name = "example"
    ///     [path]
    ///     profile = "geo-50-10"
    ///     [workload]
    ///     download = "2 MB"
    ///     "#,
    /// )?;
    /// let flow = &results.runs[0].flows[0].metrics;
    /// assert!(flow.packets_lost_channel + flow.reverse_packets_lost >= 1);
    /// # Ok::<(), bentpipe_lab::LabError>(())
    /// ```
    #[must_use]
    pub fn node<N: Node + 'static>(
        mut self,
        name: impl Into<String>,
        hop: impl Into<String>,
        end: HopEnd,
        make: impl Fn() -> N + Send + Sync + 'static,
    ) -> Self {
        self.nodes.push(NodeFactory::new(name.into(), hop.into(), end, make));
        self
    }

    /// Sets a key of every scenario, as `--set KEY=VALUE` does.
    #[must_use]
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.changes.sets.push(assignment.into());
        self
    }

    /// Overrides the seed of every scenario.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.changes.seed = Some(seed);
        self
    }

    /// Overrides the seed of every scenario by the environment variable `BENTPIPE_SEED`, if it is
    /// set. [`Lab::run`] fails if that is not a number.
    #[must_use]
    pub fn seed_from_env(mut self) -> Self {
        let Ok(text) = std::env::var("BENTPIPE_SEED") else { return self };
        match text.parse() {
            Ok(seed) => self.changes.seed = Some(seed),
            Err(_) => {
                let reason = format!("`{text}` is no seed; allowed: a number from 0 to 2⁶⁴ - 1");
                self.failed.get_or_insert(("BENTPIPE_SEED", reason));
            }
        }
        self
    }

    /// Overrides the number of runs of every scenario.
    #[must_use]
    pub fn repeat(mut self, repeat: u64) -> Self {
        self.changes.repeat = Some(repeat);
        self
    }

    /// Sets the number of threads, which does not change the results.
    #[must_use]
    pub fn jobs(mut self, jobs: NonZeroUsize) -> Self {
        self.jobs = jobs;
        self
    }

    /// Sets the directory that relative paths in scenarios, such as those of traces, start from
    /// [default: the current directory].
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Runs the scenario `text` (TOML).
    ///
    /// # Errors
    /// The scenario is invalid, a controller could not be registered, or a run failed.
    pub fn run(&self, text: &str) -> Result<Results, LabError> {
        self.run_in("scenario", text, &self.directory)
    }

    /// Runs the scenario in `file`.
    ///
    /// # Errors
    /// The file cannot be read, or [`Lab::run`] fails.
    pub fn run_file(&self, file: &Path) -> Result<Results, LabError> {
        let text = fs::read_to_string(file).map_err(|error| LabError::read(file, error))?;
        let directory = file.parent().unwrap_or(Path::new(""));
        self.run_in(&file.display().to_string(), &text, directory)
    }

    fn run_in(&self, name: &str, text: &str, directory: &Path) -> Result<Results, LabError> {
        if let Some((argument, reason)) = &self.failed {
            return Err(LabError::Usage { argument, reason: reason.clone() });
        }
        let plan = Plan::parse(name, text, directory, &self.changes)?.on_virtual_clock()?;
        let stop = AtomicBool::new(false);
        let with_nodes = SimulatorWithNodes(&self.nodes);
        let runner: &dyn Runner = if self.nodes.is_empty() { &Simulator } else { &with_nodes };
        let executor = Threads { runner, jobs: self.jobs };
        let execution = execute(&plan, &Options::new(&executor, &stop), &ResultsOnly);
        let (results, failure) = execution.into_results(&plan);
        failure.map_or(Ok(results), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_quic::congestion::catalogue::CONTROLLERS;
    use bentpipe_quic::congestion::{Ack, EcnCe, Loss, Restart, SendControl};
    use bentpipe_sim::node::{Action, NodeContext, NodePacket};
    use bentpipe_units::Bytes;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A window that never changes.
    #[derive(Debug, Clone)]
    struct Constant(Bytes);

    impl Controller for Constant {
        fn on_ack(&mut self, _: &Ack<'_>) {}
        fn on_loss(&mut self, _: &Loss<'_>) {}
        fn on_ecn_ce(&mut self, _: &EcnCe) {}
        fn restart(&mut self, _: &Restart) {}
        fn send_control(&self) -> SendControl {
            SendControl::window(self.0, false, "constant")
        }
        fn clone_box(&self) -> Box<dyn Controller> {
            Box::new(self.clone())
        }
    }

    const SCENARIO: &str = r#"
name = "own"
[path]
profile = "geo-50-10"
[workload]
download = "1 MB"
[defaults]
congestion = "constant"
slow_start = "standard"
[[variant]]
name = "quic"
[[variant]]
name = "tcp"
transport = "tcp"
"#;

    #[test]
    fn a_registered_controller_limits_quic_and_tcp() {
        let window = Bytes::new(50_000);
        let lab = Lab::new().controller("constant", move |_| Constant(window));
        let results = lab.run(SCENARIO).unwrap();
        for run in &results.runs {
            // 1 MB in windows of 50 kB takes 20 RTTs of 650 ms, and the handshake one to three.
            let completion_s = run.flows[0].metrics.completion_s.unwrap();
            assert!((13.0..16.5).contains(&completion_s), "{}: {completion_s} s", run.variant);
            assert_eq!(run.flows[0].congestion, "constant");
        }
        let error = lab.controller("constant", move |_| Constant(window)).run(SCENARIO);
        assert!(error.unwrap_err().to_string().contains("`constant` is the name of another"));
    }

    /// Marked packets that controllers were told of, and reports without a count.
    #[derive(Debug, Default)]
    struct Told {
        marked: AtomicU64,
        uncounted: AtomicU64,
    }

    /// A window that never changes, with a record of the marks.
    #[derive(Debug, Clone)]
    struct Marks(Arc<Told>);

    impl Controller for Marks {
        fn on_ack(&mut self, _: &Ack<'_>) {}
        fn on_loss(&mut self, _: &Loss<'_>) {}
        fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
            match ecn_ce.marked {
                Some(marked) => self.0.marked.fetch_add(marked, Ordering::Relaxed),
                None => self.0.uncounted.fetch_add(1, Ordering::Relaxed),
            };
        }
        fn restart(&mut self, _: &Restart) {}
        fn send_control(&self) -> SendControl {
            SendControl::window(Bytes::new(150_000), false, "marks")
        }
        fn clone_box(&self) -> Box<dyn Controller> {
            Box::new(self.clone())
        }
    }

    #[test]
    fn controllers_and_results_count_marked_packets() {
        // The window is more than twice the 62.5 kB of the path, so that CoDel marks without end.
        let text = r#"
name = "marks"
[path]
rtt = "50 ms"
forward = { rate = "10 Mbps", queue = { limit = "1 MB", aqm = "codel", target = "5 ms", interval = "100 ms", ecn = true } }
return = { rate = "10 Mbps" }
[workload]
download = "5 MB"
[defaults]
congestion = "marks"
slow_start = "standard"
"#;
        let told = Arc::new(Told::default());
        let own = Arc::clone(&told);
        let lab = Lab::new().controller("marks", move |_| Marks(Arc::clone(&own)));
        let results = lab.run(text).unwrap();
        let flow = &results.runs[0].flows[0].metrics;
        let arrived = flow.packets_marked_ce.unwrap();
        let reported = told.marked.load(Ordering::Relaxed);
        assert!(arrived > 10, "{arrived}");
        // The acknowledgement of the last packets may not have arrived.
        assert!(reported <= arrived && reported + 5 >= arrived, "{reported} of {arrived}");
        let by_links: u64 = results.runs[0].links.iter().map(|link| link.metrics.marked_ce).sum();
        assert!(by_links >= arrived, "{by_links} of {arrived}");
        assert!(flow.queue_delay_mean_ms.is_some_and(|ms| (50.0..90.0).contains(&ms)), "{flow:?}");

        let tcp = format!("{text}transport = \"tcp\"\ntcp.ecn = true\n");
        lab.run(&tcp).unwrap();
        assert_eq!(told.marked.load(Ordering::Relaxed), reported, "a bit is no count");
        assert!(told.uncounted.load(Ordering::Relaxed) > 0);
    }

    /// Drops packets at random.
    struct Drops;

    impl Node for Drops {
        fn on_packet(&mut self, _: &mut NodePacket<'_>, context: &mut NodeContext<'_>) -> Action {
            if context.random().chance(0.01) { Action::Drop } else { Action::Pass }
        }
    }

    #[test]
    fn a_node_is_new_in_each_run_and_draws_as_its_seed_says() {
        let text = SCENARIO.replace("\"constant\"", "\"cubic\"");
        let run = |seed, jobs| {
            let lab = Lab::new().node("drops", "access", HopEnd::Server, || Drops).repeat(2);
            let jobs = NonZeroUsize::new(jobs).unwrap();
            let results = lab.seed(seed).jobs(jobs).run(&text).unwrap();
            let flows = results.runs.iter().map(|run| &run.flows[0].metrics);
            let lost = flows.map(|flow| flow.packets_lost_channel + flow.reverse_packets_lost);
            (lost.collect::<Vec<_>>(), results.runs.len())
        };
        let (lost, runs) = run(1, 1);
        assert_eq!((lost.iter().all(|&lost| lost > 0), runs), (true, 2), "{lost:?}");
        assert_eq!(run(1, 2).0, lost);
        assert_ne!(run(2, 1).0, lost);
    }

    #[test]
    fn a_node_needs_a_hop() {
        let lab = Lab::new().node("drops", "moon", HopEnd::Server, || Drops);
        let error = lab.run(&SCENARIO.replace("\"constant\"", "\"cubic\"")).unwrap_err();
        assert!(error.to_string().contains("no hop is named `moon`; allowed: access"), "{error}");
    }

    #[test]
    fn built_in_names_cannot_be_registered() {
        for name in [CONTROLLERS[0].name, "long-path", "careful", "auto", "standard"] {
            let lab = Lab::new().controller(name, |_| Constant(Bytes::new(1)));
            assert!(lab.run(SCENARIO).is_err(), "{name}");
        }
        let lab = Lab::new().controller("Two Words", |_| Constant(Bytes::new(1)));
        assert!(lab.run(SCENARIO).unwrap_err().to_string().contains("is not a valid name"));
    }
}
