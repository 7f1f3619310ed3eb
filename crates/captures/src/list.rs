//! Lists of packets: most have no entry or one, and a file has millions of packets.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that needs no memory elsewhere for up to one entry.
#[derive(Clone)]
pub struct List<T>(Entries<T>);

#[derive(Clone)]
enum Entries<T> {
    None,
    One(T),
    /// More than one, once.
    More(Vec<T>),
}

impl<T> List<T> {
    /// Adds an entry at the end.
    pub fn push(&mut self, entry: T) {
        self.0 = match std::mem::replace(&mut self.0, Entries::None) {
            Entries::None => Entries::One(entry),
            Entries::One(first) => Entries::More(vec![first, entry]),
            Entries::More(mut all) => {
                all.push(entry);
                Entries::More(all)
            }
        };
    }

    /// Keeps the entries for which `is_kept` is true.
    pub fn retain(&mut self, is_kept: impl Fn(&T) -> bool) {
        match &mut self.0 {
            Entries::One(entry) if !is_kept(entry) => self.0 = Entries::None,
            Entries::None | Entries::One(_) => {}
            Entries::More(all) => all.retain(is_kept),
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Entries::None)
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Entries::None => &[],
            Entries::One(entry) => std::slice::from_ref(entry),
            Entries::More(all) => all,
        }
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Entries::None => &mut [],
            Entries::One(entry) => std::slice::from_mut(entry),
            Entries::More(all) => all,
        }
    }
}

impl<T> Extend<T> for List<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut list = Self::default();
        list.extend(entries);
        list
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(entries: Vec<T>) -> Self {
        entries.into_iter().collect()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for List<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: Eq> Eq for List<T> {}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_as_vectors_of_the_same_entries() {
        for count in 0..4 {
            let vector: Vec<u32> = (0..count).collect();
            let list = List::from(vector.clone());
            assert_eq!(*list, *vector);
            let mut even = list.clone();
            even.retain(|entry| entry % 2 == 0);
            let expected: Vec<u32> = vector.iter().copied().filter(|one| one % 2 == 0).collect();
            assert_eq!(*even, *expected);
            assert_eq!(even == list, *expected == *vector);
        }
    }
}
