//! What has come of a stream, where its reader finds it without locking the connection.
//!
//! A reader that takes all that comes would lock the connection once for every burst, while the
//! driver holds it, and the peer would wait for the reader before it may send more. Such a reader
//! has an inbox: the driver moves what has come there, and whoever waits for it is woken.

use std::collections::VecDeque;
use std::mem;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::error::QuicError;

/// Pieces that lie in an inbox at most. Beyond them the reader is late, and asks the connection for
/// as many, so that the peer is held back as ever.
pub(super) const MAX_PIECES: usize = 64;

/// The pieces of one stream, in order.
#[derive(Debug, Default)]
pub(crate) struct Inbox(Mutex<Contents>);

#[derive(Debug, Default)]
struct Contents {
    pieces: VecDeque<Bytes>,
    /// The driver puts in what comes.
    filled: bool,
    /// End of the stream behind the pieces: complete, or an error.
    end: Option<Result<(), QuicError>>,
    reader: Option<Waker>,
}

/// Result of a read from the inbox.
pub(crate) enum Found {
    /// One piece or more.
    Pieces,
    /// The end of the stream.
    End(Result<(), QuicError>),
    /// Nothing, and nobody puts anything in.
    Nothing,
}

/// Reason for which reading a stream stops for now.
pub(super) enum Stop {
    /// As many pieces were taken as there was room for.
    Full,
    /// The next bytes have not come yet.
    Blocked,
    /// Nothing more comes.
    End(Result<(), QuicError>),
}

impl Inbox {
    /// Moves what is there to `into`, which is empty; waits while the driver puts in what comes.
    pub(crate) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        into: &mut VecDeque<Bytes>,
    ) -> Poll<Found> {
        let mut contents = self.0.lock();
        if !contents.pieces.is_empty() {
            // Both keep their room.
            mem::swap(into, &mut contents.pieces);
            return Poll::Ready(Found::Pieces);
        }
        if let Some(end) = contents.end.take() {
            return Poll::Ready(Found::End(end));
        }
        if !contents.filled {
            return Poll::Ready(Found::Nothing);
        }
        contents.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// From now on the driver puts in what comes, and wakes `reader`.
    pub(super) fn open(&self, reader: &Waker) {
        let mut contents = self.0.lock();
        contents.filled = true;
        contents.reader = Some(reader.clone());
    }

    /// Puts in what `take` moves there, which is told how many pieces there is room for. Whether
    /// what comes later is to be put in too.
    pub(super) fn fill(&self, take: impl FnOnce(usize, &mut VecDeque<Bytes>) -> Stop) -> bool {
        let mut contents = self.0.lock();
        let before = contents.pieces.len();
        let stop = take(MAX_PIECES.saturating_sub(before), &mut contents.pieces);
        contents.filled = matches!(stop, Stop::Blocked);
        if let Stop::End(end) = stop {
            contents.end = Some(end);
        }
        let goes_on = contents.filled;
        if contents.pieces.len() > before || !goes_on {
            wake(contents);
        }
        goes_on
    }

    /// Nothing is put in any more.
    pub(super) fn close(&self) {
        let mut contents = self.0.lock();
        contents.filled = false;
        wake(contents);
    }
}

fn wake(mut contents: parking_lot::MutexGuard<'_, Contents>) {
    let reader = contents.reader.take();
    drop(contents);
    if let Some(reader) = reader {
        reader.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::Wake;

    use proptest::prelude::*;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    proptest! {
        /// A reader that asks again only when it is woken gets every piece in order and then the
        /// end, whether the driver or the connection itself hands them out.
        #[test]
        fn nothing_is_lost_and_nobody_sleeps_on(
            bursts in prop::collection::vec((0u8..100, any::<bool>()), 1..40),
        ) {
            let inbox = Inbox::default();
            let woken = Arc::new(Woken::default());
            let waker = Waker::from(woken.clone());
            let mut cx = Context::from_waker(&waker);
            // The connection: pieces that have come and were not taken, and whether it fills.
            let (mut come, mut fills, mut sent) = (VecDeque::new(), false, 0);
            let (mut read, mut ended, mut due) = (Vec::new(), false, true);
            let last = bursts.len() - 1;
            for (i, (pieces, reads)) in bursts.into_iter().enumerate() {
                for _ in 0..pieces {
                    come.push_back(Bytes::from(vec![sent as u8]));
                    sent += 1;
                }
                let stop = |rest: &VecDeque<Bytes>| match (rest.is_empty(), i == last) {
                    (false, _) => Stop::Full,
                    (true, true) => Stop::End(Ok(())),
                    (true, false) => Stop::Blocked,
                };
                if fills {
                    fills = inbox.fill(|room, into| {
                        into.extend(come.drain(..come.len().min(room)));
                        stop(&come)
                    });
                }
                due |= woken.0.swap(false, Ordering::Relaxed);
                while due && !ended && (reads || i == last) {
                    let mut into = VecDeque::new();
                    match inbox.poll_take(&mut cx, &mut into) {
                        Poll::Ready(Found::Pieces) => {
                            prop_assert!(into.len() <= MAX_PIECES);
                            read.extend(into.iter().map(|piece| piece[0]));
                        }
                        Poll::Ready(Found::End(end)) => ended = end.is_ok(),
                        // It asks the connection, and waits there if it has nothing.
                        Poll::Ready(Found::Nothing) => {
                            read.extend(come.drain(..).map(|piece| piece[0]));
                            match stop(&come) {
                                Stop::End(end) => ended = end.is_ok(),
                                _ => {
                                    inbox.open(&waker);
                                    (fills, due) = (true, false);
                                }
                            }
                        }
                        Poll::Pending => due = false,
                    }
                }
            }
            prop_assert!(ended);
            let all: Vec<u8> = (0..sent).map(|n: usize| n as u8).collect();
            prop_assert_eq!(read, all);
        }
    }

    #[test]
    fn a_reader_is_woken_when_nothing_comes_any_more() {
        let inbox = Inbox::default();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let mut cx = Context::from_waker(&waker);
        inbox.open(&waker);
        assert!(inbox.poll_take(&mut cx, &mut VecDeque::new()).is_pending());
        // A burst without anything for it leaves it asleep.
        assert!(inbox.fill(|_, _| Stop::Blocked));
        assert!(!woken.0.load(Ordering::Relaxed));
        inbox.close();
        assert!(woken.0.load(Ordering::Relaxed));
        let found = inbox.poll_take(&mut cx, &mut VecDeque::new());
        assert!(matches!(found, Poll::Ready(Found::Nothing)));
    }
}
