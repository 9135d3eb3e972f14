//! The command line: its messages and exit codes, and what is left behind.

use std::fs;
use std::path::Path;

use crate::common::*;

/// A table of one video with two rungs of three chunks, in the form of the Comyco set.
fn table() -> String {
    let rung = |kbps: u32, size: u32, vmaf: u32| {
        format!(
            "{{\"name\": \"r{kbps}\", \"width\": 640, \"height\": 360, \"nominal_kbps\": {kbps}, \
             \"chunk_bytes\": [{size}, {size}, {size}], \"vmaf\": [{vmaf}, {vmaf}, {vmaf}], \
             \"vmaf_phone\": [{vmaf}, {vmaf}, {vmaf}], \"vmaf_4k\": [{vmaf}, {vmaf}, {vmaf}]}}"
        )
    };
    format!(
        "{{\"video\": \"one\", \"chunk_seconds\": 4.0, \"representations\": [{}, {}]}}",
        rung(300, 150_000, 40),
        rung(1200, 600_000, 80)
    )
}

#[test]
fn help_lists_the_verbs_and_exits_with_0() {
    let scratch = Scratch::new("help");
    for arguments in [&["--help"][..], &["help"]] {
        let output = scratch.airlane(arguments);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("corpus") && text.contains("Exit codes: 0 done;"), "{text}");
    }
    let version = String::from_utf8(scratch.airlane(&["--version"]).stdout).unwrap();
    assert_eq!(version.trim(), concat!("airlane ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_command_line_that_is_none_exits_with_2() {
    let scratch = Scratch::new("none");
    assert!(scratch.refused(&["frobnicate"]).contains("unrecognized subcommand 'frobnicate'"));
    assert!(scratch.refused(&["corpus", "--metrik", "vmaf"]).contains("--metric"));
    let metric = scratch.refused(&["corpus", "--metric", "vmf"]);
    assert!(metric.contains("expected one of vmaf, "), "{metric}");
}

/// Options are parsed in order: one that is not known is refused before the help behind it is printed.
#[test]
fn options_work_under_their_old_names() {
    let scratch = Scratch::new("renamed");
    for (verb, old) in [
        (&["link", "udp"][..], &["--both", "rtt_s=0.02"][..]),
        (&["link", "tun"], &["--every", "2"]),
        (&["relay"], &["--every", "2"]),
        (&["corpus", "normalise"], &["--min-chunks", "3"]),
        (&["pack"], &["--chunk", "2"]),
        (&["pack"], &["--restart"]),
        (&["play"], &["--air", "mon0"]),
        (&["serve"], &["--ab", "0.5"]),
        (&["tunnel", "connect"], &["--over", "quic"]),
    ] {
        let output = scratch.airlane(&[verb, old, &["--help"]].concat());
        assert_eq!(output.status.code(), Some(0), "{verb:?} {old:?}");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(!help.contains(&format!("{} ", old[0])), "{verb:?} shows {}", old[0]);
    }
    scratch.refused(&["play", "--no-such-option", "--help"]);
}

#[test]
fn the_page_on_the_command_line_is_what_help_says() {
    let scratch = Scratch::new("page");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/command-line.md");
    let page = fs::read_to_string(page).unwrap();
    let help = |verb: &[String]| {
        let arguments: Vec<&str> = verb.iter().map(String::as_str).chain(["--help"]).collect();
        String::from_utf8(scratch.airlane(&arguments).stdout).unwrap()
    };
    // Verbs below a verb, as their words.
    let below = |verb: &[String]| -> Vec<Vec<String>> {
        let help = help(verb);
        let lines = help.lines().skip_while(|l| *l != "Commands:").skip(1);
        lines
            .take_while(|l| !l.is_empty())
            .filter_map(|l| l.split_whitespace().next())
            .filter(|v| *v != "help")
            .map(|v| [verb, &[v.to_owned()]].concat())
            .collect()
    };
    let mut verbs = below(&[]);
    verbs.extend(verbs.clone().iter().flat_map(|verb| below(verb)));
    assert!(verbs.iter().any(|verb| verb.len() == 2));
    let mut options = 0;
    for verb in verbs {
        let heading = format!("airlane {}", verb.join(" "));
        let section = page.split("\n## ").find(|s| s.lines().next() == Some(heading.as_str()));
        let section =
            section.unwrap_or_else(|| panic!("docs/reference/command-line.md lacks {heading}"));
        let help = help(&verb);
        for word in help.split_whitespace().filter(|w| w.starts_with("--")) {
            let option = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if !["--help", "--version"].contains(&option) {
                options += 1;
                assert!(section.contains(&format!("`{option}")), "{heading} lacks {option}");
            }
        }
    }
    assert!(options > 0, "the help lists no options: this test reads it wrongly");
}

#[test]
fn corpus_describes_a_folder() {
    let scratch = Scratch::new("corpus");
    scratch.file("content/one.json", &table());
    let output = scratch.airlane(&["corpus", "content"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(text.starts_with("content: 1 videos, 0 of at least 50 chunks"), "{text}");
}

#[test]
fn corpus_tiles_describes_360_degree_content() {
    let scratch = Scratch::new("tiles");
    let table = r#"{"format": "airlane-tiles", "version": 1, "video": "lake", "columns": 2,
        "rows": 1, "gop_s": 0.5, "levels": ["low", "high"], "gops": [{"bytes": [[100, 1000],
        [200, 2000]], "mse": [[65.025, 0.65025], [65.025, 0.65025]], "change_mse": [9, 900],
        "grey_mse": [1000, 1000]}]}"#;
    scratch.file("tiles/lake.json", table);
    let text = |arguments: &[&str]| {
        let output = scratch.airlane(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = text(&["corpus", "tiles", "tiles"]);
    assert!(shown.starts_with("tiles: 1 videos; content "), "{shown}");
    let row = shown.lines().last().unwrap().split_whitespace().collect::<Vec<_>>();
    let expected =
        ["lake", "2x1", "1", "0.5", "2", "0.00-0.05", "30.0-50.0", "measured", "50", "%"];
    assert_eq!(row, expected);
    assert!(text(&["corpus", "tiles"]).starts_with("embedded: "));
    let message = scratch.refused(&["corpus", "tiles", "nowhere"]);
    assert!(message.starts_with("nowhere: cannot read the content folder: "), "{message}");
}

#[test]
fn corpus_normalise_shows_f_or_writes_it() {
    let scratch = Scratch::new("normalise");
    // A folder of the verb's name is still to be had.
    scratch.file("normalise/one.json", &table());
    let text = |arguments: &[&str]| {
        let output = scratch.airlane(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(text(&["corpus", "./normalise"]).starts_with("./normalise: 1 videos"));

    let common = ["corpus", "normalise", "normalise", "--min-segments", "3"];
    let with = |more: &[&'static str]| [&common[..], more].concat();
    let shown = text(&common);
    assert_eq!(shown.lines().count(), 1 + 12 + 2, "{shown}");
    assert!(shown.trim_start().starts_with("u  f(u), Mbit/s"), "{shown}");
    let line = "f of 1 titles of at least 3 chunks, vmaf, robust-mpc, fixed-rate, popularity \
                uniform, alpha 2.13\n";
    assert!(shown.ends_with(line), "{shown}");

    scratch.file("p.csv", "title,popularity\none,3\n");
    let more = ["--form", "equation2", "--alpha", "1.5", "--metric", "vmaf_phone"];
    let out = ["--popularity", "p.csv", "--out", "new/f.json"];
    let written = text(&with(&[more, [out[0], out[1], out[2], out[3], "--abr", "bola"]].concat()));
    assert!(written.ends_with("popularity from a file, alpha 1.5: new/f.json\n"), "{written}");
    let json = fs::read(scratch.0.join("new/f.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&"airlane-normalisation".into(), &1.into()));
    assert_eq!((&json["metric"], &json["abr"]), (&"vmaf_phone".into(), &"bola".into()));
    assert_eq!(json["popularity"]["one"], 3.0);
    assert_eq!(json["normalisation"]["form"], "equation2");

    let says = |more: &[&'static str], start: &str| {
        let message = scratch.refused(&with(more));
        assert!(message.contains(start), "{message}");
    };
    says(&["--abr", "fixed"], "expected one of robust-mpc, mpc, bola, buffer, rate");
    says(&["--form", "linear"], "expected one of fixed-rate, equation2, fixed-rate-fitted");
    says(&["--alpha", "0"], "expected a number from 0.001 to 1000");
    says(&["--baseline", "nan"], "expected a number from 0.01 to 1000");
    says(&["--metric", "psnr_db"], "one has no usable psnr_db; its metrics are vmaf,");
    says(&["--popularity", "q.csv"], "q.csv: cannot read the popularities: ");
    says(&["--out", "new"], "new: --out: found a folder; expected a file, such as f.json");
    says(&["--out", "normalise/f.json"], "normalise/f.json: --out: found a file among the chunk");
    let short = scratch.refused(&common[..3]);
    assert!(short.starts_with("normalise: no title of at least 50 chunks; the longest has 3"));
}

#[test]
fn a_content_folder_that_is_missing_or_empty_is_refused() {
    let scratch = Scratch::new("folder");
    let missing = scratch.refused(&["corpus", "nowhere"]);
    assert!(missing.starts_with("nowhere: cannot read the content folder: "), "{missing}");
    fs::create_dir(scratch.0.join("empty")).unwrap();
    let empty = scratch.refused(&["corpus", "empty"]);
    assert!(empty.starts_with("empty: no table in this folder; expected *.json"), "{empty}");
}

#[test]
fn bad_tables_are_refused_with_the_file_and_the_key() {
    let scratch = Scratch::new("tables");
    let about = |from: &str, to: &str| {
        let good = table();
        assert!(good.contains(from), "{from}");
        scratch.file("content/one.json", &good.replacen(from, to, 1));
        let message = scratch.refused(&["corpus", "content"]);
        assert!(message.starts_with("content/one.json"), "{message}");
        message
    };
    let zero = about("[150000, 150000, 150000]", "[150000, 0, 150000]");
    assert!(zero.contains("chunk_bytes"), "{zero}");
    let nan = about("[40, 40, 40]", "[NaN, NaN, NaN]");
    assert!(nan.contains("vmaf"), "{nan}");
    let missing = about(", {\"name\": \"r1200\"", ", {\"nome\": \"r1200\"");
    assert!(missing.contains("name"), "{missing}");
    about("[150000, 150000, 150000]", "[150000, -1, 150000]");
    about("[150000, 150000, 150000]", "[150000]");
}

#[test]
fn man_page_and_completions_come_from_the_same_definition() {
    let scratch = Scratch::new("man");
    let man = String::from_utf8(scratch.airlane(&["man"]).stdout).unwrap();
    assert!(man.contains(".TH airlane 1") && man.contains("corpus"), "{man}");
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(scratch.airlane(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("corpus"), "{shell}");
    }
}

#[test]
fn pack_refuses_what_cannot_be_packed() {
    let scratch = Scratch::new("pack");
    scratch.file("film.mp4", "no film");
    assert!(scratch.refused(&["pack", "film.mp4"]).contains("<DIR>"));
    assert!(scratch.refused(&["pack", "missing.mp4", "out"]).contains("missing.mp4"));
    let rungs = scratch.refused(&["pack", "film.mp4", "out", "--rungs", "360p"]);
    assert!(rungs.contains("such as 360p:800k"), "{rungs}");
    let ffmpeg = scratch.refused(&["pack", "film.mp4", "out", "--ffmpeg", "./nothing"]);
    assert!(ffmpeg.contains("/nothing") && ffmpeg.contains("--ffmpeg"), "{ffmpeg}");
    let both =
        scratch.refused(&["pack", "film.mp4", "out", "--measure", "m.mpd", "--source", "film.mp4"]);
    assert!(both.contains("cannot be used with"), "{both}");
    assert!(scratch.refused(&["pack", "--measure", "m.mpd"]).contains("--source"));
}

#[cfg(target_os = "linux")]
#[test]
fn link_forwards_until_it_is_told_to_stop() {
    let scratch = Scratch::new("link");
    let key = scratch.refused(&["link", "udp", "localhost:0", "localhost:9", "--both", "rate=1e6"]);
    assert!(key.contains("did you mean `rate_bps`?"), "{key}");
    let rate =
        scratch.refused(&["link", "udp", "localhost:0", "localhost:9", "--up", "rate_bps=x"]);
    assert!(rate.contains("up.rate_bps"), "{rate}");

    let one =
        ["link", "udp", "localhost:0", "localhost:9", "--half-duplex", "--up", "rate_bps=1e6"];
    let one = scratch.refused(&one);
    assert!(one.contains("rate_bps: found the capacity of one direction"), "{one}");
    forwards(&scratch, &["--both", "rate_bps=1e6"]);
    forwards(&scratch, &["--half-duplex", "--both-directions", "rate_bps=1e6", "--up", "loss.p=0"]);
}

/// Runs `airlane link udp` with these settings, sends a datagram there and back by each of its
/// addresses, and stops it.
#[cfg(target_os = "linux")]
fn forwards(scratch: &Scratch, settings: &[&str]) {
    use std::io::{BufRead, BufReader, Read};
    use std::net::{SocketAddr, UdpSocket};
    use std::process::Stdio;

    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = server.local_addr().unwrap().to_string();
    let command = [&["link", "udp", "localhost:0", &target, "--quiet"], settings].concat();
    let mut link = scratch.command(&command).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(link.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let addresses = line.trim().strip_prefix("ready: ").unwrap().split(' ');
    // All that `localhost` stands for here, on one port.
    let addresses: Vec<SocketAddr> = addresses.map(|a| a.parse().unwrap()).collect();
    for address in &addresses {
        assert_eq!(address.port(), addresses[0].port(), "{line}");
        let client = UdpSocket::bind(SocketAddr::new(address.ip(), 0)).unwrap();
        client.send_to(b"there", address).unwrap();
        let mut buffer = [0; 64];
        let (n, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..n], b"there");
        server.send_to(b"and back", from).unwrap();
        let n = client.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..n], b"and back");
    }
    let stop = std::process::Command::new("kill").arg(link.id().to_string()).status().unwrap();
    assert!(stop.success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(link.wait().unwrap().code(), Some(0));
    assert!(rest.starts_with("in ") && rest.contains("up ") && rest.lines().count() == 1, "{rest}");
}

/// The pages of results have the tables that their records give.
#[test]
fn pages_of_results_are_as_their_records_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = ["minerva", "octopus", "fbdt", "ows", "plum", "cupid"];
    let pages = pages.map(|name| format!("docs/results/{name}.md"));
    let scratch = Scratch::new("verdicts");
    let check = |pages: &[String]| {
        let mut command = scratch.command(&["verdicts", "--check"]);
        command.args(pages).current_dir(&root).output().unwrap()
    };
    let output = check(&pages);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().filter(|line| line.ends_with("as its records say")).count(), 6);
    // A page that says otherwise is told and left alone.
    let page = fs::read_to_string(root.join(&pages[4])).unwrap();
    scratch.file("other.md", &page.replacen("**holds**", "**fails**", 1));
    let other = scratch.0.join("other.md");
    let before = fs::read_to_string(&other).unwrap();
    let output = check(&[other.display().to_string()]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(&other).unwrap(), before);
    assert!(scratch.refused(&["verdicts", "none.md"]).contains("none.md"));
}
