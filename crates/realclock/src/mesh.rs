//! A satellite network on the real clock: the simulator's, driven by the emulator.

use bentpipe_emu::{LinkReport, LossCause, Network, NetworkEvent, NetworkPacket};
use bentpipe_sim::{
    LinkOutcome, LossReason, MeshDriver, MeshRecords, PacketFate, RunOutcome, RunSpec, SimError,
};
use bentpipe_units::Time;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Returns `spec` with a terminal for each flow, if its path is a satellite network: flows start
/// and end at different stations, and the emulator tells them apart by the addresses of terminals.
pub(super) fn with_terminals(spec: &RunSpec) -> Cow<'_, RunSpec> {
    if spec.mesh.is_none() {
        return Cow::Borrowed(spec);
    }
    let mut spec = spec.clone();
    spec.terminals = spec.flows.len();
    spec.flows.iter_mut().enumerate().for_each(|(index, flow)| flow.terminal = index);
    Cow::Owned(spec)
}

/// The satellite network of a run, for [`Emulator::start_network`](bentpipe_emu::Emulator). Clones
/// share it: the emulator's threads need one, and whoever reads its links at the end.
#[derive(Clone)]
pub struct SatelliteNetwork(Arc<Mutex<MeshDriver>>);

impl SatelliteNetwork {
    /// Creates the network of `spec`. Its flow `n` belongs to terminal `n`.
    ///
    /// # Errors
    /// `spec` has no satellite network, or one that cannot carry its flows.
    pub fn new(spec: &RunSpec) -> Result<Self, SimError> {
        // The simulator knows one terminal in a satellite network, and distinguishes flows.
        let spec = RunSpec { terminals: 1, ..spec.clone() };
        Ok(Self(Arc::new(Mutex::new(MeshDriver::new(&spec)?))))
    }

    fn driver(&self) -> MutexGuard<'_, MeshDriver> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the links that were in use until `end`, after the emulator has stopped.
    ///
    /// # Errors
    /// The emulator still runs, or a satellite could not be propagated.
    pub fn links(self, end: Time) -> Result<Vec<LinkReport>, SimError> {
        let links = self.records(None, end)?.links.into_iter();
        let report = |link: LinkOutcome| LinkReport {
            name: link.name,
            counters: link.counters,
            terminals: Vec::new(),
            queue_mean: link.queue_mean,
            recorder: None,
        };
        Ok(links.map(report).collect())
    }

    fn records(self, measured_from: Option<Time>, end: Time) -> Result<MeshRecords, SimError> {
        let Some(driver) = Arc::into_inner(self.0) else {
            return Err(SimError::Spec("the satellite network is still in use".to_owned()));
        };
        let driver = driver.into_inner().unwrap_or_else(PoisonError::into_inner);
        driver.finish(measured_from, end)
    }

    /// Adds the links and routes to `outcome`, after the emulator has stopped.
    pub(super) fn finish(self, outcome: &mut RunOutcome) -> Result<(), SimError> {
        let measured_from = outcome.flows.iter().map(|flow| flow.start).min();
        let MeshRecords { links, traces, paths } = self.records(measured_from, outcome.end)?;
        outcome.links = links;
        if let Some(trace) = &mut outcome.trace {
            trace.links = traces;
            trace.paths = paths;
        }
        Ok(())
    }
}

impl std::fmt::Debug for SatelliteNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SatelliteNetwork").finish_non_exhaustive()
    }
}

impl Network for SatelliteNetwork {
    fn needs_flow(&self) -> bool {
        self.driver().needs_flow()
    }

    fn enqueue(&mut self, now: Time, packet: NetworkPacket) {
        let NetworkPacket { id, terminal, to_server, header } = packet;
        self.driver().enqueue(now, (id, terminal, to_server), header);
    }

    fn next_deadline(&self) -> Option<Time> {
        self.driver().next_deadline()
    }

    fn poll(&mut self, now: Time) -> Option<(Time, NetworkEvent)> {
        let (at, id, fate) = self.driver().poll(now)?;
        let event = match fate {
            PacketFate::Arrived(ecn) => NetworkEvent::Delivered { id, ecn },
            PacketFate::Lost(LossReason::OnLink(cause)) => {
                NetworkEvent::Lost { id, cause: LossCause::Link(cause) }
            }
            PacketFate::Lost(_) => NetworkEvent::Lost { id, cause: LossCause::Routing },
        };
        Some((at, event))
    }

    fn waiting(&self) -> (u64, u64) {
        self.driver().waiting()
    }
}
