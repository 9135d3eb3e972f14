//! Value curves that players send (`docs/design/minerva.md`).

use airlane_minerva::SentCurve;

/// Any bytes and any text as a value curve: what was understood once is understood again.
pub fn curve(data: &[u8]) {
    let _ = SentCurve::from_text(&String::from_utf8_lossy(data));
    if let Ok(read) = SentCurve::from_bytes(data) {
        assert!(SentCurve::from_bytes(&read.to_bytes()).is_ok_and(|again| again == read));
    }
}

/// Version 1; of chunk 7 at rung 3; 3 rates of 100 to 1000 kbit/s, 2 buffers of 4000 to 8000 ms, lines
/// of equal bits 20 000 ms ahead, in steps of 0.25; six values, a half byte each.
const SMALL: [u8; 21] = [
    1, 7, 3, 3, 100, 0xe8, 0x07, 2, 0xa0, 0x1f, 0xc0, 0x3e, 0xa0, 0x9c, 0x01, 0x90, 0xa1, 0x0f,
    0x52, 0x34, 0x10,
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let small = SentCurve::from_bytes(&SMALL).expect("the constant is a value curve");
    vec![small.to_bytes(), small.to_text().into_bytes()]
}
