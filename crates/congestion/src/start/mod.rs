//! Ways to find a path's capacity, in front of any controller.
//!
//! A controller has a slow start of its own: that is `standard`. A [`Start`] takes its place: until it is done it says what
//! the window and the pacing rate are, and then hands over what it has found.

pub mod hystart;
pub mod hystart_plus_plus;
pub mod long_path;
pub mod search;

use crate::controller::{Ack, Adjust, Controller, Loss, Mark, Packet, PathChange, RateBased};
use bentpipe_units::{Bytes, Rate, Span, Time};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What a start says after each event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It goes on.
    Going,
    /// The capacity is found: the controller goes on from here, in congestion avoidance.
    Found(Found),
    /// The path gave a sign of congestion that the controller itself is to answer, from the start's window.
    Congested,
    /// This start has nothing more to give; the controller's own slow start goes on from its window.
    Plain,
}

/// What a start has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The window that fills the path.
    pub window: Bytes,
    /// The bottleneck's rate, where it was measured.
    pub rate: Option<Rate>,
    /// The smallest round trip.
    pub min_rtt: Span,
    /// Losses of packets before this number have been answered.
    pub answered: u64,
}

/// A way to start. Call order as for [`Controller`].
pub trait Start: Debug + Send + Sync {
    /// A packet was sent.
    fn on_packet_sent(&mut self, packet: &Packet) {
        let _ = packet;
    }

    /// Packets were acknowledged.
    fn on_ack(&mut self, ack: &Ack<'_>) -> Progress;

    /// Packets were declared lost. Where the answer is [`Progress::Going`], the controller does not hear of it.
    fn on_loss(&mut self, loss: &Loss<'_>) -> Progress {
        let _ = loss;
        Progress::Congested
    }

    /// The controller that it starts takes this share of losses for chance ([`Controller::loss_tolerance`]). Told once, before
    /// anything else.
    fn tolerate(&mut self, losses: f64) {
        let _ = losses;
    }

    /// Packets came through with congestion experienced.
    fn on_mark(&mut self, mark: &Mark) -> Progress {
        let _ = mark;
        Progress::Congested
    }

    /// The largest packet has another size now.
    fn on_mtu(&mut self, mtu: Bytes) {
        let _ = mtu;
    }

    /// Another layer has moved the window, without setting a threshold. True where the start goes on from there; otherwise it is over, and the
    /// controller's own slow start goes on.
    fn moved(&mut self, to: &Adjust) -> bool {
        let _ = to;
        false
    }

    /// Packets take another path. True where the start goes on; otherwise it is over, and the controller's own slow start goes on from its window.
    fn on_path_change(&mut self, change: &PathChange) -> bool {
        let _ = change;
        false
    }

    /// Bytes that may be in flight.
    fn window(&self) -> Bytes;

    /// How fast to send; `None` as for [`Controller::pacing_rate`].
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Losses and marks of packets before this number have been answered, should it end in [`Progress::Plain`].
    fn answered(&self) -> u64 {
        0
    }

    /// What it is doing, in a word or two.
    fn phase(&self) -> &'static str;

    /// A copy of its state.
    fn clone_box(&self) -> Box<dyn Start>;
}

/// Permission to start fast, held for as long as the start lasts: whoever gave it learns of the end when it is dropped.
#[derive(Clone)]
pub struct Permit(#[allow(dead_code, reason = "it is only ever dropped")] Arc<dyn Any + Send + Sync>);

impl Permit {
    /// A permit that drops `guard` once the last copy is gone.
    pub fn new(guard: impl Any + Send + Sync) -> Self {
        Self(Arc::new(guard))
    }
}

impl Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permit")
    }
}

/// A controller with a start in front.
#[derive(Debug)]
pub struct Started {
    controller: Box<dyn Controller>,
    start: Option<Box<dyn Start>>,
    permit: Option<Permit>,
}

impl Started {
    /// `controller`, started by `start`, which may need a permit.
    pub fn new(controller: Box<dyn Controller>, mut start: Box<dyn Start>, permit: Option<Permit>) -> Self {
        start.tolerate(controller.loss_tolerance());
        Self { controller, start: Some(start), permit }
    }

    fn finish(&mut self) {
        self.start = None;
        self.permit = None;
    }

    /// Whether the start is still at work.
    pub fn is_starting(&self) -> bool {
        self.start.is_some()
    }

    /// Acts on what the start says. True where the controller is to hear of the event itself, too.
    fn proceed(&mut self, progress: Progress, now: Time) -> bool {
        let Some(start) = &self.start else { return true };
        let to = match progress {
            Progress::Going => return false,
            Progress::Found(found) => Adjust {
                now,
                window: found.window,
                ssthresh: Some(found.window),
                rate: found.rate,
                min_rtt: Some(found.min_rtt),
                answered: found.answered,
            },
            Progress::Congested | Progress::Plain => {
                let answered = if progress == Progress::Plain { start.answered() } else { 0 };
                Adjust { now, window: start.window(), ssthresh: None, rate: None, min_rtt: None, answered }
            }
        };
        self.controller.adjust(&to);
        self.finish();
        progress == Progress::Congested
    }
}

impl Controller for Started {
    fn on_packet_sent(&mut self, packet: &Packet) {
        self.controller.on_packet_sent(packet);
        if let Some(start) = &mut self.start {
            start.on_packet_sent(packet);
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        // The controller hears every acknowledgement, for its filters; its window is not asked for until the start is over.
        self.controller.on_ack(ack);
        if let Some(start) = &mut self.start {
            let progress = start.on_ack(ack);
            self.proceed(progress, ack.now);
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>) {
        let progress = self.start.as_mut().map_or(Progress::Congested, |start| start.on_loss(loss));
        if self.proceed(progress, loss.now) {
            self.controller.on_loss(loss);
        }
    }

    fn on_mark(&mut self, mark: &Mark) {
        let progress = self.start.as_mut().map_or(Progress::Congested, |start| start.on_mark(mark));
        if self.proceed(progress, mark.now) {
            self.controller.on_mark(mark);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        self.controller.on_timeout(now);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.controller.on_spurious_loss(now);
    }

    fn on_path_change(&mut self, change: &PathChange) {
        if let Some(start) = &mut self.start
            && !start.on_path_change(change)
        {
            let (now, window) = (change.now, start.window());
            self.finish();
            self.controller.adjust(&Adjust { now, window, ssthresh: None, rate: None, min_rtt: None, answered: 0 });
        }
        self.controller.on_path_change(change);
    }

    fn on_mtu(&mut self, mtu: Bytes) {
        self.controller.on_mtu(mtu);
        if let Some(start) = &mut self.start {
            start.on_mtu(mtu);
        }
    }

    fn adjust(&mut self, to: &Adjust) {
        self.controller.adjust(to);
        // A start heeds no threshold: above one the path is known, and below one the controller knows where to stop.
        let over = to.ssthresh.is_some();
        if over || self.start.as_mut().is_some_and(|start| !start.moved(to)) {
            self.finish();
        }
    }

    fn window(&self) -> Bytes {
        self.start.as_ref().map_or_else(|| self.controller.window(), |start| start.window())
    }

    fn ssthresh(&self) -> Option<Bytes> {
        if self.is_starting() { None } else { self.controller.ssthresh() }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        match &self.start {
            Some(start) => start.pacing_rate(),
            None => self.controller.pacing_rate(),
        }
    }

    fn send_quantum(&self) -> Option<Bytes> {
        if self.is_starting() { None } else { self.controller.send_quantum() }
    }

    fn in_slow_start(&self) -> bool {
        self.is_starting() || self.controller.in_slow_start()
    }

    fn phase(&self) -> &'static str {
        self.start.as_ref().map_or_else(|| self.controller.phase(), |start| start.phase())
    }

    fn loss_tolerance(&self) -> f64 {
        self.controller.loss_tolerance()
    }

    fn rate_based(&mut self) -> Option<&mut dyn RateBased> {
        if self.is_starting() { None } else { self.controller.rate_based() }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        let start = self.start.as_ref().map(|start| start.clone_box());
        Box::new(Self { controller: self.controller.clone_box(), start, permit: self.permit.clone() })
    }
}
