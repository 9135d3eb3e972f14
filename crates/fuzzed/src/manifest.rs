//! DASH manifests (ISO/IEC 23009-1).

use airlane_media::{dash, hls};

/// Any bytes as a DASH manifest: an error, or a value that can be written as DASH and as HLS.
pub fn manifest(data: &[u8]) {
    if let Ok(read) = dash::parse(&String::from_utf8_lossy(data)) {
        dash::write(&read);
        hls::write(&read, &|_| None);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let template = r#"<MPD mediaPresentationDuration="PT10S" type="static">
<Period><BaseURL>a/</BaseURL><AdaptationSet mimeType="video/mp4" codecs="avc1.64001f">
<SegmentTemplate timescale="1000" media="$RepresentationID$/$Number%03d$.m4s" startNumber="1">
<SegmentTimeline><S t="0" d="4000" r="1"/><S d="2000"/></SegmentTimeline></SegmentTemplate>
<Representation id="v" bandwidth="300000" width="640" height="360" frameRate="30000/1001"/>
</AdaptationSet></Period></MPD>"#;
    let base = r#"<MPD mediaPresentationDuration="PT10S"><Period><AdaptationSet mimeType="video/mp4">
<Representation id="v" bandwidth="8"><BaseURL>v.mp4</BaseURL>
<SegmentBase indexRange="700-900"><Initialization range="0-699"/></SegmentBase>
</Representation></AdaptationSet></Period></MPD>"#;
    crate::texts(&[template, base])
}
