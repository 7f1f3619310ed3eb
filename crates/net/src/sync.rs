//! What shared state is made of. Models of it compile its files with other types under these names.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
