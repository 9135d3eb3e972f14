//! Strangers who connect to `airlane send` and ask for nothing.

use std::time::Duration;

use airlane_base::Seed;
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_live::{LayerMarks, Source, Video};
use airlane_live_daemon::{ReceiverConfig, Second, Sender, SenderConfig, SentVideo, recv};
use airlane_media::layers::LayerContent;
use airlane_quic::{Endpoint, QuicError, Timers, Tls, TransportConfig, Trust};
use airlane_runtime::real_time::TokioRuntime;
use tokio::sync::Notify;

use crate::common::run;

/// A stranger's endpoint, which keeps its connections alive.
fn stranger() -> Endpoint {
    let tls = Tls { identity: None, trust: Trust::Anyone };
    let config = TransportConfig {
        alpn: vec![b"airlane-live".to_vec()],
        timers: Timers { keep_alive: Some(Duration::from_millis(500)), ..Timers::default() },
        ..TransportConfig::network(tls, ControllerConfig::new(Algorithm::Reno))
    };
    let runtime = TokioRuntime::new(Seed(4));
    Endpoint::client(&runtime, ([127, 0, 0, 1], 0).into(), config).unwrap()
}

#[test]
fn connections_that_ask_for_nothing_keep_no_viewer_out() {
    run(async {
        let data = tempfile::tempdir().unwrap();
        let clips = LayerContent::embedded().unwrap();
        let clip = clips.videos[clips.find("plaza").unwrap()].clone();
        let request = SenderConfig {
            listen: ([127, 0, 0, 1], 0).into(),
            video: SentVideo::Clip { clip, source: Source::Pattern, video: Video::default() },
            marks: LayerMarks::PAPER,
            identity: None,
            data_folder: Some(data.path().to_owned()),
            viewers: 16,
        };
        let sender = Sender::start(request).unwrap();
        let endpoint = stranger();
        let mut silent = Vec::new();
        for _ in 0..60 {
            let connected = endpoint.connect(sender.address(), "localhost");
            silent.push(connected.await.unwrap());
        }
        let viewer = ReceiverConfig {
            server: sender.address().to_string(),
            insecure: true,
            duration: None,
            write: None,
            times: None,
        };
        // It gets in: once it has seen something it leaves.
        let seen = Notify::new();
        let look = |second: &Second| {
            if second.frames > 0 {
                seen.notify_one();
            }
        };
        recv(&viewer, seen.notified(), look).await.unwrap();
        // Those who still say nothing have to go soon, however well they keep their connections alive.
        for connection in &silent {
            let ended = connection.closed().await;
            assert!(matches!(ended, QuicError::ClosedByPeer { code: 1, .. }), "{ended:?}");
        }
        sender.stop().await;
    });
}
