//! A call over loopback, in real time.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::Seed;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use airlane_salsify::{Config, Estimator, SproutConfig, receive, send};
use tokio::sync::mpsc;

use crate::scene::{Camera, FINEST, content};

#[test]
fn frames_arrive_over_loopback() {
    for estimator in [Estimator::Own, Estimator::Sprout(SproutConfig::default())] {
        call(estimator);
    }
}

fn call(estimator: Estimator) {
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    threads.worker_threads(2).enable_all().build().unwrap().block_on(async {
        let runtime = TokioRuntime::new(Seed(1));
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (here, there) = (runtime.bind_udp(local).unwrap(), runtime.bind_udp(local).unwrap());
        let (from, to) = (here.local_addr(), there.local_addr());
        let config = Config::new(estimator);
        let stats = config.stats.clone();
        let now = runtime.now();
        let (frames, mut delivered) = mpsc::unbounded_channel();
        let (for_sender, for_receiver) = (runtime.clone(), runtime.clone());
        let of_receiver = config.clone();
        runtime.spawn("sender", async move {
            let end = now + Duration::from_secs(600);
            let camera = Camera { number: 0, start: now, end, coarsest: 500, finest: FINEST };
            send(config, &for_sender, here, to, camera).await.unwrap();
        });
        runtime.spawn("receiver", async move {
            let sink = move |frame| drop(frames.send(frame));
            let ended = receive(of_receiver, &for_receiver, there, from, sink).await;
            panic!("the receiver ended: {ended:?}");
        });
        // How many of the camera's frames arrive, and when, depends on what else the machine does.
        let mut last = None;
        for _ in 0..60 {
            let wait = tokio::time::timeout(Duration::from_secs(60), delivered.recv());
            let frame = wait.await.expect("frames come").expect("the receiver goes on");
            assert_eq!(frame.data, content(frame.captured, frame.data.len()));
            assert!(last.is_none_or(|number| number < frame.number), "{last:?}");
            last = Some(frame.number);
        }
        assert!(stats.read().frames >= 60);
    });
}
