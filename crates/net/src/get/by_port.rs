//! What a client has for each port of servers.

use super::error::ClientError;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Largest number of ports at once. Our choice: redirects may name any port.
const MAX_PORTS: usize = 64;

type Make<T> = dyn Fn(u16) -> Result<T, ClientError> + Send + Sync;

/// A value for each port of servers, made when it is first wanted.
///
/// TLS configurations keep tickets by the server's name alone, and a server is a name and a port:
/// another one at the same name would take its tickets, and refuse them. So each port has
/// configurations of its own.
pub(super) struct ByPort<T> {
    make: Box<Make<T>>,
    made: Mutex<BTreeMap<u16, T>>,
}

impl<T> fmt::Debug for ByPort<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByPort").finish_non_exhaustive()
    }
}

impl<T: Clone> ByPort<T> {
    pub fn new(make: impl Fn(u16) -> Result<T, ClientError> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make), made: Mutex::default() }
    }

    /// Returns the value of `port`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn at(&self, port: u16) -> Result<T, ClientError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = made.get(&port) {
            return Ok(value.clone());
        }
        let value = (self.make)(port)?;
        if made.len() >= MAX_PORTS {
            made.pop_last();
        }
        made.insert(port, value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn each_port_keeps_its_value_and_their_number_is_bounded() {
        let ports = ByPort::new(|port| Ok(Arc::new(port)));
        let first = ports.at(443).unwrap();
        assert!(Arc::ptr_eq(&first, &ports.at(443).unwrap()));
        assert_eq!(*ports.at(4433).unwrap(), 4433);
        (1000..2000).for_each(|port| drop(ports.at(port).unwrap()));
        assert_eq!(ports.made.lock().unwrap().len(), MAX_PORTS);
        assert!(Arc::ptr_eq(&first, &ports.at(443).unwrap()));
    }
}
