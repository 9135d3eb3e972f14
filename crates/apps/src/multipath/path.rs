//! A path of a stream: what is sent and read on one connection.

use std::convert::Infallible;
use std::future::poll_fn;

use airlane_base::Time;
use airlane_fbdt::PathId;
use airlane_fbdt::wire::Frame;
use airlane_quic::SendStream;
use bytes::BytesMut;

use super::control::ControlReader;
use super::error::MultipathError;
use super::lane::{LaneReceiver, LaneSender};
use super::shared::Shared;

/// Bytes of a segment's header, with room to spare.
const HEADER_BYTES: usize = 32;

/// Both directions of a path's lane and of its control stream.
pub(super) struct Path {
    pub(super) outgoing: LaneSender,
    pub(super) incoming: LaneReceiver,
    pub(super) to: SendStream,
    pub(super) from: ControlReader,
}

impl Path {
    /// Sends and receives as `id` of `shared`, until the path or the stream ends.
    pub(super) async fn run(self, shared: &Shared, id: PathId) -> MultipathError {
        let Self { outgoing, incoming, to, from } = self;
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
                return Err(MultipathError::Hello("a lane with something else than data"));
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
