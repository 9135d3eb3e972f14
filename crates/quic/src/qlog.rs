//! One qlog file per connection.

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Instant;

use noq_proto::{ConnectionId, QlogConfig, QlogFactory, Side};

/// Opens `DIR/CID-SIDE.sqlog`. noq's own factory puts the date into the name; connection ids tell
/// connections apart, and the same world writes the same names.
pub(crate) struct QlogDir {
    pub(crate) dir: PathBuf,
    /// Times in the file count from here: the start of the world.
    pub(crate) start: Instant,
}

impl QlogFactory for QlogDir {
    fn for_connection(
        &self,
        side: Side,
        remote: SocketAddr,
        initial_dst_cid: ConnectionId,
        _now: Instant,
    ) -> Option<QlogConfig> {
        let side = if side.is_client() { "client" } else { "server" };
        let path = self.dir.join(format!("{initial_dst_cid}-{side}.sqlog"));
        let file = match File::create(&path) {
            Ok(file) => file,
            Err(e) => {
                tracing::warn!("no qlog: cannot create {}: {e}", path.display());
                return None;
            }
        };
        let mut config = QlogConfig::new(Box::new(BufWriter::new(file)));
        config.title(Some(format!("airlane {side}")));
        config.description(Some(format!("{side} of a connection with {remote}")));
        config.start_time(self.start);
        Some(config)
    }
}
