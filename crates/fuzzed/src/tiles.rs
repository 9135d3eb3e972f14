//! Tables of tiles (`docs/reference/tile-tables.md`).

use airlane_media::tiles;

/// Any bytes as a table of tiles: an error or a video that is sound.
pub fn tiles(data: &[u8]) {
    if let Ok(video) = tiles::parse(data, "file") {
        assert_eq!(video.check(), Ok(()));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let ours = r#"{"format": "airlane-tiles", "version": 1, "video": "lake", "columns": 2,
"rows": 1, "gop_s": 0.5, "levels": ["low", "high"], "gops": [{"bytes": [[100, 1000],
[200, 2000]], "mse": [[65.0, 0.65], [65.0, 0.65]], "change_mse": [9, 900], "grey_mse": [1, 2]}]}"#;
    let sizes = r#"{"2x1": {"1000": {"9000": {"1": {}, "2": {"1": 90, "2": 95}, "3": {"1": 70}},
"10000": {"2": {"1": 190, "2": 195}, "3": {"1": 170}}}}}"#;
    crate::texts(&[ours, sizes])
}
