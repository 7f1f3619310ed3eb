//! The layer that puts a slow start in front of a controller.

use super::algorithm::{Progress, SlowStart};
use crate::controller::{
    Ack, Controller, EcnCe, Loss, PathChange, RateBased, Restart, SendControl, SentPacket,
    forward_to,
};
use bentpipe_units::{Bytes, Time};
use std::fmt::Debug;
use std::sync::Arc;

/// What an issuer of [`StartSlot`]s counts a start by.
pub trait StartGuard: Send + Sync {
    /// Returns the number of shares into which the first burst is divided at `now`. This start
    /// takes one of them.
    fn shares(&self, now: Time) -> u64;

    /// Handles that the start has lost so much that the link must be congested.
    fn on_congestion(&self) {}
}

/// Losses of a start, as a fraction of its packets, beyond which the link must be congested: more
/// than most satellite links lose by chance.
const CONGESTION_LOSS: f64 = 0.05;

/// A fast slow start among those that share a link, held until the slow start ends. Dropping the
/// last copy informs the issuer.
#[derive(Clone)]
pub struct StartSlot(Arc<dyn StartGuard>);

impl StartSlot {
    /// Creates a slot that drops `guard` with its last copy.
    pub fn new(guard: impl StartGuard + 'static) -> Self {
        Self(Arc::new(guard))
    }

    /// Returns the number of shares into which the first burst is divided at `now`.
    pub fn shares(&self, now: Time) -> u64 {
        self.0.shares(now)
    }

    /// Tells the issuer that the start has lost so much that the link must be congested.
    pub fn on_congestion(&self) {
        self.0.on_congestion();
    }
}

impl Debug for StartSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StartSlot")
    }
}

/// A controller with a slow start in front of it.
#[derive(Debug)]
pub struct WithSlowStart {
    controller: Box<dyn Controller>,
    slow_start: Option<Box<dyn SlowStart>>,
    slot: Option<StartSlot>,
    /// Packets that the slow start has sent and lost.
    sent: u64,
    lost: u64,
}

impl WithSlowStart {
    /// Puts `slow_start` in front of `controller`. It holds `slot` until it ends.
    pub fn new(
        controller: Box<dyn Controller>,
        mut slow_start: Box<dyn SlowStart>,
        slot: Option<StartSlot>,
    ) -> Self {
        slow_start.set_loss_tolerance(controller.send_control().loss_tolerance);
        Self { controller, slow_start: Some(slow_start), slot, sent: 0, lost: 0 }
    }

    fn finish(&mut self) {
        self.slow_start = None;
        self.slot = None;
    }

    /// Counts a loss, and tells the issuer of the slot if there are many. Fewer than four packets
    /// do not count, since they may be one burst of noise.
    fn count_loss(&mut self, loss: &Loss<'_>) {
        let Some(slot) = &self.slot else { return };
        self.lost += loss.packets.len() as u64;
        if self.lost >= 4 && self.lost as f64 > CONGESTION_LOSS * self.sent as f64 {
            slot.on_congestion();
        }
    }

    /// Returns true until the slow start has ended.
    pub fn is_starting(&self) -> bool {
        self.slow_start.is_some()
    }

    /// Restarts the controller if the slow start has ended. Returns true if the controller must
    /// handle the event as well.
    fn proceed(&mut self, progress: Progress, now: Time) -> bool {
        let Some(slow_start) = &self.slow_start else { return true };
        let to = match progress {
            Progress::Continue => return false,
            Progress::Found(found) => Restart {
                now,
                window: found.window,
                ssthresh: Some(found.window),
                rate: found.rate,
                min_rtt: Some(found.min_rtt),
                recovery_start: found.recovery_start,
            },
            Progress::Congested | Progress::Fallback => {
                let recovery_start =
                    if progress == Progress::Fallback { slow_start.recovery_start() } else { 0 };
                let window = slow_start.window();
                Restart { now, window, ssthresh: None, rate: None, min_rtt: None, recovery_start }
            }
        };
        self.controller.restart(&to);
        self.finish();
        progress == Progress::Congested
    }
}

impl Controller for WithSlowStart {
    forward_to!(controller: on_timeout, on_upcoming_path_change, report_state, is_rate_based);

    fn on_packet_sent(&mut self, packet: &SentPacket) {
        self.controller.on_packet_sent(packet);
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.on_packet_sent(packet);
            self.sent += 1;
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // The controller sees every ACK, for its filters. Its window is not used until the slow
        // start has ended.
        self.controller.on_ack(ack);
        if let Some(slow_start) = &mut self.slow_start {
            if let Some(slot) = &self.slot {
                slow_start.set_shares(&|| slot.shares(ack.now));
            }
            let progress = slow_start.on_ack(ack);
            self.proceed(progress, ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        self.count_loss(loss);
        let progress = self
            .slow_start
            .as_mut()
            .map_or(Progress::Congested, |slow_start| slow_start.on_loss(loss));
        if self.proceed(progress, loss.now) {
            self.controller.on_loss(loss);
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.on_spurious_loss();
        }
        self.controller.on_spurious_loss(now);
    }

    fn on_ecn_ce(&mut self, ecn_ce: &EcnCe) {
        let progress = self
            .slow_start
            .as_mut()
            .map_or(Progress::Congested, |slow_start| slow_start.on_ecn_ce(ecn_ce));
        if self.proceed(progress, ecn_ce.now) {
            self.controller.on_ecn_ce(ecn_ce);
        }
    }

    fn on_path_change(&mut self, change: &PathChange) {
        if let Some(slow_start) = &mut self.slow_start
            && !slow_start.on_path_change(change)
        {
            let (now, window) = (change.now, slow_start.window());
            // Losses of a burst that the slow start has responded to need no second response.
            let recovery_start = slow_start.recovery_start();
            self.finish();
            self.controller.restart(&Restart {
                now,
                window,
                ssthresh: None,
                rate: None,
                min_rtt: None,
                recovery_start,
            });
        }
        self.controller.on_path_change(change);
    }

    fn on_mtu_update(&mut self, mtu: Bytes) {
        self.controller.on_mtu_update(mtu);
        if let Some(slow_start) = &mut self.slow_start {
            slow_start.on_mtu_update(mtu);
        }
    }

    fn restart(&mut self, to: &Restart) {
        self.controller.restart(to);
        // A slow start has no threshold. Above one, the path is known; below one, the controller
        // knows where to stop.
        let over = to.ssthresh.is_some();
        if over || self.slow_start.as_mut().is_some_and(|slow_start| !slow_start.on_restart(to)) {
            self.finish();
        }
    }

    fn restart_after_chance(&mut self, to: &Restart) {
        let Some(slow_start) = &mut self.slow_start else {
            return self.controller.restart_after_chance(to);
        };
        let continues = slow_start.measures_path() && slow_start.on_restart(to);
        self.controller.restart(to);
        if !continues {
            self.finish();
        }
    }

    fn start_measures_path(&self) -> bool {
        self.slow_start.as_ref().is_some_and(|start| start.measures_path())
    }

    fn send_control(&self) -> SendControl {
        let control = self.controller.send_control();
        let Some(slow_start) = &self.slow_start else { return control };
        SendControl {
            cwnd: slow_start.window(),
            ssthresh: None,
            pacing_rate: slow_start.pacing_rate(),
            send_quantum: None,
            in_slow_start: true,
            at_max_window: false,
            phase: slow_start.phase(),
            loss_tolerance: control.loss_tolerance,
        }
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        if self.is_starting() { None } else { self.controller.rate_based() }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let slow_start = self.slow_start.as_ref().map(|slow_start| slow_start.clone_box());
        Box::new(Self {
            controller: self.controller.clone_box(),
            slow_start,
            slot: self.slot.clone(),
            sent: self.sent,
            lost: self.lost,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::newreno::{NewReno, Parameters};
    use crate::sent_packets::SentPackets;
    use crate::slow_start::long_path;
    use crate::testing::config;
    use bentpipe_units::Span;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A slow start that has responded to losses of packets before number 7.
    #[derive(Debug, Clone)]
    struct Settled;

    impl SlowStart for Settled {
        fn on_ack(&mut self, _: &Ack<'_>) -> Progress {
            Progress::Continue
        }
        fn window(&self) -> Bytes {
            Bytes::new(100_000)
        }
        fn recovery_start(&self) -> u64 {
            7
        }
        fn phase(&self) -> &'static str {
            "settled"
        }
        fn clone_box(&self) -> Box<dyn SlowStart> {
            Box::new(self.clone())
        }
    }

    fn newreno() -> Box<dyn Controller> {
        Box::new(NewReno::new(&config(), &Parameters::default()))
    }

    #[test]
    fn losses_of_a_burst_are_answered_once_though_the_path_changes() {
        let mut layer = WithSlowStart::new(newreno(), Box::new(Settled), None);
        let mut sent_packets = SentPackets::new();
        for _ in 0..10 {
            layer.on_packet_sent(&sent_packets.on_sent(Time::ZERO, config().mtu));
        }
        let now = Time::from_millis(100);
        layer.on_path_change(&PathChange::unknown(now));
        assert!(!layer.is_starting());
        let mut lose = |layer: &mut WithSlowStart, number| {
            sent_packets.on_lost(number);
            sent_packets.report_loss(now, false, |loss| layer.on_loss(loss));
            layer.send_control().cwnd
        };
        assert_eq!(lose(&mut layer, 3), Bytes::new(100_000));
        assert_eq!(lose(&mut layer, 8), Bytes::new(50_000));
    }

    struct Shares(u64);

    impl StartGuard for Shares {
        fn shares(&self, _: Time) -> u64 {
            self.0
        }
    }

    /// Returns the window after the first RTT, in packets, of a start that takes one of `shares`
    /// shares.
    fn first_flight(shares: u64) -> u64 {
        let mtu = config().mtu;
        let start = long_path::LongPath::new(&config(), &long_path::Parameters::default());
        let slot = Some(StartSlot::new(Shares(shares)));
        let mut layer = WithSlowStart::new(newreno(), Box::new(start), slot);
        let mut sent_packets = SentPackets::new();
        layer.on_packet_sent(&sent_packets.on_sent(Time::ZERO, mtu));
        let now = Time::ZERO + Span::from_millis(600);
        sent_packets.on_acked(now, 0);
        sent_packets.report_ack(now, false, |ack| layer.on_ack(ack));
        layer.send_control().cwnd.get() / mtu.get()
    }

    /// Returns true if a start that sends a hundred packets and loses `lost` of them meets
    /// congestion.
    fn meets_congestion_after(lost: u64) -> bool {
        #[derive(Default)]
        struct Congested(Arc<AtomicBool>);
        impl StartGuard for Congested {
            fn shares(&self, _: Time) -> u64 {
                1
            }
            fn on_congestion(&self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let congested = Congested::default();
        let seen = Arc::clone(&congested.0);
        let slot = Some(StartSlot::new(congested));
        let mut layer = WithSlowStart::new(newreno(), Box::new(Settled), slot);
        let mut sent_packets = SentPackets::new();
        for _ in 0..100 {
            layer.on_packet_sent(&sent_packets.on_sent(Time::ZERO, config().mtu));
        }
        for number in 0..lost {
            sent_packets.on_lost(number);
        }
        sent_packets.report_loss(Time::ZERO, false, |loss| layer.on_loss(loss));
        seen.load(Ordering::Relaxed)
    }

    #[test]
    fn a_start_that_loses_more_than_a_twentieth_meets_congestion() {
        assert_eq!([3, 5, 6].map(meets_congestion_after), [false, false, true]);
    }

    #[test]
    fn starts_that_share_a_link_share_the_first_burst() {
        let alone = first_flight(1);
        assert_eq!(first_flight(4), alone / 4);
        // Never less than the initial window.
        assert!((10..=12).contains(&first_flight(1000)));
    }
}
