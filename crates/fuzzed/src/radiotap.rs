//! Radiotap headers (<https://www.radiotap.org>).

use airlane_capture::Radiotap;

/// Any bytes as a radiotap header: an error or a value; what is read lies inside.
pub fn radiotap(data: &[u8]) {
    let Ok(tap) = Radiotap::parse(data) else { return };
    assert!(tap.len <= data.len());
    if let Some(vector) = tap.vector {
        assert!(vector.is_valid());
        assert!(!vector.duration(1_500).is_zero());
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    crate::frames::records()
}
