//! A path of a stream: what is sent and read on one connection.

use std::convert::Infallible;
use std::future::poll_fn;

use airlane_base::Time;
use airlane_quic::{Connection, SendStream};
use bytes::BytesMut;

use super::control::ControlReader;
use super::error::MultipathError;
use super::hello::StreamId;
use super::lane::{LaneReceiver, LaneSender};
use super::shared::{Attached, PathKey, Shared};

/// Both directions of a path's lane and of its control stream.
pub(super) struct Path {
    outgoing: LaneSender,
    incoming: LaneReceiver,
    to: SendStream,
    from: ControlReader,
}

impl Path {
    /// A path of the stream called `name` on `connection`, whose control stream is `to` and `from`.
    pub(super) fn new(
        connection: &Connection,
        name: StreamId,
        to: SendStream,
        from: ControlReader,
    ) -> Self {
        Self {
            outgoing: LaneSender::new(connection.clone(), name),
            incoming: LaneReceiver::new(connection.clone(), name),
            to,
            from,
        }
    }

    /// Sends and receives as `attached` until the path or the stream ends.
    pub(super) async fn run(self, attached: Attached) -> MultipathError {
        let Self { outgoing, incoming, to, from } = self;
        let (shared, key) = (attached.shared(), attached.key());
        let ended = tokio::try_join!(
            send_segments(shared, key, outgoing),
            read_segments(shared, key, incoming),
            send_control(shared, key, to),
            read_control(shared, key, from),
        );
        match ended {
            Err(e) => e,
            Ok((never, ..)) => match never {},
        }
    }
}

async fn send_segments(
    shared: &Shared,
    path: PathKey,
    mut to: LaneSender,
) -> Result<Infallible, MultipathError> {
    let mut timer = shared.runtime.timer(Time::FAR_FUTURE);
    loop {
        let segment = poll_fn(|cx| shared.poll_segment(cx, path, &mut timer)).await?;
        to.write(segment.frame).await?;
    }
}

async fn read_segments(
    shared: &Shared,
    path: PathKey,
    mut from: LaneReceiver,
) -> Result<Infallible, MultipathError> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.extend_from_slice(&from.read().await?);
        shared.on_lane(path, &mut buffer)?;
    }
}

async fn send_control(
    shared: &Shared,
    path: PathKey,
    mut to: SendStream,
) -> Result<Infallible, MultipathError> {
    let mut timer = shared.runtime.timer(Time::FAR_FUTURE);
    loop {
        let frame = poll_fn(|cx| shared.poll_control(cx, path, &mut timer)).await?;
        to.write_all(frame).await?;
    }
}

async fn read_control(
    shared: &Shared,
    path: PathKey,
    mut from: ControlReader,
) -> Result<Infallible, MultipathError> {
    loop {
        shared.on_control(path, from.buffer())?;
        from.more().await?;
    }
}
