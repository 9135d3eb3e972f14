//! Segments of fragmented MP4 (ISO/IEC 14496-12).

use airlane_media::mp4::{Index, Init, fragments, retime};

/// Any bytes as an initialisation segment, as a chunk and as an index: errors or values.
pub fn segment(data: &[u8]) {
    let _ = Index::read(data);
    if let Ok(init) = Init::read(data) {
        for fragment in fragments(data, &init).unwrap_or_default() {
            let _ = (fragment.earliest(), fragment.duration());
        }
    }
    let _ = retime(&mut data.to_vec(), 7, 1 << 40);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let chunk = fragment();
    let sidx = boxed("sidx", &[&words(&[0, 1, 1000, 0, 0, 1, 700, 4000, 0x9000_0000])]);
    let indexed = [&sidx[..], &chunk].concat();
    let esds = [
        &words(&[0])[..],
        &[3, 0x80, 0x80, 0x80, 0x22, 0, 1, 0, 4, 20, 0x40],
        &[0; 12],
        &[5, 2, 0x11, 0x90],
    ];
    let inits = [
        video("avc1", &boxed("avcC", &[&[1, 0x64, 0, 0x1f, 0xff]])),
        video("av01", &boxed("av1C", &[&[0x81, 0x08, 0x0c, 0]])),
        video("vp09", &boxed("vpcC", &[&words(&[0x0100_0000]), &[0, 31, 0x82, 2, 2, 2]])),
        audio("mp4a", &boxed("esds", &esds)),
    ];
    let played = inits.iter().map(|init| [&init[..], &chunk].concat());
    [indexed].into_iter().chain(played).collect()
}

/// An initialisation segment of a track of 1000 ticks a second, with an empty edit and one that skips
/// 40 ticks, whose samples last 20 ticks by default.
fn init(handler: &str, entry: &[u8]) -> Vec<u8> {
    let mdhd = boxed("mdhd", &[&words(&[0, 0, 0, 1000, 0, 0])]);
    let hdlr = boxed("hdlr", &[&words(&[0, 0]), handler.as_bytes(), &words(&[0, 0, 0])]);
    let stsd = boxed("stsd", &[&words(&[0, 1]), entry]);
    let minf = boxed("minf", &[&boxed("stbl", &[&stsd])]);
    let mdia = boxed("mdia", &[&mdhd, &hdlr, &minf]);
    let elst = boxed("elst", &[&words(&[0, 2, 0, u32::MAX, 0x1_0000, 0, 40, 0x1_0000])]);
    let trak = boxed("trak", &[&boxed("edts", &[&elst]), &mdia]);
    let trex = boxed("trex", &[&words(&[0, 1, 1, 20, 7, 0x1_0000])]);
    boxed("moov", &[&trak, &boxed("mvex", &[&trex])])
}

fn video(kind: &str, config: &[u8]) -> Vec<u8> {
    let size = words(&[640 << 16 | 360]);
    init("vide", &boxed(kind, &[&[0; 24], &size, &[0; 50], config]))
}

fn audio(kind: &str, config: &[u8]) -> Vec<u8> {
    let fields = [&[0; 16][..], &[0, 2, 0, 16, 0, 0, 0, 0], &words(&[48_000 << 16])];
    init("soun", &boxed(kind, &[&fields.concat(), config]))
}

/// A fragment of three samples: a key frame, and a frame each that is shown later and earlier.
fn fragment() -> Vec<u8> {
    let tfhd = boxed("tfhd", &[&words(&[0x2_0000, 1])]);
    let tfdt = boxed("tfdt", &[&words(&[0x0100_0000, 0, 6_000])]);
    // The first sample's flags, then bytes and offset of each.
    let trun = words(&[0x0100_0a04, 3, 0, 10, 40, 5, 70, 6, (-10_i32).cast_unsigned()]);
    let traf = boxed("traf", &[&tfhd, &tfdt, &boxed("trun", &[&trun])]);
    let moof = boxed("moof", &[&boxed("mfhd", &[&words(&[0, 5])]), &traf]);
    [moof, boxed("mdat", &[&[0; 21]])].concat()
}

/// A box.
fn boxed(kind: &str, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&(8 + body.len() as u32).to_be_bytes(), kind.as_bytes(), &body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}
