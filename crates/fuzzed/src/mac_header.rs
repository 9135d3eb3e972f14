//! MAC headers of 802.11 (802.11-2020, 9.2 to 9.3).

use airlane_base::Time;
use airlane_capture::{Decoder, Header, Radiotap, Records, Writer};
use airlane_wifi::{Heard, Vector, What};

/// Any bytes as an 802.11 frame: an error or a value; what was read is written, and reads back the same.
pub fn mac_header(data: &[u8]) {
    let Ok(header) = Header::parse(data, 2_000) else { return };
    assert!(header.len <= data.len() && header.code < 64);
    let frame = header.frame;
    let vector = Vector::ofdm(0);
    let what = What::Frames { vector, is_aggregate: false, frames: vec![frame] };
    let heard = Heard { at: Time::from_micros(5), duration: vector.duration(frame.bytes), what };
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    // Some frames can be read and not written: those of block acknowledgements longer than they are.
    if writer.write(&heard).is_err() {
        return;
    }
    let bytes = writer.finish().expect("memory takes it");
    let mut records = Records::new(&bytes[..]).expect("our own");
    let mut decoder = Decoder::default();
    while let Some(record) = records.read().expect("memory") {
        decoder.push(&record).expect("our own");
    }
    decoder.finish();
    assert_eq!(decoder.pop().map(|t| t.heard), Some(heard));
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let records = crate::frames::records();
    let headers = records.iter().filter_map(|record| {
        let tap = Radiotap::parse(record).expect("our own");
        record.get(tap.len..).filter(|header| !header.is_empty())
    });
    headers.map(<[u8]>::to_vec).collect()
}
