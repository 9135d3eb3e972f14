//! Every parser of user input on damaged input: an error or a value, never a panic.
//!
//! The seconds that this takes are what runs in CI; `fuzz/` has the same targets for libFuzzer, and
//! what was ever found lies in `fuzz/regressions/TARGET/` and is replayed here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_apps::cmcd::Cmcd;
use airlane_apps::vod::Viewer;
use airlane_base::{Rng, Seed, Time};
use airlane_lab::scenario::{Grid, Scenario, embedded};
use airlane_lab::workloads::vod::popularity::Popularity;
use airlane_media::mp4::{Index, Init, fragments, retime};
use airlane_media::{dash, heads, hls, synthetic, table, tiles};
use airlane_minerva::{SentCurve, StoredNormalisation};
use airlane_net::Trace;
use rand::RngExt;

const ROUNDS: usize = 4_000;

fn trace(data: &[u8]) {
    let _ = Trace::parse(data, "damaged");
}

fn chunk_table(data: &[u8]) {
    let _ = table::parse(data);
}

fn tile_table(data: &[u8]) {
    if let Ok(video) = tiles::parse(data, "file") {
        assert_eq!(video.check(), Ok(()));
    }
}

fn recorded_heads(data: &[u8]) {
    for recording in heads::parse(data, "file").unwrap_or_default() {
        assert!(!recording.samples.is_empty());
        assert!(recording.samples.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
}

fn scenario(data: &[u8]) {
    let _ = Scenario::from_bytes(data, Path::new("damaged.toml"), &[]);
    if let Ok(grid) = Grid::from_bytes(data, Path::new("damaged.toml"), &[], &[]) {
        assert!((1..=10_000).contains(&grid.cells()));
        let _ = grid.scenario(grid.cells() - 1);
    }
}

fn cmcd(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let read = Cmcd::parse(&text);
    assert_eq!(Cmcd::from_query(&read.to_query()).map(|c| c.to_text()), Some(read.to_text()));
    let _ = Cmcd::from_query(&text);
}

fn popularity(data: &[u8]) {
    if let Ok(read) = Popularity::parse(data, Path::new("damaged.csv")) {
        let _ = read.of(["news", "cave"], &["news", "cave", "short"], "content");
    }
}

fn normalisation(data: &[u8]) {
    if let Ok(read) = StoredNormalisation::from_json(data) {
        assert!(read.normalisation.eval(0.0) > 0.0);
        assert_eq!(StoredNormalisation::from_json(read.to_json().as_bytes()), Ok(read));
    }
}

fn curve(data: &[u8]) {
    let _ = SentCurve::from_text(&String::from_utf8_lossy(data));
    if let Ok(read) = SentCurve::from_bytes(data) {
        assert!(SentCurve::from_bytes(&read.to_bytes()).is_ok_and(|again| again == read));
    }
}

fn manifest(data: &[u8]) {
    if let Ok(read) = dash::parse(&String::from_utf8_lossy(data)) {
        dash::write(&read);
        hls::write(&read, &|_| None);
    }
}

fn segment(data: &[u8]) {
    let _ = Index::read(data);
    if let Ok(init) = Init::read(data) {
        for fragment in fragments(data, &init).unwrap_or_default() {
            let _ = (fragment.earliest(), fragment.duration());
        }
    }
    let _ = retime(&mut data.to_vec(), 7, 1 << 40);
}

fn reports(data: &[u8]) {
    let mut viewer = Viewer::default();
    let mut now = Time::ZERO;
    for (i, cmcd) in Cmcd::of_post(&String::from_utf8_lossy(data)).iter().enumerate() {
        now += Duration::from_millis(700);
        let chunk = cmcd.chunks_played.map_or(i, |n| n as usize);
        let request = viewer.on_request(now, (i % 5, chunk), Duration::from_secs(4), cmcd);
        assert_eq!(request.chunk, chunk);
        viewer.on_report(cmcd);
        assert!((0.0..=16.0).contains(&viewer.watching().pace));
    }
}

/// A box of ISO/IEC 14496-12.
fn boxed(kind: &str, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    [&(8 + body.len() as u32).to_be_bytes(), kind.as_bytes(), &body].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// Cuts, doubles, overwrites and splices what was valid before.
fn damage(valid: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut data = valid.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        if data.is_empty() {
            break;
        }
        let (a, b) = (rng.random_range(0..data.len()), rng.random_range(0..data.len()));
        let (from, to) = (a.min(b), (a.max(b) + 1).min(a.min(b) + 64));
        match rng.random_range(0..6) {
            0 => data.truncate(a),
            1 => drop(data.drain(from..to)),
            2 => data[a] = rng.random(),
            3 => {
                let part = data[from..to].to_vec();
                drop(data.splice(b..b, part));
            }
            4 => {
                let words: [&[u8]; 8] =
                    [b"NaN", b"-1", b"1e999", b"99999999999999999999", b"\0", b"\xff", b"[[", b"="];
                drop(data.splice(a..a, words[rng.random_range(0..words.len())].iter().copied()));
            }
            _ => {
                let end = (from + 32).min(other.len());
                let part = other.get(from.min(end)..end).unwrap_or_default().to_vec();
                drop(data.splice(a..a, part));
            }
        }
    }
    data
}

fn batter(name: &str, target: fn(&[u8]), valid: &[Vec<u8>]) {
    let mut rng = Seed(1).split(name).rng();
    for round in 0..ROUNDS {
        let (i, j) = (rng.random_range(0..valid.len()), rng.random_range(0..valid.len()));
        let data = damage(&valid[i], &valid[j], &mut rng);
        let survived = std::panic::catch_unwind(|| target(&data));
        assert!(survived.is_ok(), "{name}, round {round}: {:?}", String::from_utf8_lossy(&data));
    }
    let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/regressions").join(name);
    for file in std::fs::read_dir(kept).into_iter().flatten().flatten() {
        target(&std::fs::read(file.path()).unwrap());
    }
}

#[test]
fn damaged_curves_are_survived() {
    let text = "AQAAAAAAAAABAAAAAQEBAf8AAQ";
    let bytes: Vec<u8> = (0..120).collect();
    batter("curve", curve, &[text.as_bytes().to_vec(), bytes, vec![1; 64]]);
}

#[test]
fn damaged_manifests_are_survived() {
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
    assert!(dash::parse(template).is_ok() && dash::parse(base).is_ok());
    batter("manifest", manifest, &[template.as_bytes().to_vec(), base.as_bytes().to_vec()]);
}

#[test]
fn damaged_segments_are_survived() {
    let tfdt = boxed("tfdt", &[&words(&[0x0100_0000, 0, 9])]);
    let trun = boxed("trun", &[&words(&[0x0000_0201, 2, 0, 50, 60])]);
    let traf = boxed("traf", &[&boxed("tfhd", &[&words(&[0x2_0000, 1])]), &tfdt, &trun]);
    let moof = boxed("moof", &[&boxed("mfhd", &[&words(&[0, 5])]), &traf]);
    let sidx = boxed("sidx", &[&words(&[0, 1, 1000, 0, 0, 1, 700, 4000, 0x9000_0000])]);
    let mdhd = boxed("mdhd", &[&words(&[0, 0, 0, 1000, 0, 0])]);
    let hdlr = boxed("hdlr", &[&words(&[0, 0]), b"vide", &words(&[0, 0, 0])]);
    let mdia = boxed("mdia", &[&mdhd, &hdlr]);
    let moov = boxed("moov", &[&boxed("trak", &[&mdia])]);
    batter("segment", segment, &[[sidx, moof.clone()].concat(), [moov, moof].concat()]);
}

#[test]
fn damaged_reports_are_survived() {
    let valid = [
        b"sid=\"a\",e=t,bl=(4000),sta=p,pr=1,ts=1700000000000\nsid=\"a\",sta=r,bsd=(700)\n"
            .to_vec(),
        b"bl=21300,bs,com.airlane-rb=1.5,su,bg,pr=2,sid=\"b\"\n".to_vec(),
    ];
    batter("reports", reports, &valid);
}

#[test]
fn damaged_traces_are_survived() {
    let valid = [
        b"0\n1\n1\n5\n9\n".to_vec(),
        b"0.0 12.5\n1.0 0\n2.0 7 3\n".to_vec(),
        b"time,DL_bitrate,state\n2020.01.16_07.26.43,1200,D\n2020.01.16_07.26.44,900,I\n".to_vec(),
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x33, 0xe4, 2, 0],
    ];
    batter("trace", trace, &valid);
}

#[test]
fn damaged_tables_are_survived() {
    let valid: Vec<Vec<u8>> =
        synthetic::corpus(2, 3, Seed(1)).iter().map(|v| table::to_json(v).into_bytes()).collect();
    batter("table", chunk_table, &valid);
}

#[test]
fn damaged_tables_of_tiles_are_survived() {
    let ours = br#"{"format": "airlane-tiles", "version": 1, "video": "lake", "columns": 2,
"rows": 1, "gop_s": 0.5, "levels": ["low", "high"], "gops": [{"bytes": [[100, 1000],
[200, 2000]], "mse": [[65.0, 0.65], [65.0, 0.65]], "change_mse": [9, 900], "grey_mse": [1, 2]}]}"#;
    let sizes = br#"{"2x1": {"1000": {"9000": {"1": {}, "2": {"1": 90, "2": 95}, "3": {"1": 70}},
"10000": {"2": {"1": 190, "2": 195}, "3": {"1": 170}}}}}"#;
    assert!(tiles::parse(ours, "file").is_ok() && tiles::parse(sizes, "file").is_ok());
    batter("tiles", tile_table, &[ours.to_vec(), sizes.to_vec()]);
}

/// A tar archive of one file.
fn archive(name: &str, text: &str) -> Vec<u8> {
    let mut header = [0; 512];
    let mut field =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    field(0, name);
    field(124, &format!("{:011o}", text.len()));
    // The sum of the header's bytes, with spaces in the sum's own place.
    field(148, "        ");
    field(156, "0");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let padding = vec![0; text.len().next_multiple_of(512) - text.len() + 1024];
    [&header[..], text.as_bytes(), &padding].concat()
}

#[test]
fn damaged_heads_are_survived() {
    let avtrack = br#"{"data": [{"filename": "2.mp4", "pitch_yaw_roll_data_hmd": [
{"sec": 0.25, "pitch": -13, "yaw": -7, "roll": 2}, {"sec": 0.5, "pitch": 1, "yaw": 179, "roll": -1}]}]}"#;
    let dragonfly = archive("vid1_uid3_x.txt", "180.5,90\n181,91\n");
    assert!(heads::parse(avtrack, "file").is_ok() && heads::parse(&dragonfly, "file").is_ok());
    batter("heads", recorded_heads, &[avtrack.to_vec(), dragonfly]);
}

#[test]
fn damaged_scenarios_are_survived() {
    let mut valid: Vec<Vec<u8>> = embedded().map(|(_, text)| text.as_bytes().to_vec()).collect();
    let grid = "[grid]\n\"link.rate_bps\" = [4e6, 10e6]\nlink.queue = [{ kind = \"pie\" }, {}]\n";
    valid.push([embedded().next().unwrap().1, grid].concat().into_bytes());
    batter("scenario", scenario, &valid);
}

#[test]
fn damaged_cmcd_is_survived() {
    let valid = [
        br#"bl=21300,br=3200,bs,cid="a,b",d=4004,mtp=25400,sid="6e2fb550",su,tb=6000"#.to_vec(),
        b"CMCD=bl%3D1000%2Ccid%3D%22a%2Cb%22%2Ccom.airlane-qoe%3D-1.5&z=2".to_vec(),
    ];
    batter("cmcd", cmcd, &valid);
}

#[test]
fn damaged_popularities_are_survived() {
    let valid = [
        b"title,popularity\nnews,2.5\ncave,0\n".to_vec(),
        b"\xef\xbb\xbftitle, popularity\r\nshort,1e3\r\n\r\n*,1\r\n".to_vec(),
    ];
    batter("popularity", popularity, &valid);
}

#[test]
fn damaged_normalisations_are_survived() {
    let valid = br#"{
  "format": "airlane-normalisation",
  "version": 1,
  "airlane": "0.1.0",
  "corpus": {"name": "x", "content_hash": "00", "min_chunks": 50, "titles": 2},
  "metric": "vmaf",
  "abr": "robust-mpc",
  "player": {"horizon": 5, "buffer_cap_s": 40.0, "overhead_s": 0.6, "beta": 25.0, "gamma": 2.5,
    "smoothness": "mean_curve"},
  "popularity": {"news": 2.5},
  "normalisation": {"form": "fixed-rate", "alpha": 2.0,
    "points": [[0.9, 104204.2], [40.0, 400000.0], [94.0, 8.1e6]]}
}"#;
    assert!(StoredNormalisation::from_json(valid).is_ok());
    batter("normalisation", normalisation, &[valid.to_vec()]);
}
