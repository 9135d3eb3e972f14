//! A path of a stream: what is sent and read on one connection.

use std::convert::Infallible;
use std::future::poll_fn;

use airlane_base::Time;
use airlane_fbdt::PathId;
use airlane_fbdt::wire::Frame;
use airlane_quic::{Connection, SendStream};
use bytes::BytesMut;

use super::control::ControlReader;
use super::error::MultipathError;
use super::hello::StreamId;
use super::lane::{LaneReceiver, LaneSender};
use super::shared::{Attached, Shared};

/// Bytes of a segment's header, with room to spare.
const HEADER_BYTES: usize = 32;

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
        let (shared, id) = (attached.shared(), attached.id());
        let ended = tokio::try_join!(
            send_segments(shared, id, outgoing),
            read_segments(shared, id, incoming),
            send_control(shared, id, to),
            read_control(shared, from),
        );
        match ended {
            Err(e) => e,
            Ok((never, ..)) => match never {},
        }
    }
}

async fn send_segments(
    shared: &Shared,
    id: PathId,
    mut to: LaneSender,
) -> Result<Infallible, MultipathError> {
    let mut timer = shared.runtime.timer(Time::FAR_FUTURE);
    let mut header = BytesMut::new();
    loop {
        let segment = poll_fn(|cx| shared.poll_segment(cx, id, &mut timer)).await?;
        header.reserve(HEADER_BYTES);
        segment.encode_header(&mut header);
        to.write(header.split().freeze()).await?;
        to.write(segment.payload).await?;
    }
}

async fn read_segments(
    shared: &Shared,
    id: PathId,
    mut from: LaneReceiver,
) -> Result<Infallible, MultipathError> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.extend_from_slice(&from.read().await?);
        while let Some(frame) = Frame::decode(&mut buffer)? {
            let Frame::Segment(segment) = frame else {
                return Err(MultipathError::Protocol("a lane with something else than data"));
            };
            shared.on_segment(id, segment)?;
        }
    }
}

async fn send_control(
    shared: &Shared,
    id: PathId,
    mut to: SendStream,
) -> Result<Infallible, MultipathError> {
    let mut timer = shared.runtime.timer(Time::FAR_FUTURE);
    loop {
        let frame = poll_fn(|cx| shared.poll_control(cx, id, &mut timer)).await?;
        to.write_all(frame).await?;
    }
}

async fn read_control(
    shared: &Shared,
    mut from: ControlReader,
) -> Result<Infallible, MultipathError> {
    loop {
        shared.on_control(&from.frame().await?)?;
    }
}
