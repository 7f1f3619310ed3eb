//! Parameters of BBRv3.

use crate::parameters::parameters;

parameters! {
    /// Parameters of [`Bbr3`](super::Bbr3).
    Parameters {
        loss_threshold: 0.02, 0.001 => 0.5, "",
            "share of a round that may be lost while probing (draft-ietf-ccwg-bbr §2.7, \
             LossThresh)";
        loss_significance: 0.0, 0.0 => 10.0, "",
            "standard errors (of packets lost at random) above loss_threshold that a round's loss \
             must lie to count; 0 as in the draft, 3 where a link loses at random just below the \
             threshold (our choice)";
        startup_loss_ranges: 6.0, 1.0 => 1000.0, "",
            "separate ranges of lost packets in a round before Startup ends on loss (§5.3.1.3, \
             BBRStartupFullLossCnt)";
        beta: 0.7, 0.1 => 1.0, "",
            "share of the short-term bounds kept in a round with losses (§2.7, Beta)";
        headroom: 0.15, 0.0 => 0.9, "",
            "share of inflight_longterm left free for others (§2.7, Headroom)";
        startup_pacing_gain: 2.77, 1.1 => 10.0, "",
            "pacing gain of Startup (§2.4, StartupPacingGain, 4 ln 2)";
        cwnd_gain: 2.0, 1.0 => 10.0, "",
            "window in bandwidth-delay products (§2.5, DefaultCwndGain)";
        pacing_margin: 0.01, 0.0 => 0.5, "",
            "share of the estimated bandwidth that pacing leaves unused (§2.4, \
             PacingMarginPercent)";
        probe_rtt_interval: 5.0, 0.1 => 3600.0, "s",
            "time between two looks for the smallest round trip (§2.16.2, ProbeRTTInterval)";
    }
}
