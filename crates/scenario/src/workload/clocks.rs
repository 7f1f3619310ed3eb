//! The clocks that can run a workload, and the transports that carry it there.

/// The clocks that can run a workload. The table of the book has these rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// Objects over QUIC or TCP, on both clocks.
    Both,
    /// Objects over QUIC or TCP on the virtual clock. On the real clock over TCP alone: over QUIC,
    /// `bentpipe get` makes one download per visit.
    RealTcp,
    /// Datagrams of its own over neither transport, on both clocks.
    Datagrams,
    /// The protocols of other programs, which need real time.
    Programs,
}

/// What carries the data of a workload on the real clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealCarrier {
    /// `bentpipe serve` and `bentpipe get`.
    Quic,
    /// The kernel's TCP.
    Tcp,
}

impl Clocks {
    /// All kinds, in the order of the book's table.
    pub const ALL: [Self; 4] = [Self::Both, Self::RealTcp, Self::Datagrams, Self::Programs];

    /// Returns its name in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::RealTcp => "real-tcp",
            Self::Datagrams => "datagrams",
            Self::Programs => "programs",
        }
    }

    /// Returns true if the virtual clock runs the workload.
    pub const fn on_virtual(self) -> bool {
        !matches!(self, Self::Programs)
    }

    /// Returns true if the real clock runs the workload over `carrier`, or over what the workload
    /// brings itself.
    pub const fn on_real(self, carrier: RealCarrier) -> bool {
        match self {
            Self::Both | Self::Datagrams | Self::Programs => true,
            Self::RealTcp => matches!(carrier, RealCarrier::Tcp),
        }
    }

    /// Returns true if the workload uses neither QUIC nor TCP of the scenario.
    pub const fn has_own_transport(self) -> bool {
        matches!(self, Self::Datagrams | Self::Programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_schema_are_different() {
        let mut names = Clocks::ALL.map(Clocks::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_workload_runs_on_a_clock() {
        let carriers = [RealCarrier::Quic, RealCarrier::Tcp];
        for clocks in Clocks::ALL {
            let real = carriers.iter().any(|&carrier| clocks.on_real(carrier));
            assert!(clocks.on_virtual() || real, "{clocks:?}");
        }
    }
}
