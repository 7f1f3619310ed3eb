//! How many runs a plan has left, and about how long they take.

use crate::execution::run_alone;
use crate::execution::{Options, remaining};
use crate::plan::{Changes, Plan, Task};
use bentpipe_sim::Simulator;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Bytes over TCP that a thread simulates in a second where that is not measured: those of a server
/// processor of 2020.
pub const USUAL_PACE: f64 = 1e9;
/// Runs of the scenario from which the pace is taken. The fastest counts: others were disturbed.
const PACE_RUNS: usize = 3;
/// What is run to measure the pace.
const PACE: &str = "name = \"pace\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\n\
    download = \"1 MB\"\n[output]\ntime_series = \"none\"\n";
/// Largest number of cases of which earlier runs are looked up. Larger plans are taken by their
/// work alone, as such a plan is asked for while someone types.
const MAX_LOOKED_UP: usize = 1000;

/// Runs that are left of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Number of runs of the plan, or of the shard.
    pub runs: usize,
    /// Number of runs that the store does not have.
    pub to_run: usize,
    /// Time that those take, in seconds.
    pub seconds: f64,
    /// True if earlier runs of all cases told that; false if it follows from the bytes that they
    /// transfer and the pace.
    pub from_earlier_runs: bool,
}

/// Estimates the runs that [`execute`](crate::execute) would do with these options, `jobs` of them
/// at the same time. `pace` returns the bytes over TCP that a thread simulates in a second; it is
/// called if a case has no earlier runs.
pub fn estimate(
    plan: &Plan,
    options: &Options<'_>,
    jobs: NonZeroUsize,
    pace: impl Fn() -> f64,
) -> Estimate {
    let left = remaining(plan, options);
    let runs = match options.store {
        Some(_) => remaining(plan, &Options { store: None, ..*options }).len(),
        None => left.len(),
    };
    let store = options.store.filter(|_| plan.cases.len() <= MAX_LOOKED_UP);
    let mut from_earlier_runs = true;
    let mut cases: BTreeMap<usize, f64> = BTreeMap::new();
    let mut sum = 0.0;
    for &index in &left {
        let task = plan.tasks[index];
        sum += *cases.entry(task.case).or_insert_with(|| {
            let earlier = store.and_then(|store| store.seconds(plan, task));
            from_earlier_runs &= earlier.is_some();
            earlier.unwrap_or_else(|| plan.work(task) as f64 / pace())
        });
    }
    let at_once = jobs.get().min(left.len().max(1));
    Estimate { runs, to_run: left.len(), seconds: sum / at_once as f64, from_earlier_runs }
}

/// Returns the bytes over TCP that one thread of this machine simulates in a second, measured by a
/// small download at the first call.
pub fn measured_pace() -> f64 {
    static PACE_OF_MACHINE: OnceLock<f64> = OnceLock::new();
    *PACE_OF_MACHINE.get_or_init(|| measure().unwrap_or(USUAL_PACE))
}

fn measure() -> Option<f64> {
    let plan = Plan::parse("pace", PACE, Path::new(""), &Changes::default()).ok()?;
    let task = Task { case: 0, run: 0 };
    let never = AtomicBool::new(false);
    let seconds = (0..PACE_RUNS)
        .filter_map(|_| run_alone(&plan, &Simulator, task, &never).ok().flatten())
        .map(|record| record.seconds)
        .fold(f64::INFINITY, f64::min);
    (seconds > 0.0 && seconds.is_finite()).then(|| plan.work(task) as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::Threads;
    use crate::store::RunStore;
    use crate::store::StoredRun;

    fn plan(text: &str) -> Plan {
        let text = format!("name = \"x\"\n{text}");
        Plan::parse("x.toml", &text, Path::new(""), &Changes::default()).unwrap()
    }

    const LOSSY: &str = "repeat = 10\n[path]\nprofile = \"geo-50-10\"\nforward = { loss = 0.01 }\n\
        [workload]\ndownload = \"2 MB\"\n";

    /// A store that has the first runs, and knows how long runs take.
    struct Known {
        runs: u64,
        seconds: Option<f64>,
    }

    impl RunStore for Known {
        fn record(&self, _: &Plan, _: Task) -> Option<StoredRun> {
            None
        }
        fn has(&self, _: &Plan, task: Task) -> bool {
            task.run < self.runs
        }
        fn seconds(&self, _: &Plan, _: Task) -> Option<f64> {
            self.seconds
        }
        fn keep(&self, _: &Plan, _: Task, _: &StoredRun) {}
    }

    fn estimated(plan: &Plan, store: Option<&dyn RunStore>, jobs: usize) -> Estimate {
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let threads = Threads { runner: &Simulator, jobs };
        let never = AtomicBool::new(false);
        estimate(plan, &Options { store, ..Options::new(&threads, &never) }, jobs, measured_pace)
    }

    #[test]
    fn earlier_runs_tell_how_long_the_rest_takes() {
        let store = Known { runs: 4, seconds: Some(3.0) };
        let expected = Estimate { runs: 10, to_run: 6, seconds: 9.0, from_earlier_runs: true };
        assert_eq!(estimated(&plan(LOSSY), Some(&store), 2), expected);
    }

    #[test]
    fn a_flow_without_end_takes_as_long_as_its_share_of_the_path() {
        let work = |flows: &str| {
            let path = "[path]\nprofile = \"geo-50-10\"\n";
            let plan = plan(&format!("{path}{flows}"));
            plan.work(plan.tasks[0]) as f64
        };
        let bulk = |name: &str| format!("[[flow]]\nname = \"{name}\"\nbulk.duration = \"40 s\"\n");
        let (one, two) = (work(&bulk("a")), work(&(bulk("a") + &bulk("b"))));
        // 40 s of 50 Mbps, over QUIC.
        assert!((one / (40.0 * 50e6 / 8.0 * 4.0) - 1.0).abs() < 0.05, "{one}");
        assert!((two / one - 1.0).abs() < 0.05, "two share it: {one} {two}");
        let call = work("[workload]\ncall = { duration = \"20 s\" }\n");
        let cbr = "cbr.rate = \"8 Mbps\"\ncbr.duration = \"60 s\"";
        let sent = work(&format!("[[flow]]\nname = \"c\"\n{cbr}\n"));
        // 32 kbps in both directions.
        assert!((call - 920e3).abs() < 1.0 && (sent - 60e6).abs() < 1.0, "{call} {sent}");
        let paused = format!("{cbr}\ncbr.on = \"1 s\"\ncbr.off = \"3 s\"");
        let paused = work(&format!("[[flow]]\nname = \"c\"\n{paused}\n"));
        assert!((paused - 15e6).abs() < 1.0, "{paused}");
    }

    #[test]
    fn without_them_the_pace_of_this_machine_does() {
        let store = Known { runs: 0, seconds: None };
        let one = estimated(&plan(LOSSY), Some(&store), 1);
        assert_eq!((one.runs, one.to_run, one.from_earlier_runs), (10, 10, false));
        let four = estimated(&plan(&LOSSY.replace("2 MB", "8 MB")), None, 1);
        let ratio = four.seconds / one.seconds;
        assert!((3.0..4.0).contains(&ratio), "a visit takes some time of its own: {ratio}");
        // An estimate is worth something if it is of the right size.
        let started = crate::execution::now();
        let text = LOSSY.replace("repeat = 10", "repeat = 1");
        let plan = plan(&text);
        let never = AtomicBool::new(false);
        run_alone(&plan, &Simulator, plan.tasks[0], &never).unwrap();
        let took = started.elapsed().as_secs_f64();
        let ratio = one.seconds / 10.0 / took;
        assert!((0.02..50.0).contains(&ratio), "estimated {} s, took {took} s", one.seconds / 10.0);
    }
}
