//! Popularities of titles (`docs/guide/workloads.md`).

use std::path::Path;

use airlane_lab::workloads::vod::popularity::Popularity;

/// Any bytes as popularities: an error or a value that titles can be looked up in.
pub fn popularity(data: &[u8]) {
    if let Ok(read) = Popularity::parse(data, Path::new("fuzz.csv")) {
        let _ = read.of(["news", "cave"], &["news", "cave", "short"], "content");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    crate::texts(&[
        "title,popularity\nnews,2.5\ncave,0\n",
        "\u{feff}title, popularity\r\nshort,1e3\r\n\r\n*,1\r\n",
    ])
}
