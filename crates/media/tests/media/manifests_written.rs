//! Manifests and playlists that are written, read again.

use std::time::Duration;

use airlane_base::Rate;
use airlane_media::dash::{
    ByteRange, Chunk, FrameRate, Kind, Object, Presentation, Representation, parse, write,
};
use airlane_media::hls;
use proptest::prelude::*;

use crate::manifests::{mpd, one, sidx};

fn object(url: impl Strategy<Value = String>) -> impl Strategy<Value = Object> {
    let range = proptest::option::of((0..1_u64 << 40, 1..1_u64 << 40));
    let range = range.prop_map(|r| r.map(|(offset, length)| ByteRange { offset, length }));
    (url, range).prop_map(|(url, range)| Object { url, range })
}

const URL: &str = "(https://a\\.example/)?[a-z$&'\"<]{1,6}/[a-z0-9$é]{1,8}\\.m4s";

fn chunks() -> impl Strategy<Value = Vec<Chunk>> {
    let counted = (URL, 0..1_000_000_u64, prop::collection::vec((0..3_u64, 1..4_u64), 1..20))
        .prop_map(|(before, first, steps)| {
            let object = |i| Object { url: format!("{before}{}.m4s", first + i), range: None };
            (0..).map(object).zip(steps).collect::<Vec<_>>()
        });
    let listed = prop::collection::vec((object(URL), (0..3_u64, 1..4_u64)), 1..10);
    (counted.boxed().prop_union(listed.boxed()), 0..1_u64 << 40).prop_map(|(steps, mut time)| {
        let chunk = |(object, (gap, duration))| {
            time += gap / 2 + duration;
            Chunk { object, time: time - duration, duration }
        };
        steps.into_iter().map(chunk).collect()
    })
}

fn representation(kind: Kind, set: usize) -> impl Strategy<Value = Representation> {
    let number = || proptest::option::of(1..5_000_u32);
    let segments = (chunks(), object(URL), any::<bool>());
    let names = ("\\PC{0,8}", "[a-z0-9.]{0,8}");
    let rate = proptest::option::of((1..100_000_u32, 1..2_000_u32));
    let init = proptest::option::of(object(URL));
    (names, 1..1_000_000_u64, number(), rate, init, segments, 1..100_000_u64, 0..1_u64 << 40)
        .prop_map(move |(names, bps, number, rate, init, segments, timescale, time_offset)| {
            let (chunks, index, indexed) = segments;
            // What initialises a file is in it, or nowhere.
            let init = init.map(|init| match indexed {
                true => Object { url: index.url.clone(), ..init },
                false => init,
            });
            Representation {
                id: names.0,
                set,
                kind,
                mime: format!("{}/mp4", kind.name()),
                codecs: names.1,
                bandwidth: Rate::from_bps(bps),
                width: number,
                height: number,
                frame_rate: rate.map(|(frames, seconds)| FrameRate { frames, seconds }),
                sampling_hz: number,
                channels: number.map(|n| n % 6 + 1),
                language: set.is_multiple_of(2).then(|| "en".to_owned()),
                role: set.is_multiple_of(2).then(|| "main".to_owned()),
                is_protected: false,
                init,
                timescale,
                time_offset,
                index: indexed.then_some(index),
                indexed: None,
                is_whole_file: false,
                chunks: if indexed { Vec::new() } else { chunks },
            }
        })
}

fn presentation() -> impl Strategy<Value = Presentation> {
    let list = |kind, set| prop::collection::vec(representation(kind, set), 1..4);
    let time = || proptest::option::of((1..1_u64 << 50).prop_map(Duration::from_nanos));
    let table = proptest::option::of("[a-z]{1,5}\\.json");
    (time(), time(), table, list(Kind::Video, 0), list(Kind::Audio, 1), list(Kind::Text, 2))
        .prop_map(|(duration, min_buffer, chunk_table, mut video, mut audio, mut text)| {
            for list in [&mut video, &mut audio, &mut text] {
                list.sort_by_key(|r| r.bandwidth);
            }
            let base = Presentation::default();
            Presentation { duration, min_buffer, chunk_table, video, audio, text, ..base }
        })
}

/// Rates for playlists: the peak half as much again as the mean.
fn rates(r: &Representation) -> Option<hls::Rates> {
    Some(hls::Rates { peak: r.bandwidth.scale(1.5), average: r.bandwidth })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(p in presentation()) {
        let text = write(&p);
        prop_assert_eq!(parse(&text), Ok(p), "{}", text);
    }

    #[test]
    fn any_presentation_has_playlists(p in presentation()) {
        let playlists = hls::write(&p, &rates);
        prop_assert_eq!(playlists.media.len(), p.video.len() + p.audio.len());
        for (_, text) in &playlists.media {
            prop_assert!(text.ends_with("#EXT-X-ENDLIST\n"));
        }
    }

    #[test]
    fn any_text_is_survived(text in ".*|(<|/>|>|MPD|Period|AdaptationSet|S|\"|=| |&|;|a){0,40}") {
        let _ = parse(&text);
    }

    /// A manifest with a piece of it replaced: an error or a presentation that can be written.
    #[test]
    fn damage_is_survived(p in presentation(), at in any::<prop::sample::Index>(), cut in 0..40_usize, piece in "\\PC{0,6}|-?[0-9]{1,25}") {
        let text = write(&p);
        let at = at.index(text.len());
        let damaged = format!("{}{piece}{}",
            String::from_utf8_lossy(&text.as_bytes()[..at]),
            String::from_utf8_lossy(&text.as_bytes()[(at + cut).min(text.len())..]));
        if let Ok(read) = parse(&damaged) {
            write(&read);
            hls::write(&read, &|_| None);
        }
    }

    #[test]
    fn any_index_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = one(r#"<SegmentBase indexRange="9-99"/>"#);
        let mut r = parse(&text).unwrap().video.remove(0);
        let _ = r.fill(&bytes);
        let mut whole = sidx(10, 0, &[]);
        whole.splice(8.., bytes);
        let _ = r.fill(&whole);
    }
}

#[test]
fn playlists_hold_rates_codecs_groups_and_ranges() {
    let text = mpd(
        "mediaPresentationDuration=\"PT10S\"",
        r#"<AdaptationSet contentType="video" mimeType="video/mp4"><Representation id="360p" bandwidth="800000" width="640"
 height="360" frameRate="24000/1001" codecs="avc1.64001e"><SegmentTemplate timescale="24000" duration="96096"
 media="video/$Number$.m4s" initialization="video/init.mp4"/></Representation></AdaptationSet>
<AdaptationSet contentType="audio" mimeType="audio/mp4" lang="en"><Representation id="a b" bandwidth="128000" codecs="mp4a.40.2">
 <SegmentList timescale="1" duration="5"><Initialization sourceURL="a.mp4" range="0-9"/><SegmentURL media="a.mp4" mediaRange="10-19"/>
 <SegmentURL media="a.mp4" mediaRange="20-39"/></SegmentList></Representation></AdaptationSet>"#,
    );
    let p = parse(&text).unwrap();
    let playlists = hls::write(&p, &rates);
    assert_eq!(
        playlists.master,
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n\
         #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"audio\",NAME=\"en 1\",LANGUAGE=\"en\",DEFAULT=YES,\
         AUTOSELECT=YES,URI=\"audio-_0.m3u8\"\n\
         #EXT-X-STREAM-INF:BANDWIDTH=1392000,AVERAGE-BANDWIDTH=928000,\
         CODECS=\"avc1.64001e,mp4a.40.2\",RESOLUTION=640x360,FRAME-RATE=23.976,AUDIO=\"audio\"\n\
         video-360p.m3u8\n"
    );
    let [(audio_name, audio), (video_name, video)] = &playlists.media[..] else { panic!() };
    assert_eq!((audio_name.as_str(), video_name.as_str()), ("audio-_0.m3u8", "video-360p.m3u8"));
    assert_eq!(
        video,
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:4\n#EXT-X-MEDIA-SEQUENCE:1\n\
         #EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-INDEPENDENT-SEGMENTS\n\
         #EXT-X-MAP:URI=\"video/init.mp4\"\n#EXTINF:4.004000,\nvideo/1.m4s\n#EXTINF:4.004000,\n\
         video/2.m4s\n#EXTINF:1.992000,\nvideo/3.m4s\n#EXT-X-ENDLIST\n"
    );
    assert!(audio.contains("#EXT-X-MAP:URI=\"a.mp4\",BYTERANGE=\"10@0\"\n#EXTINF:5.000000,\n#EXT-X-BYTERANGE:10@10\na.mp4\n"));
}
