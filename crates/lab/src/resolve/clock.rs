//! The clocks on which each flow of a case can run.

use bentpipe_scenario::workload::{Clocks, RealCarrier, Work};
use bentpipe_scenario::{Flow, Protocol, Workload};

/// Properties of a flow that decide on which clocks it can run.
#[derive(Debug, Clone)]
pub(super) struct ClockSupport {
    flow: String,
    workload: &'static str,
    clocks: Clocks,
    protocol: Protocol,
    /// True if it stands for the users of a population.
    users: bool,
    virtual_only: Vec<String>,
    /// True if it uses the connection of another flow.
    is_on_another: bool,
    /// True if its client changes its address between visits.
    changes_address: bool,
}

/// Returns the clocks on which `flow` can run.
pub(super) fn clock_support(flow: &Flow) -> ClockSupport {
    let workloads: Vec<_> = match &flow.work {
        Work::Once(workload) => vec![workload],
        Work::Visits(visits) => visits.iter().map(|visit| &visit.workload).collect(),
    };
    // A flow can run in real time only if all of its workloads can.
    let cannot = |carrier| workloads.iter().find(|one| !one.clocks().on_real(carrier));
    let workload =
        cannot(RealCarrier::Tcp).or_else(|| cannot(RealCarrier::Quic)).unwrap_or(&workloads[0]);
    ClockSupport {
        flow: flow.name().to_owned(),
        workload: workload.name(),
        clocks: workload.clocks(),
        protocol: flow.protocol,
        users: flow.users.is_some(),
        virtual_only: flow.virtual_only.clone(),
        is_on_another: matches!(
            &flow.work,
            Work::Once(Workload::Probe(probe)) if probe.on.is_some()
        ),
        changes_address: match &flow.work {
            Work::Once(_) => false,
            Work::Visits(visits) => visits
                .iter()
                .any(|visit| visit.keys.new_address.as_ref().is_some_and(|new| *new.get_ref())),
        },
    }
}

impl ClockSupport {
    /// Checks that the flow can run on the virtual clock.
    ///
    /// # Errors
    /// The workload runs other programs.
    pub fn virtual_clock(&self) -> Result<(), String> {
        if self.clocks.on_virtual() {
            return Ok(());
        }
        let Self { flow, workload, .. } = self;
        Err(format!(
            "flow `{flow}`: `{workload}` runs other programs, which need real time; allowed: \
                --clock real"
        ))
    }

    /// Checks that the flow can run on the real clock.
    ///
    /// # Errors
    /// The workload or a key is supported on the virtual clock only.
    pub fn real_clock(&self) -> Result<(), String> {
        let Self { flow, workload, .. } = self;
        if self.users {
            return Err(format!(
                "`{flow}` is a population of users, which run on the virtual clock only; allowed \
                    with --clock real: single flows, without `count`"
            ));
        }
        if self.is_on_another {
            return Err(format!(
                "flow `{flow}`: `probe.on` runs on the virtual clock only; allowed with --clock \
                    real: a connection of its own"
            ));
        }
        if self.changes_address {
            return Err(format!(
                "flow `{flow}`: `new_address` runs on the virtual clock only; allowed with --clock \
                    real: visits from one address"
            ));
        }
        let runs = match self.protocol {
            Protocol::Quic(_) => self.clocks.on_real(RealCarrier::Quic),
            Protocol::Tcp(_) if !self.clocks.on_real(RealCarrier::Tcp) => {
                let allowed = match *workload {
                    "web_page" => "a number of objects",
                    _ => "a `probe` without `echo`",
                };
                return Err(format!(
                    "flow `{flow}`: `{workload}` runs on the virtual clock only; allowed with \
                        --clock real: {allowed}"
                ));
            }
            Protocol::Tcp(_) | Protocol::External => true,
            Protocol::Datagrams => true,
        };
        if !runs {
            let quic_alone = self.clocks == Clocks::VirtualQuic;
            let other = match *workload {
                "call" => ", or a `call` without `framing`",
                _ if quic_alone => "",
                _ => ", or transport = \"tcp\"",
            };
            return Err(format!(
                "flow `{flow}`: `{workload}` over QUIC runs on the virtual clock only; allowed \
                    with --clock real: `download`{other}"
            ));
        }
        match self.virtual_only.first() {
            Some(key) => Err(format!(
                "flow `{flow}`: with --clock real, QUIC is `bentpipe serve` and `bentpipe get`, \
                    which do not support {key}"
            )),
            None => Ok(()),
        }
    }
}
