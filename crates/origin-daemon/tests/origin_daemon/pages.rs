//! The server's own pages: what they may do, how long they are kept, and how they are packed.

use crate::common::*;
use crate::faults::ask::ask;
use airlane_http_client::Speak;
use airlane_media::{Metric, table};
use airlane_origin_daemon::play::PlayRequest;
use airlane_origin_daemon::serve::{Server, ServerConfig};
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use serde_json::Value;

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
        let open = ServerConfig {
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
        let (page, _) = client(Speak::Tcp)
            .get_all(&url(&server, "/airlane/player"), None, MAX_ANSWER_BYTES)
            .await
            .unwrap();
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

#[test]
fn titles_and_sessions_say_by_which_measure_they_are_weighed() {
    run(async {
        let folder = Scratch::new();
        let video = write_title(&folder.0, "film", 4, true);
        // PSNR in a table that has VMAF, beside it or instead.
        let measured = |metrics: &[Metric]| {
            let mut video = (*video).clone();
            for rung in &mut video.rungs {
                let psnr = rung.quality[&Metric::Vmaf].iter().map(|q| 20.0 + q * 0.3).collect();
                rung.quality.insert(Metric::PsnrDb, psnr);
                rung.quality.retain(|m, _| metrics.contains(m));
            }
            std::fs::write(folder.0.join("film/quality.json"), table::to_json(&video)).unwrap();
        };
        let both = [Metric::Vmaf, Metric::PsnrDb];
        // Of a table of both by what the server is told, else by what there is.
        let asked = || ServerConfig { metric: Some(Metric::PsnrDb), ..request(&folder.0) };
        let mut weighed = Vec::new();
        for (request, metrics) in
            [(request(&folder.0), &both[..]), (asked(), &both), (request(&folder.0), &both[1..])]
        {
            measured(metrics);
            let metric = request.metric;
            let server = Server::start(request).await.unwrap();
            let player = players(&server, "film", Speak::Http3);
            let played = play_one(PlayRequest { metric, ..player }).await;
            assert_eq!(played.failure, None);
            let titles = json(&server, "/airlane/titles").await;
            let sessions = json(&server, "/airlane/sessions").await;
            let of = |value: &Value| value["metric"].as_str().unwrap().to_owned();
            weighed.push((of(&titles["titles"][0]), of(&sessions["sessions"][0])));
            server.stop().await;
        }
        let pair = |name: &str| (name.to_owned(), name.to_owned());
        assert_eq!(weighed, [pair("vmaf"), pair("psnr_db"), pair("psnr_db")]);
    });
}
