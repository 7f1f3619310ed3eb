use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

/// A directory with the file `own`, and the link `link` to it.
fn linked_file() -> (TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (own, link) = (directory.path().join("own"), directory.path().join("link"));
    fs::write(&own, "precious").unwrap();
    symlink("own", &link).unwrap();
    (directory, own, link)
}

fn names(directory: &TempDir) -> usize {
    fs::read_dir(directory.path()).unwrap().count()
}

#[test]
fn a_file_replaces_a_link_and_leaves_its_target() {
    type Write = fn(&Path) -> io::Result<()>;
    let writers: [Write; 3] = [
        |file| replace(file, b"new"),
        |file| write(file, b"new"),
        |file| create(file)?.write_all(b"new"),
    ];
    for writer in writers {
        let (directory, own, link) = linked_file();
        writer(&link).unwrap();
        assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
        assert!(!is_link(&link));
        // One of a file that does not exist would create it.
        let dangling = directory.path().join("dangling");
        symlink("missing", &dangling).unwrap();
        writer(&dangling).unwrap();
        assert!(!is_link(&dangling) && !directory.path().join("missing").exists());
        // Another name of the same file keeps its content, too.
        let other = directory.path().join("other");
        fs::hard_link(&own, &other).unwrap();
        writer(&other).unwrap();
        assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
        assert_eq!(names(&directory), 4, "a partial file is left");
    }
}

#[test]
fn new_files_have_the_access_that_others_have() {
    let directory = tempfile::tempdir().unwrap();
    let (usual, replaced) = (directory.path().join("a"), directory.path().join("b"));
    fs::write(&usual, "").unwrap();
    replace(&replaced, b"").unwrap();
    let mode = |file: &Path| fs::metadata(file).unwrap().mode();
    assert_eq!(mode(&replaced), mode(&usual));
    let private = directory.path().join("c");
    create_new_private(&private).unwrap();
    assert_eq!(mode(&private) & 0o777, 0o600);
}

#[test]
fn a_file_has_the_mode_of_the_one_that_it_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a");
    for (mode, kept) in [(0o600, 0o600), (0o755, 0o755), (0o4755, 0o755), (0o664, 0o664)] {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        replace(&file, b"new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, kept, "{mode:o}");
    }
    // That of a link is none.
    let link = directory.path().join("link");
    symlink("a", &link).unwrap();
    replace(&link, b"new").unwrap();
    assert_eq!(fs::metadata(&link).unwrap().mode() & 0o111, 0);
}

#[test]
fn pipes_and_descriptors_that_users_name_are_written_in_place() {
    use std::io::{Read, Seek};
    use std::os::fd::AsRawFd;
    let mut redirected = tempfile::tempfile().unwrap();
    redirected.write_all(b"before, ").unwrap();
    let number = redirected.as_raw_fd();
    write(Path::new(&format!("/proc/self/fd/{number}")), b"one, ").unwrap();
    create(Path::new(&format!("/dev/fd/{number}"))).unwrap().write_all(b"two").unwrap();
    let mut text = String::new();
    redirected.rewind().unwrap();
    redirected.read_to_string(&mut text).unwrap();
    assert_eq!(text, "before, one, two");

    write(Path::new("/dev/null"), b"x").unwrap();
    assert!(!fs::symlink_metadata("/dev/null").unwrap().is_file());
    assert!(is_descriptor(Path::new("/dev/stdout")) || !is_link(Path::new("/dev/stdout")));
}

#[test]
fn a_name_of_ours_is_no_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let null = directory.path().join("report.html");
    symlink("/dev/null", &null).unwrap();
    replace(&null, b"page").unwrap();
    assert_eq!(fs::read(&null).unwrap(), b"page");
}

#[test]
fn only_new_names_are_created_as_new() {
    let (directory, own, link) = linked_file();
    let dangling = directory.path().join("dangling");
    symlink("missing", &dangling).unwrap();
    for file in [&own, &link, &dangling] {
        assert!(create_new(file).is_err() && create_new_private(file).is_err());
    }
    ensure_private(&own).unwrap();
    for file in [&link, &dangling] {
        assert!(ensure_private(file).unwrap_err().to_string().contains("symbolic link"));
        assert!(append(file).is_err());
    }
    assert!(!directory.path().join("missing").exists());
    let new = directory.path().join("new");
    ensure_private(&new).unwrap();
    ensure_private(&new).unwrap();
    assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
    append(&own).unwrap().write_all(b"!").unwrap();
    assert_eq!(fs::read_to_string(&own).unwrap(), "precious!");
}

#[test]
fn directories_below_a_root_are_no_links() {
    let outside = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    let below = Path::new("out/studio");
    assert_eq!(create_dir_below(root.path(), below).unwrap(), root.path().join(below));
    create_dir_below(root.path(), below).unwrap();
    for link in ["linked", "deep/linked"] {
        let link = Path::new(link);
        create_named_dir(root.path().join(link).parent().unwrap()).unwrap();
        symlink(outside.path(), root.path().join(link)).unwrap();
        for path in [link.to_owned(), link.join("more")] {
            let error = create_dir_below(root.path(), &path).unwrap_err().to_string();
            assert!(error.contains("linked is a symbolic link"), "{error}");
        }
        assert_eq!(names(&outside), 0);
        // One that a user names is followed.
        create_named_dir(&root.path().join(link)).unwrap();
        assert_eq!(followed(&root.path().join(link)), outside.path().canonicalize().unwrap());
    }
    fs::write(root.path().join("file"), "").unwrap();
    assert!(create_dir_below(root.path(), Path::new("file")).is_err());
    assert_eq!(followed(&root.path().join("file")), root.path().join("file"));
}

#[test]
fn a_file_of_a_directory_from_elsewhere_is_read_without_following() {
    let (directory, own, _) = linked_file();
    let root = directory.path().join("run");
    fs::create_dir_all(root.join("inputs")).unwrap();
    fs::write(root.join("inputs/a"), "text").unwrap();
    symlink(&own, root.join("inputs/link")).unwrap();
    symlink(directory.path(), root.join("outside")).unwrap();
    let read = |name: &str| read_below(&root, Path::new(name));
    assert_eq!(read("inputs/a").unwrap(), b"text");
    let outside = format!("outside/{}", own.file_name().unwrap().display());
    for name in ["inputs/link", &outside, "../own", "/etc/hostname", "inputs", "inputs/b"] {
        assert!(read(name).is_err(), "{name}");
    }
    symlink("/dev/zero", root.join("endless")).unwrap();
    assert!(read("endless").is_err());
    // Names that are written stay below, too.
    for below in ["..", "a/../..", "/etc"] {
        assert!(create_dir_below(&root, Path::new(below)).is_err(), "{below}");
    }
}
