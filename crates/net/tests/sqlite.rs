//! The path store in a file: its contract, crashes, damage, and concurrent processes.
// A test waits for a process on the real clock.
#![allow(clippy::disallowed_methods)]

#[path = "../../quic/tests/all/contract/mod.rs"]
mod contract;

use bentpipe_net::store::{SqliteStore, WriteBehind};
use bentpipe_quic::path_memory::{Entry, Holder, Limits, PathStore, SavedPath, StoreError};
use contract::{at, key, saved};
use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::Duration;

fn open(file: &Path) -> SqliteStore {
    SqliteStore::open(file, Limits::default()).expect("a store")
}

/// Returns the error text, after checking that it names the file and what to do.
fn refused(file: &Path) -> String {
    let error = SqliteStore::open(file, Limits::default()).expect_err("refused");
    let StoreError::Storage { place, remedy, .. } = &error else { panic!("{error}") };
    assert!(*place == file.display().to_string() && !remedy.is_empty(), "{error}");
    error.to_string()
}

#[test]
fn the_store_in_a_file_keeps_the_contract() {
    let directory = tempfile::tempdir().expect("a directory");
    let count = Cell::new(0);
    contract::keeps(&|limits| {
        count.set(count.get() + 1);
        let file = directory.path().join(format!("deep/er/{}.sqlite", count.get()));
        Box::new(SqliteStore::open(&file, limits).expect("a store"))
    });
}

#[test]
fn paths_and_leases_outlive_the_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let mut store = open(&file);
    store.replace(&key(1), saved(4, 0), at(0)).expect("saved");
    assert_eq!(store.lease(&key(1), at(0), Holder(1)), Ok(Some(saved(4, 0))));
    drop(store);
    let mut store = open(&file);
    assert_eq!(store.lease(&key(1), at(59), Holder(2)), Ok(None));
    assert_eq!(
        store.lease(&key(1), at(60), Holder(2)),
        Ok(Some(saved(4, 0))),
        "its holder is gone"
    );
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_file_and_its_log() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(&directory.path().join("paths.sqlite"));
    store.replace(&key(1), saved(4, 0), at(0)).expect("saved");
    let mut count = 0;
    for file in std::fs::read_dir(directory.path()).expect("files") {
        let mode = file.expect("a file").metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        count += 1;
    }
    assert!(count >= 2, "the file and its log");
}

#[test]
fn deleted_paths_are_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut store = open(&directory.path().join("paths.sqlite"));
    let found = |what: &[u8]| {
        std::fs::read_dir(directory.path()).expect("files").any(|file| {
            let bytes = std::fs::read(file.expect("a file").path()).expect("its bytes");
            bytes.windows(what.len()).any(|window| window == what)
        })
    };
    for network in 0..200 {
        store.replace(&key(network), saved(4, 0), at(0)).expect("saved");
    }
    assert!(found(b"10.0.77.0"));
    assert_eq!(store.forget_all(), Ok(200));
    assert!(!found(b"10.0.77.0"));
}

/// Copies the files of the store without its shared memory, as a crash of the machine leaves them.
fn crashed(from: &Path, to: &Path, log_bytes: Option<usize>) {
    std::fs::copy(from, to).expect("the file");
    let log = |file: &Path| file.with_extension("sqlite-wal");
    let mut bytes = std::fs::read(log(from)).expect("the log");
    bytes.truncate(log_bytes.unwrap_or(bytes.len()));
    std::fs::write(log(to), bytes).expect("the log");
}

#[test]
fn a_log_cut_anywhere_leaves_whole_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let mut store = open(&file);
    for network in 0..20 {
        store.replace(&key(network), saved(4, 0), at(0)).expect("saved");
    }
    let log = std::fs::metadata(file.with_extension("sqlite-wal")).expect("a log").len() as usize;
    let mut last = 0;
    for cut in (0..=log).step_by(2999).chain([log]) {
        let copy = directory.path().join(format!("{cut}.sqlite"));
        crashed(&file, &copy, Some(cut));
        let kept = open(&copy).list(at(0)).expect("a list");
        assert!(kept.len() >= last, "more of the log, more paths");
        assert!(kept.iter().all(|entry| entry.path == saved(4, 0)));
        last = kept.len();
    }
    assert_eq!(last, 20);
}

#[test]
fn damage_is_an_error_that_names_the_file_and_what_to_do() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    std::fs::write(&file, b"these are no paths, and no database either").expect("a file");
    assert!(refused(&file).contains("delete it"));
    let good = directory.path().join("good.sqlite");
    let mut store = open(&good);
    for network in 0..200 {
        store.replace(&key(network), saved(4, 0), at(0)).expect("saved");
    }
    drop(store);
    let bytes = std::fs::read(&good).expect("bytes");
    let mut refusals = 0;
    for (index, start) in (0..bytes.len()).step_by(509).enumerate() {
        let mut bytes = bytes.clone();
        let end = bytes.len().min(start + 16);
        bytes[start..end].fill(0xff);
        let file = directory.path().join(format!("{index}.sqlite"));
        std::fs::write(&file, bytes).expect("a file");
        // Damage that leaves a valid value cannot be detected. Other damage is an error, on opening
        // or later.
        let used = SqliteStore::open(&file, Limits::default()).and_then(|mut store| {
            store.list(at(0))?;
            store.lease(&key(3), at(0), Holder(1))?;
            store.replace(&key(201), saved(4, 0), at(0))?;
            store.forget_all()
        });
        if let Err(error) = used {
            assert!(matches!(
                &error,
                StoreError::Storage { place, .. } if *place == file.display().to_string()
            ));
            refusals += 1;
        }
    }
    assert!(refusals > 10, "{refusals}");
}

#[test]
fn a_store_of_the_first_version_keeps_its_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let mut store = open(&file);
    store.replace(&key(1), saved(4, 0), at(0)).expect("saved");
    drop(store);
    let database = rusqlite::Connection::open(&file).expect("a database");
    database.execute_batch("ALTER TABLE path DROP COLUMN first_rtt_ns").expect("as it was");
    database.pragma_update(None, "user_version", 1).expect("a version");
    drop(database);
    let mut store = open(&file);
    assert_eq!(store.lease(&key(1), at(0), Holder(1)), Ok(Some(saved(4, 0))));
    let waited = SavedPath { first_rtt: Some(saved(4, 0).rtt * 2), ..saved(4, 1) };
    store.replace(&key(1), waited, at(1)).expect("saved");
    drop(store);
    assert_eq!(open(&file).lease(&key(1), at(1), Holder(1)), Ok(Some(waited)));
}

#[test]
fn other_databases_are_not_changed() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("other.sqlite");
    let other = rusqlite::Connection::open(&file).expect("a database");
    other.execute_batch("CREATE TABLE theirs (x)").expect("a table");
    drop(other);
    let before = std::fs::read(&file).expect("bytes");
    assert!(refused(&file).contains("another program"));
    assert_eq!(std::fs::read(&file).expect("bytes"), before);
    let later = directory.path().join("later.sqlite");
    drop(open(&later));
    let database = rusqlite::Connection::open(&later).expect("a database");
    database.pragma_update(None, "user_version", 3).expect("a version");
    drop(database);
    assert!(
        refused(&later).contains("its version is 3") && refused(&later).contains("update bentpipe")
    );
}

#[test]
fn an_impossible_path_is_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    refused(directory.path());
    std::fs::write(directory.path().join("file"), b"").expect("a file");
    refused(&directory.path().join("file/paths.sqlite"));
}

#[test]
fn one_of_many_concurrent_processes_gets_the_lease() {
    const PROCESSES: u64 = 6;
    const ROUNDS: u8 = 20;
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let barrier = Barrier::new(PROCESSES as usize);
    let leases: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let processes: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let (file, barrier) = (&file, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    // All create the file concurrently.
                    let mut store = open(file);
                    (0..ROUNDS)
                        .filter(|&round| {
                            store.replace(&key(round), saved(4, 0), at(0)).expect("saved");
                            barrier.wait();
                            store
                                .lease(&key(round), at(0), Holder(process))
                                .expect("an answer")
                                .is_some()
                        })
                        .collect()
                })
            })
            .collect();
        processes.into_iter().map(|process| process.join().expect("an end")).collect()
    });
    let mut rounds: Vec<_> = leases.concat();
    rounds.sort_unstable();
    assert_eq!(rounds, (0..ROUNDS).collect::<Vec<_>>(), "one lease in each round");
}

const STORE: &str = "BENTPIPE_TEST_STORE";

#[test]
#[ignore = "the process that `a_killed_writer_leaves_whole_paths` starts and kills"]
fn writes_until_killed() {
    let file = std::env::var_os(STORE).expect("the store's file");
    let mut store = open(Path::new(&file));
    for round in 0.. {
        for network in 0..50 {
            store.replace(&key(network), saved(1 + round, 0), at(0)).expect("saved");
            store.lease(&key(network), at(0), Holder(7)).expect("an answer");
        }
    }
}

#[test]
fn a_killed_writer_leaves_whole_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    for kill in 0..5 {
        let file = directory.path().join(format!("{kill}.sqlite"));
        let mut ours = open(&file);
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "writes_until_killed", "--ignored"])
            .env(STORE, &file)
            .stdout(Stdio::null())
            .spawn()
            .expect("a start");
        let mut written = 0;
        for _ in 0..1000 {
            // Concurrently: neither process waits long for the other.
            ours.replace(&key(200), saved(9, 0), at(0)).expect("saved");
            written = ours.list(at(0)).expect("a list").len();
            if written > 5 {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(7 * kill));
        child.kill().expect("killed");
        child.wait().expect("an end");
        assert!(written > 5, "the writer wrote");
        drop(ours);
        let mut store = open(&file);
        let kept = store.list(at(0)).expect("a list");
        assert!(kept.len() >= written);
        for entry in &kept {
            let whole = entry.path.window.get() % 1_000_000 == 0
                && entry.path == saved(entry.path.window.get() / 1_000_000, 0);
            assert!(whole, "{entry:?}");
        }
        assert_eq!(
            store.lease(&key(0), at(1), Holder(8)),
            Ok(None),
            "the dead holder still has it"
        );
        assert!(
            store.lease(&key(0), at(60), Holder(8)).expect("an answer").is_some(),
            "until its lease ends"
        );
    }
}

#[test]
fn a_path_that_is_forgotten_while_the_file_is_locked_does_not_come_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let limits = Limits::default();
    let mut store = WriteBehind::open(&file, limits, at(0)).expect("a store");
    store.replace(&key(1), saved(4, 0), at(0)).expect("saved");
    drop(store);
    let mut store = WriteBehind::open(&file, limits, at(0)).expect("a store");
    let locked = rusqlite::Connection::open(&file).expect("a database");
    locked.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    // More changes than a bounded queue would take.
    for round in 0..3000 {
        store.replace(&key((round % 100) as u8 + 2), saved(4, 0), at(0)).expect("saved");
    }
    assert!(store.forget(&key(1)).expect("an answer"));
    locked.execute_batch("ROLLBACK").expect("no lock");
    drop((locked, store));
    let kept = open(&file).list(at(0)).expect("a list");
    assert_eq!(kept.len(), 100);
    assert!(kept.iter().all(|entry| entry.key != key(1)));
}

#[test]
fn many_waiting_changes_take_bounded_memory_and_leave_the_same_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let limits = Limits { paths: 8, ..Limits::default() };
    let mut store = WriteBehind::open(&file, limits, at(0)).expect("a store");
    let locked = rusqlite::Connection::open(&file).expect("a database");
    locked.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    for network in 0..200 {
        store.replace(&key(network), saved(4, 0), at(0)).expect("saved");
        if network % 3 == 0 {
            store.forget(&key(network)).expect("an answer");
        }
    }
    let expected = store.list(at(0)).expect("a list");
    locked.execute_batch("ROLLBACK").expect("no lock");
    drop((locked, store));
    let paths = |entries: Vec<Entry>| -> Vec<_> {
        entries.into_iter().map(|entry| (entry.key, entry.path)).collect()
    };
    assert_eq!(paths(open(&file).list(at(0)).expect("a list")), paths(expected));
}

#[test]
fn paths_that_another_program_deletes_are_forgotten_by_a_store_that_is_open() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("paths.sqlite");
    let mut store = WriteBehind::open(&file, Limits::default(), at(0)).expect("a store");
    for network in 1..=3 {
        store.replace(&key(network), saved(4, 0), at(0)).expect("saved");
    }
    let mut other = open(&file);
    let wait = |what: &str, mut holds: Box<dyn FnMut() -> bool + '_>| {
        let begin = std::time::Instant::now();
        while !holds() {
            assert!(begin.elapsed().as_secs() < 10, "not in time: {what}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait("they are written", Box::new(|| other.list(at(0)).expect("a list").len() == 3));
    assert!(other.forget(&key(1)).expect("an answer"));
    // Whatever it writes itself meanwhile stays.
    let mut holder = 10;
    let mut gone = |store: &mut WriteBehind, network: u8| {
        holder += 1;
        store.replace(&key(100 + (holder % 100) as u8), saved(4, 0), at(0)).expect("saved");
        let lent = store.lease(&key(network), at(0), Holder(holder)).expect("an answer");
        store.release(&key(network), Holder(holder)).expect("released");
        lent.is_none()
    };
    wait("one is forgotten", Box::new(|| gone(&mut store, 1)));
    assert!(!gone(&mut store, 2) && !gone(&mut store, 3));
    let own = store.list(at(0)).expect("a list").len();
    assert!(own > 3, "{own}");
    other.forget_all().expect("deleted");
    wait("all are forgotten", Box::new(|| gone(&mut store, 2) && gone(&mut store, 3)));
    // One that is measured again is remembered again.
    store.replace(&key(1), saved(5, 0), at(0)).expect("saved");
    assert!(!gone(&mut store, 1));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(!gone(&mut store, 1));
}
