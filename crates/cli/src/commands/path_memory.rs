//! `bentpipe path-memory`: lists and deletes remembered paths.

use crate::args::{PathMemory, Store};
use crate::output;
use crate::status::USAGE;
use crate::tables::{Align, Table};
use bentpipe_lab::LabError;
use bentpipe_net::store::{SqliteStore, default_store};
use bentpipe_quic::path_memory::{Entry, IpPrefix, Limits, PathStore, SavedPath, StoreError};
use bentpipe_units::{Epoch, Span};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Lists or forgets paths.
pub fn run(command: &PathMemory) -> Result<u8, LabError> {
    let (PathMemory::List { store, .. } | PathMemory::Forget { store, .. }) = command;
    let Some(file) = store.store.clone().or_else(default_store) else {
        return Ok(output::refuse(
            "the path store is unknown, because neither XDG_STATE_HOME nor HOME is set; \
             name it with --store FILE",
            USAGE,
        ));
    };
    #[expect(clippy::disallowed_methods, reason = "the age of remembered paths")]
    let now = SystemTime::now();
    match answer(command, store, &file, Epoch::from(now)) {
        Ok(text) => output::write(&text, store.json),
        Err(error) => Ok(output::refuse(&error.to_string(), USAGE)),
    }
}

fn answer(
    command: &PathMemory,
    store: &Store,
    file: &PathBuf,
    now: Epoch,
) -> Result<String, StoreError> {
    // A missing store has no paths, and is not created.
    let mut opened =
        if file.exists() { Some(SqliteStore::open(file, Limits::default())?) } else { None };
    Ok(match command {
        PathMemory::List { prefixes, .. } => {
            let mut entries = opened.map_or(Ok(Vec::new()), |store| store.list(now))?;
            entries.retain(|entry| prefixes.is_empty() || concerns(prefixes, entry));
            if store.json { list_json(file, &entries, now) } else { list_text(file, &entries, now) }
        }
        PathMemory::Forget { prefixes, all, .. } => {
            let forgotten =
                opened.as_mut().map_or(Ok(0), |store| forget(store, prefixes, *all, now))?;
            match (store.json, forgotten) {
                (true, _) => output::pretty(&json!({ "store": file, "forgotten": forgotten })),
                (false, 1) => format!("1 path forgotten in {}\n", file.display()),
                (false, _) => format!("{forgotten} paths forgotten in {}\n", file.display()),
            }
        }
    })
}

fn forget(
    store: &mut SqliteStore,
    prefixes: &[IpPrefix],
    all: bool,
    now: Epoch,
) -> Result<usize, StoreError> {
    if all {
        return store.forget_all();
    }
    store.expire(now)?;
    let mut forgotten = 0;
    for entry in store.list(now)?.iter().filter(|entry| concerns(prefixes, entry)) {
        forgotten += usize::from(store.forget(&entry.key)?);
    }
    Ok(forgotten)
}

/// Returns true if one of `prefixes` contains the path's network or lies in it. So an address
/// selects its path.
fn concerns(prefixes: &[IpPrefix], entry: &Entry) -> bool {
    let network = entry.key.remote();
    prefixes.iter().any(|prefix| prefix.covers(network) || network.covers(*prefix))
}

fn list_json(file: &Path, entries: &[Entry], now: Epoch) -> String {
    let paths: Vec<_> = entries
        .iter()
        .map(|Entry { key, path, lease }| {
            json!({
                "remote": key.remote().to_string(),
                "local": key.local(),
                "dscp": key.dscp(),
                "window_bytes": path.window.get(),
                "rtt_ms": path.rtt.as_millis_f64(),
                "first_rtt_ms": path.first_rtt.map(Span::as_millis_f64),
                "saved_at": path.saved_at.to_string(),
                "expires": path.expires.to_string(),
                "age_s": age(path, now),
                "in_use_until": lease.map(|lease| lease.until.to_string()),
            })
        })
        .collect();
    output::pretty(&json!({ "store": file, "paths": paths }))
}

/// Returns the age of a path in seconds, which is negative if the clock has been set back since.
fn age(path: &SavedPath, now: Epoch) -> f64 {
    if path.saved_at > now {
        -path.saved_at.since(now).as_secs_f64()
    } else {
        now.since(path.saved_at).as_secs_f64()
    }
}

fn list_text(file: &Path, entries: &[Entry], now: Epoch) -> String {
    if entries.is_empty() {
        return format!("no paths remembered in {}\n", file.display());
    }
    let mut table = Table::new(&[
        ("network", Align::Left),
        ("local", Align::Left),
        ("DSCP", Align::Right),
        ("window", Align::Right),
        ("RTT", Align::Right),
        ("age", Align::Right),
        ("expires", Align::Left),
        ("in use", Align::Left),
    ]);
    for Entry { key, path, lease } in entries {
        table.row([
            key.remote().to_string(),
            // Escapes the name, which came from a file, so that it cannot control a terminal.
            key.local().escape_debug().to_string(),
            key.dscp().to_string(),
            path.window.to_string(),
            match path.first_rtt {
                Some(first) => format!("{}, first {first}", path.rtt),
                None => path.rtt.to_string(),
            },
            format!("{:.0} s", age(path, now)),
            format!("{:.0}", path.expires),
            lease.map_or_else(String::new, |lease| format!("until {:.0}", lease.until)),
        ]);
    }
    table.fitted(output::Look::stdout())
}
