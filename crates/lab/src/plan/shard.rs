//! Shards: parts of a plan for several machines.

use std::fmt;
use std::str::FromStr;

/// One of several parts of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the part, from 1.
    number: usize,
    /// Number of parts.
    of: usize,
}

impl Shard {
    /// Returns every `of`-th of `tasks`, so that all parts have about the same work.
    pub(crate) fn of(self, tasks: &[usize]) -> Vec<usize> {
        tasks.iter().skip(self.number - 1).step_by(self.of).copied().collect()
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('/')
            .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(format!("`{text}` is not a part of a plan; allowed: K/N, from 1/N to N/N")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_all_tasks_once() {
        let tasks: Vec<usize> = (0..10).rev().collect();
        let mut all: Vec<usize> =
            (1..=3).flat_map(|number| Shard { number, of: 3 }.of(&tasks)).collect();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..10));
    }

    #[test]
    fn texts_of_shards_are_checked() {
        assert_eq!("2/8".parse::<Shard>().unwrap().to_string(), "2/8");
        for text in ["0/8", "9/8", "8", "a/b", "1/0", ""] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains("K/N"), "{error}");
        }
    }
}
