//! Executors on other machines, which the Python package offers.

use bentpipe_lab::Executor;

/// Connects to executors on other machines.
pub trait Cluster {
    /// Returns an executor that runs tasks on the Dask scheduler at `address`.
    ///
    /// # Errors
    /// The scheduler cannot be reached.
    fn dask(&self, address: &str) -> Result<Box<dyn Executor>, String>;
}
