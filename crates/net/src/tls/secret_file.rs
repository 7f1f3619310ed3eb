//! Who may read or change a file that holds a secret: the key of a certificate or of a tunnel.

use nix::unistd::geteuid;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Mode bits that a secret's file must not have: other users may read or change it, or its group
/// may change it. Its group may read it, because a service often runs as a user that does not own
/// the file.
const OTHERS: u32 = 0o027;

/// Returns what is wrong with the mode of a secret's file, or `None` if only its owner may change
/// it and no other user than its group may read it.
pub(crate) fn open_to_others(metadata: &Metadata) -> Option<String> {
    let mode = metadata.permissions().mode() & 0o777;
    (mode & OTHERS != 0).then(|| {
        format!(
            "its mode {mode:04o} lets other users read or change it; allowed: 0600 or stricter, \
             and 0640"
        )
    })
}

/// Returns what is wrong with the owner or the mode of a secret's file that this program writes
/// itself, or `None`: another owner could read it, whatever its mode.
pub(crate) fn foreign_or_open(metadata: &Metadata) -> Option<String> {
    let (owner, user) = (metadata.uid(), geteuid().as_raw());
    if owner != user && owner != 0 {
        return Some(format!(
            "user {owner} owns it and may read and change it; allowed: user {user}, who runs this \
             program, and root"
        ));
    }
    open_to_others(metadata)
}
