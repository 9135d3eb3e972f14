//! DASH manifests (ISO/IEC 23009-1).

use airlane_media::dash::{self, Kind};
use airlane_media::hls;

/// Any bytes as a DASH manifest: an error, or a value that can be written as DASH and as HLS, also of
/// its last place, and of which a ladder can be chosen.
pub fn manifest(data: &[u8]) {
    let Ok(text) = dash::decode(data) else { return };
    let Ok(read) = dash::parse(&text) else { return };
    dash::write(&read);
    hls::write(&read, &|_| None);
    if let Ok(mut last) = dash::parse_alternative(&text, read.alternatives - 1) {
        for kind in Kind::ALL {
            last.choose(kind);
            last.align(kind);
        }
        dash::write(&last);
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
    let apart = r#"<MPD mediaPresentationDuration="P0Y0M0DT8S"><BaseURL>a/</BaseURL><BaseURL>b/</BaseURL>
<Period><AdaptationSet mimeType="video/mp4"><Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
<Representation id="v" bandwidth="8" codecs="avc1.1"><BaseURL>v.mp4</BaseURL><SegmentBase>
<Initialization sourceURL="v.init"/><RepresentationIndex sourceURL="v.sidx" range="0-79"/></SegmentBase>
</Representation></AdaptationSet><AdaptationSet mimeType="video/mp4" codecs="hvc1.1"><ContentProtection/>
<Representation id="h" bandwidth="9"><SegmentTemplate duration="3" media="$Number$"/></Representation>
</AdaptationSet></Period></MPD>"#;
    crate::texts(&[template, base, apart])
}
