//! Outputs of downloads.

use super::TestServer;
use bentpipe_net::get::{Download, DownloadError, Outcome, download};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const BYTES: usize = 2_000_000;

/// A server of `file.bin`, a directory for downloads, and the content of the file.
struct Outputs {
    site: TestServer,
    downloads: tempfile::TempDir,
    expected: Vec<u8>,
}

impl Outputs {
    async fn new() -> Self {
        let site = TestServer::new().await;
        let expected = site.file("file.bin", BYTES);
        Self { site, downloads: tempfile::tempdir().unwrap(), expected }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.downloads.path().join(name)
    }

    async fn get(&self, file: impl AsRef<Path>) -> Result<Outcome, DownloadError> {
        let what = Download { url: self.site.url("/file.bin"), file: file.as_ref().to_owned() };
        let client = self.site.client();
        let outcome = download(&client, &what, |_, _| {}).await;
        client.disconnect().await;
        outcome
    }

    async fn refused(&self, file: impl AsRef<Path>) -> String {
        let file = file.as_ref();
        match self.get(file).await {
            Err(error) => error.to_string(),
            Ok(outcome) => panic!("{}: {outcome:?}", file.display()),
        }
    }

    /// Returns the sorted names in the directory.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.downloads.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Returns a character device like `/dev/null` (minor 3) or `/dev/full` (7), or why there is
    /// none.
    fn device(&self, name: &str, minor: u64) -> Result<PathBuf, String> {
        if !is_root() {
            // Only root could replace the system's devices.
            return Ok(Path::new("/dev").join(name));
        }
        let path = self.path(name);
        mknod(&path, SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), makedev(1, minor))
            .map_err(|errno| format!("cannot create a device: {errno}"))?;
        // The file system may be mounted without devices.
        File::options()
            .write(true)
            .open(&path)
            .map_err(|error| format!("cannot open a device: {error}"))?;
        Ok(path)
    }
}

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, Mode::from_bits_truncate(0o600)).unwrap();
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_written_to_and_stays() {
    let outputs = Outputs::new().await;
    let device = match outputs.device("null", 3) {
        Ok(device) => device,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let outcome = outputs.get(&device).await.unwrap();
    assert_eq!((outcome.bytes, outcome.resumed_at), (BYTES as u64, 0));
    assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device(), "it is replaced");
    assert!(outputs.names().iter().all(|name| name == "null"), "{:?}", outputs.names());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_device_fails_the_download() {
    let outputs = Outputs::new().await;
    let device = match outputs.device("full", 7) {
        Ok(device) => device,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let reason = outputs.refused(&device).await;
    assert!(reason.contains("No space left on device") && reason.contains("full"), "{reason}");
    assert!(fs::symlink_metadata(&device).unwrap().file_type().is_char_device(), "it is replaced");
    assert!(outputs.names().iter().all(|name| name == "full"), "{:?}", outputs.names());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fifo_passes_the_content_to_its_reader() {
    let outputs = Outputs::new().await;
    let path = outputs.path("fifo");
    fifo(&path);
    // Opened for writing as well, so that the reader's open returns without another writer.
    let mut end = File::options().read(true).write(true).open(&path).unwrap();
    let reader = std::thread::spawn(move || {
        let mut content = vec![0; BYTES];
        end.read_exact(&mut content).map(|()| content)
    });
    outputs.get(&path).await.unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo(), "it is replaced");
    assert_eq!(outputs.names(), ["fifo"]);
    assert!(reader.join().unwrap().unwrap() == outputs.expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fifo_whose_reader_leaves_fails_the_download() {
    let outputs = Outputs::new().await;
    let path = outputs.path("fifo");
    fifo(&path);
    let reader = {
        let path = path.clone();
        // Without a writer, the open would block if the download replaced the FIFO.
        let mut end = File::options().read(true).write(true).open(&path).unwrap();
        std::thread::spawn(move || end.read_exact(&mut [0; 1000]))
    };
    let reason = outputs.refused(&path).await;
    reader.join().unwrap().unwrap();
    assert!(reason.contains("Broken pipe"), "{reason}");
    assert_eq!(outputs.names(), ["fifo"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_outputs_are_refused_before_a_request() {
    let outputs = Outputs::new().await;
    fs::create_dir(outputs.path("directory")).unwrap();
    symlink("directory", outputs.path("to-directory")).unwrap();
    symlink("loop", outputs.path("loop")).unwrap();
    fs::write(outputs.path("file"), "old").unwrap();
    let before = outputs.names();
    for (name, reason) in [
        ("directory", "is a directory"),
        ("directory/", "is a directory"),
        ("to-directory", "is a directory"),
        ("directory/..", "is a directory"),
        ("new/", "is a directory"),
        ("absent/file", "absent does not exist"),
        ("file/below", "Not a directory"),
        ("loop", "Too many levels of symbolic links"),
    ] {
        let message = outputs.refused(outputs.path(name)).await;
        assert!(
            message.contains(reason) && message.contains(name.trim_end_matches('/')),
            "{name}: {message}"
        );
    }
    assert_eq!(
        (outputs.names(), fs::read_dir(outputs.path("directory")).unwrap().count()),
        (before, 0)
    );
    let connections = &outputs.site.server.metrics().connections_quic;
    assert_eq!(connections.load(std::sync::atomic::Ordering::Relaxed), 0, "there was a request");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_followed_and_stays() {
    let outputs = Outputs::new().await;
    fs::create_dir(outputs.path("elsewhere")).unwrap();
    fs::write(outputs.path("elsewhere/old"), "old").unwrap();
    symlink("elsewhere/old", outputs.path("to-old")).unwrap();
    symlink(outputs.path("to-old"), outputs.path("to-link")).unwrap();
    symlink("elsewhere/new", outputs.path("dangling")).unwrap();
    let before = outputs.names();
    for (name, target) in [("to-link", "elsewhere/old"), ("dangling", "elsewhere/new")] {
        outputs.get(outputs.path(name)).await.unwrap();
        for link in ["to-link", "to-old", "dangling"] {
            assert!(outputs.path(link).is_symlink(), "{link} is replaced");
        }
        assert!(fs::read(outputs.path(target)).unwrap() == outputs.expected, "{target}");
    }
    assert_eq!(outputs.names(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planted_partial_file_or_record_is_refused_and_not_changed() {
    let outputs = Outputs::new().await;
    let (victim, secret) = (outputs.path("victim"), "{ \"url\": \"https://a/\" }");
    for end in [".part", ".part.json"] {
        type Plant = fn(&Path, &Path);
        let plants: [(&str, Plant); 3] = [
            ("symbolic link", |victim, planted| symlink(victim, planted).unwrap()),
            ("hard link", |victim, planted| fs::hard_link(victim, planted).unwrap()),
            ("regular file", |_, planted| fifo(planted)),
        ];
        for (reason, plant) in plants {
            fs::write(&victim, secret).unwrap();
            let (copy, planted) = (outputs.path("copy"), outputs.path(&format!("copy{end}")));
            plant(&victim, &planted);
            let node = fs::symlink_metadata(&planted).unwrap().ino();
            let message = outputs.refused(&copy).await;
            assert!(
                message.contains(&format!("copy{end}")) && message.contains(reason),
                "{reason}: {message}"
            );
            assert_eq!(fs::read_to_string(&victim).unwrap(), secret, "{end}: {reason}");
            assert_eq!(fs::symlink_metadata(&planted).unwrap().ino(), node, "{end}: {reason}");
            assert!(!copy.exists(), "{end}: {reason}");
            fs::remove_file(&planted).unwrap();
            let _ = fs::remove_file(outputs.path("copy.part"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planted_link_is_not_followed_when_the_record_is_written() {
    let outputs = Outputs::new().await;
    let victim = outputs.path("victim");
    fs::write(&victim, "secret").unwrap();
    symlink(&victim, outputs.path("copy.part.json.new")).unwrap();
    outputs.get(outputs.path("copy")).await.unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "secret");
    assert_eq!(outputs.names(), ["copy", "victim"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_file_of_another_user_is_refused() {
    if !is_root() {
        return eprintln!("skipped: only root can give files away");
    }
    let outputs = Outputs::new().await;
    let part = outputs.path("copy.part");
    fs::write(&part, "theirs").unwrap();
    std::os::unix::fs::chown(&part, Some(12_345), None).unwrap();
    let message = outputs.refused(outputs.path("copy")).await;
    assert!(message.contains("copy.part") && message.contains("12345"), "{message}");
    assert_eq!(fs::read_to_string(&part).unwrap(), "theirs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_files_in_a_shared_directory_are_not_written() {
    if !is_root() {
        return eprintln!("skipped: only root can give files away");
    }
    let outputs = Outputs::new().await;
    let public = outputs.path("public");
    fs::create_dir(&public).unwrap();
    fs::set_permissions(&public, Permissions::from_mode(0o1777)).unwrap();
    fs::write(outputs.path("victim"), "secret").unwrap();
    symlink(outputs.path("victim"), public.join("link")).unwrap();
    fs::write(public.join("file"), "theirs").unwrap();
    fifo(&public.join("fifo"));
    for name in ["link", "file", "fifo"] {
        let planted = public.join(name);
        std::os::unix::fs::lchown(&planted, Some(12_345), None).unwrap();
        // A reader, so that opening the FIFO would not block.
        let _end = (name == "fifo")
            .then(|| File::options().read(true).write(true).open(&planted).unwrap());
        let message =
            tokio::time::timeout(std::time::Duration::from_secs(20), outputs.refused(&planted))
                .await
                .unwrap();
        assert!(message.contains(name), "{message}");
    }
    assert_eq!(fs::read_to_string(outputs.path("victim")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(public.join("file")).unwrap(), "theirs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_replaced_keeps_its_mode_and_owner() {
    let outputs = Outputs::new().await;
    let path = outputs.path("copy");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let owner = if is_root() { 12_345 } else { fs::metadata(&path).unwrap().uid() };
    std::os::unix::fs::chown(&path, Some(owner), None).unwrap();
    outputs.get(&path).await.unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.mode() & 0o7777, metadata.uid()), (0o640, owner));
    assert!(fs::read(&path).unwrap() == outputs.expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_may_not_be_written_is_not_replaced() {
    let outputs = Outputs::new().await;
    let path = outputs.path("copy");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    if File::options().write(true).open(&path).is_ok_and(|_| is_root()) {
        return eprintln!("skipped: root may write every file");
    }
    let message = outputs.refused(&path).await;
    assert!(
        message.contains(&ErrorKind::PermissionDenied.to_string())
            || message.contains("Permission denied"),
        "{message}"
    );
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), outputs.names().len()), ("old", 1));
}
