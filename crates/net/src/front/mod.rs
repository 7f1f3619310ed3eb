//! HTTP/3 beside the web server of a site: the certificates and the upstreams of its hosts.
//!
//! [`CertificateStore`] finds the certificates that other programs keep, [`Sites`] says which
//! upstream has which host, and [`Server::front`](crate::serve::Server::front) serves them over
//! UDP only. The web server keeps TCP.

mod probe;
mod scan;
mod site_certificate;
mod sites;
mod store;
mod table;

pub use probe::{HostState, probe_all};
pub use site_certificate::{KeyKind, SiteCertificate};
pub use sites::{Sites, SitesError};
pub use store::{CertificateStore, Reloaded};
pub use table::CertificateTable;
