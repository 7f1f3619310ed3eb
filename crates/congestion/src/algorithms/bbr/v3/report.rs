//! The variables of BBRv3, by the names of the draft (§2).

use super::state::Bbr3;
use crate::controller_state::StateField;

impl Bbr3 {
    /// Reports the variables that the draft's example test cases ask for.
    pub(super) fn report(&self, report: &mut dyn FnMut(StateField)) {
        self.report_rates(report);
        self.report_volumes(report);
        self.report_stamps(report);
        let undo = &self.recovery;
        report(StateField::rate("undo_bw_shortterm", undo.rate));
        report(StateField::volume("undo_inflight_shortterm", undo.inflight));
        report(StateField::volume("undo_inflight_longterm", undo.longterm));
    }

    fn report_rates(&self, report: &mut dyn FnMut(StateField)) {
        report(StateField::number("pacing_gain", self.pacing_gain()));
        report(StateField::number("cwnd_gain", self.reported_cwnd_gain()));
        report(StateField::rate("max_bw", self.max_bw.get()));
        report(StateField::rate("bw", self.bw));
        report(StateField::rate("bw_shortterm", self.short_term.rate));
        report(StateField::rate("full_bw", self.full_pipe.baseline()));
        report(StateField::flag("full_bw_now", self.full_pipe.now));
        report(StateField::flag("full_bw_reached", self.full_pipe.reached));
        report(StateField::number("full_bw_count", f64::from(self.full_pipe.rounds())));
    }

    fn report_volumes(&self, report: &mut dyn FnMut(StateField)) {
        report(StateField::volume("bdp", self.bdp()));
        report(StateField::volume("inflight_with_headroom", self.inflight_with_headroom()));
        report(StateField::volume("inflight_shortterm", self.short_term.inflight));
        report(StateField::volume("inflight_longterm", self.inflight_longterm));
        report(StateField::volume("extra_acked", self.aggregation.get()));
    }

    fn report_stamps(&self, report: &mut dyn FnMut(StateField)) {
        report(StateField::number("round_count", self.rounds.count as f64));
        report(StateField::number("drain_start_round", self.drain_start_round as f64));
        if let Some(min_rtt) = self.min_rtt.get() {
            report(StateField::span("min_rtt", min_rtt));
        }
        let (delay, stamp) = self.min_rtt.probe_rtt_min();
        if let Some(delay) = delay {
            report(StateField::span("probe_rtt_min_delay", delay));
        }
        report(StateField::time("probe_rtt_min_stamp", stamp));
        report(StateField::time("cycle_stamp", self.cycle.stamp));
        report(StateField::span("bw_probe_wait", self.cycle.wait));
        report(StateField::number("bw_probe_up_rounds", f64::from(self.cycle.up_rounds)));
        report(StateField::flag("idle_restart", self.probe_rtt.idle_restart));
    }
}
