//! Task of a connection: frames from its stream, and frames that wait to its stream.

use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;

use super::framing::FrameDecoder;
use super::send_queue::SendQueue;

/// Time in which the first frame has come, and in which each frame that has begun is whole.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which a connection on which no frame comes is closed: clients check theirs every few seconds.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time in which what waits when a connection is closed is written.
pub(crate) const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that are read and written at once.
const READ_BYTES: usize = 4 << 10;
const WRITE_BYTES: usize = 8 << 10;

/// Hands each frame of a stream to `frames`, as `wrap` makes it, and writes what `queue` has, until one of the three ends;
/// then `queue` is closed. Where `frames` is full, the peer waits.
pub(crate) async fn pump<S, T>(
    runtime: &RuntimeHandle,
    stream: S,
    queue: &SendQueue,
    frames: &mpsc::Sender<T>,
    wrap: impl Fn(Time, Bytes) -> T,
) where
    S: AsyncRead + AsyncWrite,
{
    let (reader, writer) = tokio::io::split(stream);
    let stopping = async {
        frames.closed().await;
        // What waits goes before the connection does.
        queue.close();
        std::future::pending::<()>().await;
    };
    let flushing = async {
        queue.closed().await;
        runtime.sleep(FLUSH_TIMEOUT).await;
    };
    tokio::select! {
        biased;
        () = read(runtime, reader, frames, wrap) => {}
        () = write(writer, queue) => {}
        () = stopping => {}
        () = flushing => {}
    }
    queue.close();
}

/// Reads frames until the peer closes the stream, is late, or sends something else.
async fn read<R: AsyncRead, T>(
    runtime: &RuntimeHandle,
    reader: R,
    frames: &mpsc::Sender<T>,
    wrap: impl Fn(Time, Bytes) -> T,
) {
    let mut reader = std::pin::pin!(reader);
    let mut decoder = FrameDecoder::default();
    let mut chunk = [0; READ_BYTES];
    let mut deadline = runtime.now() + FRAME_TIMEOUT;
    // Time by which another frame has to come, once there was one.
    let mut idle_deadline = None;
    loop {
        let length = tokio::select! {
            biased;
            read = reader.read(&mut chunk) => match read {
                Ok(0) | Err(_) => return,
                Ok(length) => length,
            },
            () = runtime.sleep_until(deadline) => return,
        };
        let at = runtime.now();
        // True if the frame that waits for its rest, if there is one, has begun now.
        let mut is_new = decoder.waiting_bytes() == 0;
        decoder.push(&chunk[..length]);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => {
                    is_new = true;
                    // An empty frame means nothing, and keeps nothing open.
                    if frame.is_empty() {
                        continue;
                    }
                    if frames.send(wrap(at, frame)).await.is_err() {
                        return std::future::pending().await;
                    }
                    idle_deadline = Some(runtime.now() + IDLE_TIMEOUT);
                }
                Ok(None) => break,
                Err(e) => {
                    tracing::debug!("a connection is closed: {e}");
                    return;
                }
            }
        }
        let Some(idle_deadline) = idle_deadline else { continue };
        if decoder.waiting_bytes() == 0 {
            deadline = idle_deadline;
        } else if is_new {
            deadline = idle_deadline.min(runtime.now() + FRAME_TIMEOUT);
        }
    }
}

/// Writes what waits until the queue is closed and empty, or the stream fails.
async fn write<W: AsyncWrite>(writer: W, queue: &SendQueue) {
    let mut writer = std::pin::pin!(writer);
    let mut chunk = [0; WRITE_BYTES];
    loop {
        let length = queue.take(&mut chunk).await;
        if length == 0 {
            // Whether the peer hears of the end or not, it has ended.
            let _ = writer.shutdown().await;
            return;
        }
        if writer.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}
