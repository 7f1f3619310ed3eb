//! Episodes of files on a disk that is full for a while: run directories, shards, the result store
//! and the path store. The disk is a small tmpfs in a mount namespace, in a process of its own.

use crate::draw::{self, Random};
use crate::failure::{Failure, Unplayed};
use crate::scenario;
use bentpipe_lab::{Options, Plan, ResultStore, RunStore, Shard, ShardFiles, Threads, record};
use bentpipe_net::store::WriteBehind;
use bentpipe_quic::path_memory::{IpPrefix, Limits, PathKey, PathStore, SavedPath};
use bentpipe_sim::Simulator;
use bentpipe_units::{Bytes, Epoch, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Size of the disk in MiB: a few run directories.
const SIZE_MIB: u64 = 12;
/// Mounts the disk at `$0` and runs the other arguments.
const SCRIPT: &str = "mount -t tmpfs -o size=12m,nr_inodes=400 none \"$0\" || exit 77; exec \"$@\"";
/// First line of the process on the disk.
const BEGUN: &str = "swarm: on the disk";

/// Plays the episode of `seed` in a process of its own.
///
/// # Errors
/// A check that does not hold, or the machine permits no mount namespace.
pub fn play(seed: u64, without: &BTreeSet<String>) -> Result<(), Unplayed> {
    let skipped = |error: std::io::Error| Unplayed::Skipped(format!("disk: {error}"));
    let directory = tempfile::tempdir().map_err(skipped)?;
    let without: Vec<&str> = without.iter().map(String::as_str).collect();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", SCRIPT])
        .arg(directory.path())
        .arg(std::env::current_exe().map_err(skipped)?)
        .args(["--seed", &seed.to_string(), "--without", &without.join(","), "--on-disk"])
        .arg(directory.path())
        .output()
        .map_err(skipped)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(rest) = text.strip_prefix(BEGUN) else {
        return Err(Unplayed::Skipped("disk: no mount namespace".to_owned()));
    };
    if output.status.success() {
        return Ok(());
    }
    let (check, what) = rest.trim_start().split_once('\n').unwrap_or(("no panic", rest));
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(check, format!("{what}{errors}")).into())
}

/// Plays the episode on the disk at `directory`. Prints a failure for [`play`], and returns whether
/// there was none.
pub fn on_disk(seed: u64, without: &BTreeSet<String>, directory: &Path) -> bool {
    println!("{BEGUN}");
    match fill_and_free(seed, without, directory) {
        Ok(()) => true,
        Err(Failure { check, what }) => {
            println!("{check}\n{what}");
            false
        }
    }
}

fn fill_and_free(seed: u64, without: &BTreeSet<String>, disk: &Path) -> Result<(), Failure> {
    let (draft, _) = draw::draw(seed, without);
    let (_, plan) = scenario::limited(draft)?;
    let elsewhere = tempfile::tempdir().map_err(|error| disk_error(&error))?;
    let wanted = run_directory(&plan, &elsewhere.path().join("run"), None, None)?;
    shards(&plan, elsewhere.path(), &wanted)?;

    let mut random = Random::new(seed, "disk");
    let filler = disk.join("filler");
    fill(&filler, random.whole(0, (SIZE_MIB + 1) << 20)).map_err(|error| disk_error(&error))?;
    let target = disk.join("run");
    let full = run_directory(&plan, &target, None, None);
    match &full {
        Ok(written) => same(written, &wanted, "a run directory on a full disk")?,
        Err(_) => nothing_is_left(disk, &target)?,
    }
    let kept = disk.join("store");
    if let Ok(store) = ResultStore::open(&kept) {
        // A store is a cache: what it cannot keep is computed again.
        let again = elsewhere.path().join("with-store");
        same(&run_directory(&plan, &again, None, Some(&store))?, &wanted, "a full store")?;
    }
    let paths = disk.join("paths.sqlite");
    let mut memory = WriteBehind::open(&paths, Limits::default(), epoch()).ok();
    if let Some(memory) = &mut memory {
        remember(memory, 1)?;
    }

    // The fault ends.
    fs::remove_file(&filler).map_err(|error| disk_error(&error))?;
    same(&run_directory(&plan, &target, None, None)?, &wanted, "a run directory afterwards")?;
    let opened = |error: bentpipe_lab::StoreError| Failure::new("the store", error.to_string());
    for _ in 0..2 {
        let store = ResultStore::open(&kept).map_err(opened)?;
        let again = elsewhere.path().join("with-store");
        same(&run_directory(&plan, &again, None, Some(&store))?, &wanted, "the store")?;
    }
    survives(memory, &paths)
}

/// Checks that the path store writes what it is given once there is room, if it could be opened.
fn survives(memory: Option<WriteBehind>, file: &Path) -> Result<(), Failure> {
    let failed = |error: bentpipe_quic::path_memory::StoreError| {
        Failure::new("the path store after a full disk", error.to_string())
    };
    let open = || WriteBehind::open(file, Limits::default(), epoch()).map_err(failed);
    let mut memory = memory.map_or_else(open, Ok)?;
    remember(&mut memory, 2)?;
    drop(memory);
    let listed = open()?.list(epoch()).map_err(failed)?;
    if listed.iter().any(|entry| entry.path.window == window(2)) {
        return Ok(());
    }
    let what = format!("the path that was saved last is not in the file: {listed:?}");
    Err(Failure::new("the path store after a full disk", what))
}

fn remember(memory: &mut WriteBehind, number: u64) -> Result<(), Failure> {
    let failed = |error: String| Failure::new("the path store on a full disk", error);
    let remote: IpPrefix = "192.0.2.0/24".parse().map_err(|error| failed(format!("{error}")))?;
    let key = PathKey::new(remote, "swarm", 0).map_err(|error| failed(error.to_string()))?;
    let rtt = Span::from_millis(600);
    let path = SavedPath::new(window(number), rtt, epoch(), Span::from_secs(3600));
    let path = path.map_err(|error| failed(error.to_string()))?;
    memory.replace(&key, path, epoch()).map_err(|error| failed(error.to_string()))
}

fn window(number: u64) -> Bytes {
    Bytes::from_mb(number)
}

/// The time of the path store: any.
fn epoch() -> Epoch {
    Epoch::from_unix_secs(1_767_225_600)
}

/// Checks that two shards, put together, give the same run directory.
fn shards(plan: &Plan, directory: &Path, wanted: &Files) -> Result<(), Failure> {
    let mut parts = Vec::new();
    for text in ["1/2", "2/2"] {
        let shard: Shard = text.parse().map_err(|error: String| Failure::new("shards", error))?;
        let part = directory.join(format!("part-{}", parts.len()));
        // A shard without a run writes nothing.
        if plan.tasks.len() > parts.len() {
            run_directory(plan, &part, Some(shard), None)?;
            parts.push(part);
        }
    }
    let records =
        ShardFiles::open(&parts).map_err(|error| Failure::new("shards", error.to_string()))?;
    let merged = run_directory(plan, &directory.join("merged"), None, Some(&records))?;
    same(&merged, wanted, "shards put together")
}

/// The files of a directory by name.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Runs `plan` into a run directory and returns its files.
fn run_directory(
    plan: &Plan,
    target: &Path,
    shard: Option<Shard>,
    store: Option<&dyn RunStore>,
) -> Result<Files, Failure> {
    let stop = AtomicBool::new(false);
    let executor = Threads { runner: &Simulator, jobs: NonZeroUsize::MIN };
    let options = Options { shard, store, ..Options::new(&executor, &stop) };
    let recorded =
        record(plan, target, &options).map_err(|error| Failure::new("disk", error.to_string()))?;
    match (recorded.failure, recorded.directory) {
        (Some(error), _) => Err(Failure::of_run(&error)),
        (None, None) => Err(Failure::new("disk", "no run ended")),
        (None, Some(directory)) => {
            let mut files = Files::new();
            read_all(&directory, Path::new(""), &mut files).map_err(|error| disk_error(&error))?;
            Ok(files)
        }
    }
}

fn read_all(directory: &Path, below: &Path, files: &mut Files) -> std::io::Result<()> {
    for entry in fs::read_dir(directory.join(below))? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            read_all(directory, &name, files)?;
        } else {
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn same(files: &Files, wanted: &Files, what: &str) -> Result<(), Failure> {
    let names: BTreeSet<&PathBuf> = files.keys().chain(wanted.keys()).collect();
    let differing = names.into_iter().filter(|name| files.get(*name) != wanted.get(*name));
    let differing: Vec<String> = differing.map(|name| name.display().to_string()).collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(Failure::new("determinism", format!("{what}: {} differ", differing.join(", "))))
}

/// Checks that a run directory that could not be written leaves nothing behind.
fn nothing_is_left(disk: &Path, target: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(disk).map_err(|error| disk_error(&error))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|name| name != "filler").collect();
    if left.is_empty() && !target.exists() {
        return Ok(());
    }
    Err(Failure::new("a full disk", format!("left behind: {}", left.join(", "))))
}

/// Writes `bytes` to `file`, or fewer if the disk is full.
fn fill(file: &Path, bytes: u64) -> std::io::Result<()> {
    let mut file = bentpipe_files::create_new(file)?;
    let block = [0; 4096];
    for _ in 0..bytes / block.len() as u64 {
        if file.write(&block).is_err() {
            break;
        }
    }
    Ok(())
}

fn disk_error(error: &std::io::Error) -> Failure {
    Failure::new("disk", error.to_string())
}
