//! Signals that ask this process to end: SIGINT, SIGTERM and SIGHUP.
#![allow(unsafe_code)]

use crate::error::EmuError;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// Those that arrived since [`Interrupts::catch`]: a process has one handler for each signal.
static FIRST: AtomicI32 = AtomicI32::new(0);
static TYPED: AtomicU32 = AtomicU32::new(0);
static SENT: AtomicU32 = AtomicU32::new(0);

/// The signals that have asked this process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupts {
    /// How many came from a key of the terminal, such as Ctrl-C. The kernel sends these to all
    /// processes in the foreground.
    pub typed: u32,
    /// How many came from processes, such as kill(1), or from a terminal that has closed.
    pub sent: u32,
}

impl Interrupts {
    /// Counts these signals from now on. They no longer end this process.
    ///
    /// # Errors
    /// The system refuses.
    pub fn catch() -> Result<(), EmuError> {
        let handler = SigHandler::SigAction(count);
        let action =
            SigAction::new(handler, SaFlags::SA_RESTART | SaFlags::SA_SIGINFO, SigSet::empty());
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the handler is async-signal-safe: it changes atomic numbers.
            unsafe { sigaction(signal, &action) }
                .map_err(|error| EmuError::system("sigaction", error))?;
        }
        Ok(())
    }

    /// Returns those that have arrived.
    pub fn so_far() -> Self {
        Self { typed: TYPED.load(Ordering::Relaxed), sent: SENT.load(Ordering::Relaxed) }
    }

    /// Checks that none has arrived.
    ///
    /// # Errors
    /// One has: [`EmuError::Interrupted`].
    pub fn check() -> Result<(), EmuError> {
        match FIRST.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(EmuError::Interrupted { signal }),
        }
    }
}

extern "C" fn count(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let _ = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    // SAFETY: with SA_SIGINFO, the kernel passes a valid pointer. sigaction(2): keys are sent by
    // the kernel.
    let typed = signal == libc::SIGINT && unsafe { (*info).si_code } == libc::SI_KERNEL;
    let counter = if typed { &TYPED } else { &SENT };
    counter.fetch_add(1, Ordering::Relaxed);
}
