//! The clocks that can run a workload, and the transports that carry it there.

/// The clocks that can run a workload. The table of the book has these rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// Objects over QUIC or TCP, on both clocks.
    Both,
    /// Objects over QUIC or TCP on the virtual clock. On the real clock over TCP alone: over QUIC,
    /// `bentpipe get` makes one download per visit.
    RealTcp,
    /// Objects over QUIC or TCP, on the virtual clock alone.
    Virtual,
    /// Datagrams of its own over neither transport, on both clocks.
    Datagrams,
    /// Datagrams of its own on both clocks, or with other keys QUIC on the virtual clock.
    DatagramsOrQuic,
    /// Datagrams and streams of its own over QUIC alone, on the virtual clock.
    VirtualQuic,
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
    /// Returns true if the virtual clock runs the workload.
    pub const fn on_virtual(self) -> bool {
        !matches!(self, Self::Programs)
    }

    /// Returns true if the real clock runs the workload over `carrier`, or over what the workload
    /// brings itself.
    pub const fn on_real(self, carrier: RealCarrier) -> bool {
        match self {
            Self::Both | Self::Datagrams | Self::DatagramsOrQuic | Self::Programs => true,
            Self::RealTcp => matches!(carrier, RealCarrier::Tcp),
            Self::Virtual | Self::VirtualQuic => false,
        }
    }

    /// Returns its row in the table of the book: the virtual clock, the real one over QUIC and over
    /// TCP.
    pub fn cells(self) -> [&'static str; 3] {
        let yes = match self {
            Self::Both | Self::RealTcp | Self::Virtual => "yes",
            Self::Datagrams | Self::DatagramsOrQuic => "yes (UDP)",
            Self::VirtualQuic => "yes (QUIC)",
            Self::Programs => "yes, whatever the programs speak",
        };
        let runs =
            [self.on_virtual(), self.on_real(RealCarrier::Quic), self.on_real(RealCarrier::Tcp)];
        let mut cells = runs.map(|runs| if runs { yes } else { "no" });
        if self == Self::DatagramsOrQuic {
            cells[0] = "yes (UDP or QUIC)";
        }
        cells
    }

    /// Returns true if the workload uses neither QUIC nor TCP of the scenario.
    pub const fn has_own_transport(self) -> bool {
        matches!(self, Self::Datagrams | Self::DatagramsOrQuic | Self::Programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_says_which_clock_runs_what() {
        assert_eq!(Clocks::Both.cells(), ["yes"; 3]);
        assert_eq!(Clocks::RealTcp.cells(), ["yes", "no", "yes"]);
        assert_eq!(Clocks::Datagrams.cells(), ["yes (UDP)"; 3]);
        assert_eq!(Clocks::Virtual.cells(), ["yes", "no", "no"]);
        let call = Clocks::DatagramsOrQuic.cells();
        assert_eq!(call, ["yes (UDP or QUIC)", "yes (UDP)", "yes (UDP)"]);
        assert_eq!(Clocks::Programs.cells()[0], "no");
    }

    #[test]
    fn every_workload_runs_on_a_clock() {
        let carriers = [RealCarrier::Quic, RealCarrier::Tcp];
        for clocks in [
            Clocks::Both,
            Clocks::RealTcp,
            Clocks::Virtual,
            Clocks::Datagrams,
            Clocks::DatagramsOrQuic,
            Clocks::VirtualQuic,
            Clocks::Programs,
        ] {
            let real = carriers.iter().any(|&carrier| clocks.on_real(carrier));
            assert!(clocks.on_virtual() || real, "{clocks:?}");
        }
    }
}
