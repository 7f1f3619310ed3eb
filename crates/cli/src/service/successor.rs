//! A new process of this program, which takes the server of this one over: with the program and the
//! files that are there now.

use super::messages::Messages;
use super::notify::ServiceManager;
use bentpipe_net::handover::{HandOverError, Inheritance, Successor, SuccessorState};
use bentpipe_net::serve::{Finished, Server};
use bentpipe_units::Span;
use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Set in the new process, whose standard input leads to this one.
const TAKE_OVER: &str = "BENTPIPE_TAKE_OVER";

/// Pauses before a new process replaces one that failed soon after its start: the first, and the
/// longest, which each failure doubles to. Our choice.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// A process that served for so long gets a replacement without a pause. Our choice.
const LONG: Duration = Duration::from_secs(10);

/// Returns what this process takes over from the one that started it. `None` if that one hands
/// nothing over.
///
/// # Errors
/// It does, and cannot be understood.
pub fn inheritance() -> Result<Option<Inheritance>, HandOverError> {
    env::var_os(TAKE_OVER).map(|_| Inheritance::from_stdin()).transpose()
}

/// Starts a new process with the arguments of this one, and hands `server` over to it. Returns its
/// ID.
///
/// # Errors
/// It does not take over. The server then continues here.
pub async fn hand_over(server: &mut Server) -> Result<u32, String> {
    let (successor, stdin) = Successor::new().map_err(|error| error.to_string())?;
    let program = program().map_err(|error| format!("this program is not found: {error}"))?;
    let mut command = Command::new(&program);
    command.args(env::args_os().skip(1)).env(TAKE_OVER, "1").stdin(stdin);
    // The signs of life are its own to give.
    command.env_remove("WATCHDOG_PID");
    let child = command.spawn();
    let child = child.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    // Only the new process has the other end now.
    drop(command);
    let id = child.id();
    match server.hand_over(successor).await {
        Ok(()) => {
            wait_for(child);
            Ok(id)
        }
        Err(error) => Err(format!("process {id} does not take over: {error}{}", end(child))),
    }
}

/// Lets clients of `server` finish for at most `limit`. Returns what is left of it. If the process
/// that the server was handed over to fails, starts another, at the latest when the time is over.
///
/// # Errors
/// Nobody serves, as text.
pub async fn finish(
    server: &mut Server,
    limit: Span,
    manager: &ServiceManager,
    messages: &Messages,
) -> Result<Span, String> {
    let end = Instant::now() + Duration::from(limit);
    let (mut pause, mut failed, mut serves_since) = (PAUSES[0], false, Instant::now());
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let wait = if failed { left.min(pause) } else { left };
        let until = Instant::now() + wait;
        match server.finish(wait.into()).await {
            // Nobody takes new connections until another process does, whatever is left here.
            Finished::Left(_) if failed => {
                sleep_until(until).await;
                pause = PAUSES[1].min(pause * 2);
            }
            Finished::Left(_) => return Ok(end.saturating_duration_since(Instant::now()).into()),
            Finished::SuccessorEnded(SuccessorState::Stopped) => continue,
            Finished::SuccessorEnded(_) => {
                messages.warn("the process that took over has ended; this one starts another");
                failed = true;
                if serves_since.elapsed() < LONG {
                    continue;
                }
                pause = PAUSES[0];
            }
        }
        let left = end.saturating_duration_since(Instant::now());
        match hand_over(server).await {
            Ok(process) => {
                manager.hand_over(process);
                messages.handed_over(process, server.connections(), left.into());
                (failed, serves_since) = (false, Instant::now());
            }
            Err(reason) if left.is_zero() => return Err(reason),
            Err(reason) => {
                let pause = Span::from(pause.min(left));
                messages.warn(&format!("{reason}; another attempt in {pause}"));
            }
        }
    }
}

/// Returns the file of this program: after an upgrade, the new one.
fn program() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let name = program.as_os_str().as_bytes();
    // The kernel says it of a file that was replaced (proc_pid_exe(5)).
    Ok(name
        .strip_suffix(b" (deleted)")
        .map_or(program.clone(), |name| OsStr::from_bytes(name).into()))
}

/// Lets the system forget the process once it has ended.
fn wait_for(mut child: Child) {
    let wait = move || {
        // An error means that it has ended.
        let _ = child.wait();
    };
    // Without a thread, the system forgets it with this process.
    let _ = std::thread::Builder::new().name("successor".to_owned()).spawn(wait);
}

/// Ends a process that did not take over. Returns how it had ended, if it had.
fn end(mut child: Child) -> String {
    match child.try_wait() {
        Ok(Some(status)) => format!(" ({status})"),
        _ => {
            // An error means that it has ended.
            let _ = child.kill();
            wait_for(child);
            String::new()
        }
    }
}
