//! Manifests as packagers write them, each fault with its message, and what is written read again.

use std::time::Duration;

use airlane_base::Rate;
use airlane_media::dash::{ByteRange, FrameRate, Representation, parse};

pub(crate) fn urls(r: &Representation) -> Vec<&str> {
    r.chunks.iter().map(|c| c.object.url.as_str()).collect()
}

fn times(r: &Representation) -> Vec<(u64, u64)> {
    r.chunks.iter().map(|c| (c.time, c.duration)).collect()
}

pub(crate) fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

/// An MPD of one period.
pub(crate) fn mpd(attributes: &str, period: &str) -> String {
    format!("<MPD {attributes}>\n<Period>\n{period}\n</Period>\n</MPD>")
}

/// An MPD of one representation of 10 s.
pub(crate) fn one(segments: &str) -> String {
    mpd(
        "mediaPresentationDuration=\"PT10S\"",
        &format!(
            "<AdaptationSet mimeType=\"video/mp4\"><Representation id=\"v\" bandwidth=\"8\">\n\
             {segments}</Representation></AdaptationSet>"
        ),
    )
}

#[test]
fn reads_what_ffmpeg_writes() {
    let text = r#"<?xml version="1.0" encoding="utf-8"?>
<MPD xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="urn:mpeg:dash:schema:mpd:2011"
  profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static"
  mediaPresentationDuration="PT7.0S" maxSegmentDuration="PT2.0S" minBufferTime="PT4.0S">
 <ProgramInformation>
 </ProgramInformation>
 <ServiceDescription id="0">
 </ServiceDescription>
 <Period id="0" start="PT0.0S">
  <AdaptationSet id="0" contentType="video" startWithSAP="1" segmentAlignment="true"
     bitstreamSwitching="true" frameRate="24000/1001" maxWidth="320" maxHeight="180" lang="und">
   <Representation id="0" mimeType="video/mp4" codecs="avc1.64000d" bandwidth="400000"
     width="320" height="180" sar="1:1">
    <SegmentTemplate timescale="24000" initialization="init-stream$RepresentationID$.m4s"
       media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
     <SegmentTimeline><S t="0" d="48048" r="2" /><S d="24024" /></SegmentTimeline>
    </SegmentTemplate>
   </Representation>
   <Representation id="1" mimeType="video/mp4" codecs="avc1.64000c" bandwidth="100000"
     width="160" height="90">
    <SegmentTemplate timescale="24000" initialization="init-stream$RepresentationID$.m4s"
       media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
     <SegmentTimeline><S t="0" d="48048" r="2" /><S d="24024" /></SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
  <AdaptationSet id="1" contentType="audio" lang="en">
   <Representation id="2" mimeType="audio/mp4" codecs="mp4a.40.2" bandwidth="128000"
      audioSamplingRate="48000">
    <AudioChannelConfiguration
      schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2" />
    <SegmentTemplate timescale="48000" initialization="init-stream$RepresentationID$.m4s"
       media="chunk-stream$RepresentationID$-$Number%05d$.m4s" startNumber="1">
     <SegmentTimeline><S t="0" d="95232" /><S d="96256" r="1" /><S d="48592" /></SegmentTimeline>
    </SegmentTemplate>
   </Representation>
  </AdaptationSet>
 </Period>
</MPD>"#;
    let p = parse(text).unwrap();
    assert_eq!(p.duration, Some(Duration::from_secs(7)));
    assert_eq!(p.min_buffer, Some(Duration::from_secs(4)));
    assert_eq!((p.video.len(), p.audio.len(), p.text.len()), (2, 1, 0));
    // Rising, whatever their order in the file.
    let low = &p.video[0];
    assert_eq!((low.id.as_str(), low.bandwidth, low.set), ("1", Rate::from_bps(100_000), 0));
    assert_eq!((low.width, low.height), (Some(160), Some(90)));
    assert_eq!(low.frame_rate, Some(FrameRate { frames: 24_000, seconds: 1_001 }));
    assert_eq!(low.init.as_ref().unwrap().url, "init-stream1.m4s");
    assert_eq!(urls(low)[3], "chunk-stream1-00004.m4s");
    assert_eq!(low.start(3), Some(Duration::from_millis(6_006)));
    assert_eq!(low.duration(3), Some(Duration::from_millis(1_001)));
    assert_eq!(low.total(), Duration::from_millis(7_007));
    let audio = &p.audio[0];
    assert_eq!((audio.sampling_hz, audio.channels), (Some(48_000), Some(2)));
    assert_eq!((audio.set, audio.language.as_deref()), (1, Some("en")));
    assert_eq!(times(audio)[1], (95_232, 96_256));
}

#[test]
fn reads_what_shaka_packager_writes_for_one_file_per_track() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<!--Generated with a packager-->
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" xmlns:cenc="urn:mpeg:cenc:2013"
  profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" minBufferTime="PT2S" type="static"
  mediaPresentationDuration="PT4S">
  <Period id="0">
    <AdaptationSet id="0" contentType="video" width="640" height="360" frameRate="12800/512"
        subsegmentAlignment="true" par="16:9">
      <Representation id="0" bandwidth="500000" codecs="avc1.64001e" mimeType="video/mp4">
        <BaseURL>video &amp; co.mp4</BaseURL>
        <SegmentBase indexRange="800-855" timescale="12800">
          <Initialization range="0-799"/>
        </SegmentBase>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="1" contentType="text" lang="de">
      <Representation id="1" bandwidth="256" mimeType="text/vtt">
        <BaseURL>german.vtt</BaseURL>
      </Representation>
    </AdaptationSet>
  </Period>
</MPD>"#;
    let mut p = parse(text).unwrap();
    let video = &mut p.video[0];
    assert!(video.chunks.is_empty());
    let index = video.index.clone().unwrap();
    assert_eq!(index.url, "video & co.mp4");
    assert_eq!(index.range, Some(ByteRange { offset: 800, length: 56 }));
    let init = video.init.clone().unwrap();
    assert_eq!((init.url.as_str(), init.range.unwrap().length), ("video & co.mp4", 800));
    video.fill(&sidx(12_800, 25_600, &[(3_000, 25_600), (5_000, 25_600)])).unwrap();
    let at = |offset, length| Some(ByteRange { offset, length });
    let ranges: Vec<_> = video.chunks.iter().map(|c| c.object.range).collect();
    assert_eq!(ranges, [at(856, 3_000), at(3_856, 5_000)]);
    assert_eq!(times(video), [(25_600, 25_600), (51_200, 25_600)]);
    assert_eq!(video.frame_rate.unwrap().as_f64(), 25.0);
    // Subtitles in one file are one chunk.
    assert_eq!(urls(&p.text[0]), ["german.vtt"]);
    assert_eq!(p.text[0].duration(0), Some(Duration::from_secs(4)));
}

/// A segment index of version 0.
pub(crate) fn sidx(timescale: u32, earliest: u32, parts: &[(u32, u32)]) -> Vec<u8> {
    let mut words = vec![0, 1, timescale, earliest, 0, parts.len() as u32];
    for (bytes, duration) in parts {
        words.extend([*bytes, *duration, 0x9000_0000]);
    }
    let body: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    let mut out = (8 + body.len() as u32).to_be_bytes().to_vec();
    out.extend(b"sidx");
    out.extend(body);
    out
}

#[test]
fn templates_are_inherited_and_lengths_come_from_the_title() {
    // As GPAC writes it: template in the set, base URLs at every level.
    let text = mpd(
        "mediaPresentationDuration=\"PT0H0M10.02S\"",
        r#"<BaseURL>media/</BaseURL>
<SegmentTemplate timescale="1000" startNumber="0"/>
<AdaptationSet mimeType="video/mp4" frameRate="25" lang="en">
 <BaseURL>v/</BaseURL>
 <EssentialProperty schemeIdUri="urn:mpeg:mpegB:cicp:ColourPrimaries" value="1"/>
 <SegmentTemplate media="$Bandwidth$/$Time$.m4s" initialization="$RepresentationID$.mp4" duration="4000"/>
 <Representation id="a" bandwidth="9" width="16" height="9"/>
 <Representation id="b" bandwidth="8" width="16" height="9"><BaseURL>https://b.example/b/</BaseURL>
  <SegmentTemplate timescale="500" presentationTimeOffset="70"/></Representation>
</AdaptationSet>
<AdaptationSet mimeType="video/mp4"><EssentialProperty schemeIdUri="http://dashif.org/guidelines/trickmode" value="0"/>
 <Representation id="trick" bandwidth="1"/></AdaptationSet>
<AdaptationSet contentType="image"><Representation id="thumbs" bandwidth="1"/></AdaptationSet>"#,
    );
    let p = parse(&text).unwrap();
    assert_eq!(p.video.len(), 2);
    assert_eq!(urls(&p.video[1]), ["media/v/9/0.m4s", "media/v/9/4000.m4s", "media/v/9/8000.m4s"]);
    assert_eq!(p.video[1].init.as_ref().unwrap().url, "media/v/a.mp4");
    assert_eq!(times(&p.video[1])[2], (8_000, 2_020));
    let b = &p.video[0];
    assert_eq!(urls(b), ["https://b.example/b/8/70.m4s", "https://b.example/b/8/4070.m4s"]);
    assert_eq!(b.start(1), Some(Duration::from_secs(8)));
    assert_eq!(b.language.as_deref(), Some("en"));
}

#[test]
fn a_rounded_length_of_the_title_makes_no_chunk_of_its_own() {
    let text = |duration: &str| {
        one(r#"<SegmentTemplate timescale="24000" duration="48048" media="$Number$.m4s"/>"#)
            .replace("PT10S", duration)
    };
    // Four chunks are 8.008 s.
    for (duration, chunks) in [("PT8.008S", 4), ("PT8.0085S", 4), ("PT8.05S", 5), ("PT0.0001S", 1)]
    {
        assert_eq!(parse(&text(duration)).unwrap().video[0].chunks.len(), chunks, "{duration}");
    }
}

#[test]
fn timelines_may_have_gaps_and_repeat_to_the_next_entry_or_to_the_end() {
    let text = one(
        r#"<SegmentTemplate timescale="10" media="$Time$.m4s" presentationTimeOffset="20">
<SegmentTimeline><S t="20" d="20" r="-1"/><S t="65" d="20"/><S t="90" d="10" r="-1"/></SegmentTimeline></SegmentTemplate>"#,
    );
    let p = parse(&text).unwrap();
    assert_eq!(
        times(&p.video[0]),
        [(20, 20), (40, 20), (60, 20), (65, 20), (90, 10), (100, 10), (110, 10)]
    );
    assert_eq!(p.video[0].start(3), Some(Duration::from_millis(4_500)));
}

#[test]
fn lists_name_files_or_parts_of_one() {
    let text = one(r#"<BaseURL>all.mp4</BaseURL><SegmentList timescale="10" duration="40">
<Initialization range="0-9"/><SegmentURL mediaRange="10-19"/><SegmentURL mediaRange="20-99"/>
<SegmentURL media="rest.m4s"/></SegmentList>"#);
    let p = parse(&text).unwrap();
    let v = &p.video[0];
    assert_eq!(urls(v), ["all.mp4", "all.mp4", "rest.m4s"]);
    assert_eq!(v.chunks[1].object.range, Some(ByteRange { offset: 20, length: 80 }));
    assert_eq!(v.chunks[1].object.range.unwrap().to_string(), "20-99");
    assert_eq!(times(v), [(0, 40), (40, 40), (80, 20)]);
}

#[test]
fn the_quality_table_is_named_by_a_property() {
    let property = r#"<SupplementalProperty schemeIdUri="urn:airlane:chunks:1" value="./q.json"/>"#;
    let text = one(r#"<SegmentTemplate duration="5" media="$Number$"/>"#);
    assert_eq!(parse(&text).unwrap().chunk_table, None);
    let text = text.replace("</MPD>", &format!("{property}</MPD>"));
    assert_eq!(parse(&text).unwrap().chunk_table.as_deref(), Some("q.json"));
}

#[test]
fn each_fault_has_its_message() {
    let template = |rest: &str| one(&format!("<SegmentTemplate {rest}/>"));
    let timeline = |entries: &str| {
        one(&format!(
            "<SegmentTemplate media=\"$Number$\">\n<SegmentTimeline>{entries}</SegmentTimeline>\
             </SegmentTemplate>"
        ))
    };
    let good = template("duration=\"5\" media=\"$Number$\"");
    for (text, message) in [
        ("", "0 elements at the top; expected an MPD document"),
        ("<MPD", "line 1: not valid XML"),
        ("<MPD>", "the text ends within an element"),
        ("<html></html>", "line 1: html: not a manifest"),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]><MPD/>",
            "line 1: a document type definition; expected an MPD document",
        ),
        (
            &good.replace("<MPD ", "<MPD type=\"dynamic\" "),
            "MPD@type: \"dynamic\"; expected static: live",
        ),
        (&good.replace("</MPD>", "<Period/></MPD>"), "line 1: MPD: 2 periods; expected one Period"),
        (&good.replace("PT10S", "10"), "MPD@mediaPresentationDuration: \"10\""),
        (&good.replace("\"8\"", "\"0\""), "line 3: Representation@bandwidth: \"0\""),
        (&good.replace(" id=\"v\"", ""), "Representation@id: missing"),
        (
            &good.replace("<Period>", "<Period xlink:href=\"a\">"),
            "line 2: Period: a remote element (xlink:href=\"a\"), which is not fetched",
        ),
        (
            &good.replace("</Period>", "<AdaptationSet x:href=\"s.xml\"/></Period>"),
            "AdaptationSet: a remote element (xlink:href=\"s.xml\")",
        ),
        (
            &good.replace("<SegmentTemplate ", "<SegmentTemplate xlink:href=\"t\" "),
            "line 4: SegmentTemplate: a remote element",
        ),
        (&good.replace("PT10S", "PT0S"), "a title of no length at all"),
        (
            &good.replace("<Period>", "<EssentialProperty schemeIdUri=\"urn:x\"/><Period>"),
            "the essential property \"urn:x\"",
        ),
        (
            &good.replace("<Rep", "<EssentialProperty schemeIdUri=\"urn:x\"/><Rep"),
            "no video, audio or text is left (AdaptationSet 0: left out: its essential property \
             \"urn:x\" is not known here)",
        ),
        (&template("duration=\"0\" media=\"$Number$\""), "line 4: SegmentTemplate@duration: \"0\""),
        (
            &template("duration=\"5\" media=\"a\""),
            "SegmentTemplate@media: \"a\"; expected a URL with $Number$",
        ),
        (
            &template("duration=\"5\" media=\"$Numb$\""),
            "SegmentTemplate: the identifier \"Numb\" in @media",
        ),
        (&template("duration=\"5\""), "SegmentTemplate@media: missing"),
        (
            &template("timescale=\"0\" duration=\"5\" media=\"$Number$\""),
            "SegmentTemplate@timescale: \"0\"",
        ),
        (
            &good
                .replace(" mediaPresentationDuration=\"PT10S\"", "")
                .replace("MPD mediaPresentationDuration=\"PT10S\"", "MPD"),
            "no length of the title",
        ),
        (&timeline(""), "line 5: SegmentTimeline: no chunks; expected at least one S"),
        (&timeline("<S d=\"0\"/>"), "S@d: \"0\""),
        (
            &timeline("<S t=\"9\" d=\"1\"/><S t=\"8\" d=\"1\"/>"),
            "S@t: \"8\"; expected times that do not go back",
        ),
        (&timeline("<S d=\"1\" r=\"1000000000000\"/>"), "S: more than 100000 chunks"),
        (
            &timeline("<S t=\"18446744073709551610\" d=\"5\" r=\"9\"/>"),
            "S@d: \"5\"; expected a length within",
        ),
        (
            &template("timescale=\"1000000000000\" duration=\"1\" media=\"$Number$\""),
            "more than 100000 chunks",
        ),
        (&good.replace("<Period>", "<Period>&bomb;"), "line 2: the entity \"bomb\""),
    ] {
        let found = error(text);
        assert!(found.contains(message), "{message}\n{found}");
    }
    let deep = format!("{}{}", "<a>".repeat(40), "</a>".repeat(40));
    assert!(error(&deep).contains("more than 32 levels"));
    assert!(error(&"<a/>".repeat(500_000)).contains("more than 400000 elements"));
    assert!(error(&" ".repeat(17 << 20)).contains("more than 16 MiB"));
    let attributes: String = (0..200).map(|i| format!(" a{i}=\"\"")).collect();
    assert!(error(&format!("<MPD{attributes}/>")).contains("more than 100 attributes"));
    // Many representations of many chunks each.
    let many = "<Representation id=\"r\" bandwidth=\"1\"/>".repeat(20);
    let text = mpd(
        "mediaPresentationDuration=\"PT90000S\"",
        &format!(
            "<AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"1\" \
             media=\"$Number$\"/>{many}</AdaptationSet>"
        ),
    );
    assert!(error(&text).contains("more than 1000000 chunks"));
}

#[test]
fn what_resolves_to_nothing_is_removed() {
    let text = one(r#"<SegmentTemplate duration="5" media="$Number$"/>"#);
    let nothing = "xlink:href=\"urn:mpeg:dash:resolve-to-zero:2013\"";
    let text = text
        .replace("</MPD>", &format!("<Period {nothing}/></MPD>"))
        .replace("</Period>\n", &format!("<AdaptationSet {nothing}/></Period>\n"));
    assert_eq!(parse(&text).unwrap().video.len(), 1);
}

#[test]
fn what_only_describes_and_makes_no_sense_is_left_out() {
    let text = one(r#"<SegmentTemplate duration="5" media=" a b/$Number$ "/>"#).replace(
        "bandwidth=",
        "frameRate=\"0/0\" width=\"0\" height=\"x\" audioSamplingRate=\"-1\" bandwidth=",
    );
    let title = parse(&text).unwrap();
    let v = &title.video[0];
    assert_eq!((v.frame_rate, v.width, v.height, v.sampling_hz), (None, None, None, None));
    assert_eq!(title.notes.len(), 4);
    assert!(title.notes.iter().any(|n| n.contains("Representation@frameRate \"0/0\"")));
    // A space within a URL stays for whoever asks for it; around it there is none.
    assert_eq!(urls(v), ["a b/1", "a b/2"]);
}
