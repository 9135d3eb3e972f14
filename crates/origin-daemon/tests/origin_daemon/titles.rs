//! Titles as others make them, played from servers as others run them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::common::*;
use airlane_http_client::Speak;
use airlane_origin_daemon::play::{PlayRequest, PlayResult};
use airlane_origin_daemon::serve::Server;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Manifests of one film of 4 s, each with something that not every player takes.
fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/vod/mpd")
}

/// Plays the manifest at a path of the server.
async fn played(server: &Server, manifest: &str) -> PlayResult {
    let request = players(server, "", Speak::Http3);
    let urls = vec![url(server, &format!("/{manifest}")).to_string()];
    play_one(PlayRequest { urls, silent: true, ..request }).await
}

/// A server on a copy of the cases beside what is there.
async fn server(scratch: &Scratch) -> Server {
    copy(&cases(), &scratch.0);
    Server::start(request(&scratch.0)).await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

#[test]
fn manifests_of_every_make_play_to_their_end() {
    run(async {
        let scratch = Scratch::new();
        let text = std::fs::read_to_string(cases().join("control.mpd")).unwrap();
        let write =
            |name: &str, bytes: Vec<u8>| std::fs::write(scratch.0.join(name), bytes).unwrap();
        let utf16 = text.replace("UTF-8", "UTF-16");
        write(
            "utf-16.mpd",
            std::iter::once(0xfeff)
                .chain(utf16.encode_utf16())
                .flat_map(u16::to_be_bytes)
                .collect(),
        );
        let latin = text.replace("UTF-8", "ISO-8859-1").replace("tmpl/", "é/");
        write("latin.mpd", latin.chars().map(|c| u8::try_from(c).unwrap()).collect());
        copy(&cases().join("tmpl"), &scratch.0.join("é"));
        // The third of three places has the index, the first is no server at all.
        let od = std::fs::read_to_string(cases().join("od/m.mpd")).unwrap();
        let bases = "<BaseURL>http://127.0.0.1:1/</BaseURL><BaseURL>no/</BaseURL><BaseURL>od/</BaseURL><Period";
        write("three.mpd", od.replacen("<Period", bases, 1).into_bytes());
        let server = server(&scratch).await;
        for (manifest, bytes) in [
            ("control.mpd", None),
            ("p0y0m.mpd", None),
            ("ext-index.mpd", Some(18_680)),
            ("two-sets.mpd", None),
            ("raw-space.mpd", None),
            ("failover.mpd", None),
            ("no-index.mpd", Some(18_680)),
            ("frame-rate-0.mpd", None),
            ("od/m.mpd", None),
            ("three.mpd", None),
            ("utf-16.mpd", None),
            ("latin.mpd", None),
            ("my%20film/m.mpd", None),
        ] {
            let result = played(&server, manifest).await;
            assert_eq!(result.failure, None, "{manifest}");
            assert_eq!((result.chunks, result.of), (4, 4), "{manifest}");
            if let Some(bytes) = bytes {
                assert_eq!(result.bytes, bytes, "{manifest}");
            }
        }
        server.stop().await;
    });
}

#[test]
fn what_cannot_be_played_is_said_by_name() {
    run(async {
        let scratch = Scratch::new();
        let server = server(&scratch).await;
        for (manifest, reason) in [
            (
                "xlink-period.mpd",
                "xlink-period.mpd:3: Period: a remote element (xlink:href=\"period.xml\")",
            ),
            ("xlink-set.mpd", "AdaptationSet: a remote element (xlink:href=\"set.xml\")"),
            ("essential.mpd", "its essential property \"urn:example:odd\" is not known here"),
            ("webm/m.mpd", "Representation 0: video/webm with an index"),
            ("zero-length.mpd", "a title of no length at all"),
        ] {
            let result = played(&server, manifest).await;
            let failure = result.failure.clone().unwrap_or_default();
            assert!(failure.contains(reason), "{manifest}: {failure}");
            assert!(result.line().contains(" stalled_s=0.000 "), "{}", result.line());
        }
        server.stop().await;
    });
}

/// Answers every request on a connection with the whole of the file of its path.
async fn without_ranges(stream: TcpStream, folder: PathBuf) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or("/").trim_start_matches('/').to_owned();
        while line.trim() != "" {
            line.clear();
            stream.read_line(&mut line).await?;
        }
        let (status, body) = match std::fs::read(folder.join(path)) {
            Ok(body) => ("200 OK", body),
            Err(_) => ("404 Not Found", Vec::new()),
        };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all(head.as_bytes()).await?;
        stream.get_mut().write_all(&body).await?;
    }
}

#[test]
fn a_server_without_ranges_is_played_from() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at: SocketAddr = listener.local_addr().unwrap();
        let serving = async {
            let mut open = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Ok((stream, _)) = listener.accept() => open.push(without_ranges(stream, cases())),
                    Some(_) = open.next() => {}
                }
            }
        };
        let playing = async {
            for manifest in ["od/m.mpd", "ext-index.mpd", "no-index.mpd"] {
                let request = PlayRequest {
                    urls: vec![format!("http://{at}/{manifest}")],
                    silent: true,
                    ..any_players()
                };
                let result = play_one(request).await;
                assert_eq!(result.failure, None, "{manifest}");
                assert_eq!((result.chunks, result.carrier), (4, Some("http/1.1")), "{manifest}");
                // What comes of a file besides the chunk does not count.
                assert!((18_680..=60_000).contains(&result.bytes), "{manifest}: {}", result.bytes);
            }
        };
        tokio::select! {
            () = serving => {}
            () = playing => {}
        }
    });
}
