//! The boxes of fragmented MP4: what is read of them, what is changed in them, and what is
//! survived.

use airlane_media::mp4::{Header, Index, Init, Sample, Track, fragments, header, retime};
use proptest::prelude::*;

fn boxed(kind: &str, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let mut out = (8 + body.len() as u32).to_be_bytes().to_vec();
    out.extend(kind.as_bytes());
    out.extend(body);
    out
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// An initialisation segment of a track of 1000 ticks a second that skips 40 of them.
fn init(handler: &str, entry: &[u8]) -> Vec<u8> {
    let mdhd = boxed("mdhd", &[&words(&[0, 0, 0, 1000, 0, 0])]);
    let hdlr = boxed("hdlr", &[&words(&[0, 0]), handler.as_bytes(), &words(&[0, 0, 0])]);
    let stsd = boxed("stsd", &[&words(&[0, 1]), entry]);
    let minf = boxed("minf", &[&boxed("stbl", &[&stsd])]);
    let mdia = boxed("mdia", &[&mdhd, &hdlr, &minf]);
    // An empty edit first, as some writers put it.
    let elst = boxed("elst", &[&words(&[0, 2, 0, u32::MAX, 0x1_0000, 0, 40, 0x1_0000])]);
    let trak = boxed("trak", &[&boxed("edts", &[&elst]), &mdia]);
    // Samples last 20 ticks and do not stand alone unless their fragment says otherwise.
    let trex = boxed("trex", &[&words(&[0, 1, 1, 20, 7, 0x1_0000])]);
    let moov = boxed("moov", &[&boxed("mvhd", &[]), &trak, &boxed("mvex", &[&trex])]);
    [boxed("ftyp", &[b"iso6"]), moov].concat()
}

fn video(kind: &str, config: &[u8]) -> Vec<u8> {
    let size = words(&[640 << 16 | 360]);
    let entry = boxed(kind, &[&[0; 24], &size, &[0; 50], config]);
    init("vide", &entry)
}

fn audio(kind: &str, config: &[u8]) -> Vec<u8> {
    let entry =
        boxed(kind, &[&[0; 16], &[0, 2, 0, 16, 0, 0, 0, 0], &words(&[48_000 << 16]), config]);
    init("soun", &entry)
}

/// A fragment at a time, with a key frame first and a frame that is shown 30 ticks late.
fn fragment(time: u64) -> Vec<u8> {
    let tfhd = boxed("tfhd", &[&words(&[0x2_0000, 1])]);
    let tfdt = boxed("tfdt", &[&words(&[0x0100_0000]), &time.to_be_bytes()]);
    // First sample's flags, then bytes and offset of each.
    let trun =
        boxed("trun", &[&words(&[0x0100_0a04, 3, 0, 100, 40, 50, 70, 60, (-10_i32) as u32])]);
    let traf = boxed("traf", &[&tfhd, &tfdt, &trun]);
    let moof = boxed("moof", &[&boxed("mfhd", &[&words(&[0, 5])]), &traf]);
    [boxed("styp", &[b"msdh"]), moof, boxed("mdat", &[&[0; 210]])].concat()
}

#[test]
fn codecs_get_their_names() {
    let esds = [
        &words(&[0])[..],
        &[3, 0x80, 0x80, 0x80, 0x22, 0, 1, 0, 4, 20, 0x40],
        &[0; 12],
        &[5, 2, 0x11, 0x90],
    ]
    .concat();
    for (bytes, codec) in [
        (video("avc1", &boxed("avcC", &[&[1, 0x64, 0, 0x1f, 0xff]])), "avc1.64001f"),
        (video("avc3", &boxed("avcC", &[&[1, 0x4d, 0x40, 0x1e]])), "avc3.4d401e"),
        (video("av01", &boxed("av1C", &[&[0x81, 0x08, 0x0c, 0]])), "av01.0.08M.08"),
        (video("av01", &boxed("av1C", &[&[0x81, 0x4d, 0xe0, 0]])), "av01.2.13H.12"),
        (
            video("vp09", &boxed("vpcC", &[&words(&[0x0100_0000]), &[0, 31, 0x82, 2, 2, 2]])),
            "vp09.00.31.08",
        ),
        (video("hvc1", b""), "hvc1"),
        (audio("mp4a", &boxed("esds", &[&esds])), "mp4a.40.2"),
        (audio("Opus", b""), "opus"),
    ] {
        let init = Init::read(&bytes).unwrap();
        assert_eq!((init.codec.as_str(), init.timescale, init.skipped), (codec, 1000, 40));
        let expected = match codec {
            "mp4a.40.2" | "opus" => Track::Audio { channels: 2, sampling_hz: 48_000 },
            _ => Track::Video { width: 640, height: 360 },
        };
        assert_eq!(init.track, expected, "{codec}");
    }
    let subtitles = init("subt", &boxed("stpp", &[&[0; 8]]));
    assert_eq!(Init::read(&subtitles).unwrap().track, Track::Other);
}

#[test]
fn fragments_say_what_their_samples_are_and_can_be_moved() {
    let init = Init::read(&video("avc1", b"")).unwrap();
    let mut bytes = fragment(6_000);
    let [found] = &fragments(&bytes, &init).unwrap()[..] else { panic!("one fragment") };
    let sample = |bytes, offset, sync| Sample { duration: 20, bytes, offset, sync };
    assert_eq!(
        found.samples,
        [sample(100, 40, true), sample(50, 70, false), sample(60, -10, false)]
    );
    assert_eq!((found.time, found.duration(), found.earliest()), (6_000, 60, Some(6_030)));
    retime(&mut bytes, 9, 1 << 40).unwrap();
    let moved = fragments(&bytes, &init).unwrap();
    assert_eq!((moved[0].time, &moved[0].samples), (1 << 40, &found.samples));
    // Nothing else has changed but the number of the fragment.
    retime(&mut bytes, 5, 6_000).unwrap();
    assert_eq!(bytes, fragment(6_000));
}

#[test]
fn faults_are_named() {
    let good = video("avc1", b"");
    let message = |bytes: &[u8]| Init::read(bytes).unwrap_err().to_string();
    assert_eq!(
        message(b""),
        "moov: missing; expected an initialisation segment of a fragmented MP4 file"
    );
    assert_eq!(
        message(&good[..good.len() - 1]),
        "moov: the file ends within a box; expected a whole file"
    );
    assert_eq!(
        message(b"\0\0\0\x07abcd"),
        "abcd: a box of 7 bytes; expected at least the 8 bytes of its head"
    );
    let init = Init::read(&good).unwrap();
    let many = fragment(0).len() - 218 - 9 * 4 + 4;
    let mut bytes = fragment(0);
    bytes[many..many + 4].copy_from_slice(&u32::MAX.to_be_bytes());
    let e = fragments(&bytes, &init).unwrap_err().to_string();
    assert_eq!(e, "trun: a run of 4294967295 samples; expected at most 1000000 in a segment");
    assert!(retime(&mut good.clone(), 1, 1).unwrap_err().to_string().starts_with("moof: missing"));
    assert_eq!(
        Index::read(&good).unwrap_err().to_string(),
        "no sidx box; expected the segment index that the manifest names"
    );
    assert_eq!(header(&[0, 0, 0, 8, b'f', b'r', b'e']), Ok(None));
    let whole = Header { kind: *b"mdat", head_bytes: 8, bytes: None };
    assert_eq!(header(b"\0\0\0\0mdat"), Ok(Some(whole)));
}

proptest! {
    #[test]
    fn damage_is_survived(
        at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..12),
        cut in 0..20_usize, audio_track in any::<bool>(),
    ) {
        let init = if audio_track { audio("mp4a", b"") } else { video("av01", b"") };
        let mut data = [init, fragment(77)].concat();
        let at = at.index(data.len());
        let end = (at + cut).min(data.len());
        data.splice(at..end, bytes);
        let _ = Index::read(&data);
        if let Ok(init) = Init::read(&data) {
            for fragment in fragments(&data, &init).unwrap_or_default() {
                let _ = (fragment.earliest(), fragment.duration());
            }
        }
        let _ = retime(&mut data, 1, u64::MAX);
    }

    #[test]
    fn any_bytes_are_survived(mut data in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (Init::read(&data).is_ok(), Index::read(&data).is_ok(), header(&data).is_ok());
        let _ = retime(&mut data, 1, 1);
    }
}

#[test]
fn a_fragment_whose_number_is_cut_off_is_refused() {
    for len in 0..8 {
        let traf = boxed("traf", &[&boxed("tfdt", &[&words(&[0, 7])])]);
        let moof = boxed("moof", &[&boxed("mfhd", &[&[0; 8][..len]]), &traf]);
        let e = retime(&mut moof.clone(), 1, 1).unwrap_err().to_string();
        assert!(e.starts_with("mfhd: "), "{len} bytes: {e}");
    }
}
