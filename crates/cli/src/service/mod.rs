//! What services of the command have in common: `serve`, `proxy`, `front`, `pep` and `studio`.

#[cfg(feature = "product")]
pub mod client_side;
#[cfg(feature = "product")]
pub mod messages;
#[cfg(feature = "product")]
pub mod notify;
#[cfg(feature = "product")]
pub mod server;
#[cfg_attr(not(feature = "product"), expect(dead_code, reason = "servers reload and drain"))]
pub mod stop;
#[cfg(feature = "product")]
pub mod successor;
#[cfg(feature = "product")]
pub mod upstream;
