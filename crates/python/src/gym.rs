//! Episodes for reinforcement learning: runs whose congestion window an agent in Python sets.
//!
//! An episode is a run on a thread of its own. Its controller hands an observation over a channel
//! at each step and waits for the window to use from then on. It needs no lock of the interpreter.

use crate::controller::ControllerFailure;
use crate::error::raise;
use crate::plan::Plan;
use bentpipe_congestion::catalogue::{Registration, register};
use bentpipe_congestion::{
    Ack, Controller, ControllerConfig, EcnCe, Loss, Restart, SendControl, minimum_window,
};
use bentpipe_lab::LabError;
use bentpipe_sim::{Direction, FlowOutcome, FlowSpec, RunOutcome, SimError};
use bentpipe_units::{Bytes, Rate, Span, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::JoinHandle;

/// Name of the controller in scenarios.
const NAME: &str = "agent";

thread_local! {
    /// The episode that this thread runs.
    static LINK: RefCell<Option<Link>> = const { RefCell::new(None) };
}

/// The controller's end of an episode.
struct Link {
    observations: SyncSender<Observation>,
    actions: Receiver<Action>,
    /// Time between two steps; `None` for one step in each round trip.
    interval: Option<Span>,
    /// True if the server of the flow sends the data.
    download: bool,
    /// Number of controllers made so far.
    made: u64,
}

/// What an agent sees at a step.
#[derive(Debug, Clone, Copy)]
struct Observation {
    now: Time,
    /// Time since the last step.
    elapsed: Span,
    /// Bytes delivered since the last step.
    delivered: Bytes,
    /// Bytes declared lost since the last step.
    lost: Bytes,
    /// ECN-CE reports since the last step.
    ecn_ce: u64,
    /// Mean RTT since the last step.
    rtt: Span,
    min_rtt: Span,
    in_flight: Bytes,
    cwnd: Bytes,
    mtu: Bytes,
    app_limited: bool,
}

/// What an agent decides.
#[derive(Debug, Clone, Copy)]
struct Action {
    cwnd: Bytes,
    pacing_rate: Option<Rate>,
}

/// The payload of a run that unwinds because its episode was closed.
struct Closed;

/// The controller that follows an agent. It does not react to losses by itself.
#[derive(Debug, Clone)]
struct Agent {
    /// True for the sender of the data, false for the sender of requests.
    active: bool,
    mtu: Bytes,
    action: Action,
    /// Time of the last step.
    last: Time,
    since: Tally,
}

/// What has happened since the last step.
#[derive(Debug, Clone, Default)]
struct Tally {
    delivered: Bytes,
    lost: Bytes,
    ecn_ce: u64,
    /// Sum and number of RTT samples.
    rtts: (Span, u64),
}

impl Agent {
    fn new(config: &ControllerConfig) -> Self {
        // A connection has two senders. The controller of its client is made first.
        let active = LINK.with_borrow_mut(|link| {
            link.as_mut().is_some_and(|link| {
                link.made += 1;
                link.made.is_multiple_of(2) == link.download
            })
        });
        Self {
            active,
            mtu: config.mtu,
            action: Action { cwnd: config.initial_window, pacing_rate: None },
            last: config.now,
            since: Tally::default(),
        }
    }

    fn step(&mut self, ack: &Ack<'_>) {
        let Tally { delivered, lost, ecn_ce, rtts } = std::mem::take(&mut self.since);
        let observation = Observation {
            now: ack.now,
            elapsed: ack.now.since(self.last),
            delivered,
            lost,
            ecn_ce,
            rtt: Span::from_nanos(rtts.0.as_nanos() / rtts.1.max(1)),
            min_rtt: ack.min_rtt,
            in_flight: ack.bytes_in_flight,
            cwnd: self.action.cwnd,
            mtu: self.mtu,
            app_limited: ack.app_limited,
        };
        let answer = LINK.with_borrow(|link| {
            let link = link.as_ref()?;
            link.observations.send(observation).ok()?;
            link.actions.recv().ok()
        });
        let Some(action) = answer else { resume_unwind(Box::new(Closed)) };
        self.action = Action { cwnd: action.cwnd.max(minimum_window(self.mtu)), ..action };
        self.last = ack.now;
    }
}

impl Controller for Agent {
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if !self.active {
            return;
        }
        self.since.delivered += ack.bytes;
        self.since.rtts = (self.since.rtts.0 + ack.rtt, self.since.rtts.1 + 1);
        let due = LINK.with_borrow(|link| match link.as_ref().and_then(|link| link.interval) {
            Some(interval) => ack.now.since(self.last) >= interval,
            None => ack.round_start,
        });
        if due {
            self.step(ack);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.since.lost += loss.bytes;
    }

    fn on_ecn_ce(&mut self, _: &EcnCe) {
        self.since.ecn_ce += 1;
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.mtu = mtu;
    }

    fn restart(&mut self, to: &Restart) {
        self.action.cwnd = to.window.max(minimum_window(self.mtu));
    }

    fn send_control(&self) -> SendControl {
        SendControl {
            pacing_rate: self.action.pacing_rate,
            ..SendControl::window(self.action.cwnd, false, NAME)
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// Why the thread of an episode has no outcome.
enum Failure {
    Plan(LabError),
    Simulator(SimError),
}

/// An episode: one run of a scenario in which a flow uses the controller `agent`.
#[pyclass(frozen, module = "bentpipe._bentpipe")]
pub struct Episode {
    run: Mutex<Option<Run>>,
}

/// The agent's end of an episode.
struct Run {
    observations: Receiver<Observation>,
    actions: Sender<Action>,
    thread: JoinHandle<Result<RunOutcome, Failure>>,
    stop: Arc<AtomicBool>,
}

impl Run {
    /// Ends the run if it has not ended, and returns what its thread returned.
    fn end(self) -> std::thread::Result<Result<RunOutcome, Failure>> {
        self.stop.store(true, Ordering::Relaxed);
        drop((self.observations, self.actions));
        self.thread.join()
    }
}

#[pymethods]
impl Episode {
    /// Registers the controller, so that scenarios can name it.
    #[staticmethod]
    fn register() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let registered = register(Registration {
                name: NAME,
                about: "an agent in Python sets the window (bentpipe.gym)",
                source: "bentpipe.gym",
                parameters: &[],
                make: &|config, _| Box::new(Agent::new(config)),
            });
            // The name is free: no other call registers it, and the catalogue does not have it.
            debug_assert!(registered.is_ok(), "{registered:?}");
        });
    }

    /// Starts the first run of `plan`, with a step every `interval_ns`, or once in each round trip.
    #[new]
    #[pyo3(signature = (plan, interval_ns=None))]
    fn new(plan: &Plan, interval_ns: Option<u64>) -> PyResult<Self> {
        let plan = Arc::clone(&plan.plan);
        let (observed, observations) = sync_channel(0);
        let (chosen, actions) = channel();
        let interval = interval_ns.map(Span::from_nanos);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let run = move || {
            let task = plan.tasks[0];
            let spec = plan.spec(task).map_err(Failure::Plan)?;
            let is_agent = |flow: &&FlowSpec| {
                flow.stack.congestion().is_some_and(|own| own.controller.as_str() == NAME)
            };
            let flow = spec.flows.iter().find(is_agent);
            let visit = flow.and_then(|flow| flow.visits.last());
            let download = visit.is_none_or(|visit| visit.direction == Direction::Download);
            let made = 0;
            let observations = observed;
            LINK.set(Some(Link { observations, actions, interval, download, made }));
            let outcome = bentpipe_sim::run(&spec, &stopped).map_err(Failure::Simulator);
            // Tells the agent that no step follows.
            LINK.set(None);
            outcome
        };
        let thread = std::thread::Builder::new().name("bentpipe-episode".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            PyRuntimeError::new_err(format!("cannot start the thread of an episode: {error}"))
        })?;
        Ok(Self { run: Mutex::new(Some(Run { observations, actions: chosen, thread, stop })) })
    }

    /// Sets the window, unless it is `None`, and returns the next observation as a dictionary; its
    /// `done` is true, with the outcome, if the run has ended.
    #[pyo3(signature = (cwnd=None, pacing_rate=None))]
    fn step<'py>(
        &self,
        py: Python<'py>,
        cwnd: Option<u64>,
        pacing_rate: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let next = py.detach(|| {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            let open = run.as_ref()?;
            if let Some(cwnd) = cwnd {
                let pacing_rate = pacing_rate.map(Rate::from_bps);
                // A run that has ended takes no action.
                let _ = open.actions.send(Action { cwnd: Bytes::new(cwnd), pacing_rate });
            }
            match open.observations.recv() {
                Ok(observation) => Some(Ok(observation)),
                Err(_) => run.take().map(|run| Err(Box::new(run.end()))),
            }
        });
        let ended = match next {
            None => {
                return Err(PyValueError::new_err("the episode has ended; allowed: reset()"));
            }
            Some(Ok(observation)) => return dictionary(py, &observation),
            Some(Err(ended)) => *ended,
        };
        match ended {
            Ok(Ok(outcome)) => end(py, &outcome),
            Ok(Err(Failure::Plan(error))) => Err(raise(py, &error)),
            Ok(Err(Failure::Simulator(error))) => Err(PyRuntimeError::new_err(error.to_string())),
            Err(panic) => Err(ControllerFailure::of(panic)
                .map_or_else(|panic| resume_unwind(panic), |own| own.exception)),
        }
    }

    /// Ends the run and its thread.
    fn close(&self, py: Python<'_>) {
        py.detach(|| {
            let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
            // It unwinds or is interrupted, as asked.
            if let Some(run) = run {
                drop(run.end());
            }
        });
    }
}

impl Drop for Episode {
    fn drop(&mut self) {
        // Does not wait for the thread: another flow of the run may have a controller in Python,
        // and wait for the lock of the interpreter that this thread holds.
        if let Some(run) = self.run.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            run.stop.store(true, Ordering::Relaxed);
        }
    }
}

fn dictionary<'py>(py: Python<'py>, own: &Observation) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("done", false)?;
    dictionary.set_item("now_ns", own.now.as_nanos())?;
    dictionary.set_item("elapsed_ns", own.elapsed.as_nanos())?;
    dictionary.set_item("delivered", own.delivered.get())?;
    dictionary.set_item("lost", own.lost.get())?;
    dictionary.set_item("ecn_ce", own.ecn_ce)?;
    dictionary.set_item("rtt_ns", own.rtt.as_nanos())?;
    dictionary.set_item("min_rtt_ns", own.min_rtt.as_nanos())?;
    dictionary.set_item("bytes_in_flight", own.in_flight.get())?;
    dictionary.set_item("cwnd", own.cwnd.get())?;
    dictionary.set_item("mtu", own.mtu.get())?;
    dictionary.set_item("app_limited", own.app_limited)?;
    Ok(dictionary)
}

fn end<'py>(py: Python<'py>, outcome: &RunOutcome) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    dictionary.set_item("done", true)?;
    dictionary.set_item("now_ns", outcome.end.as_nanos())?;
    let own: Option<&FlowOutcome> = outcome.flows.iter().find(|flow| flow.congestion == NAME);
    if let Some(own) = own {
        dictionary.set_item("completed", own.completed)?;
        dictionary.set_item("completion_s", own.completion.map(Span::as_secs_f64))?;
        dictionary.set_item("bytes", own.bytes)?;
        dictionary.set_item("received", own.received)?;
        dictionary.set_item("packets_sent", own.packets_sent)?;
        dictionary.set_item("packets_declared_lost", own.packets_declared_lost)?;
    }
    Ok(dictionary)
}
