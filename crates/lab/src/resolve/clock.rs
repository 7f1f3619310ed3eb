//! What the flows of a case need of a clock, by workload and by key.

use bentpipe_scenario::workload::Clocks;
use bentpipe_scenario::workload::Work;
use bentpipe_scenario::{Flow, Protocol};

/// What a flow needs of the clock.
#[derive(Debug, Clone)]
pub(super) struct Needs {
    flow: String,
    workload: &'static str,
    clocks: Clocks,
    #[cfg_attr(not(feature = "real-clock"), expect(dead_code, reason = "the real clock's"))]
    protocol: Protocol,
    #[cfg_attr(not(feature = "real-clock"), expect(dead_code, reason = "the real clock's"))]
    virtual_only: Vec<String>,
}

/// What `flow` needs.
pub(super) fn needs(flow: &Flow) -> Needs {
    let workloads: Vec<_> = match &flow.work {
        Work::Once(workload) => vec![workload],
        Work::Visits(visits) => visits.iter().map(|visit| &visit.workload).collect(),
    };
    // The first that cannot run over QUIC in real time tells of all.
    let workload =
        workloads.iter().find(|workload| !workload.clocks().real_quic).unwrap_or(&workloads[0]);
    Needs {
        flow: flow.name().to_owned(),
        workload: workload.name(),
        clocks: workload.clocks(),
        protocol: flow.protocol,
        virtual_only: flow.virtual_only.clone(),
    }
}

impl Needs {
    pub fn virtual_clock(&self) -> Result<(), String> {
        if self.clocks.simulated {
            return Ok(());
        }
        let Self { flow, workload, .. } = self;
        Err(format!(
            "flow `{flow}`: `{workload}` runs other programs, which need real time; allowed: \
                --clock real"
        ))
    }

    #[cfg(feature = "real-clock")]
    pub fn real_clock(&self) -> Result<(), String> {
        let Self { flow, workload, .. } = self;
        let runs = match self.protocol {
            Protocol::Quic(_) => self.clocks.real_quic,
            Protocol::Tcp(_) => self.clocks.real_tcp,
            Protocol::External => true,
            Protocol::Datagrams => false,
        };
        if !runs && self.clocks.real_tcp {
            return Err(format!(
                "flow `{flow}`: `{workload}` over QUIC runs on the virtual clock only; \
                 allowed with --clock real: `download`, or transport = \"tcp\""
            ));
        }
        if !runs {
            return Err(format!("flow `{flow}`: `{workload}` runs on the virtual clock only"));
        }
        match self.virtual_only.first() {
            Some(key) => Err(format!(
                "flow `{flow}`: with --clock real, QUIC is `bentpipe serve` and `bentpipe get`, \
                    which do not take {key}"
            )),
            None => Ok(()),
        }
    }
}
