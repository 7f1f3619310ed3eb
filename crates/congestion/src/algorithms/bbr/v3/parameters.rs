//! Parameters of BBRv3.

use crate::parameters::parameters;

parameters! {
    /// Parameters of [`Bbr3`](super::Bbr3).
    Parameters {
        loss_threshold: 0.02, 0.001 => 0.5, "",
            "fraction of a round that may be lost while probing (draft-ietf-ccwg-bbr §2.7, \
             LossThresh)";
        loss_significance: 3.0, 0.0 => 10.0, "",
            "standard errors of random loss by which a round must exceed loss_threshold to count: \
             otherwise a path with random loss below the threshold ends Startup and every probe \
             as soon as chance exceeds it, which a small window makes likely (our choice); 0 as \
             in the draft", document 0.0;
        startup_loss_ranges: 6.0, 1.0 => 1000.0, "",
            "discontiguous loss ranges per round at which Startup ends (§5.3.1.3, \
             BBRStartupFullLossCnt)";
        beta: 0.7, 0.1 => 1.0, "",
            "fraction of the short-term bounds that remains after a round with losses (§2.7, Beta)";
        headroom: 0.15, 0.0 => 0.9, "",
            "fraction of inflight_longterm left free for other flows (§2.7, Headroom)";
        startup_pacing_gain: 2.77, 1.1 => 10.0, "",
            "pacing gain of Startup (§2.4, StartupPacingGain, 4 ln 2)";
        cwnd_gain: 2.0, 1.0 => 10.0, "",
            "window in bandwidth-delay products (§2.5, DefaultCwndGain)";
        pacing_margin: 0.01, 0.0 => 0.5, "",
            "fraction of the estimated bandwidth that pacing leaves unused (§2.4, \
             PacingMarginPercent)";
        probe_rtt_interval: 5.0, 0.1 => 3600.0, "s",
            "shortest interval between two probes for the minimum RTT (§2.16.2, \
             ProbeRTTInterval)";
        probe_rtt_rounds: 50.0, 0.0 => 10_000.0, "RTTs",
            "shortest interval between two probes for the minimum RTT, in minimum RTTs: a probe \
             costs the volume of about one RTT (our choice); 0 as in the draft", document 0.0;
    }
}
