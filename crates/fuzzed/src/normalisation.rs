//! Stored normalisations of Minerva (`docs/design/minerva.md`).

use airlane_minerva::StoredNormalisation;

/// Any bytes as a stored normalisation: an error, or a value that is positive at 0 and comes back as it
/// was written.
pub fn normalisation(data: &[u8]) {
    if let Ok(read) = StoredNormalisation::from_json(data) {
        assert!(read.normalisation.eval(0.0) > 0.0);
        assert_eq!(StoredNormalisation::from_json(read.to_json().as_bytes()), Ok(read));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    crate::texts(&[r#"{
  "format": "airlane-normalisation",
  "version": 1,
  "airlane": "0.1.0",
  "corpus": {"name": "x", "content_hash": "00", "min_chunks": 50, "titles": 2},
  "metric": "vmaf",
  "abr": "robust-mpc",
  "player": {"horizon": 5, "buffer_cap_s": 40.0, "overhead_s": 0.6, "beta": 25.0, "gamma": 2.5,
    "smoothness": "mean_curve"},
  "popularity": {"news": 2.5},
  "normalisation": {"form": "fixed-rate", "alpha": 2.0,
    "points": [[0.9, 104204.2], [40.0, 400000.0], [94.0, 8.1e6]]}
}"#])
}
