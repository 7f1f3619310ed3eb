//! The configuration file of `serve`, `proxy` and `front`: TOML with the names of the options,
//! inserted into the command line before what is given there, which has precedence.

use super::Cli;
use clap::error::{ContextKind, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use nix::unistd::{getegid, geteuid};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Commands that have a configuration file.
const COMMANDS: [&str; 3] = ["serve", "proxy", "front"];
/// Largest configuration file, bytes. Our choice.
const MAX_SIZE: u64 = 1024 * 1024;
/// The option that names the file.
const OPTION: &str = "config";

/// Returns the command line `args` with what its configuration file says, if it names one.
///
/// # Errors
/// The file cannot be read, or what it says is not allowed: the reason, with file and line.
pub fn expand(args: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let Some(name) = args.get(1).and_then(|name| name.to_str()) else { return Ok(args) };
    if !COMMANDS.contains(&name) || !args.iter().any(|arg| names_file(arg)) {
        return Ok(args);
    }
    let mut cli = Cli::command();
    cli.build();
    let Some(command) = cli.find_subcommand(name).cloned() else { return Ok(args) };
    // Whatever else is wrong with the command line is reported when it is parsed as a whole.
    let lenient = command.clone().ignore_errors(true).no_binary_name(true);
    let Ok(given) = lenient.try_get_matches_from(args.iter().skip(2)) else { return Ok(args) };
    let Some(file) = given.get_raw(OPTION).and_then(|mut files| files.next()) else {
        return Ok(args);
    };
    let text = read(Path::new(file))?;
    let settings = Reader { file: Path::new(file), text: &text, command: &command, given: &given };
    let mut expanded: Vec<OsString> = args.iter().take(2).cloned().collect();
    expanded.extend(settings.options()?.into_iter().map(OsString::from));
    expanded.extend(args.into_iter().skip(2));
    Ok(expanded)
}

fn names_file(arg: &OsStr) -> bool {
    arg.to_str().is_some_and(|arg| arg == "--config" || arg.starts_with("--config="))
}

fn read(file: &Path) -> Result<String, String> {
    let failed = |reason: &dyn std::fmt::Display| format!("{}: {reason}", file.display());
    let opened = File::open(file).map_err(|error| failed(&error))?;
    let metadata = opened.metadata().map_err(|error| failed(&error))?;
    if !metadata.is_file() {
        return Err(failed(&"it is not a regular file"));
    }
    trusted(&Rights::of(&metadata), (geteuid().as_raw(), getegid().as_raw()))
        .map_err(|why| failed(&why))?;
    let mut text = String::new();
    opened.take(MAX_SIZE + 1).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if text.len() as u64 > MAX_SIZE {
        return Err(failed(&format_args!("it is larger than {MAX_SIZE} bytes")));
    }
    Ok(text)
}

/// Who may change a file.
#[derive(Debug, Clone, Copy)]
struct Rights {
    owner: u32,
    group: u32,
    mode: u32,
}

impl Rights {
    fn of(metadata: &Metadata) -> Self {
        let mode = metadata.permissions().mode() & 0o777;
        Self { owner: metadata.uid(), group: metadata.gid(), mode }
    }
}

/// Checks that only root and this process, with its `user` and its `group`, may change a file:
/// whoever can, chooses the files that a server reads and publishes with its rights.
///
/// # Errors
/// Somebody else may: who, and what is allowed.
fn trusted(rights: &Rights, (user, group): (u32, u32)) -> Result<(), String> {
    let Rights { owner, group: owners, mode } = *rights;
    if owner != 0 && owner != user {
        return Err(format!(
            "user {owner} owns it and may change it; allowed: root, and the user of the server \
             ({user})"
        ));
    }
    let by_group = mode & 0o020 != 0 && owners != 0 && owners != group;
    if by_group || mode & 0o002 != 0 {
        return Err(format!(
            "its mode {mode:04o} lets other users change it; allowed: 0644 or stricter (chmod go-w)"
        ));
    }
    Ok(())
}

/// Reads a configuration file for a command.
struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    command: &'a Command,
    /// What the command line says.
    given: &'a ArgMatches,
}

impl Reader<'_> {
    /// Returns an error at the line of the byte at `offset`.
    fn error(&self, offset: usize, reason: &str) -> String {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        format!("{}:{line}: {reason}", self.file.display())
    }

    /// Returns the options that the file adds to the command line.
    fn options(&self) -> Result<Vec<String>, String> {
        let table = DeTable::parse(self.text).map_err(|error| {
            self.error(error.span().map_or(0, |span| span.start), error.message())
        })?;
        let mut options = Vec::new();
        for (key, value) in table.into_inner() {
            let offset = key.span().start;
            let key = key.into_inner();
            let arg = self.arg(&key).ok_or_else(|| self.error(offset, &self.unknown(&key)))?;
            let added = self.values(arg, &key, &value)?;
            let in_command = self.given.value_source(arg.get_id().as_str());
            if in_command != Some(ValueSource::CommandLine) {
                options.extend(added);
            }
        }
        // Positional arguments last, behind a value that an option might take.
        options.sort_by_key(|option| !option.starts_with("--"));
        Ok(options)
    }

    /// Returns the option or the positional argument of that name.
    fn arg(&self, key: &str) -> Option<&Arg> {
        self.allowed().find(|arg| name(arg) == Some(key))
    }

    fn allowed(&self) -> impl Iterator<Item = &Arg> {
        let helpers = ["help", "version", OPTION];
        self.command.get_arguments().filter(move |arg| !helpers.contains(&arg.get_id().as_str()))
    }

    fn unknown(&self, key: &str) -> String {
        let mut names: Vec<&str> = self.allowed().filter_map(name).collect();
        names.sort_unstable();
        let similar = names.iter().find(|name| name.replace('-', "_") == key.replace('-', "_"));
        let remedy = match similar {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("allowed: {}", names.join(", ")),
        };
        format!("`{key}` is not an option of `{}`; {remedy}", self.command.get_name())
    }

    /// Returns the options that `value` stands for.
    fn values(
        &self,
        arg: &Arg,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<String>, String> {
        let offset = value.span().start;
        let flag = matches!(arg.get_action(), ArgAction::SetTrue);
        match value.get_ref() {
            DeValue::Boolean(on) if flag => {
                Ok(on.then(|| format!("--{key}")).into_iter().collect())
            }
            _ if flag => Err(self.error(offset, &format!("`{key}` is true or false"))),
            DeValue::Array(items) if matches!(arg.get_action(), ArgAction::Append) => {
                items.iter().map(|item| self.single(arg, key, item)).collect()
            }
            _ => Ok(vec![self.single(arg, key, value)?]),
        }
    }

    /// Returns the option of a single value, which its parser accepts.
    fn single(&self, arg: &Arg, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, String> {
        let offset = value.span().start;
        let text = match value.get_ref() {
            DeValue::String(text) => text.clone().into_owned(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            _ => {
                let several = matches!(arg.get_action(), ArgAction::Append);
                let or = if several { ", or a list of these" } else { "" };
                return Err(self.error(offset, &format!("`{key}` is a text or a number{or}")));
            }
        };
        let option = if arg.is_positional() {
            if text.starts_with('-') {
                return Err(self.error(offset, &format!("`{key}` may not begin with a hyphen")));
            }
            text.clone()
        } else {
            format!("--{key}={text}")
        };
        let command = self.command.clone().no_binary_name(true);
        let Err(error) = command.try_get_matches_from([&option]) else { return Ok(option) };
        if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
            // What is missing may be elsewhere.
            return Ok(option);
        }
        let reason = error.source().map(ToString::to_string).or_else(|| {
            error.get(ContextKind::ValidValue).map(|valid| format!("allowed: {valid}"))
        });
        let reason = reason.unwrap_or_else(|| "it is not allowed".to_owned());
        Err(self.error(offset, &format!("`{text}` for `{key}`: {reason}")))
    }
}

/// Returns the name of an option, or of a positional argument.
fn name(arg: &Arg) -> Option<&str> {
    arg.get_long().or_else(|| arg.is_positional().then(|| arg.get_id().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the expanded command line, without the executable and the file.
    fn expanded(command: &str, text: &str) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("c.toml");
        std::fs::write(&file, text).unwrap();
        let line = format!("bentpipe {command} --config={}", file.display());
        let args = expand(line.split(' ').map(OsString::from).collect());
        let args = args.map_err(|error| {
            error.strip_prefix(&file.display().to_string()).unwrap_or(&error).to_owned()
        })?;
        let words = args.iter().map(|word| word.to_str().unwrap().to_owned());
        Ok(words.filter(|word| word != "bentpipe" && !word.starts_with("--config=")).collect())
    }

    #[test]
    fn keys_become_options_and_the_command_line_has_precedence() {
        let text = "# a server\ndir = \"public\"\nself-signed = true\nno-store = false\n\
                    threads = 2\nname = [\"a\", \"b\"]\ndrain = \"3 s\"\n";
        let words = expanded("serve", text).unwrap().join(" ");
        let sorted = "serve --drain=3 s --name=a --name=b --self-signed --threads=2 public";
        assert_eq!(words, sorted);
        let words = expanded("serve other --threads 1 --name=c", text).unwrap().join(" ");
        let expected = "serve --drain=3 s --self-signed other --threads 1 --name=c";
        assert_eq!(words, expected);
        // Without a file, and for other commands, nothing changes.
        for line in
            [&["bentpipe"][..], &["bentpipe", "serve", "x"], &["bentpipe", "run", "--config"]]
        {
            let args: Vec<OsString> = line.iter().map(OsString::from).collect();
            assert_eq!(expand(args.clone()), Ok(args));
        }
    }

    #[test]
    fn errors_name_the_line_and_what_is_allowed() {
        for (text, expected) in [
            ("\nthreads = 65\n", ":2: `65` for `threads`: allowed: 1 to 64"),
            ("threads = true", ":1: `threads` is a text or a number"),
            ("threads = [1]", ":1: `threads` is a text or a number"),
            ("self-signed = \"yes\"", ":1: `self-signed` is true or false"),
            ("name = [1, {}]", ":1: `name` is a text or a number, or a list of these"),
            ("log = \"xml\"", ":1: `xml` for `log`: allowed: text, json, none"),
            (
                "\ncache-control = \"max-age=1h\"",
                ":2: `max-age=1h` for `cache-control`: `max-age=1h` is not a number of seconds; \
                 allowed: ",
            ),
            (
                "max_connections = 1",
                ":1: `max_connections` is not an option of `serve`; did you \
              mean `max-connections`?",
            ),
            ("dir = \"-x\"", ":1: `dir` may not begin with a hyphen"),
            ("config = \"other.toml\"", ":1: `config` is not an option of `serve`; allowed: "),
            ("[serve]\n", ":1: `serve` is not an option of `serve`; allowed: "),
            ("drain = \"3 s\"\ndrain = \"4 s\"\n", ":2: duplicate key"),
            ("drain = ", ":1: "),
        ] {
            let error = expanded("serve", text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        assert!(expanded("proxy", "upstream = [\"http://a\", \"http://b\"]").is_ok());
        let missing = ["bentpipe", "serve", "--config", "/nowhere/c.toml"].map(OsString::from);
        let error = expand(missing.to_vec()).unwrap_err();
        assert!(error.starts_with("/nowhere/c.toml: "), "{error}");
        let device = ["bentpipe", "serve", "--config", "/dev/zero"].map(OsString::from);
        assert!(expand(device.to_vec()).unwrap_err().ends_with("it is not a regular file"));
        let large = expanded("serve", &"#".repeat(1024 * 1024 + 1)).unwrap_err();
        assert!(large.ends_with("it is larger than 1048576 bytes"), "{large}");
    }

    #[test]
    fn a_file_that_others_may_change_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("c.toml");
        std::fs::write(&file, "threads = 2\n").unwrap();
        let args = ["bentpipe", "serve", "--config", file.to_str().unwrap()].map(OsString::from);
        for (mode, accepted) in
            [(0o600, true), (0o644, true), (0o664, true), (0o646, false), (0o666, false)]
        {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            match expand(args.to_vec()) {
                Ok(_) => assert!(accepted, "{mode:o}"),
                Err(error) => {
                    assert!(!accepted, "{mode:o}: {error}");
                    assert!(error.contains(&format!("its mode {mode:04o} ")), "{error}");
                }
            }
        }
        let of = |owner, group, mode| trusted(&Rights { owner, group, mode }, (1234, 567));
        assert_eq!(of(0, 99, 0o644), Ok(()));
        assert_eq!(of(1234, 0, 0o660), Ok(()));
        assert_eq!(of(1234, 567, 0o660), Ok(()), "the group of this process");
        assert!(of(1234, 99, 0o660).unwrap_err().starts_with("its mode 0660 "));
        let error = of(4321, 567, 0o600).unwrap_err();
        assert!(error.starts_with("user 4321 owns it"), "{error}");
    }
}
