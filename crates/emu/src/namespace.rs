//! Anonymous network namespaces, which exist as long as something holds them.
#![allow(clippy::disallowed_methods, reason = "settings of the kernel")]

use crate::error::EmuError;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getgid, getuid};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NEEDED: &str = "root (CAP_SYS_ADMIN), or user namespaces (user.max_user_namespaces above 0, \
    and, if they exist, kernel.unprivileged_userns_clone = 1 and \
    kernel.apparmor_restrict_unprivileged_userns = 0)";

/// Permission by which the process creates namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The process is root or has CAP_SYS_ADMIN.
    Privileged,
    /// The process has moved to a user namespace of its own.
    UserNamespace,
}

/// Ensures that this process may create network namespaces.
///
/// Without CAP_SYS_ADMIN, the process moves to a user namespace of its own. Its user and group stay
/// the same, and programs it runs gain no rights.
///
/// # Errors
/// The system does not permit user namespaces, or the process has more than one thread. Call this
/// while it has one.
pub fn prepare() -> Result<Access, EmuError> {
    if has_admin() {
        return Ok(Access::Privileged);
    }
    let refused = |source: std::io::Error| EmuError::NotPermitted {
        what: "creating a user namespace",
        source,
        needed: NEEDED,
    };
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|error| refused(error.into()))?;
    // user_namespaces(7): without CAP_SETGID outside, groups can be mapped only once setgroups is
    // denied.
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        std::fs::write(file, text).map_err(refused)?;
    }
    Ok(Access::UserNamespace)
}

/// Returns true if the calling thread has CAP_SYS_ADMIN (number 21, linux/capability.h) in its user
/// namespace.
fn has_admin() -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << 21) != 0)
}

/// A network namespace, held by a file descriptor.
///
/// It ends when the last clone is dropped and the last program in it has ended, or when the process
/// that holds it dies.
#[derive(Debug, Clone)]
pub struct Namespace {
    file: Arc<File>,
}

impl Namespace {
    /// Creates a namespace that contains only a loopback interface, which is down.
    ///
    /// # Errors
    /// The process lacks the permission.
    pub fn new() -> Result<Self, EmuError> {
        let made = on_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|error| EmuError::NotPermitted {
                what: "creating a network namespace",
                source: error.into(),
                needed: NEEDED,
            })?;
            // The thread's namespace. The process's is still the host's.
            let file = "/proc/thread-self/ns/net";
            File::open(file).map_err(|error| EmuError::system(file, error))
        })?;
        Ok(Self { file: Arc::new(made?) })
    }

    /// Moves the calling thread into the namespace permanently, including the sockets that it opens
    /// from now on.
    ///
    /// # Errors
    /// The process lacks the permission.
    pub fn enter(&self) -> Result<(), EmuError> {
        setns(&*self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|error| EmuError::system("setns", error))
    }

    /// Runs `work` on a thread inside the namespace. Sockets that it opens stay in the namespace.
    ///
    /// # Errors
    /// The process lacks the permission.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
        on_thread(|| self.enter().map(|()| work()))?
    }

    /// Returns true if a program inside has a listening TCP socket or any UDP socket.
    ///
    /// # Errors
    /// The process lacks the permission.
    pub fn is_listening(&self) -> Result<bool, EmuError> {
        let table = |name: &str| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
        };
        self.inside(|| {
            ["tcp", "tcp6"].iter().any(|name| listens(&table(name)))
                || ["udp", "udp6"].iter().any(|name| table(name).lines().count() > 1)
        })
    }

    /// Returns true if a program inside listens on TCP `port` or has a UDP socket bound to it.
    ///
    /// # Errors
    /// The process lacks the permission.
    pub fn is_listening_at(&self, port: u16) -> Result<bool, EmuError> {
        let table = |name: &str| {
            std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default()
        };
        self.inside(|| {
            ["tcp", "tcp6"].iter().any(|name| has_port(&table(name), port, Some("0A")))
                || ["udp", "udp6"].iter().any(|name| has_port(&table(name), port, None))
        })
    }

    /// Sets a kernel parameter of the namespace by its sysctl(8) name, such as `net.ipv4.tcp_rmem`.
    ///
    /// # Errors
    /// The name does not start with `net.` or is unknown in a namespace, or the kernel rejects the
    /// value.
    pub fn set(&self, key: &str, value: &str) -> Result<(), EmuError> {
        let file = parameter(key)?;
        self.inside(|| std::fs::write(&file, value))?
            .map_err(|error| EmuError::system(format!("{key} = {value}"), error))
    }
}

/// Returns true if a table of TCP sockets (proc_net_tcp.rst in the kernel) has one in state
/// `TCP_LISTEN` (10).
fn listens(table: &str) -> bool {
    table.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some("0A"))
}

/// Returns true if a table of sockets has one at local `port`, in `state` if given.
fn has_port(table: &str, port: u16, state: Option<&str>) -> bool {
    let local = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|address| address.ends_with(&local))
            && state.is_none_or(|state| words.nth(1) == Some(state))
    })
}

/// Returns the file of a parameter. Only parameters of `net.` belong to a network namespace; others
/// would be the host's.
fn parameter(key: &str) -> Result<PathBuf, EmuError> {
    let fine = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    let mut parts = key.split(['.', '/']);
    if parts.next() != Some("net") || !parts.clone().all(fine) || parts.clone().count() < 2 {
        return Err(EmuError::Spec {
            what: format!("`{key}` is not a parameter of a network namespace"),
            allowed: "names that start with `net.`, such as net.ipv4.tcp_rmem".to_owned(),
        });
    }
    Ok(parts.fold(Path::new("/proc/sys/net").to_owned(), |path, part| path.join(part)))
}

/// Runs `work` on a separate thread, which may change namespaces.
pub(crate) fn on_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, EmuError> {
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| EmuError::system("starting a thread", error))?;
        thread.join().map_err(|_| {
            EmuError::system(
                "running a thread in a namespace",
                std::io::Error::other("it panicked"),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let table = |state: &str| {
            format!(
                "  sl  local_address rem_address   st tx_queue\n   0: 00000000:1F90 00000000:0000 \
                    {state} 00000000:00000000\n"
            )
        };
        assert!(listens(&table("0A")));
        assert!(!listens(&table("01")));
        assert!(has_port(&table("0A"), 0x1f90, Some("0A")) && has_port(&table("07"), 0x1f90, None));
        assert!(
            !has_port(&table("0A"), 0x1f91, Some("0A"))
                && !has_port(&table("01"), 0x1f90, Some("0A"))
        );
        assert!(!listens(""));
    }

    #[test]
    fn host_parameters_are_rejected() {
        assert!(
            parameter("net.ipv4.tcp_rmem")
                .is_ok_and(|file| file == Path::new("/proc/sys/net/ipv4/tcp_rmem"))
        );
        for key in [
            "kernel.hostname",
            "net",
            "net.ipv4",
            "net.ipv4.",
            "net...vm.x",
            "net/../kernel/hostname",
            "/net/x/y",
            "",
        ] {
            assert!(parameter(key).is_err(), "{key}");
        }
    }
}
