//! A program in a network namespace, and whatever it starts: all of it ends when the program ends, or when this process does.
//!
//! The program runs in a process-id namespace (pid_namespaces(7)) of its own, under a first process that does nothing but wait for it, pass on signals and
//! bury orphans. When that first process ends, the kernel kills everything in the namespace; and it is killed itself when this process dies
//! (`PR_SET_PDEATHSIG`). So no daemon, no `kill -9` and no crash leaves anything running that would hold the network namespace.
#![allow(unsafe_code)]

use crate::{EmuError, Namespace};
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

/// What is added to the number of the signal that ended a program, as shells do.
const BY_SIGNAL: i32 = 128;

/// A running program. Dropped, it and all that it started are killed.
#[derive(Debug)]
pub struct Program {
    /// The first process of its namespace, until it has been waited for: then the number may be another's.
    first: Arc<Mutex<Option<Pid>>>,
    ended: Receiver<io::Result<ExitStatus>>,
    status: Option<i32>,
}

impl Program {
    /// Runs `command` in `namespace`. Its `/proc`, where one can be mounted, shows what runs beside it.
    ///
    /// # Errors
    /// It does not exist, or cannot be run; the process may not make namespaces.
    pub fn start(namespace: &Namespace, mut command: Command) -> Result<Self, EmuError> {
        let (started, start) = channel();
        let (end, ended) = channel();
        let first = Arc::new(Mutex::new(None));
        let namespace = namespace.clone();
        let held = Arc::clone(&first);
        // A thread for each program: it lives as long as the program, since the kernel takes the death of the thread that forked for that of the parent.
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
            *lock(&held) = Some(number);
            // The program is this thread's to wait for even where nobody listens any more.
            let _ = started.send(Ok(()));
            let _ = end.send(wait(child, number, &held));
        };
        std::thread::Builder::new()
            .name("program".to_owned())
            .spawn(wait)
            .map_err(|error| EmuError::system("a thread", error))?;
        match start.recv() {
            Ok(Ok(())) => Ok(Self { first, ended, status: None }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(EmuError::system("a program's thread", io::Error::other("it panicked"))),
        }
    }

    /// Waits for the program to end, or for so long. Its exit status is 128 and the signal's number where a signal ended it.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn wait_for(&mut self, span: Duration) -> Result<Option<i32>, EmuError> {
        if self.status.is_none() {
            self.status = match self.ended.recv_timeout(span) {
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(EmuError::system("waiting for a program", io::Error::other("its thread is gone")));
                }
                Ok(Err(error)) => return Err(EmuError::system("waiting for a program", error)),
                Ok(Ok(status)) => Some(status.code().unwrap_or(BY_SIGNAL + status.signal().unwrap_or(0))),
            };
        }
        Ok(self.status)
    }

    /// Asks the program, and all that it has started, to end (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Ends the program, and all that it has started.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(first) = *lock(&self.first) {
            // It exists, since nobody has waited for it.
            let _ = kill(first, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
        if self.status.is_none() {
            // Once it is gone, so is what it held. The kernel takes a moment for a namespace.
            let _ = self.ended.recv_timeout(Duration::from_secs(5));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the first process, and forgets its number before the kernel may give it to another.
fn wait(mut child: Child, number: Pid, held: &Mutex<Option<Pid>>) -> io::Result<ExitStatus> {
    while waitid(Id::Pid(number), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(Errno::EINTR) {}
    *lock(held) = None;
    child.wait()
}

/// On a thread of its own: into the namespaces, and the command with its first process.
fn spawn(namespace: &Namespace, command: &mut Command) -> Result<Child, EmuError> {
    namespace.enter()?;
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
        .map_err(|error| EmuError::system("namespaces for process ids and mounts", error))?;
    // SAFETY: between fork and exec of a process with threads only what is async-signal-safe may be done (signal-safety(7)). `first` makes
    // system calls and touches the stack; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(first) };
    command.spawn().map_err(|source| EmuError::Program { program: command.get_program().display().to_string(), source })
}

/// In the first process of the namespace. It returns in a second one, which becomes the program; the first stays, and ends with it.
fn first() -> io::Result<()> {
    set_pdeathsig(Signal::SIGKILL)?;
    // Where mounting is forbidden, as in many containers, /proc shows the processes of before: nothing here needs it.
    let nothing = None::<&str>;
    if mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).is_ok() {
        let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), nothing);
    }
    // SAFETY: as above; both sides go on without allocating.
    match unsafe { fork() }? {
        ForkResult::Child => Ok(()),
        ForkResult::Parent { child } => reap(child),
    }
}

/// What the first process does: it waits for `program` and buries orphans, then ends with the program's status, and the kernel ends the rest.
fn reap(program: Pid) -> ! {
    let pass_on = SigAction::new(SigHandler::Handler(pass_on), SaFlags::SA_RESTART, SigSet::empty());
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        // SAFETY: the handler makes one system call. Other signals do nothing to a first process that has no handler for them.
        let _ = unsafe { sigaction(signal, &pass_on) };
    }
    // Files of the parent that the program closes when it is executed would stay open here.
    // SAFETY: nothing here uses a file any more.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
    let status = loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, status)) if pid == program => break status,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => break BY_SIGNAL + signal as i32,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => break BY_SIGNAL,
        }
    };
    // SAFETY: ends this process without what `exit` would run of the parent's.
    unsafe { libc::_exit(status) }
}

/// Everything in the namespace but the first process.
extern "C" fn pass_on(signal: libc::c_int) {
    // Only ever from a namespace's first process: anywhere else "everything" would be the machine's.
    // SAFETY: async-signal-safe, and no pointers.
    if unsafe { libc::getpid() } == 1 {
        // SAFETY: as above.
        unsafe { libc::kill(-1, signal) };
    }
}
