//! The server's own pages: what they may do, how long they are kept, and how they are packed.

use crate::common::*;
use crate::faults::ask::ask;
use airlane_daemon::client::Speak;
use airlane_daemon::serve::{ServeRequest, Server};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};

/// The answer to a request for a path with one further field.
async fn get(server: &Server, path: &str, field: (&str, &str)) -> (StatusCode, usize, HeaderMap) {
    let address = format!("https://{}{path}", server.ready().addresses[0]);
    let request = Request::get(address).header(field.0, field.1).body(Bytes::new()).unwrap();
    ask(server, Speak::Tcp, request).await
}

const PLAIN: (&str, &str) = ("accept-encoding", "identity");

#[test]
fn pages_may_do_no_more_than_they_need() {
    run(async {
        let folder = Scratch::new();
        let open = ServeRequest {
            frames: vec!["https://a.example".to_owned(), "https://b.example:8443".to_owned()],
            foreign_manifests: true,
            ..request(&folder.0)
        };
        for (asked, connect, frames) in [
            (request(&folder.0), "connect-src 'self';", "frame-ancestors 'none'"),
            (
                open,
                "connect-src 'self' https: http:;",
                "frame-ancestors https://a.example https://b.example:8443",
            ),
        ] {
            let server = Server::start(asked).await.unwrap();
            for path in ["/", "/airlane/player"] {
                let (status, _, fields) = get(&server, path, PLAIN).await;
                let policy = fields["content-security-policy"].to_str().unwrap();
                assert_eq!(status, 200);
                assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
                assert!(policy.contains(connect) && policy.ends_with(frames), "{policy}");
                assert!(!policy.contains("unsafe"), "{policy}");
            }
            server.stop().await;
        }
    });
}

#[test]
fn pages_have_tags_and_what_they_load_is_kept_for_ever() {
    run(async {
        let folder = Scratch::new();
        let server = Server::start(request(&folder.0)).await.unwrap();
        let (page, _) =
            client(Speak::Tcp).get_all(&url(&server, "/airlane/player"), None, MOST).await.unwrap();
        let page = String::from_utf8(page).unwrap();
        let assets: Vec<_> =
            page.split('"').filter(|p| p.starts_with("/airlane/assets/")).collect();
        assert!(assets.len() >= 5, "{page}");
        for path in assets.iter().chain(&["/airlane/player"]) {
            let (_, plain, fields) = get(&server, path, PLAIN).await;
            let gzip = ("accept-encoding", "br;q=0.9, gzip");
            let (_, packed, packed_fields) = get(&server, path, gzip).await;
            assert!(packed < plain, "{path}: {packed} of {plain} bytes");
            assert_eq!(packed_fields["content-encoding"], "gzip");
            assert_eq!(fields.get("content-encoding"), None);
            assert_ne!(packed_fields["etag"], fields["etag"]);
            for fields in [&fields, &packed_fields] {
                assert_eq!(fields["vary"], "accept-encoding", "{path}");
                let is_asset = path.contains("/assets/");
                let caching =
                    if is_asset { "public, max-age=31536000, immutable" } else { "no-cache" };
                assert_eq!(fields["cache-control"], caching, "{path}");
            }
            let known = ("if-none-match", fields["etag"].to_str().unwrap());
            let (status, _, fields) = get(&server, path, known).await;
            assert_eq!(
                (status, &fields["vary"]),
                (StatusCode::NOT_MODIFIED, &"accept-encoding".parse().unwrap())
            );
        }
        // Another content has another name.
        let other = assets[0].replace("/assets/", "/assets/0");
        for path in [&*other, "/airlane/assets/player.js", "/airlane/assets//player.js"] {
            assert_eq!(get(&server, path, PLAIN).await.0, 404, "{path}");
        }
        server.stop().await;
    });
}
