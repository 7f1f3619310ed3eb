//! Credit carried out: by the stack's own rule or by ours.

use super::window::LEAST;
use super::{FlowControlReport, FlowControlWindow};
use crate::settings::FlowControlRule;
use bentpipe_units::{Bytes, Span, Time};
use noq_proto::{Connection, VarInt};

/// The credit that a connection gives its peer.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    policy: WindowPolicy,
    /// Bytes taken from the stack.
    read: u64,
    /// Of those, what the application has taken.
    consumed: u64,
    report: Option<FlowControlReport>,
}

/// Who decides what is announced when.
#[derive(Debug, Default)]
enum WindowPolicy {
    /// Nobody has said anything: the stack.
    #[default]
    Untold,
    /// The stack: each eighth of the window.
    Stack {
        /// The window that the connection was configured with.
        window: u64,
        /// Bytes that wait behind holes, which the stack takes for consumed.
        waiting: u64,
        /// Bytes of incomplete frames, likewise.
        withheld: u64,
    },
    /// The rule.
    Rule {
        promise: Box<FlowControlWindow>,
        /// The window that the stack was told last.
        told: u64,
        /// Bytes that wait behind holes.
        waiting: u64,
    },
}

impl FlowControl {
    /// Says what the connection was configured with: `window`, and how it is announced.
    pub fn govern(&mut self, window: Bytes, rule: &FlowControlRule) {
        let told = window.get();
        self.policy = if rule.is_stack() {
            WindowPolicy::Stack { window: told, waiting: 0, withheld: 0 }
        } else {
            WindowPolicy::Rule {
                promise: Box::new(FlowControlWindow::new(*rule, window)),
                told,
                waiting: 0,
            }
        };
    }

    /// Lets `report` know what comes.
    pub fn watch(&mut self, report: FlowControlReport) {
        self.report = Some(report);
    }

    /// The largest window that it may come to, where it was told.
    pub fn bound(&self) -> u64 {
        match &self.policy {
            WindowPolicy::Untold => 0,
            WindowPolicy::Stack { window, .. } => *window,
            WindowPolicy::Rule { promise, .. } => promise.bound(),
        }
    }

    /// Lets the window grow to `window`, where it is smaller.
    pub fn raise(&mut self, raised: Bytes, quic: &mut Connection) {
        match &mut self.policy {
            WindowPolicy::Untold => {
                self.policy = WindowPolicy::Stack { window: raised.get(), waiting: 0, withheld: 0 };
            }
            WindowPolicy::Stack { window, .. } => *window = (*window).max(raised.get()),
            WindowPolicy::Rule { promise, .. } => promise.raise(raised),
        }
        self.tell(quic);
    }

    /// `bytes` arrived from the network.
    pub fn arrived(&mut self, now: Time, bytes: u64, smoothed_rtt: Span) {
        if let WindowPolicy::Rule { promise, .. } = &mut self.policy {
            promise.arrived(now, bytes, smoothed_rtt);
        }
    }

    /// What may be taken from the stack now: nothing where too much is held, and no more at a time
    /// than it can be told of before it takes that for consumed and lets the peer send on.
    pub fn room(&mut self, now: Time, quic: &mut Connection) -> u64 {
        self.settle(now, quic);
        match &self.policy {
            WindowPolicy::Rule { promise, told, .. } => {
                let debt =
                    promise.limit().saturating_sub(promise.total_read()).saturating_sub(*told);
                promise.room().min(debt.max(LEAST))
            }
            _ => u64::MAX,
        }
    }

    /// `bytes` were taken from the stack.
    pub fn read(&mut self, bytes: u64) {
        self.read += bytes;
        if let WindowPolicy::Rule { promise, .. } = &mut self.policy {
            promise.read(bytes);
        }
        self.moved();
    }

    /// Of those, the application has taken `bytes`, or has no use for them.
    pub fn consumed(&mut self, bytes: u64) {
        self.consumed += bytes;
        if let WindowPolicy::Rule { promise, .. } = &mut self.policy {
            promise.consumed(bytes);
        }
        self.moved();
    }

    fn moved(&self) {
        if let Some(report) = &self.report {
            report.moved(self.read.saturating_sub(self.consumed), self.consumed);
        }
    }

    /// A reader that had `told` of bytes behind a hole holds `now` of them.
    pub fn waits(&mut self, told: &mut u64, now: u64, quic: &mut Connection) {
        let total = |waiting: u64, told: u64| waiting.saturating_sub(told).saturating_add(now);
        match &mut self.policy {
            WindowPolicy::Untold => {}
            // Worth telling the stack of: a sixteenth of the window.
            WindowPolicy::Stack { window, waiting, .. }
                if now == 0 || now.abs_diff(*told) > *window / 16 =>
            {
                *waiting = total(*waiting, *told);
                *told = now;
                self.tell(quic);
            }
            WindowPolicy::Stack { .. } => {}
            WindowPolicy::Rule { promise, waiting, .. } => {
                *waiting = total(*waiting, *told);
                *told = now;
                promise.waits(*waiting);
            }
        }
    }

    /// A reader that kept `before` bytes of an incomplete frame from its application keeps `now` of
    /// them. To the byte: what they hold is bounded by the window alone. Under the rule, they are
    /// bytes that are not consumed.
    pub fn withhold(&mut self, before: u64, now: u64, quic: &mut Connection) {
        if let WindowPolicy::Stack { withheld, .. } = &mut self.policy {
            *withheld = withheld.saturating_sub(before).saturating_add(now);
            self.tell(quic);
        }
    }

    /// Lets the stack go on with the window less what waits, and never without room for a packet,
    /// but for the bytes of incomplete frames: those may use up all of it.
    fn tell(&self, quic: &mut Connection) {
        if let WindowPolicy::Stack { window, waiting, withheld } = &self.policy {
            set(quic, window.saturating_sub(*waiting).max(1500).saturating_sub(*withheld));
        }
    }

    /// Announces what is due, and lets the stack rest. To be called before anything is sent.
    pub fn settle(&mut self, now: Time, quic: &mut Connection) {
        let WindowPolicy::Rule { promise, told, .. } = &mut self.policy else { return };
        // What the stack has announced by itself, were it to have come so far.
        promise.surpassed(promise.total_read().saturating_add(*told));
        let before = promise.limit();
        if let Some(limit) = promise.poll(now) {
            *told = told.saturating_add(limit - before);
            set(quic, *told);
        }
        let rest = promise.rest();
        if rest < *told {
            *told = rest;
            set(quic, rest);
        }
    }

    /// When [`FlowControl::settle`] is due.
    pub fn due(&self) -> Option<Time> {
        match &self.policy {
            WindowPolicy::Rule { promise, .. } => promise.due(),
            _ => None,
        }
    }
}

fn set(quic: &mut Connection, window: u64) {
    if let Ok(window) = VarInt::from_u64(window) {
        quic.set_receive_window(window);
    }
}
