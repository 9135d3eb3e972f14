//! The one ladder of a manifest that players take, and manifests that are in several places.

use std::time::Duration;

use airlane_media::dash::{ByteRange, Kind, Presentation, parse, parse_alternative, write};

/// An MPD of 8 s with these sets.
fn mpd(sets: &str) -> String {
    format!("<MPD mediaPresentationDuration=\"PT8S\"><Period>{sets}</Period></MPD>")
}

/// A set of representations with these codecs and bandwidths, in chunks of `chunk_s` seconds.
fn set(attributes: &str, rungs: &[(&str, u32)], chunk_s: u32) -> String {
    let representation = |(codecs, bandwidth): &(&str, u32)| {
        format!(
            "<Representation id=\"{codecs}-{bandwidth}\" codecs=\"{codecs}\" bandwidth=\"{bandwidth}\">\
             <SegmentTemplate duration=\"{chunk_s}\" media=\"{bandwidth}/$Number$.m4s\"/></Representation>"
        )
    };
    let inner: String = rungs.iter().map(representation).collect();
    format!("<AdaptationSet mimeType=\"video/mp4\" {attributes}>{inner}</AdaptationSet>")
}

/// Ids of the ladder of a manifest, and what was noted.
fn ladder(text: &str) -> (Vec<String>, Vec<String>) {
    let mut title = parse(text).unwrap();
    let before = title.video.len();
    let mut others = title.choose(Kind::Video);
    others.extend(title.align(Kind::Video));
    assert_eq!(title.video.len() + others.len(), before);
    (title.video.iter().map(|r| r.id.clone()).collect(), title.notes)
}

#[test]
fn one_set_of_several_codecs_is_taken_to_its_end() {
    let avc = set("", &[("avc1.64000a", 40), ("avc1.64000b", 110)], 1);
    let hevc = set("", &[("hvc1.1", 200)], 2);
    for text in [mpd(&(avc.clone() + &hevc)), mpd(&(hevc + &avc))] {
        let (ids, notes) = ladder(&text);
        assert_eq!(ids, ["avc1.64000a-40", "avc1.64000b-110"]);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("\"avc1\" (2) is taken, and not \"hvc1\" (1)"), "{notes:?}");
    }
    // One set of two codecs, and one whose parameters stand elsewhere.
    let mixed = set("", &[("av01.0", 9), ("avc1.1", 10), ("avc3.2", 20)], 1);
    assert_eq!(ladder(&mpd(&mixed)).0, ["avc1.1-10", "avc3.2-20"]);
    // Of equals the first.
    let sets = set("", &[("vp09.0", 5), ("vp09.1", 7)], 2) + &avc;
    assert_eq!(ladder(&mpd(&sets)).0, ["vp09.0-5", "vp09.1-7"]);
}

#[test]
fn sets_of_one_rung_each_are_one_ladder_and_others_are_not() {
    let one = |bandwidth| set("", &[("avc1.1", bandwidth)], 2);
    assert_eq!(ladder(&mpd(&(one(3) + &one(1) + &one(2)))).0.len(), 3);
    // Two cameras, of two rungs each.
    let camera = |rungs: [u32; 2]| set("", &rungs.map(|b| ("avc1.1", b)), 2);
    assert_eq!(ladder(&mpd(&(camera([1, 2]) + &camera([3, 4])))).0, ["avc1.1-1", "avc1.1-2"]);
    // Between which players may switch.
    let property = "<SupplementalProperty \
                    schemeIdUri=\"urn:mpeg:dash:adaptation-set-switching:2016\" value=\"9, 7\"/>";
    let linked = set("id=\"7\"", &[("avc1.1", 1), ("avc1.1", 2)], 2)
        + &set("id=\"8\"", &[("avc1.1", 3), ("avc1.1", 4)], 2).replacen(
            "<Representation",
            &format!("{property}<Representation"),
            1,
        );
    assert_eq!(ladder(&mpd(&linked)).0.len(), 4);
    // The main one before another, however many rungs that has; a clear one before an encrypted one.
    let role = |role| {
        format!("<Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"{role}\"/><Representation")
    };
    let with = |set: String, what: &str| set.replacen("<Representation", what, 1);
    let alternate = with(set("", &[("avc1.1", 1), ("avc1.1", 2)], 2), &role("alternate"));
    let main = with(one(3), &role("main"));
    assert_eq!(ladder(&mpd(&(alternate + &main))).0, ["avc1.1-3"]);
    let encrypted = with(camera([1, 2]), "<ContentProtection schemeIdUri=\"a\"/><Representation");
    assert_eq!(ladder(&mpd(&(encrypted.clone() + &one(3)))).0, ["avc1.1-3"]);
    assert_eq!(ladder(&mpd(&encrypted)).0.len(), 2);
    assert!(parse(&mpd(&encrypted)).unwrap().video[0].is_protected);
    // WebM with chunks that are listed, and with an index that nothing here reads.
    let webm = |text: String| text.replace("video/mp4", "video/webm");
    let indexed = "<AdaptationSet mimeType=\"video/webm\">\
                   <Representation id=\"w\" bandwidth=\"1\" codecs=\"vp9\"><BaseURL>w.webm</BaseURL>\
                   <SegmentBase indexRange=\"310-373\"/></Representation>\
                   <Representation id=\"x\" bandwidth=\"2\" codecs=\"vp9\"><BaseURL>w.webm</BaseURL>\
                   <SegmentBase indexRange=\"310-373\"/></Representation></AdaptationSet>";
    assert_eq!(ladder(&mpd(&webm(one(3)))).0, ["avc1.1-3"]);
    assert_eq!(ladder(&mpd(&(indexed.to_owned() + &one(3)))).0, ["avc1.1-3"]);
    let mut title = parse(&mpd(indexed)).unwrap();
    let refused = title.video[0].fill(&[]).unwrap_err().to_string();
    assert!(refused.contains("Representation w: video/webm with an index"), "{refused}");
}

#[test]
fn timelines_are_compared_by_time() {
    let text = |timelines: &[&str]| {
        let representation = |(at, timeline): (usize, &&str)| {
            format!(
                "<Representation id=\"{at}\" bandwidth=\"{}\"><SegmentTemplate timescale=\"10\" \
                 media=\"$Time$\"><SegmentTimeline>{timeline}</SegmentTimeline></SegmentTemplate>\
                 </Representation>",
                at + 1
            )
        };
        let inner: String = timelines.iter().enumerate().map(representation).collect();
        mpd(&format!("<AdaptationSet mimeType=\"video/mp4\">{inner}</AdaptationSet>"))
    };
    let whole = "<S t=\"0\" d=\"20\" r=\"3\"/>";
    // The clock of one of them is off by less than a quarter of a chunk.
    let off = "<S t=\"1\" d=\"20\" r=\"3\"/>";
    assert_eq!(ladder(&text(&[whole, off])), (vec!["0".into(), "1".into()], vec![]));
    // One begins its chunks elsewhere, one lacks a chunk.
    let apart = "<S t=\"0\" d=\"20\"/><S d=\"30\"/><S d=\"10\"/><S d=\"20\"/>";
    let (ids, notes) = ladder(&text(&[whole, apart, whole, "<S t=\"0\" d=\"20\" r=\"2\"/>"]));
    assert_eq!((ids, notes.len()), (vec!["0".into(), "2".into()], 2));
    assert!(notes[1].contains("Representation \"3\": left out: its 3 chunks"), "{notes:?}");
    // A hole in all of them.
    let hole = "<S t=\"0\" d=\"20\" r=\"1\"/><S t=\"60\" d=\"20\"/>";
    let (ids, notes) = ladder(&text(&[hole, hole]));
    assert_eq!(ids.len(), 2);
    assert_eq!(notes, ["video: the timeline has a hole of 2.000 s before 6.000 s"]);
    // Longer than the title, and shorter.
    let (_, notes) = ladder(&text(&["<S t=\"0\" d=\"20\" r=\"9\"/>"]));
    assert_eq!(notes, ["video: left out: 6 chunks that begin after the title's end at 8.000 s"]);
    let (_, notes) = ladder(&text(&["<S t=\"0\" d=\"20\" r=\"1\"/>"]));
    assert_eq!(
        notes,
        ["video: the manifest says that the title is 8.000 s long, and its chunks end at 4.000 s"]
    );
    // The period has no length, the title has.
    let period = text(&[whole]).replace("<Period>", "<Period duration=\"PT0S\">");
    assert_eq!(parse(&period).unwrap().duration, Some(Duration::from_secs(8)));
    // A title that says it has no length is as long as its chunks.
    let text = text(&[whole]).replace("PT8S", "P0Y0M0DT0S");
    let mut title = parse(&text).unwrap();
    title.align(Kind::Video);
    assert_eq!((title.duration, title.video[0].end()), (None, Duration::from_secs(8)));
    assert!(title.notes[0].contains("the title has no length"), "{:?}", title.notes);
}

#[test]
fn a_title_may_be_at_several_places() {
    let set = set("", &[("avc1.1", 1)], 4);
    let with = |outer: &str, inner: &str| {
        mpd(&set.replace("<SegmentTemplate", &format!("{inner}<SegmentTemplate")))
            .replace("<Period>", &format!("{outer}<Period>"))
    };
    let first = |title: &Presentation| title.video[0].chunks[0].object.url.clone();
    let all = |text: &str| -> Vec<String> {
        let count = parse(text).unwrap().alternatives;
        (0..count).map(|number| first(&parse_alternative(text, number).unwrap())).collect()
    };
    assert_eq!(all(&with("", "")), ["1/1.m4s"]);
    let two = "<BaseURL serviceLocation=\"a\">dead/</BaseURL><BaseURL>live/</BaseURL>";
    assert_eq!(all(&with(two, "")), ["dead/1/1.m4s", "live/1/1.m4s"]);
    assert_eq!(all(&with("", two)), ["dead/1/1.m4s", "live/1/1.m4s"]);
    let three = "<BaseURL>a/</BaseURL><BaseURL>/b/</BaseURL><BaseURL>https://c.example/</BaseURL>";
    assert_eq!(
        all(&with(two, three)),
        [
            "dead/a/1/1.m4s",
            "live/a/1/1.m4s",
            "/b/1/1.m4s",
            "/b/1/1.m4s",
            "https://c.example/1/1.m4s",
            "https://c.example/1/1.m4s"
        ]
    );
    let many = "<BaseURL>a/</BaseURL>".repeat(500);
    assert_eq!(all(&with(&many, &many)).len(), 16);
}

/// A segment index of version 0 with a gap before the first part.
fn sidx(gap: u32, parts: &[(u32, u32)]) -> Vec<u8> {
    let mut words = vec![0, 1, 1000, 0, gap, parts.len() as u32];
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
fn an_index_may_be_in_a_file_of_its_own() {
    let base = |segments: &str| {
        mpd(&format!(
            "<AdaptationSet mimeType=\"video/mp4\"><Representation id=\"v\" bandwidth=\"1\">\
             <BaseURL>ext/v.mp4</BaseURL><SegmentBase>{segments}</SegmentBase></Representation>\
             </AdaptationSet>"
        ))
    };
    let text = base(
        "<Initialization sourceURL=\"v.init\"/>\
         <RepresentationIndex sourceURL=\"v.sidx\" range=\"0-55\"/>",
    );
    let mut title = parse(&text).unwrap();
    // Written and read again it is the same.
    assert_eq!(parse(&write(&title)).as_ref(), Ok(&title));
    let v = &mut title.video[0];
    assert_eq!(v.index.as_ref().unwrap().url, "ext/v.sidx");
    assert_eq!(v.init.as_ref().unwrap().url, "ext/v.init");
    v.fill(&sidx(7, &[(100, 4000), (50, 4000)])).unwrap();
    let chunk = |at: usize| (v.chunks[at].object.url.as_str(), v.chunks[at].object.range.unwrap());
    // Counted from the beginning of the media, whatever comes before the index in its own file.
    assert_eq!(chunk(0), ("ext/v.mp4", ByteRange { offset: 7, length: 100 }));
    assert_eq!(chunk(1), ("ext/v.mp4", ByteRange { offset: 107, length: 50 }));

    // Of a file that is all that is said, the index may be found.
    let text = base("<Initialization range=\"0-99\"/>");
    let mut title = parse(&text).unwrap();
    assert_eq!(parse(&write(&title)).as_ref(), Ok(&title));
    let v = &mut title.video[0];
    assert!(v.is_whole_file && v.chunks.len() == 1);
    v.found_index(ByteRange { offset: 100, length: 56 });
    v.fill(&sidx(0, &[(100, 4000), (50, 4000)])).unwrap();
    assert_eq!(v.chunks[0].object.range, Some(ByteRange { offset: 156, length: 100 }));
    assert_eq!((v.chunks.len(), v.init.clone().unwrap().range.unwrap().length), (2, 100));
}
