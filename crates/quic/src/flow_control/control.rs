//! Flow control applied to the stack.

use super::report::FlowControlReport;
use super::rule::FlowControlRule;
use super::window::{FlowControlWindow, MIN_WINDOW};
use bentpipe_units::{Bytes, Span, Time};
use noq_proto::{Connection, VarInt};

/// Flow control of the data that one connection receives.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    policy: WindowPolicy,
    /// Bytes read from the stack.
    read: u64,
    /// Of those, bytes that the application has taken.
    consumed: u64,
    /// Most bytes read and not taken so far.
    max_held: u64,
    report: Option<FlowControlReport>,
}

/// Decides which limits are announced when.
#[derive(Debug, Default)]
enum WindowPolicy {
    /// Not set: the stack.
    #[default]
    Unset,
    /// The stack announces each eighth of the window.
    Stack {
        /// The window that the connection was configured with.
        window: u64,
        /// Bytes that wait behind gaps, which the stack takes for consumed.
        waiting: u64,
        /// Bytes of incomplete frames, which the stack takes for consumed.
        withheld: u64,
    },
    /// The rule.
    Rule {
        window: Box<FlowControlWindow>,
        /// The window last set in the stack.
        stack_window: u64,
        /// Bytes that wait behind gaps.
        waiting: u64,
        /// True if an update may have an effect before its due time.
        changed: bool,
    },
}

impl FlowControl {
    /// Sets the window that the connection was configured with, and the rule.
    pub fn set_rule(&mut self, initial: Bytes, rule: &FlowControlRule) {
        self.policy = if rule.is_stack() {
            WindowPolicy::Stack { window: initial.get(), waiting: 0, withheld: 0 }
        } else {
            WindowPolicy::Rule {
                window: Box::new(FlowControlWindow::new(*rule, initial)),
                stack_window: initial.get(),
                waiting: 0,
                changed: true,
            }
        };
    }

    /// Records the outcome in `report`.
    pub fn report_to(&mut self, report: FlowControlReport) {
        self.report = Some(report);
    }

    /// Returns the largest window that the connection may reach, 0 if no rule was set.
    pub fn bound(&self) -> u64 {
        match &self.policy {
            WindowPolicy::Unset => 0,
            WindowPolicy::Stack { window, .. } => *window,
            WindowPolicy::Rule { window, .. } => window.bound(),
        }
    }

    /// Returns the window last set in the stack, 0 if none was set.
    pub fn stack_window(&self) -> u64 {
        match &self.policy {
            WindowPolicy::Unset => 0,
            WindowPolicy::Stack { window, waiting, withheld } => {
                // With room for at least one packet. Bytes of incomplete frames may use that up.
                window.saturating_sub(*waiting).max(1500).saturating_sub(*withheld)
            }
            WindowPolicy::Rule { stack_window, .. } => *stack_window,
        }
    }

    /// Raises the window to `raised`, if it is smaller.
    pub fn raise(&mut self, raised: Bytes, quic: &mut Connection) {
        match &mut self.policy {
            WindowPolicy::Unset => {
                self.policy = WindowPolicy::Stack { window: raised.get(), waiting: 0, withheld: 0 };
            }
            WindowPolicy::Stack { window, .. } => *window = (*window).max(raised.get()),
            WindowPolicy::Rule { window, changed, .. } => {
                window.raise(raised);
                *changed = true;
            }
        }
        self.set_stack_window(quic);
    }

    /// Counts `bytes` that arrived from the network.
    pub fn on_arrival(&mut self, now: Time, bytes: u64, smoothed_rtt: Span) {
        if let WindowPolicy::Rule { window, changed, .. } = &mut self.policy {
            window.on_arrival(now, bytes, smoothed_rtt);
            *changed = true;
        }
    }

    /// Returns how many bytes may be read from the stack now: 0 if too many are held, and at most
    /// as many as the stack can be read without announcing a limit by itself.
    pub fn room(&mut self, now: Time, quic: &mut Connection) -> u64 {
        self.update(now, quic);
        match &self.policy {
            WindowPolicy::Rule { window, stack_window, .. } => {
                let debt = window
                    .limit()
                    .saturating_sub(window.total_read())
                    .saturating_sub(*stack_window);
                window.room().min(debt.max(MIN_WINDOW))
            }
            _ => u64::MAX,
        }
    }

    /// Counts `bytes` that were read from the stack.
    pub fn read(&mut self, bytes: u64) {
        self.read += bytes;
        if let WindowPolicy::Rule { window, changed, .. } = &mut self.policy {
            window.read(bytes);
            *changed = true;
        }
        let held = self.read.saturating_sub(self.consumed);
        if held > self.max_held {
            self.max_held = held;
            self.report_consumption();
        }
    }

    /// Counts `bytes`, of those read, that the application has taken or will never take.
    pub fn consumed(&mut self, bytes: u64) {
        self.consumed += bytes;
        if let WindowPolicy::Rule { window, changed, .. } = &mut self.policy {
            window.consumed(bytes);
            *changed = true;
        }
        self.report_consumption();
    }

    fn report_consumption(&self) {
        if let Some(report) = &self.report {
            report.on_consumption(self.read.saturating_sub(self.consumed), self.consumed);
        }
    }

    /// Updates the bytes that a reader has waiting behind a gap from `reported` to `now`.
    pub fn set_waiting(&mut self, reported: &mut u64, now: u64, quic: &mut Connection) {
        let total = |waiting: u64, before: u64| waiting.saturating_sub(before).saturating_add(now);
        match &mut self.policy {
            WindowPolicy::Unset => {}
            // Changes of up to a sixteenth of the window are not worth an update of the stack.
            WindowPolicy::Stack { window, waiting, .. }
                if now == 0 || now.abs_diff(*reported) > *window / 16 =>
            {
                *waiting = total(*waiting, *reported);
                *reported = now;
                self.set_stack_window(quic);
            }
            WindowPolicy::Stack { .. } => {}
            WindowPolicy::Rule { window, waiting, changed, .. } => {
                *waiting = total(*waiting, *reported);
                *reported = now;
                window.set_waiting(*waiting);
                *changed = true;
            }
        }
    }

    /// Updates the bytes of an incomplete frame that a reader keeps from its application from
    /// `before` to `now`, exactly: only the window bounds them. Under the rule they are bytes that
    /// are not consumed.
    pub fn withhold(&mut self, before: u64, now: u64, quic: &mut Connection) {
        if let WindowPolicy::Stack { withheld, .. } = &mut self.policy {
            *withheld = withheld.saturating_sub(before).saturating_add(now);
            self.set_stack_window(quic);
        }
    }

    /// Sets the stack's window to the configured one less the bytes that wait.
    fn set_stack_window(&self, quic: &mut Connection) {
        if let WindowPolicy::Stack { .. } = &self.policy {
            set(quic, self.stack_window());
        }
    }

    /// Announces the limit that is due, and lets the stack rest. Call before sending.
    pub fn update(&mut self, now: Time, quic: &mut Connection) {
        let WindowPolicy::Rule { window, stack_window, changed, .. } = &mut self.policy else {
            return;
        };
        // A sender asks before every packet.
        if !*changed && window.due().is_none_or(|due| due > now) {
            return;
        }
        let start = (window.limit(), *stack_window);
        // Limits that the stack has announced by itself, should it have come so far.
        window.announced_by_stack(window.total_read().saturating_add(*stack_window));
        let before = window.limit();
        if let Some(limit) = window.poll(now) {
            *stack_window = stack_window.saturating_add(limit - before);
            set(quic, *stack_window);
        }
        let rest = window.rest();
        if rest < *stack_window {
            *stack_window = rest;
            set(quic, rest);
        }
        *changed = start != (window.limit(), *stack_window);
    }

    /// Returns when [`FlowControl::update`] is due, if nothing happens before.
    pub fn due(&self) -> Option<Time> {
        match &self.policy {
            WindowPolicy::Rule { window, .. } => window.due(),
            _ => None,
        }
    }
}

fn set(quic: &mut Connection, window: u64) {
    if let Ok(window) = VarInt::from_u64(window) {
        quic.set_receive_window(window);
    }
}
