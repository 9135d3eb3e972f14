//! A server on real sockets, and what clients get from it.

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::common::*;
use airlane_http_client::{Speak, Url};
use airlane_origin_daemon::play::{PlayRequest, play};
use airlane_origin_daemon::serve::{Admin, CertificateFiles, Server, ServerConfig, Sharing};
use airlane_quic::Trust;
use http::StatusCode;
use rustls::HandshakeKind;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

#[test]
fn files_are_the_same_byte_by_byte_over_every_version_of_http() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 4, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let want = bytes_of(3, 2, video.size_bytes(3, 2));
        let at = url(&server, "/film/v3/2.m4s");
        for speak in VERSIONS {
            let client = client(speak);
            let (got, _) = client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
            assert!(got == want, "{speak:?}: {} bytes", got.len());
            for (first, last) in [(0, 0), (1000, 70_000), (want.len() as u64 - 1, u64::MAX >> 1)] {
                let (got, _) =
                    client.get_all(&at, Some((first, last)), MAX_ANSWER_BYTES).await.unwrap();
                let end = (last as usize + 1).min(want.len());
                assert!(got == want[first as usize..end], "{speak:?}: {first}-{last}");
            }
            let (answer, _) = client.get(&at, None).await.unwrap();
            let field =
                |name: &str| answer.headers().get(name).unwrap().to_str().unwrap().to_owned();
            assert_eq!(field("content-type"), "video/iso.segment");
            assert!(field("date").ends_with(" GMT"), "{speak:?}: {}", field("date"));
            assert_eq!(field("access-control-allow-origin"), "*");
            let port = server.ready().addresses[0].port();
            assert_eq!(field("alt-svc"), format!("h3=\":{port}\"; ma=3600"));
        }
        server.stop().await;
    });
}

#[test]
fn what_a_client_asks_for_at_one_time_takes_one_connection() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 4, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        // Sessions end with their connections here: the clients stay until they were counted.
        let clients = VERSIONS.map(|speak| (speak, client(speak)));
        for ((speak, client), carrier) in clients.iter().zip(["h3", "h2", "http/1.1"]) {
            let chunks = [0, 1, 2, 3].map(|chunk| url(&server, &format!("/film/v0/{chunk}.m4s")));
            let all = futures_util::future::join_all(
                chunks.iter().map(|at| client.get_all(at, None, MAX_ANSWER_BYTES)),
            );
            for (chunk, got) in all.await.into_iter().enumerate() {
                assert_eq!(got.unwrap().0.len() as u64, video.size_bytes(0, chunk), "{speak:?}");
            }
            let came = format!("airlane_connections_total{{carrier=\"{carrier}\"}}");
            assert_eq!(figure(&server, &came).await, 1.0, "{speak:?}");
        }
        let sessions = json(&server, "/airlane/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), VERSIONS.len(), "{sessions}");
        server.stop().await;
    });
}

#[test]
fn what_is_outside_or_hidden_is_not_there() {
    run(async {
        let outside = Scratch::new();
        fs::write(outside.0.join("secret.txt"), "secret").unwrap();
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        fs::create_dir(folder.0.join(".git")).unwrap();
        fs::write(folder.0.join(".git/config"), "secret").unwrap();
        fs::write(folder.0.join("there.txt"), "there").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(outside.0.join("secret.txt"), folder.0.join("out.txt")).unwrap();
            symlink(&outside.0, folder.0.join("out")).unwrap();
            symlink("there.txt", folder.0.join("in.txt")).unwrap();
        }
        let server = Server::start(request(&folder.0)).await.unwrap();
        for speak in VERSIONS {
            let client = client(speak);
            for path in [
                "/out.txt",
                "/out/secret.txt",
                "/.git/config",
                "/%2e%2e/secret.txt",
                "/film/..%2f..%2fetc/passwd",
                "/film",
                "/film/",
                "/%00",
                "/airlane/assets/nothing.js",
            ] {
                let e = client.get(&url(&server, path), None).await.unwrap_err();
                assert_eq!(status(e), 404, "{path} over {speak:?}");
            }
            let (got, _) =
                client.get_all(&url(&server, "/in.txt"), None, MAX_ANSWER_BYTES).await.unwrap();
            assert_eq!(got, b"there");
        }
        server.stop().await;
    });
}

#[test]
fn sessions_are_weighed_over_quic_and_shown_over_tcp() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 6, true);
        write_title(&folder.0, "unknown", 2, false);
        let server = Server::start(request(&folder.0)).await.unwrap();
        assert_eq!((server.ready().titles, server.ready().weighed), (2, 1));
        assert!(server.complaints()[0].contains("quality.json"), "{:?}", server.complaints());
        let films = json(&server, "/airlane/titles").await;
        let films: Vec<_> = films["titles"].as_array().unwrap().iter().collect();
        assert_eq!((&films[0]["name"], &films[0]["managed"]), (&"film".into(), &true.into()));
        assert_eq!(films[1]["managed"], false);

        let mut ids = Vec::new();
        for speak in VERSIONS {
            let result = play_one(players(&server, "film", speak)).await;
            assert_eq!((result.failure.as_deref(), result.chunks), (None, 6), "{}", result.line());
            assert!(result.quality.unwrap() > 20.0, "{}", result.line());
            ids.push(result.session);
        }
        let plain = play_one(players(&server, "unknown", Speak::Http3)).await;
        assert_eq!(plain.quality, None, "nothing is known of it");
        let silent = PlayRequest { silent: true, ..players(&server, "film", Speak::Http3) };
        play_one(silent).await;

        let sessions = json(&server, "/airlane/sessions").await;
        let of = |id: &str| {
            let all = sessions["sessions"].as_array().unwrap();
            all.iter().find(|s| s["id"] == id).unwrap_or_else(|| panic!("{id}: {sessions}")).clone()
        };
        let weighed = of(&ids[0]);
        assert_eq!((&weighed["regime"], &weighed["carrier"]), (&"minerva".into(), &"h3".into()));
        assert_eq!((&weighed["title"], &weighed["abr"]), (&"film".into(), &"robust-mpc".into()));
        assert_eq!(weighed["chunk"], 5);
        assert!(weighed["qoe"].as_f64().unwrap() > 0.0, "{weighed}");
        assert_eq!(of(&ids[1])["regime"], "unmanaged");
        assert_eq!(of(&ids[2])["carrier"], "http/1.1");
        assert_eq!(of(&plain.session)["why"], "its title has no quality table");
        let one = json(&server, &format!("/airlane/sessions?sid={}", ids[0])).await;
        assert_eq!(one["sessions"].as_array().unwrap().len(), 1);
        server.stop().await;
    });
}

#[test]
fn a_comparison_splits_sessions_and_says_so() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let asked = ServerConfig { split: Some(0.5), ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let many = PlayRequest { sessions: 24, ..players(&server, "film", Speak::Http3) };
        let mut ended = 0;
        play(many, std::future::pending(), |r| {
            assert_eq!(r.failure, None);
            ended += 1;
        })
        .await
        .unwrap();
        assert_eq!(ended, 24);
        let sessions = json(&server, "/airlane/sessions").await;
        let arms = |arm: &str| {
            let all = sessions["sessions"].as_array().unwrap();
            all.iter().filter(|s| s["arm"] == arm).count()
        };
        assert_eq!(arms("minerva") + arms("cubic"), 24, "{sessions}");
        // Each is drawn by its id: the chance of fewer than four is one in five thousand.
        assert!(arms("minerva") > 3 && arms("cubic") > 3, "{}", arms("minerva"));
        server.stop().await;
    });
}

#[test]
fn reports_are_taken_and_nonsense_is_survived() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 3, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let client = client(Speak::Http3);
        let chunk = "/film/v0/0.m4s";
        for query in [
            "CMCD=sid%3D%22me%22%2Cbl%3D4000",
            "CMCD=%2C%2C%3D%2Csid%3D",
            "CMCD=bl%3D-1%2Cbl%3D99999999999999999999999%2Cpr%3D1e308%2Csid%3D%22me%22",
            "CMCD=%ff%fe%00",
            "CMCD=com.airlane-v%3D%22AAAA%22%2Csid%3D%22me%22",
            "CMCD",
        ] {
            let at = url(&server, &format!("{chunk}?{query}"));
            client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
        }
        let sessions = json(&server, "/airlane/sessions?sid=me").await;
        assert_eq!(sessions["sessions"][0]["title"], "film");
        server.stop().await;
    });
}

#[test]
fn sessions_at_several_addresses_of_a_server_are_told_apart() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 3, true);
        let listen = ["127.0.0.1:0", "127.0.0.2:0"].map(|a| a.parse().unwrap()).to_vec();
        let server = Server::start(ServerConfig { listen, ..request(&folder.0) }).await.unwrap();
        // Both clients stay connected, and neither names its session.
        let clients = [client(Speak::Http3), client(Speak::Http3)];
        for (client, address) in clients.iter().zip(&server.ready().addresses) {
            let at = Url::parse(&format!("https://{address}/film/v0/0.m4s")).unwrap();
            client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
        }
        let sessions = json(&server, "/airlane/sessions").await;
        let sessions = sessions["sessions"].as_array().unwrap();
        let mut connections: Vec<&serde_json::Value> =
            sessions.iter().map(|s| &s["connection"]).collect();
        connections.dedup();
        assert_eq!((sessions.len(), connections.len()), (2, 2), "{sessions:?}");
        server.stop().await;
    });
}

#[test]
fn a_file_that_ends_early_breaks_its_own_answer_only() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let big = folder.0.join("big.bin");
        fs::write(&big, vec![1; 32 << 20]).unwrap();
        let server = Server::start(request(&folder.0)).await.unwrap();
        for speak in VERSIONS {
            let client = client(speak);
            let (mut answer, at) = client.get(&url(&server, "/big.bin"), None).await.unwrap();
            client.next(&mut answer, &at).await.unwrap().unwrap();
            fs::File::options().write(true).open(&big).unwrap().set_len(1 << 20).unwrap();
            let mut got = 0;
            let end = loop {
                match client.next(&mut answer, &at).await {
                    Ok(Some(piece)) => got += piece.len(),
                    Ok(None) => break None,
                    Err(e) => break Some(e),
                }
            };
            assert!(end.is_some(), "{speak:?}: a part of {got} bytes was taken for the whole");
            fs::File::options().write(true).open(&big).unwrap().set_len(32 << 20).unwrap();
            drop(answer);
            let result = play_one(players(&server, "film", speak)).await;
            assert_eq!(result.failure, None, "the others go on");
        }
        server.stop().await;
    });
}

#[test]
fn certificates_and_titles_are_read_again_while_sessions_go_on() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let asked = request(&folder.0);
        let kept = asked.data_folder.clone().unwrap();
        let server = Server::start(asked).await.unwrap();
        let client = client(Speak::Http3);
        client.get_all(&url(&server, "/film/manifest.mpd"), None, MAX_ANSWER_BYTES).await.unwrap();
        let control = client.control(&url(&server, "/")).await.unwrap();
        let before = control.stats().sent_packets;
        fs::remove_dir_all(&kept).unwrap();
        write_title(&folder.0, "second", 2, true);
        server.reload().await.unwrap();
        client
            .get_all(&url(&server, "/second/manifest.mpd"), None, MAX_ANSWER_BYTES)
            .await
            .unwrap();
        assert!(control.stats().sent_packets > before, "the connection is the same");
        let titles = json(&server, "/airlane/titles").await;
        assert_eq!(titles["titles"].as_array().unwrap().len(), 2);
        let result = play_one(players(&server, "second", Speak::Http3)).await;
        assert_eq!(result.failure, None);
        // What cannot be read changes nothing.
        let broken = folder.0.join("second/manifest.mpd");
        fs::write(&broken, "<MPD").unwrap();
        server.reload().await.unwrap();
        assert_eq!(server.complaints().len(), 1);
        server.stop().await;
        fs::remove_dir_all(&kept).unwrap();
    });
}

#[test]
fn a_stop_lets_answers_end() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 2, true);
        // Longer than answers take on any machine.
        let drain = LIMIT;
        let server = Server::start(ServerConfig { drain, ..request(&folder.0) }).await.unwrap();
        let want = video.size_bytes(5, 1) as usize;
        for speak in [Speak::Http3, Speak::Tcp] {
            let client = client(speak);
            client
                .get_all(&url(&server, "/film/manifest.mpd"), None, MAX_ANSWER_BYTES)
                .await
                .unwrap();
        }
        let client = client(Speak::Http3);
        let (mut answer, at) = client.get(&url(&server, "/film/v5/1.m4s"), None).await.unwrap();
        let mut got = 0;
        let read = async {
            while let Some(piece) = client.next(&mut answer, &at).await.unwrap() {
                got += piece.len();
            }
        };
        tokio::join!(server.stop(), read);
        assert_eq!(got, want);
        assert!(client.get(&at, None).await.is_err(), "nobody is there any more");
    });
}

#[test]
fn a_server_that_has_stopped_leaves_its_ports_to_the_next() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let listen = vec![kept_address()];
        let admin = SocketAddr::new(listen[0].ip(), listen[0].port() + 1);
        let admin = Admin::At { addresses: vec![admin], names: Vec::new() };
        let asked = ServerConfig { listen, admin, sockets: 3, ..request(&folder.0) };
        for is_quiet in [true, false].repeat(20) {
            let server = Server::start(asked.clone()).await.unwrap();
            // Their connections stay open.
            let clients = [Speak::Http3, Speak::Tcp, Speak::Http1].map(client);
            for client in clients.iter().filter(|_| !is_quiet) {
                let at = url(&server, "/film/manifest.mpd");
                client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
            }
            json(&server, "/airlane/sessions").await;
            server.stop().await;
        }
    });
}

#[test]
fn folders_certificates_and_addresses_that_cannot_be_used_are_named() {
    run(async {
        let folder = Scratch::new();
        let nowhere = folder.0.join("nowhere");
        let told = |r: ServerConfig| async { Server::start(r).await.unwrap_err().to_string() };
        assert!(told(request(&nowhere)).await.contains("nowhere"));
        let pem = folder.0.join("cert.pem");
        fs::write(&pem, "nothing").unwrap();
        let certificates = vec![CertificateFiles { chain: pem.clone(), key: pem }];
        let text = told(ServerConfig { certificates, ..request(&folder.0) }).await;
        assert!(text.contains("cert.pem") && text.contains("PEM"), "{text}");
        let [one, other] = ["one", "other"].map(|name| {
            let data = folder.0.join(name);
            airlane_certificate::development(Some(&data), &["localhost".to_owned()], 0).unwrap();
            data.join("development.pem")
        });
        let certificates = vec![CertificateFiles { chain: one, key: other }];
        let text = told(ServerConfig { certificates, ..request(&folder.0) }).await;
        assert!(text.contains("other/development.pem: the private key is of no use"), "{text}");
        assert!(text.ends_with("one/development.pem"), "{text}");
        let listen = vec!["192.0.2.1:4433".parse().unwrap()];
        let text = told(ServerConfig { listen, ..request(&folder.0) }).await;
        assert!(text.contains("192.0.2.1:4433"), "{text}");
        let file = folder.0.join("f.json");
        let normalisations = vec![(String::new(), file)];
        write_title(&folder.0, "film", 2, true);
        let text = told(ServerConfig { normalisations, ..request(&folder.0) }).await;
        assert!(text.contains("f.json"), "{text}");
    });
}

#[test]
fn every_policy_serves() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 4, true);
        let policies =
            [Sharing::MaxMin, Sharing::Proportional, Sharing::Bounded(1.25), Sharing::Plain];
        for sharing in policies {
            let asked = ServerConfig { sharing, ..request(&folder.0) };
            let server = Server::start(asked).await.unwrap();
            let result = play_one(players(&server, "film", Speak::Http3)).await;
            assert_eq!(result.failure, None, "{sharing:?}");
            server.stop().await;
        }
    });
}

#[test]
fn addresses_that_lead_nowhere_end_a_session_with_the_reason() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let asked = PlayRequest {
            urls: vec![url(&server, "/nothing.mpd").to_string()],
            ..players(&server, "film", Speak::Tcp)
        };
        let failure = play_one(asked).await.failure.unwrap();
        assert!(failure.contains(StatusCode::NOT_FOUND.as_str()), "{failure}");
        let strict = PlayRequest { insecure: false, ..players(&server, "film", Speak::Tcp) };
        let failure = play_one(strict).await.failure.unwrap();
        assert!(failure.contains("certificate"), "{failure}");
        assert!(Url::parse("film.mpd").is_err());
        server.stop().await;
    });
}

#[test]
fn metrics_tell_what_weights_cost() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let result = play_one(players(&server, "film", Speak::Http3)).await;
        assert_eq!(result.failure, None);
        let client = client(Speak::Tcp);
        let (page, _) =
            client.get_all(&admin(&server, "/metrics"), None, MAX_ANSWER_BYTES).await.unwrap();
        let page = String::from_utf8(page).unwrap();
        let value = |name: &str| -> f64 {
            let line = page.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
            line.expect(name).parse().expect(name)
        };
        assert_eq!(value("airlane_sessions_total"), 1.0);
        assert!(value("airlane_weight_updates_total") >= 0.0);
        assert!(value("airlane_weight_update_seconds_total") >= 0.0);
        server.stop().await;
    });
}

#[test]
fn tls_sessions_over_tcp_are_resumed() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 1, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let at = server.ready().addresses[0];
        for (alpn, opening) in
            [("h2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("http/1.1", "GET / HTTP/1.1\r\n\r\n")]
        {
            let mut config = Trust::Anyone.client_config(&[alpn.into()]).unwrap();
            config.resumption = Resumption::in_memory_sessions(1);
            let connector = TlsConnector::from(Arc::new(config));
            let mut kinds = Vec::new();
            for _ in 0..3 {
                let stream = TcpStream::connect(at).await.unwrap();
                let name = ServerName::try_from("localhost").unwrap();
                let mut stream = connector.connect(name, stream).await.unwrap();
                // Tickets come behind the handshake, before the first bytes.
                stream.write_all(opening.as_bytes()).await.unwrap();
                assert!(stream.read(&mut [0; 64]).await.unwrap() > 0);
                kinds.push(stream.get_ref().1.handshake_kind().unwrap());
            }
            assert_eq!(kinds[1..], [HandshakeKind::Resumed; 2], "{alpn}: {kinds:?}");
        }
        server.stop().await;
    });
}
