//! Requests that are none, and players that talk nonsense.

use airlane_http_client::Speak;
use airlane_origin_daemon::serve::Server;
use bytes::Bytes;
use http::{Method, Request};

use crate::common::log::Log;
use crate::common::*;
use crate::faults::ask::{ask, raw};

/// Runs a test on this thread alone; what was logged meanwhile.
fn logged(test: impl Future<Output = ()>) -> Vec<String> {
    let (log, lines) = Log::read();
    tracing::subscriber::with_default(log, || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime
            .block_on(async { tokio::time::timeout(LIMIT, test).await })
            .expect("it comes to an end");
    });
    let lines = lines.lock();
    lines.clone()
}

async fn title() -> (Scratch, Server) {
    let folder = Scratch::new();
    write_title(&folder.0, "film", 2, true);
    std::fs::write(folder.0.join("empty.bin"), "").unwrap();
    std::fs::write(folder.0.join("full.bin"), [7; 1000]).unwrap();
    let server = Server::start(request(&folder.0)).await.unwrap();
    (folder, server)
}

#[test]
fn what_is_no_request_is_refused_as_the_standard_says() {
    let lines = logged(async {
        let (_folder, server) = title().await;
        let long = format!("GET / HTTP/1.1\r\nHost: x\r\nx-long: {}\r\n\r\n", "a".repeat(300_000));
        let path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(65_600));
        let many = "a: b\r\n".repeat(2_000);
        let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n");
        let mut wrong = Vec::new();
        for (text, wanted) in [
            // RFC 9112, section 3: the request line; 2.3: the version; 5: fields; 6.3: lengths.
            ("nonsense\r\n\r\n", 400),
            ("GET /\r\n\r\n", 400),
            ("GET / HTTP/9.9\r\nHost: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            // Section 3.2: exactly one host.
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
            ("GET / HTTP/1.0\r\n\r\n", 200),
            ("GET /fi\x01lm HTTP/1.1\r\nHost: x\r\n\r\n", 400),
            // RFC 6585, section 5; RFC 9110, section 15.5.15.
            (&long, 431),
            (&many, 431),
            (&path, 414),
            // RFC 9110, section 9.1: methods that are not served.
            ("BREW /film/manifest.mpd HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            ("POST /film/manifest.mpd HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405),
            ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 204),
            // Paths that are none, or climb.
            ("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("GET //etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            // Section 14.2: what is no range of bytes is passed over.
            ("GET /full.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=9-1\r\n\r\n", 200),
            ("GET /full.bin HTTP/1.1\r\nHost: x\r\nRange: chunks=0-1\r\n\r\n", 200),
            ("GET /full.bin HTTP/1.1\r\nHost: x\r\nRange: \u{e9}\r\n\r\n", 200),
            ("GET /full.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=99999999-\r\n\r\n", 416),
            ("GET /empty.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=-5\r\n\r\n", 200),
            ("GET /empty.bin HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n", 416),
        ] {
            let shown: String = text.chars().take(60).collect();
            let got = raw(&server, text.as_bytes()).await;
            if got != wanted {
                wrong.push((shown, got, wanted));
            }
        }
        assert!(wrong.is_empty(), "request, status, what the standard says: {wrong:#?}");
        server.stop().await;
    });
    assert!(lines.is_empty(), "{lines:?}");
}

/// As other servers have it: players join addresses of which one ends and the other begins with a slash.
#[test]
fn several_slashes_in_a_row_are_one() {
    let lines = logged(async {
        let (_folder, server) = title().await;
        for speak in VERSIONS {
            let client = client(speak);
            for path in ["//full.bin", "/film//manifest.mpd", "///film///manifest.mpd"] {
                let got = client.get_all(&url(&server, path), None, MAX_ANSWER_BYTES).await;
                assert!(got.is_ok(), "{speak:?} {path}: {:?}", got.map(drop));
            }
            for path in ["//nothing", "//..//full.bin", "//.hidden", "/film//"] {
                let got = client.get_all(&url(&server, path), None, MAX_ANSWER_BYTES).await;
                assert_eq!(crate::common::status(got.unwrap_err()), 404, "{speak:?} {path}");
            }
        }
        server.stop().await;
    });
    assert!(lines.is_empty(), "{lines:?}");
}

#[test]
fn refusals_are_the_same_over_every_version_of_http() {
    let lines = logged(async {
        let (_folder, server) = title().await;
        let address = server.ready().addresses[0];
        let at = |path: &str| format!("https://{address}{path}");
        for speak in VERSIONS {
            let bare = |method: Method, path: &str| {
                Request::builder().method(method).uri(at(path)).body(Bytes::new()).unwrap()
            };
            let (status, _, fields) =
                ask(&server, speak, bare(Method::DELETE, "/film/v0/0.m4s")).await;
            assert_eq!(
                (status.as_u16(), &fields["allow"]),
                (405, &"GET, HEAD, OPTIONS".parse().unwrap())
            );
            let (status, ..) = ask(&server, speak, bare(Method::TRACE, "/film/manifest.mpd")).await;
            assert_eq!(status, 405, "{speak:?}");
            // What HTTP/1.1 allows is known to the kilobyte only where what comes is cut: above.
            if speak != Speak::Http1 {
                let mut long = bare(Method::GET, "/film/manifest.mpd");
                let name = "x-long".parse::<http::HeaderName>().unwrap();
                long.headers_mut().insert(name, "a".repeat(70_000).parse().unwrap());
                let (status, ..) = ask(&server, speak, long).await;
                assert_eq!(status, 431, "{speak:?}");
            }
            let post =
                |body: Vec<u8>| Request::post(at("/airlane/cmcd")).body(body.into()).unwrap();
            for nonsense in
                [vec![], vec![0xff; 100], b"bl=,,,\n\n=\n".to_vec(), vec![b'\n'; 60_000]]
            {
                let (status, ..) = ask(&server, speak, post(nonsense)).await;
                assert_eq!(status, 204, "{speak:?}");
            }
            let (status, ..) = ask(&server, speak, post(vec![b'a'; 80_000])).await;
            assert_eq!(status, 413, "{speak:?}");
        }
        server.stop().await;
    });
    assert!(lines.is_empty(), "{lines:?}");
}

/// Values of the wrong kind for every key (CTA-5004, table 1): numbers, words, strings, nothing.
fn nonsense() -> Vec<String> {
    let keys = [
        "bl",
        "br",
        "bs",
        "bsd",
        "bg",
        "cid",
        "d",
        "dl",
        "mtp",
        "nor",
        "nrr",
        "ot",
        "pr",
        "rtp",
        "sf",
        "sid",
        "sta",
        "st",
        "su",
        "tb",
        "ts",
        "v",
        "com.airlane-v",
        "com.airlane-abr",
        "com.airlane-metric",
        "com.airlane-rb",
        "no such key",
    ];
    let values = [
        "=-1",
        "=x",
        "=\"\"",
        "=\"\\\"",
        "=1e400",
        "=99999999999999999999",
        "=NaN",
        "=",
        "",
        "=(1 2)",
    ];
    let mut all = vec![String::new(), ",".repeat(500), "=".to_owned(), "\"".to_owned()];
    for value in values {
        // All keys at once, and with a session so that each is looked at.
        let list: Vec<String> = keys.iter().map(|k| format!("{k}{value}")).collect();
        all.push(format!("{},sid=\"s\"", list.join(",")));
        all.push(list.join(","));
    }
    all
}

#[test]
fn cmcd_of_every_wrong_kind_changes_nothing() {
    let lines = logged(async {
        let (_folder, server) = title().await;
        let address = server.ready().addresses[0];
        let encode = |text: &str| -> String { text.bytes().map(|b| format!("%{b:02x}")).collect() };
        for (n, text) in nonsense().into_iter().enumerate() {
            // Each way over each version would take a while: in turn.
            let speak = VERSIONS[n % 3];
            let chunk = format!("https://{address}/film/v1/1.m4s");
            let in_query = Request::get(format!("{chunk}?CMCD={}", encode(&text)));
            let in_fields = Request::get(&chunk)
                .header("CMCD-Object", &text)
                .header("CMCD-Request", &text)
                .header("CMCD-Session", &text)
                .header("CMCD-Status", &text);
            for request in [in_query, in_fields] {
                let request = request.body(Bytes::new()).unwrap();
                let (status, len, _) = ask(&server, speak, request).await;
                assert!(status == 200 && len > 1000, "{speak:?}, {text}: {status}");
            }
            let post = Request::post(format!("https://{address}/airlane/cmcd"));
            let (status, ..) = ask(&server, speak, post.body(text.clone().into()).unwrap()).await;
            assert_eq!(status, 204, "{speak:?}, {text}");
        }
        // Who makes sense is understood as ever.
        let result = play_one(players(&server, "film", Speak::Http3)).await;
        assert_eq!(result.failure, None);
        let sessions = json(&server, &format!("/airlane/sessions?sid={}", result.session)).await;
        assert_eq!(sessions["sessions"][0]["regime"], "minerva", "{sessions}");
        server.stop().await;
    });
    // There were hundreds of sessions, and more complaints.
    let of = |kind: &str| lines.iter().filter(|l| l.contains(kind)).count();
    assert!(of("a session began") == 1 && lines.len() <= 3, "{lines:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_disk_does_is_said_once() {
    let lines = logged(async {
        let around = Scratch::new();
        let request = airlane_origin_daemon::serve::ServerConfig {
            data_folder: Some(around.0.clone()),
            ..request(std::path::Path::new("/sys/devices/virtual/net/lo"))
        };
        let server = Server::start(request).await.unwrap();
        for _ in 0..5 {
            for speak in VERSIONS {
                let broken =
                    client(speak).get_all(&url(&server, "/speed"), None, MAX_ANSWER_BYTES).await;
                assert!(broken.is_err());
            }
        }
        server.stop().await;
    });
    assert!(lines.len() == 1 && lines[0].contains("speed cannot be read"), "{lines:?}");
}
