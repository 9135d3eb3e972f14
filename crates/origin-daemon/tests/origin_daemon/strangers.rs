//! What strangers are not shown.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use crate::common::*;
use airlane_http_client::{Speak, Url};
use airlane_origin_daemon::play::PlayRequest;
use airlane_origin_daemon::serve::{Admin, Server, ServerConfig, SignKey};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The answer of a plain listener to a request with these fields.
async fn ask(at: SocketAddr, path: &str, fields: &str) -> String {
    let mut connection = TcpStream::connect(at).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{fields}Connection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut all = String::new();
    connection.read_to_string(&mut all).await.unwrap();
    all
}

#[test]
fn status_is_for_operators_alone() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 2, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let result = play_one(players(&server, "film", Speak::Http3)).await;
        let own = format!("/airlane/sessions?sid={}", result.session);
        for speak in VERSIONS {
            let client = client(speak);
            for path in
                ["/airlane/", "/airlane", "/airlane/sessions", &own, "/airlane/titles", "/metrics"]
            {
                // From this machine, as from behind a forwarder on it.
                let e = client.get(&url(&server, path), None).await.unwrap_err();
                assert_eq!(status(e), 404, "{path} over {speak:?}");
            }
        }
        assert_eq!(json(&server, &own).await["sessions"].as_array().unwrap().len(), 1);
        let titles = json(&server, "/airlane/titles").await;
        let player = titles["titles"][0]["player"].as_str().unwrap();
        let port = server.ready().addresses[0].port();
        assert_eq!(player, format!("https://localhost:{port}/airlane/player?title=film"));
        server.stop().await;
    });
}

#[test]
fn pages_of_other_sites_cannot_read_what_operators_can() {
    run(async {
        let folder = Scratch::new();
        let (addresses, names) =
            (vec!["127.0.0.1:0".parse().unwrap()], vec!["box.example".to_owned()]);
        let admin = Admin::At { addresses, names };
        let server = Server::start(ServerConfig { admin, ..request(&folder.0) }).await.unwrap();
        let at = server.ready().admin[0];
        for path in ["/metrics", "/airlane/", "/airlane/sessions", "/airlane/titles"] {
            for own in ["localhost", "127.0.0.1", "box.example"] {
                let fields =
                    format!("Host: {own}:{}\r\nOrigin: https://evil.example\r\n", at.port());
                let answer = ask(at, path, &fields).await;
                assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
                assert!(!answer.to_lowercase().contains("access-control-"), "{path}: {answer}");
            }
            // A name of theirs that has come to mean this address.
            for fields in ["Host: evil.example\r\n", "", "Host: a\r\nHost: localhost\r\n"] {
                let answer = ask(at, path, fields).await;
                assert!(answer.starts_with("HTTP/1.1 4"), "{path}, {fields:?}: {answer}");
            }
        }
        assert!(ask(at, "/film", "Host: localhost\r\n").await.starts_with("HTTP/1.1 404"));
        server.stop().await;
    });
}

#[test]
fn a_port_that_is_taken_is_told_of_and_none_is_none() {
    run(async {
        let folder = Scratch::new();
        let public = kept_address();
        let taken = TcpListener::bind((public.ip(), public.port() + 1)).await.unwrap();
        let asked = || ServerConfig { listen: vec![public], ..request(&folder.0) };
        let server = Server::start(asked()).await.unwrap();
        let note = &server.ready().notes[0];
        let expected = format!("since {} cannot be had", taken.local_addr().unwrap());
        assert!(note.contains(&expected) && note.contains("--admin"), "{note}");
        assert_eq!(json(&server, "/airlane/sessions").await["sessions"], serde_json::json!([]));
        server.stop().await;
        drop(taken);
        let server = Server::start(asked()).await.unwrap();
        assert_eq!(server.ready().admin[0].port(), public.port() + 1);
        server.stop().await;
        let off = ServerConfig { admin: Admin::Off, ..asked() };
        let server = Server::start(off).await.unwrap();
        assert!(server.ready().admin.is_empty());
        server.stop().await;
    });
}

#[test]
fn a_player_sees_its_own_session_by_its_token() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "film", 3, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let client = client(Speak::Http3);
        let mut tokens = Vec::new();
        for sid in ["one", "two"] {
            let at = url(&server, &format!("/film/v0/0.m4s?CMCD=sid%3D%22{sid}%22"));
            let (answer, _) = client.get(&at, None).await.unwrap();
            tokens.push(answer.headers()["airlane-session"].to_str().unwrap().to_owned());
        }
        let ask = async |query: &str| {
            let at = url(&server, &format!("/airlane/session{query}"));
            let (bytes, _) = client.get_all(&at, None, MAX_ANSWER_BYTES).await?;
            Ok::<serde_json::Value, airlane_http_client::FetchError>(
                serde_json::from_slice(&bytes).unwrap(),
            )
        };
        for (sid, token) in ["one", "two"].iter().zip(&tokens) {
            let answer = ask(&format!("?token={token}&since=0")).await.unwrap();
            let sessions = answer["sessions"].as_array().unwrap();
            assert_eq!((sessions.len(), &sessions[0]["id"]), (1, &(*sid).into()), "{answer}");
        }
        let forged = tokens[0].replace('.', "0.");
        let answer = ask(&format!("?token={forged}")).await.unwrap();
        assert_eq!(answer["sessions"], serde_json::json!([]));
        for query in ["", "?sid=one"] {
            assert_eq!(status(ask(query).await.unwrap_err()), 404, "{query}");
        }
        server.stop().await;
    });
}

#[test]
fn a_title_is_told_of_to_who_knows_its_name_and_all_where_that_is_wanted() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "a film", 2, true);
        let server = Server::start(request(&folder.0)).await.unwrap();
        let client = client(Speak::Tcp);
        let json = async |at: Url| -> serde_json::Value {
            serde_json::from_slice(&client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap().0)
                .unwrap()
        };
        for query in ["name=a%20film", "x=y&name=a+film"] {
            let title = json(url(&server, &format!("/airlane/title?{query}"))).await;
            assert_eq!(title["manifest"], "/a%20film/manifest.mpd");
            assert!(title.get("player").is_none());
        }
        for query in ["", "?name=", "?name=other", "?name=%ff"] {
            let e = client.get(&url(&server, &format!("/airlane/title{query}")), None).await;
            assert_eq!(status(e.unwrap_err()), 404, "{query}");
        }
        server.stop().await;
        let open = ServerConfig { list_titles: true, ..request(&folder.0) };
        let server = Server::start(open).await.unwrap();
        let titles = json(url(&server, "/airlane/titles")).await;
        assert_eq!(titles["titles"].as_array().unwrap().len(), 1);
        server.stop().await;
    });
}

#[test]
fn with_a_key_files_are_for_those_with_a_signed_address() {
    run(async {
        let folder = Scratch::new();
        write_title(&folder.0, "a film", 3, true);
        write_title(&folder.0, "other", 2, true);
        let file = folder.0.with_extension("key");
        fs::write(&file, [7; 32]).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let asked = ServerConfig { sign_key: Some(file.clone()), ..request(&folder.0) };
        let server = Server::start(asked).await.unwrap();
        let key = SignKey::read(&file).unwrap();
        let now_s = airlane_host::date::now_s();
        let signed = key.sign("/a%20film/manifest.mpd", now_s + 600).unwrap();
        let old = key.sign("/a%20film/manifest.mpd", now_s - 1).unwrap();
        let token = signed.split('/').nth(2).unwrap();
        for speak in VERSIONS {
            let client = client(speak);
            let (answer, _) = client.get(&url(&server, &signed), None).await.unwrap();
            assert_eq!(answer.headers()["cache-control"], "private, no-cache");
            drop(answer);
            for path in
                ["/a%20film/manifest.mpd", "/nothing", &old, &signed.replace("a%20film", "other")]
            {
                let e = client.get(&url(&server, path), None).await.unwrap_err();
                assert_eq!(status(e), 403, "{path} over {speak:?}");
            }
            for path in [
                format!("/a%20film/{token}/nothing"),
                format!("/a%20film/{token}/../../other/manifest.mpd"),
                format!("/a%20film/{token}/%2e%2e/other/manifest.mpd"),
            ] {
                let e = client.get(&url(&server, &path), None).await.unwrap_err();
                assert_eq!(status(e), 404, "{path} over {speak:?}");
            }
            // Chunks are found beside the manifest, and the table of qualities too.
            let urls = vec![url(&server, &signed).to_string()];
            let result = play_one(PlayRequest { urls, ..players(&server, "-", speak) }).await;
            assert_eq!((result.failure.as_deref(), result.chunks), (None, 3), "{}", result.line());
            assert!(result.quality.is_some(), "{}", result.line());
        }
        // The links that operators see are signed, and what the player asks for with them.
        let titles = json(&server, "/airlane/titles").await;
        let link = titles["titles"][0]["player"].as_str().unwrap();
        let query = link.split_once('?').unwrap().1.replacen("title=", "name=", 1);
        let client = client(Speak::Tcp);
        let at = url(&server, &format!("/airlane/title?{query}"));
        let (title, _) = client.get_all(&at, None, MAX_ANSWER_BYTES).await.unwrap();
        let title: serde_json::Value = serde_json::from_slice(&title).unwrap();
        for part in ["manifest", "table"] {
            let path = title[part].as_str().unwrap();
            client.get_all(&url(&server, path), None, MAX_ANSWER_BYTES).await.unwrap();
        }
        for query in ["name=other", "name=none", &query.replace("name=a+film", "name=other")] {
            let at = url(&server, &format!("/airlane/title?{query}"));
            assert_eq!(status(client.get(&at, None).await.unwrap_err()), 403, "{query}");
        }
        for path in ["/airlane/titles", "/airlane/sessions", "/metrics", "/airlane/nothing"] {
            let e = client.get(&url(&server, path), None).await.unwrap_err();
            assert_eq!(status(e), 404, "{path}");
        }
        client.get(&url(&server, "/"), None).await.unwrap();
        server.stop().await;
    });
}
