//! The receive window by one of two models.

use super::linux_window::LinuxWindow;
use super::window::{ReceiveWindow, scale};
use crate::settings::{BufferModel, TcpSettings};
use bentpipe_units::{Span, Time};

/// Position of the first byte of data; the SYN has 0.
pub(super) const FIRST: u64 = 1;

/// The receive window by the model of [`TcpSettings::buffers`].
#[derive(Debug)]
pub(super) enum WindowModel {
    Payload(ReceiveWindow),
    Linux(Box<LinuxWindow>),
}

impl WindowModel {
    pub(super) fn new(settings: &TcpSettings) -> Self {
        match settings.buffers {
            BufferModel::Payload => Self::Payload(ReceiveWindow::new(settings)),
            BufferModel::Linux => {
                Self::Linux(Box::new(LinuxWindow::new(settings, scale(settings))))
            }
        }
    }

    /// Completes the handshake.
    pub(super) fn open(&mut self, now: Time) {
        match self {
            Self::Payload(window) => window.open(now, FIRST),
            Self::Linux(window) => window.open(now, FIRST),
        }
    }

    /// Returns the window field of a SYN.
    pub(super) fn unscaled(&self) -> u64 {
        match self {
            Self::Payload(window) => window.unscaled(),
            Self::Linux(window) => window.unscaled(),
        }
    }

    /// Returns an upper bound of the window, in bytes.
    pub(super) fn largest_limit(&self) -> u64 {
        match self {
            Self::Payload(window) => window.largest_limit(),
            Self::Linux(window) => window.largest_limit(),
        }
    }

    /// Returns the end of the accepted positions.
    pub(super) fn accepts_before(&self) -> u64 {
        match self {
            Self::Payload(window) => window.accepts_before(),
            Self::Linux(window) => window.accepts_before(),
        }
    }

    /// Returns the window to advertise with acknowledgement `next`, when the application has read
    /// `consumed` bytes, and true if quick acknowledgements end.
    pub(super) fn advertise(&mut self, next: u64, consumed: u64) -> (u64, bool) {
        match self {
            Self::Payload(window) => (window.advertise(next, FIRST + consumed), false),
            Self::Linux(window) => window.advertise(next),
        }
    }

    /// Returns true if a window update is due.
    pub(super) fn wants_update(&self, next: u64, consumed: u64) -> bool {
        match self {
            Self::Payload(window) => window.wants_update(next, FIRST + consumed),
            Self::Linux(window) => window.wants_update(next),
        }
    }

    /// Sets the RTT that is assumed until [`Self::on_rtt`]. Linux waits for a sample.
    pub(super) fn seed_rtt(&mut self, rtt: Span) {
        if let Self::Payload(window) = self {
            window.seed_rtt(rtt);
        }
    }

    /// Adds an RTT sample. `all_read`: the application has read everything.
    pub(super) fn on_rtt(&mut self, sample: Span, all_read: bool) {
        match self {
            Self::Payload(window) => window.on_rtt(sample),
            Self::Linux(window) => window.on_rtt(sample, all_read),
        }
    }

    /// Returns the RTT, if measured.
    pub(super) fn rtt(&self) -> Option<Span> {
        match self {
            Self::Payload(window) => window.rtt(),
            Self::Linux(window) => window.rtt(),
        }
    }

    /// Handles that the application has read `consumed` bytes, while `unread` wait.
    pub(super) fn on_consumed(&mut self, now: Time, consumed: u64, unread: u64) {
        match self {
            Self::Payload(window) => window.on_consumed(now, consumed),
            Self::Linux(window) => window.on_consumed(now, FIRST + consumed, consumed, unread),
        }
    }
}
