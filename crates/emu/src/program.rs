//! Programs in a network namespace. A program ends, with everything it has started, when it is
//! dropped or when this process dies.
//!
//! The program runs in a PID namespace (pid_namespaces(7)) of its own, under an init process that
//! only waits, forwards signals and reaps orphans. When init ends, the kernel kills everything in
//! the namespace; and init is killed when this process dies (`PR_SET_PDEATHSIG`). So no daemon,
//! `kill -9` or crash leaves anything running that would hold the network namespace.
#![allow(unsafe_code)]

use crate::error::EmuError;
use crate::namespace::Namespace;
use nix::errno::Errno;
use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Added to the number of the signal that ended a program, as in shells.
const BY_SIGNAL: i32 = 128;

/// A running program. Dropping it kills it and everything it has started.
#[derive(Debug)]
pub struct Program {
    /// The init process until it has been waited for. Afterwards its PID may be reused.
    first: Arc<Mutex<Option<Pid>>>,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<i32>,
}

impl Program {
    /// Runs `command` in `namespace`. If /proc can be mounted, it shows only the processes of the
    /// program.
    ///
    /// # Errors
    /// The program does not exist or cannot run, or the process may not create namespaces.
    pub fn start(namespace: &Namespace, mut command: Command) -> Result<Self, EmuError> {
        let (started, start) = channel();
        let (end, ended) = channel();
        let first = Arc::new(Mutex::new(None));
        let namespace = namespace.clone();
        let pid = Arc::clone(&first);
        // The thread lives as long as the program, because the kernel treats the end of the forking
        // thread as the death of the parent.
        let wait = move || {
            let child = spawn(&namespace, &mut command);
            drop(namespace);
            let child = match child {
                Ok(child) => child,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            let number = Pid::from_raw(child.id().cast_signed());
            *lock(&pid) = Some(number);
            // The thread waits for the program even if the receiver is gone.
            let _ = started.send(Ok(()));
            let _ = end.send(wait(child, number, &pid));
        };
        std::thread::Builder::new()
            .name("program".to_owned())
            .spawn(wait)
            .map_err(|error| EmuError::system("starting a thread", error))?;
        match start.recv() {
            Ok(Ok(())) => Ok(Self { first, ended, status: None }),
            Ok(Err(error)) => Err(error),
            Err(_) => {
                Err(EmuError::system("starting a program", io::Error::other("its thread panicked")))
            }
        }
    }

    /// Waits up to `span` for the program to end. If a signal ended it, the exit status is 128 plus
    /// the signal's number.
    ///
    /// # Errors
    /// The program cannot be waited for.
    pub fn wait_for(&mut self, span: Duration) -> Result<Option<i32>, EmuError> {
        if self.status.is_none() {
            self.status = match self.ended.recv_timeout(span) {
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(EmuError::system(
                        "waiting for a program",
                        io::Error::other("its thread is gone"),
                    ));
                }
                Ok(Err(error)) => return Err(EmuError::system("waiting for a program", error)),
                Ok(Ok(status)) => {
                    Some(status.code().unwrap_or(BY_SIGNAL + status.signal().unwrap_or(0)))
                }
            };
        }
        Ok(self.status)
    }

    /// Sends SIGTERM to the program and everything it has started.
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Kills the program and everything it has started.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(first) = *lock(&self.first) {
            // The process exists, since nobody has waited for it.
            let _ = kill(first, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if self.status.is_none() {
            // Its resources end with it. The kernel takes a moment to remove a namespace.
            let _ = self.ended.recv_timeout(Duration::from_secs(5));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for init, and clears its PID before the kernel can reuse it.
fn wait(mut child: Child, number: Pid, pid: &Mutex<Option<Pid>>) -> io::Result<ExitStatus> {
    while waitid(Id::Pid(number), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR)
    {
    }
    *lock(pid) = None;
    child.wait()
}

/// Enters the namespaces and starts the command under init, on a separate thread.
fn spawn(namespace: &Namespace, command: &mut Command) -> Result<Child, EmuError> {
    namespace.enter()?;
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
        .map_err(|error| EmuError::system("creating PID and mount namespaces", error))?;
    // SAFETY: between fork and exec in a multi-threaded process, only async-signal-safe operations
    // are allowed (signal-safety(7)). `first` makes system calls and touches the stack; it neither
    // allocates nor locks.
    unsafe { command.pre_exec(first) };
    command.spawn().map_err(|source| EmuError::Program {
        program: command.get_program().display().to_string(),
        source,
    })
}

/// Runs in init. Returns in a child process, which becomes the program. Init itself stays and ends
/// with the program.
fn first() -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // If mounting is forbidden, as in many containers, /proc shows the outer processes, which does
    // no harm.
    let nothing = None::<&str>;
    if mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).is_ok() {
        let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), nothing);
    }
    // SAFETY: as above; neither side allocates.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(()),
        ForkResult::Parent { child } => reap(child),
    }
}

/// The init process: waits for `program`, reaps orphans, and ends with the program's status. The
/// kernel then ends the rest.
fn reap(program: Pid) -> ! {
    let pass_on =
        SigAction::new(SigHandler::Handler(pass_on), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler makes one system call. Signals without a handler do not affect an
        // init process.
        let _ = unsafe { sigaction(signal, &pass_on) };
    }
    // Closes the parent's files in init, which exec would close. SAFETY: nothing uses a file from
    // here on.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let status = loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == program => break status,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                break BY_SIGNAL + signal as i32;
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break BY_SIGNAL,
        }
    };
    // SAFETY: ends this process without running the parent's exit handlers.
    unsafe { libc::_exit(status) }
}

/// Forwards a signal to all other processes of the namespace.
extern "C" fn pass_on(signal: libc::c_int) {
    // Only in init: elsewhere, -1 would address every process of the system. SAFETY:
    // async-signal-safe, without pointers.
    if unsafe { libc::getpid() } == 1 {
        // SAFETY: as above.
        unsafe { libc::kill(-1, signal) };
    }
}
