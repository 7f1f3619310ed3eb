//! No command writes through a symbolic link whose name it chose, and those that users name lead
//! where they lead.
#![allow(clippy::disallowed_methods, reason = "tests make files as they need")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;
use tempfile::TempDir;

const SCENARIO: &str = "name = \"x\"\n[path]\nprofile = \"geo-50-10\"\n[workload]\n\
    download = \"10 kB\"\n[[variant]]\nname = \"a\"\n";
const PRECIOUS: &str = "my important file";

/// A directory with a scenario, a run of it in `run`, and a file that nobody may write.
struct Place {
    directory: TempDir,
    precious: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let precious = directory.path().join("important.txt");
        fs::write(&precious, PRECIOUS).unwrap();
        fs::write(directory.path().join("x.toml"), SCENARIO).unwrap();
        let place = Self { directory, precious };
        place.succeeds(&["run", "x.toml", "--out", "run", "--no-store"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts a link to the important file in the place of `name`.
    fn link(&self, name: &str) -> PathBuf {
        let link = self.path(name);
        let _ = fs::remove_file(&link);
        symlink(&self.precious, &link).unwrap();
        link
    }

    fn bentpipe(&self, args: &[&str]) -> Output {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bentpipe"));
        command.args(args).current_dir(self.directory.path()).output().unwrap()
    }

    fn succeeds(&self, args: &[&str]) -> String {
        let output = self.bentpipe(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, args: &[&str]) -> String {
        let output = self.bentpipe(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        said
    }

    fn check(&self) {
        assert_eq!(fs::read_to_string(&self.precious).unwrap(), PRECIOUS);
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

#[test]
fn a_report_replaces_a_link() {
    let place = Place::new();
    let report = place.link("run/report.html");
    place.succeeds(&["report", "run"]);
    place.check();
    assert!(!is_link(&report) && fs::read_to_string(&report).unwrap().contains("<html"));
    // A run into the same directory replaces it as a whole.
    place.link("run/report.html");
    place.link("run/results.json");
    place.succeeds(&["run", "x.toml", "--out", "run", "--no-store"]);
    place.check();
    assert!(!is_link(&report));
}

#[test]
fn an_editable_report_replaces_a_link() {
    let place = Place::new();
    let engine = format!("<!--bentpipe-engine {}--><script></script>", bentpipe_lab::SOURCES);
    fs::write(place.path("engine.html"), engine).unwrap();
    let page = place.link("run/editable.html");
    place.succeeds(&["report", "run", "--editable", "--engine", "engine.html"]);
    place.check();
    assert!(!is_link(&page) && fs::read_to_string(&page).unwrap().contains("<html"));
}

#[test]
fn recordings_leave_a_run_through_no_link() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    for name in ["run/qlog", "run/captures"] {
        symlink(outside.path(), place.path(name)).unwrap();
    }
    let records = ["--set", "output.qlog=true", "--set", "output.capture=access"];
    let again = ["run", "x.toml", "--out", "run", "--no-store"];
    place.succeeds(&[&again[..], &records].concat());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let first = |folder: &str| fs::read_dir(place.path(folder)).unwrap().next().unwrap().unwrap();
    let capture = first("run/captures").path();
    let capture = capture.to_str().unwrap();
    for option in ["--html", "--annotate"] {
        let link = place.link("explained");
        place.succeeds(&["explain", capture, option, "explained"]);
        place.check();
        assert!(!is_link(&link), "{option}");
    }
}

#[test]
fn files_that_users_name_replace_links_too() {
    let place = Place::new();
    let link = place.link("out.file");
    for args in [
        &["compare", "run", "run", "--html", "out.file"][..],
        &["compare", "run", "run", "--junit", "out.file"],
        &[
            "orbit",
            "kuiper-630",
            "--from",
            "Toronto",
            "--to",
            "Paris",
            "--duration",
            "1 s",
            "--html",
            "out.file",
        ],
    ] {
        place.link("out.file");
        place.bentpipe(args);
        place.check();
        assert!(!is_link(&link), "{args:?}");
    }
    for name in ["bentpipe.1", "bentpipe-run.1"] {
        fs::create_dir_all(place.path("man")).unwrap();
        place.link(&format!("man/{name}"));
    }
    place.succeeds(&["man", "man"]);
    place.check();
    place.link("new.toml");
    assert!(place.refuses(&["init", "new.toml"]).contains("it exists"));
    place.check();
    symlink("missing.toml", place.path("dangling.toml")).unwrap();
    place.refuses(&["init", "dangling.toml"]);
    assert!(!place.path("missing.toml").exists());
    // A pipe is written, not replaced.
    let page = place.succeeds(&["compare", "run", "run", "--html", "/dev/stdout"]);
    assert!(page.contains("<html"), "{page}");
    assert!(!fs::symlink_metadata("/dev/stdout").unwrap().is_file());
}

#[test]
fn the_usual_directory_is_no_link_unless_it_is_named() {
    let place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), place.path("out")).unwrap();
    place.succeeds(&["run", "x.toml", "--out", "shard", "--no-store", "--shard", "1/1"]);
    for args in [
        &["run", "x.toml", "--no-store"][..],
        &["replay", "run"],
        &["merge", "shard"],
        &["matrix", "x.toml", "--no-store"],
    ] {
        let output = place.bentpipe(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{args:?}");
    }
    let said = place.refuses(&["run", "x.toml", "--no-store"]);
    assert!(said.contains("symbolic link") && said.contains("--out out/x"), "{said}");
    // Who names the link wants what it leads to.
    place.succeeds(&["run", "x.toml", "--no-store", "--out", "out/x"]);
    assert!(outside.path().join("x/results.json").is_file());
    let own = tempfile::tempdir().unwrap();
    symlink(own.path(), place.path("own")).unwrap();
    place.succeeds(&["run", "x.toml", "--no-store", "--out", "own"]);
    assert!(is_link(&place.path("own")) && own.path().join("results.json").is_file());
}

#[test]
fn a_result_store_is_no_link() {
    let place = Place::new();
    fs::create_dir(place.path("store")).unwrap();
    place.succeeds(&["run", "x.toml", "--store", "store", "--out", "run"]);
    let file = fs::read_dir(place.path("store")).unwrap().next().unwrap().unwrap().path();
    let name = format!("store/{}", file.file_name().unwrap().to_str().unwrap());
    for entry in fs::read_dir(place.path("store")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    fs::write(&place.precious, "").unwrap();
    place.link(&name);
    let said = place.refuses(&["run", "x.toml", "--store", "store", "--out", "run"]);
    assert!(said.contains("symbolic link"), "{said}");
    assert_eq!(fs::metadata(&place.precious).unwrap().len(), 0);
    // A directory that the user names may be a link.
    fs::remove_file(place.path(&name)).unwrap();
    symlink("store", place.path("linked")).unwrap();
    place.succeeds(&["run", "x.toml", "--store", "linked", "--out", "run"]);
    assert!(place.path(&name).is_file());
}
