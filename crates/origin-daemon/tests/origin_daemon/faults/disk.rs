//! Files that fail while they are read.

use std::fs;

use airlane_http_client::{FetchError, Speak};
use airlane_origin_daemon::serve::Server;

use crate::common::*;

/// The kernel's own files say that they have 4096 bytes, and this one cannot be read.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_breaks_its_own_answer_only() {
    use std::path::Path;

    run(async {
        let folder = Path::new("/sys/devices/virtual/net/lo");
        assert!(fs::read(folder.join("speed")).is_err(), "it can be read here");
        let around = Scratch::new();
        let request = airlane_origin_daemon::serve::ServerConfig {
            data_folder: Some(around.0.clone()),
            ..request(folder)
        };
        let server = Server::start(request).await.unwrap();
        for (n, speak) in VERSIONS.into_iter().enumerate() {
            let client = client(speak);
            let broken = client.get_all(&url(&server, "/speed"), None, MAX_ANSWER_BYTES).await;
            assert!(matches!(broken, Err(FetchError::Connection { .. })), "{speak:?}: {broken:?}");
            let answer =
                client.get_all(&url(&server, "/airlane/player"), None, MAX_ANSWER_BYTES).await;
            assert!(answer.is_ok(), "{speak:?}: {answer:?}");
            let cut = figure(&server, "airlane_responses_cut_short_total").await;
            assert_eq!(cut, n as f64 + 1.0);
        }
        server.stop().await;
    });
}

#[test]
fn a_title_that_goes_away_ends_its_sessions_and_no_others() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 6, true);
        write_title(&folder.0, "lost", 6, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let client = client(Speak::Http3);
        client.get_all(&url(&server, "/lost/manifest.mpd"), None, MAX_ANSWER_BYTES).await.unwrap();
        for rung in fs::read_dir(folder.0.join("lost")).unwrap().flatten() {
            let chunk = rung.path().join("3.m4s");
            if chunk.exists() {
                // What was a file is a folder now.
                fs::remove_file(&chunk).unwrap();
                fs::create_dir(&chunk).unwrap();
            }
        }
        let (lost, film) = tokio::join!(
            play_one(players(&server, "lost", Speak::Http3)),
            play_one(players(&server, "film", Speak::Http3)),
        );
        assert_eq!((lost.chunks, film.chunks), (3, 6));
        assert!(lost.failure.is_some_and(|why| why.contains("404")));
        assert_eq!(film.failure, None);
        server.stop().await;
    });
}

/// To open a pipe that nobody writes to would take for ever, and with it a thread.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let made = std::process::Command::new("mkfifo").arg(folder.0.join("pipe.m4s")).status();
        assert!(made.unwrap().success());
        let server = Server::start(request(&folder.0)).await.unwrap();
        for speak in VERSIONS {
            let e = client(speak).get(&url(&server, "/pipe.m4s"), None).await.unwrap_err();
            assert_eq!(status(e), 404);
        }
        server.stop().await;
    });
}

/// No request waits for the access log: what there is no room for is lost, and counted.
#[cfg(unix)]
#[test]
fn an_access_log_that_takes_nothing_holds_nobody_up() {
    use std::os::unix::fs::OpenOptionsExt;

    /// Linux's `O_NONBLOCK`: to open the reading end without waiting for who writes.
    const O_NONBLOCK: i32 = 0o4000;

    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let pipe = folder.0.join("access.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut options = fs::OpenOptions::new();
        let reader = options.read(true).custom_flags(O_NONBLOCK).open(&pipe).unwrap();
        let asked = airlane_origin_daemon::serve::ServerConfig {
            access_log: Some(pipe),
            requests_per_s: 100_000,
            ..request(&folder.0)
        };
        let server = Server::start(asked).await.unwrap();
        let client = client(Speak::Tcp);
        let at = url(&server, "/film/v0/init.mp4");
        // `run` has an end for who waits for the log.
        for _ in 0..6_000 {
            client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
        }
        let lost = figure(&server, "airlane_access_log_lost_lines_total").await;
        assert!((500.0..2000.0).contains(&lost), "{lost} lines");
        drop(reader);
        server.stop().await;
    });
}

/// An answer is of one version of its file: of one that changes meanwhile it is broken off.
#[test]
fn an_answer_never_mixes_two_versions_of_a_file() {
    use std::io::Write;

    use airlane_quic::H3Client;

    use crate::faults::stalled::pinging;

    /// More than is sent ahead of the client.
    const LEN: usize = 64 << 20;

    run(async {
        let folder = Scratch::new();
        let file = folder.0.join("film.bin");
        fs::write(&file, vec![1; LEN]).unwrap();
        let server = Server::start(request(&folder.0)).await.unwrap();
        let address = server.ready().addresses[0];
        let connection = pinging().connect(address, "localhost").await.unwrap();
        let h3 = H3Client::connect(connection).await.unwrap();
        let ask = http::Request::get(format!("https://{address}/film.bin")).body(()).unwrap();
        let mut body = h3.send_request(ask).await.unwrap().into_body();
        let mut got = body.data().await.unwrap().unwrap().to_vec();
        // It is written again where it is, as `cp` does.
        let mut again = fs::OpenOptions::new().write(true).open(&file).unwrap();
        again.write_all(&vec![2; LEN]).unwrap();
        drop(again);
        let ended = loop {
            match body.data().await {
                Ok(Some(piece)) => got.extend_from_slice(&piece),
                Ok(None) => break Ok(()),
                Err(e) => break Err(e),
            }
        };
        assert!(ended.is_err() && got.iter().all(|&b| b == 1), "{ended:?}, {} bytes", got.len());
        let (got, _) =
            client(Speak::Http3).get_all(&url(&server, "/film.bin"), None, LEN).await.unwrap();
        assert!(got.len() == LEN && got.iter().all(|&b| b == 2));
        server.stop().await;
    });
}
