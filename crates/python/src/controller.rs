//! Congestion controllers written in Python.
//!
//! The lock of the interpreter is held only inside their methods. An exception unwinds the run to
//! [`PythonSimulator`], which reports it; other runs continue.

use crate::events::{Ack, Config, ControllerConfig, EcnCe, Loss, PathChange, Restart, SentPacket};
use bentpipe_congestion as engine;
use bentpipe_congestion::SendControl;
use bentpipe_congestion::catalogue::{Registration, register, replace};
use bentpipe_congestion::{Parameter, ParameterValues};

use bentpipe_sim::{RunError, RunOutcome, RunSpec, Runner, Simulator};
use bentpipe_units::{Bytes, Rate, Time};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of distinct phases in one process. Their names live as long as it does.
const MAX_PHASES: usize = 256;

/// The class behind each registered name. Runs that start use the class that is there then.
type Slot = Arc<Mutex<Arc<Class>>>;

/// The classes of this process.
static CLASSES: Mutex<BTreeMap<&'static str, Slot>> = Mutex::new(BTreeMap::new());

/// A class of controllers.
#[derive(Debug)]
struct Class {
    name: String,
    class: Py<PyAny>,
    overrides: Overrides,
}

/// The optional methods that a class overrides. The others are not called.
#[derive(Debug, Clone, Copy, Default)]
struct Overrides {
    packet_sent: bool,
    packets_acked: bool,
    packets_lost: bool,
    ecn_ce: bool,
    round: bool,
    timeout: bool,
    spurious_loss: bool,
    path_change: bool,
    mtu_update: bool,
}

impl Overrides {
    fn of(class: &Bound<'_, PyAny>, base: &Bound<'_, PyAny>) -> PyResult<Self> {
        let overrides = |name: &str| PyResult::Ok(!class.getattr(name)?.is(&base.getattr(name)?));
        Ok(Self {
            packet_sent: overrides("on_packet_sent")?,
            packets_acked: overrides("on_packets_acked")?,
            packets_lost: overrides("on_packets_lost")?,
            ecn_ce: overrides("on_ecn_ce")?,
            round: overrides("on_round")?,
            timeout: overrides("on_timeout")?,
            spurious_loss: overrides("on_spurious_loss")?,
            path_change: overrides("on_path_change")?,
            mtu_update: overrides("on_mtu_update")?,
        })
    }
}

/// Registers `cls`, a subclass of `base`, under `name`, or replaces the class that Python
/// registered there earlier. `parameters` are names with default, lowest and highest value.
#[pyfunction]
pub fn register_controller(
    name: String,
    about: String,
    cls: &Bound<'_, PyAny>,
    base: &Bound<'_, PyAny>,
    parameters: Vec<(String, f64, f64, f64)>,
) -> PyResult<()> {
    let overrides = Overrides::of(cls, base)?;
    let class = Arc::new(Class { name: name.clone(), class: cls.clone().unbind(), overrides });
    let mut classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = classes.get(name.as_str()).map(Arc::clone);
    let slot = known.clone().unwrap_or_else(|| Arc::new(Mutex::new(Arc::clone(&class))));
    // Names, descriptions and parameters live as long as the registry: as the process.
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let parameters = parameters.into_iter().map(|(name, default, low, high)| Parameter {
        name: leak(name),
        default,
        documented: default,
        range: (low, high),
        unit: "",
        about: "parameter of a controller in Python",
    });
    let own = Arc::clone(&slot);
    let registration = Registration {
        name: leak(name),
        about: leak(about),
        source: "registered from Python",
        parameters: Vec::leak(parameters.collect()),
        make: Box::leak(Box::new(move |config: &engine::ControllerConfig, values: &_| {
            let class = Arc::clone(&own.lock().unwrap_or_else(PoisonError::into_inner));
            Box::new(PythonController::new(class, config, values)) as Box<dyn engine::Controller>
        })),
    };
    let name = registration.name;
    let done = if known.is_some() { replace(registration) } else { register(registration) };
    done.map_err(|error| PyValueError::new_err(error.to_string()))?;
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = class;
    classes.insert(name, slot);
    Ok(())
}

/// A controller whose methods are those of a Python object.
#[derive(Debug)]
struct PythonController {
    class: Arc<Class>,
    object: Py<PyAny>,
    /// The object's attributes after the last event.
    control: SendControl,
}

/// The payload of an unwinding run: an exception of a controller.
pub struct ControllerFailure {
    class: Arc<Class>,
    pub exception: PyErr,
}

impl ControllerFailure {
    /// Returns the failure that `payload` is, or `payload` if it is another panic.
    pub fn of(payload: Box<dyn Any + Send>) -> Result<Self, Box<dyn Any + Send>> {
        payload.downcast().map(|failure| *failure)
    }
}

/// Ends the run with an exception.
fn fail(class: &Arc<Class>, exception: PyErr) -> ! {
    resume_unwind(Box::new(ControllerFailure { class: Arc::clone(class), exception }))
}

impl PythonController {
    fn new(class: Arc<Class>, config: &engine::ControllerConfig, values: &ParameterValues) -> Self {
        let config = Config { config: *config, parameters: values.iter().collect() };
        let made = Python::attach(|py| {
            let object = class.class.bind(py).call1((ControllerConfig(config),))?;
            let control = control(&object, None)?;
            PyResult::Ok((object.unbind(), control))
        });
        match made {
            Ok((object, control)) => Self { class, object, control },
            Err(exception) => fail(&class, exception),
        }
    }

    /// Calls methods of the object, then reads its attributes.
    fn event(&mut self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let read = Python::attach(|py| {
            let object = self.object.bind(py);
            call(object)?;
            control(object, Some(&self.control))
        });
        match read {
            Ok(control) => self.control = control,
            Err(exception) => fail(&self.class, exception),
        }
    }
}

impl engine::Controller for PythonController {
    fn on_packet_sent(&mut self, packet: &engine::SentPacket) {
        if self.class.overrides.packet_sent {
            self.event(|object| {
                let name = intern!(object.py(), "on_packet_sent");
                object.call_method1(name, (SentPacket(*packet),)).map(drop)
            });
        }
    }

    fn on_ack(&mut self, ack: &engine::Ack<'_>) {
        let Overrides { packets_acked, round, .. } = self.class.overrides;
        let round = round && ack.round_start;
        if packets_acked || round {
            self.event(|object| {
                let py = object.py();
                let ack = Py::new(py, Ack::from(ack))?;
                if packets_acked {
                    object.call_method1(intern!(py, "on_packets_acked"), (&ack,))?;
                }
                if round {
                    object.call_method1(intern!(py, "on_round"), (&ack,))?;
                }
                Ok(())
            });
        }
    }

    fn on_loss(&mut self, loss: &engine::Loss<'_>) {
        if self.class.overrides.packets_lost {
            self.event(|object| {
                let name = intern!(object.py(), "on_packets_lost");
                object.call_method1(name, (Loss::from(loss),)).map(drop)
            });
        }
    }

    fn on_ecn_ce(&mut self, ecn_ce: &engine::EcnCe) {
        if self.class.overrides.ecn_ce {
            self.event(|object| {
                let name = intern!(object.py(), "on_ecn_ce");
                object.call_method1(name, (EcnCe(*ecn_ce),)).map(drop)
            });
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if self.class.overrides.timeout {
            self.event(|object| {
                let name = intern!(object.py(), "on_timeout");
                object.call_method1(name, (now.as_nanos(),)).map(drop)
            });
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        if self.class.overrides.spurious_loss {
            self.event(|object| {
                let name = intern!(object.py(), "on_spurious_loss");
                object.call_method1(name, (now.as_nanos(),)).map(drop)
            });
        }
    }

    fn on_path_change(&mut self, change: &engine::PathChange) {
        if self.class.overrides.path_change {
            self.event(|object| {
                let name = intern!(object.py(), "on_path_change");
                object.call_method1(name, (PathChange(*change),)).map(drop)
            });
        }
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        if self.class.overrides.mtu_update {
            self.event(|object| {
                let name = intern!(object.py(), "on_mtu_update");
                object.call_method1(name, (mtu.get(),)).map(drop)
            });
        }
    }

    fn restart(&mut self, to: &engine::Restart) {
        self.event(|object| {
            object.call_method1(intern!(object.py(), "restart"), (Restart(*to),)).map(drop)
        });
    }

    fn send_control(&self) -> SendControl {
        self.control
    }

    fn clone_box(&self) -> Box<dyn engine::Controller> {
        let copied = Python::attach(|py| {
            let copy = py.import(intern!(py, "copy"))?;
            let object = copy.call_method1(intern!(py, "deepcopy"), (&self.object,))?;
            PyResult::Ok(object.unbind())
        });
        match copied {
            Ok(object) => {
                let (class, control) = (Arc::clone(&self.class), self.control);
                Box::new(Self { class, object, control })
            }
            Err(exception) => fail(&self.class, exception),
        }
    }
}

/// Reads the attributes of a controller. `last` are those after the event before.
fn control(object: &Bound<'_, PyAny>, last: Option<&SendControl>) -> PyResult<SendControl> {
    let py = object.py();
    let cwnd = number(object, intern!(py, "cwnd"))?.ok_or_else(|| {
        PyTypeError::new_err("`cwnd` is None; allowed: a number of bytes from 1 on")
    })?;
    let cwnd = Bytes::new(cwnd);
    let ssthresh = number(object, intern!(py, "ssthresh"))?.map(Bytes::new);
    let pacing_rate = number(object, intern!(py, "pacing_rate"))?.map(Rate::from_bps);
    let in_slow_start = object.getattr(intern!(py, "in_slow_start"))?;
    let in_slow_start = if in_slow_start.is_none() {
        ssthresh.is_none_or(|ssthresh| cwnd < ssthresh)
    } else {
        in_slow_start.is_truthy()?
    };
    let phase = object.getattr(intern!(py, "phase"))?;
    let phase = if phase.is_none() {
        if in_slow_start { "slow start" } else { "congestion avoidance" }
    } else {
        let phase = phase
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err("`phase` is not text; allowed: str or None"))?;
        let phase = phase.to_str()?;
        match last.filter(|last| last.phase == phase) {
            Some(last) => last.phase,
            None => known_phase(phase)?,
        }
    };
    Ok(SendControl { ssthresh, pacing_rate, ..SendControl::window(cwnd, in_slow_start, phase) })
}

/// Reads an attribute that is `None` or a number from 1 on. Fractions are cut off.
fn number(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<u64>> {
    let value = object.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    let wrong = |value: &Bound<'_, PyAny>| {
        let allowed = "a number from 1 to 2**63";
        PyOverflowError::new_err(format!("`{name}` of {value} is out of range; allowed: {allowed}"))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong(&value));
    }
    // An int first: it is what controllers that count in bytes use.
    let integer = match value.extract::<u64>() {
        Ok(integer) => integer,
        Err(_) => {
            let float = value.extract::<f64>().map_err(|_| wrong(&value))?;
            // Compared as floats, so that NaN is refused as well.
            if !(1.0..=9.2e18).contains(&float) {
                return Err(wrong(&value));
            }
            float as u64
        }
    };
    if (1..=1 << 63).contains(&integer) { Ok(Some(integer)) } else { Err(wrong(&value)) }
}

/// Returns `phase` as text that lives as long as the process.
fn known_phase(phase: &str) -> PyResult<&'static str> {
    static PHASES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut phases = PHASES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = phases.iter().find(|known| **known == phase) {
        return Ok(known);
    }
    if phases.len() == MAX_PHASES {
        return Err(PyValueError::new_err(format!(
            "`phase` has had more than {MAX_PHASES} values; allowed: a few fixed names"
        )));
    }
    let phase: &'static str = Box::leak(phase.to_owned().into_boxed_str());
    phases.push(phase);
    Ok(phase)
}

/// Runs on the virtual clock with controllers in Python. A controller that raises an exception ends
/// its run.
#[derive(Debug, Default)]
pub struct PythonSimulator {
    /// The first exception of a controller.
    exception: Mutex<Option<PyErr>>,
}

impl PythonSimulator {
    /// Returns the first exception that a controller raised.
    pub fn exception(&self) -> Option<PyErr> {
        self.exception.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Runner for PythonSimulator {
    fn run(&self, spec: &RunSpec, label: &str, stop: &AtomicBool) -> Result<RunOutcome, RunError> {
        // The state of the run is dropped, as after any panic in a run.
        let run = AssertUnwindSafe(|| Simulator.run(spec, label, stop));
        let payload = match catch_unwind(run) {
            Ok(result) => return result,
            Err(payload) => payload,
        };
        match ControllerFailure::of(payload) {
            Ok(ControllerFailure { class, exception }) => {
                let reason = format!("controller `{}` raised {exception}", class.name);
                let mut first = self.exception.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(exception);
                Err(RunError::Failed(reason))
            }
            Err(other) => resume_unwind(other),
        }
    }
}
