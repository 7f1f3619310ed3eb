//! Tests of the result store: what it returns, its bound, and several users at once.

use super::*;
use crate::testing::{TWO_VARIANTS, plan, records};

fn store(directory: &Path) -> ResultStore {
    ResultStore::open(directory).unwrap()
}

#[test]
fn records_come_back_with_what_the_plan_records() {
    let directory = tempfile::tempdir().unwrap();
    let recorded = plan(&format!("{TWO_VARIANTS}\n[output]\nqlog = true\n"));
    let all = records(&recorded);
    for (&task, record) in recorded.tasks.iter().zip(&all) {
        store(directory.path()).keep(&recorded, task, record);
    }
    let store = store(directory.path());
    for (&task, record) in recorded.tasks.iter().zip(&all) {
        assert_eq!(store.record(&recorded, task).as_ref(), Some(record));
        assert!(store.seconds(&recorded, task).is_some_and(|mean| mean == 0.0));
    }
    // The results are there, the time series without qlog files are not.
    let plain = plan(TWO_VARIANTS);
    assert_eq!(store.record(&plain, plain.tasks[0]), None);
    assert_eq!(store.record(&plain, plain.tasks[1]).as_ref(), Some(&all[1]));
    let none = plan(&format!("{TWO_VARIANTS}\n[output]\ntime_series = \"none\"\n"));
    let run = store.record(&none, none.tasks[0]).unwrap();
    assert_eq!((run.run, run.recording), (all[0].run.clone(), None));
    let summary = store.summary().unwrap();
    assert_eq!((summary.runs, summary.recordings, summary.other_engines), (24, 4, 0));
    assert!(store.clear(true).unwrap() == 0 && store.clear(false).unwrap() == summary.bytes);
    assert_eq!(store.summary().unwrap().bytes, 0);
}

#[test]
fn the_rows_that_were_not_used_for_longest_are_removed_first() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(TWO_VARIANTS);
    let all = records(&plan);
    let mut store = store(directory.path());
    for (age, (&task, record)) in plan.tasks.iter().zip(&all).enumerate() {
        store.keep(&plan, task, record);
        let set = "UPDATE record SET used = ?1 WHERE used > 1000000";
        store.database().execute(set, [age as i64]).unwrap();
    }
    let before = store.summary().unwrap();
    store.set_limit(before.bytes / 2).unwrap();
    let after = store.summary().unwrap();
    assert!(after.bytes <= before.bytes / 2 && after.runs > 0, "{after:?}");
    let last = plan.tasks.len() - 1;
    assert!(store.record(&plan, plan.tasks[last]).is_some());
    assert!(store.record(&plan, plan.tasks[1]).is_none());
    drop(store);
    assert_eq!(super::tests::store(directory.path()).limit, before.bytes / 2, "the limit stays");
}

#[test]
fn several_users_write_and_read_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(TWO_VARIANTS);
    let all = records(&plan);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store = store(directory.path());
                for (&task, record) in plan.tasks.iter().zip(&all) {
                    store.keep(&plan, task, record);
                    assert_eq!(store.record(&plan, task).as_ref(), Some(record));
                }
                assert!(!store.has_failed());
            });
        }
    });
    assert_eq!(store(directory.path()).summary().unwrap().runs, 24);
}

#[test]
fn other_files_are_refused_with_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(FILE), "a thesis, not a database at all").unwrap();
    let error = ResultStore::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("results-1.sqlite") && error.contains("delete it"), "{error}");
    let other = tempfile::tempdir().unwrap();
    store(other.path()).database().execute_batch("PRAGMA user_version = 7").unwrap();
    let error = ResultStore::open(other.path()).unwrap_err().to_string();
    assert!(error.contains("not a result store"), "{error}");
}

#[test]
fn a_damaged_row_is_as_good_as_none() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(TWO_VARIANTS);
    let store = store(directory.path());
    store.keep(&plan, plan.tasks[1], &records(&plan)[1]);
    store.database().execute("UPDATE record SET value = x'00'", []).unwrap();
    assert_eq!(store.record(&plan, plan.tasks[1]), None);
}
