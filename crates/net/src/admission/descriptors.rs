//! The limit on open descriptors (RLIMIT_NOFILE), and the connections that it allows.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use thiserror::Error;

/// Descriptors kept free for listeners, the path store, logs, scrapes of the metrics and look-ups
/// of files. Our choice: about twice the number that these hold together.
pub const RESERVED_DESCRIPTORS: u64 = 128;

/// Raises the soft limit on open descriptors to the hard limit, and returns the limit in force.
///
/// The soft limit is often 1024, for the sake of programs that use `select`. Ours do not.
pub fn raise_descriptor_limit() -> u64 {
    // POSIX lets neither call fail here; a limit that cannot be read counts as the usual 1024.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1024 };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}

/// The limit on open descriptors is too low for the wanted connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{connections} connections need {needed} open files, and this process may have {limit}: \
     raise the hard limit (`ulimit -Hn`; LimitNOFILE= for systemd) or allow at most {fitting} \
     connections (--max-connections)"
)]
pub struct TooFewDescriptors {
    /// Wanted connections.
    pub connections: usize,
    /// Descriptors that these need, with everything else.
    pub needed: u64,
    /// Descriptors that the process may have open.
    pub limit: u64,
    /// Connections that would fit.
    pub fitting: u64,
}

/// Checks that `connections` with `each` descriptors, and `others` beside them, stay within
/// `limit`.
///
/// # Errors
/// The limit is too low.
pub fn check_descriptors(
    limit: u64,
    connections: usize,
    each: u64,
    others: u64,
) -> Result<(), TooFewDescriptors> {
    let free = limit.saturating_sub(RESERVED_DESCRIPTORS.saturating_add(others));
    let wanted = (connections as u64).saturating_mul(each);
    if wanted <= free {
        return Ok(());
    }
    let needed = wanted.saturating_add(RESERVED_DESCRIPTORS).saturating_add(others);
    Err(TooFewDescriptors { connections, needed, limit, fitting: free / each.max(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_limit() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        // Other tests of this process need almost all of it.
        setrlimit(Resource::RLIMIT_NOFILE, hard - 1, hard).unwrap();
        let limit = raise_descriptor_limit();
        assert_eq!(limit, hard);
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (limit, limit));
    }

    #[test]
    fn too_many_connections_are_refused_with_the_number_that_fits() {
        assert_eq!(check_descriptors(1024, 896, 1, 0), Ok(()));
        assert_eq!(check_descriptors(1024, 448, 2, 0), Ok(()));
        let error = check_descriptors(1024, 4096, 2, 100).unwrap_err();
        assert_eq!((error.needed, error.fitting), (8420, 398));
        assert!(error.to_string().contains("--max-connections"), "{error}");
        assert_eq!(check_descriptors(64, 1, 1, 0).unwrap_err().fitting, 0);
        assert_eq!(check_descriptors(1024, 797, 1, 100).unwrap_err().fitting, 796);
        assert_eq!(check_descriptors(1024, 796, 1, 100), Ok(()));
    }
}
