//! Optimisers that take their time.

use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use airlane_base::Rate;
use airlane_call::Optimiser;
use airlane_plum::Target;
use parking_lot::Mutex;

/// Waker that unparks a thread.
struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

/// A thread that computes holds nobody up, and there is never a second one.
#[test]
fn a_threaded_optimiser_computes_beside_its_caller() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let optimiser = Optimiser::threaded(move |rates| {
        wait.lock().recv().unwrap();
        Some(rates.iter().map(|rate| Target { up: *rate, down: *rate }).collect())
    });
    let waker = Waker::from(std::sync::Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let rate = Rate::from_mbps(1.0);
    let mut first = (optimiser.0)(vec![rate]);
    assert!(first.as_mut().poll(&mut context).is_pending());
    let mut second = (optimiser.0)(vec![rate]);
    assert_eq!(second.as_mut().poll(&mut context), Poll::Ready(None));
    release.send(()).unwrap();
    let targets = loop {
        match first.as_mut().poll(&mut context) {
            Poll::Ready(targets) => break targets,
            Poll::Pending => thread::park(),
        }
    };
    assert_eq!(targets, Some(vec![Target { up: rate, down: rate }]));
}
