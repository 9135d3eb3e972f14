//! Traces of a link's rate (`docs/reference/traces.md`).

use airlane_net::Trace;

/// Any bytes as a trace: an error or a value.
pub fn trace(data: &[u8]) {
    let _ = Trace::parse(data, "fuzz");
}

/// `0\n1\n1\n5\n9\n` as gzip writes it.
const GZIP: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0xe0, 0x32, 0x04, 0x42, 0x53,
    0x2e, 0x4b, 0x2e, 0x00, 0x35, 0x49, 0xe5, 0x52, 0x0a, 0x00, 0x00, 0x00,
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = crate::texts(&[
        "0\n1\n1\n5\n9\n",
        "0.0 12.5\n1.0 0\n2.0 7 3\n",
        "time_s,x_kbps\n0,100\n1,2.5e3\n2.5,0\n",
        // G-NetTrack, and iperf 2.
        "Timestamp,\"DL_bitrate\",UL_bitrate,State\na,2000,1,D\nb,9,1,I\nc,1000,3,D\n",
        "20260101120000,10.0.0.1,4000,10.0.0.2,5001,1,0.0-1.0,181000,1448000\n\
         20260101120001,10.0.0.1,4000,10.0.0.2,5001,1,1.0-2.0,362000,2896000\n",
    ]);
    seeds.push(GZIP.to_vec());
    seeds
}
