//! Scenarios with one invalid key each, and the messages expected for them.

pub const HEAD: &str = "name = \"wrong\"\n[path]\n";
pub const WORK: &str = "[workload]\ndownload = \"1 MB\"\n";

/// A scenario that is invalid in one way.
pub struct Case {
    pub what: &'static str,
    pub text: String,
    /// Line of the file that the message refers to.
    pub line: usize,
    /// Parts of the message: the given value, and the allowed ones.
    pub expected: &'static [&'static str],
}

pub fn case(
    what: &'static str,
    text: impl Into<String>,
    line: usize,
    expected: &'static [&'static str],
) -> Case {
    Case { what, text: text.into(), line, expected }
}

/// Returns a scenario whose path has `line`, as line 3 of the file.
pub fn path(line: &str) -> String {
    format!("{HEAD}{line}\nprofile = \"geo-50-10\"\n{WORK}")
}

/// Returns a valid scenario (9 lines) followed by `more`, from line 10 on.
pub fn after(more: &str) -> String {
    format!(
        "{HEAD}profile = \"geo-50-10\"\n[workload]\ndownload = \"1 MB\"\n[[variant]]\n\
         name = \"a\"\n[sweep]\n\"workload.download\" = [\"1 MB\", \"2 MB\"]\n{more}"
    )
}

/// Returns a valid scenario over one hop (5 lines), with a variant of `keys` from line 6 on.
pub fn variant(keys: &str) -> String {
    format!("{HEAD}profile = \"geo-50-10\"\n{WORK}[[variant]]\nname = \"a\"\n{keys}\n")
}

/// Returns a scenario over an orbit with `line`, as line 6 of the file.
pub fn orbit(line: &str) -> String {
    format!(
        "{HEAD}[path.orbit]\nconstellation = \"iridium\"\nlinks.all = {{ rate = \"1 Mbps\" }}\n\
         {line}\n[workload]\nfrom = \"Tokyo\"\nto = \"Osaka\"\ndownload = \"1 MB\"\n"
    )
}

/// Returns a scenario over an orbit with a station of `keys`, from line 7 on.
pub fn station(keys: &str) -> String {
    orbit(&format!("[[path.orbit.station]]\nname = \"here\"\n{keys}"))
}

/// Returns a valid path and a flow with `keys`, from line 6 on.
pub fn flows(name: &str, keys: &str) -> String {
    format!("{HEAD}profile = \"geo-50-10\"\n[[flow]]\nname = \"{name}\"\n{keys}\n")
}
