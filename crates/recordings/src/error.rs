//! Why a file cannot be imported.

use thiserror::Error;

/// A file that cannot be read or does not go with the others. The message says what would.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// A line is not what the format has there.
    #[error("{file}, line {line}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem and the remedy.
        problem: String,
    },
    /// The file as a whole cannot be used.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// The files do not go together, or something is missing beside them.
    #[error("{0}")]
    Together(String),
}

/// A problem of a file whose name is not known yet: the line, if there is one, and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub line: Option<usize>,
    pub problem: String,
}

impl Fault {
    /// A problem on line number `line`, from 1.
    pub fn at(line: usize, problem: impl Into<String>) -> Self {
        Self { line: Some(line), problem: problem.into() }
    }

    /// A problem of the whole file.
    pub fn whole(problem: impl Into<String>) -> Self {
        Self { line: None, problem: problem.into() }
    }

    /// Returns the error of the file called `file`.
    pub fn in_file(self, file: &str) -> ImportError {
        let (file, problem) = (file.to_owned(), self.problem);
        match self.line {
            Some(line) => ImportError::Line { file, line, problem },
            None => ImportError::File { file, problem },
        }
    }
}

/// A place in a document of JSON that is not as it should be.
impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // The place stands at the end of the message, too.
        let problem = text.split(" at line ").next().unwrap_or(&text).to_owned();
        let problem = if error.is_eof() { "the document has no end".to_owned() } else { problem };
        Self::at(error.line().max(1), problem)
    }
}
