//! Handle of a conference that runs: through it clients come and go.

use std::net::SocketAddr;

use airlane_quic::LimitExceeded;
use airlane_runtime::{RuntimeExt, RuntimeHandle, UdpSocket};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::conference::{CallLimits, CallStatus, Conference, JoinRequest, ParticipantId, Role};
use crate::driver::{Command, Driver, MAX_COMMANDS};
use crate::error::{CallError, Refusal};
use crate::media::answerer::Answerer;
use crate::media_tcp::connections::ConnectionIntake;
use crate::names::{RoomName, participant_name};

/// Handle of a conference that runs on one socket, in real or virtual time. It ends with its last handle.
#[derive(Clone)]
pub struct ConferenceHandle {
    runtime: RuntimeHandle,
    answerer: std::sync::Arc<Answerer>,
    clock: Clock,
    commands: mpsc::Sender<Command>,
    connections: ConnectionIntake,
}

impl std::fmt::Debug for ConferenceHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConferenceHandle").finish_non_exhaustive()
    }
}

/// Answer to a client that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinAnswer {
    /// Number of the participant.
    pub id: ParticipantId,
    /// Answer in SDP.
    pub sdp: String,
    /// Secret name under which the participation can be ended.
    pub resource: String,
}

impl ConferenceHandle {
    /// Starts a conference on a socket that clients reach at the `announced` addresses. They are told the same ones for
    /// TCP: who accepts connections there hands them to [`Self::serve_stream`].
    ///
    /// # Errors
    /// If no certificate for DTLS can be made.
    pub fn start(
        runtime: &RuntimeHandle,
        socket: Box<dyn UdpSocket>,
        announced: Vec<SocketAddr>,
        limits: CallLimits,
    ) -> Result<Self, CallError> {
        let conference = Conference::new(limits, runtime.now());
        let clock = conference.clock();
        let answerer = Answerer::new(announced.clone(), limits.pdu_set_id)?.into();
        let (commands, following) = mpsc::channel(MAX_COMMANDS);
        let (connections, events) = ConnectionIntake::new(runtime);
        let driver = Driver::new(conference, runtime, socket, announced, following, events);
        runtime.spawn("call media", driver.run());
        Ok(Self { runtime: runtime.clone(), answerer, clock, commands, connections })
    }

    /// Takes media on a connection over TCP from a client at `remote` to `local` (RFC 6544), until it ends.
    ///
    /// # Errors
    /// If there are as many connections of sessions as there may be.
    pub async fn serve_stream(
        &self,
        stream: impl AsyncRead + AsyncWrite,
        remote: SocketAddr,
        local: SocketAddr,
    ) -> Result<(), LimitExceeded> {
        self.connections.serve(stream, remote, local).await
    }

    /// Answers an offer in SDP of a client that calls itself `name`.
    ///
    /// # Errors
    /// If the offer cannot be answered, or there is no room.
    pub async fn join(
        &self,
        room: RoomName,
        role: Role,
        name: &str,
        offer: &str,
    ) -> Result<JoinAnswer, Refusal> {
        let answered = self.answerer.answer(offer, self.clock.instant(self.runtime.now()))?;
        let resource = self.answerer.secret::<16>().map_err(|e| Refusal::Offer(e.to_string()))?;
        let sdp = answered.sdp.clone();
        let (reply, joined) = oneshot::channel();
        let name = participant_name(name);
        let request = JoinRequest { room, name, role, resource: resource.clone() };
        let command = Command::Join { request, answered: Box::new(answered), reply };
        self.commands.send(command).await.map_err(|_| Refusal::Stopping)?;
        let id = joined.await.map_err(|_| Refusal::Stopping)??;
        Ok(JoinAnswer { id, sdp, resource })
    }

    /// Ends a participation by its secret name; false if there is none.
    ///
    /// # Errors
    /// If the conference stops.
    pub async fn leave(&self, resource: String) -> Result<bool, Refusal> {
        let (reply, left) = oneshot::channel();
        let command = Command::Leave { resource, reply };
        self.commands.send(command).await.map_err(|_| Refusal::Stopping)?;
        left.await.map_err(|_| Refusal::Stopping)
    }

    /// Status of all rooms.
    ///
    /// # Errors
    /// If the conference stops.
    pub async fn status(&self) -> Result<CallStatus, Refusal> {
        let (reply, status) = oneshot::channel();
        self.commands.send(Command::Status { reply }).await.map_err(|_| Refusal::Stopping)?;
        status.await.map_err(|_| Refusal::Stopping)
    }

    /// Ends all participations; clients are told so.
    pub async fn stop(&self) {
        let (reply, stopped) = oneshot::channel();
        if self.commands.send(Command::Stop { reply }).await.is_ok() {
            // The driver may have ended by itself.
            let _ = stopped.await;
        }
        self.connections.drained().await;
    }
}
