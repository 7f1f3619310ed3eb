//! The task of an application.

use std::future::Future;
use std::pin::Pin;

/// What an application does with a connection: a future that completes when it is done.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;
