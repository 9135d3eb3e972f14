//! Tables of chunks (`docs/reference/chunk-tables.md`).

use airlane_base::Seed;
use airlane_media::{synthetic, table};

/// Any bytes as a table: an error or a value.
pub fn table(data: &[u8]) {
    let _ = table::parse(data);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    synthetic::corpus(2, 3, Seed(1)).iter().map(|v| table::to_json(v).into_bytes()).collect()
}
