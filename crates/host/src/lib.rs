//! What the daemons share: a machine's folders, secrets, names and date, and small servers and logs that
//! a peer cannot fill.

mod accept;
pub mod date;
pub mod dirs;
mod fair;
pub mod happy_eyeballs;
mod hmac_key;
pub mod host_id;
pub mod net_scope;
pub mod own_host;
pub mod plain_http;
pub mod prometheus;
mod rate_limited_log;
mod resolver;
pub mod secret_file;

pub use accept::accept;
pub use fair::{FairPermit, FairPermits};
pub use hmac_key::HmacKey;
pub use rate_limited_log::RateLimitedLog;
pub use resolver::{Lookup, Resolver};
