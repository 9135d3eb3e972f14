//! The player: fetches the chunks of a title one after another and plays them.
//!
//! Buffer, stalls and the choice of rungs are the state machine of `airlane-abr`; here is what
//! moves it: requests, responses and the clock.

use std::sync::Arc;

use airlane_abr::{Abr, PlayedChunk, PlayerModel, TitleModel};
use airlane_base::Time;
use airlane_minerva::{OnDemand, SentCurve};
use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::fetch::Fetch;
use crate::cmcd::Cmcd;
use crate::error::RoleError;

/// A player of one title.
#[derive(Clone, Debug)]
pub struct Player {
    /// The title and how it is watched.
    pub setting: Arc<TitleModel>,
    /// Bitrate algorithm, which chooses the rungs.
    pub abr: Arc<dyn Abr>,
    /// The name that it is known by to the server, for CMCD.
    pub abr_name: String,
    /// CMCD's session id.
    pub session_id: String,
    /// The measure of quality that it names to the server, for CMCD; `None`: it names none.
    pub metric_name: Option<String>,
    /// Chunks that the value function looks ahead which it sends with each request; `None`: it
    /// sends none.
    pub send_value: Option<usize>,
    /// Changes what it says of itself: for servers to be tried against players that lie.
    pub lie: Option<fn(&mut Cmcd)>,
    /// Time at which it stops fetching, if not at the end of the title.
    pub until: Option<Time>,
}

/// Record of a session.
#[derive(Clone, Debug)]
pub struct Session {
    /// The buffer and all chunks.
    pub model: PlayerModel,
    /// Congestion control of the client's sending: requests and acknowledgements.
    pub control: Option<ControlHandle>,
    /// Error that ended it early, if any.
    pub failure: Option<Arc<RoleError>>,
}

impl Player {
    /// Watches what `connect` leads to: returns when the last chunk has arrived, the time is over
    /// or the server fails. `arrived` sees each chunk.
    pub async fn watch<F: Fetch>(
        self,
        runtime: &RuntimeHandle,
        connect: impl Future<Output = Result<F, RoleError>>,
        mut arrived: impl FnMut(&PlayedChunk),
    ) -> Session {
        let mut session = Session {
            model: PlayerModel::new(self.setting.clone(), runtime.now()),
            control: None,
            failure: None,
        };
        let mut end = runtime.sleep_until(self.until.unwrap_or(Time::FAR_FUTURE));
        tokio::select! {
            biased;
            () = &mut end => {}
            result = self.fetch_all(runtime, connect, &mut session, &mut arrived) => {
                session.failure = result.err().map(Arc::new);
            }
        }
        session
    }

    async fn fetch_all<F: Fetch>(
        &self,
        runtime: &RuntimeHandle,
        connect: impl Future<Output = Result<F, RoleError>>,
        session: &mut Session,
        arrived: &mut impl FnMut(&PlayedChunk),
    ) -> Result<(), RoleError> {
        let mut fetch = connect.await?;
        session.control = fetch.control();
        let model = &mut session.model;
        while let Some(at) = model.next_request_at() {
            runtime.sleep_until(at).await;
            let asked = runtime.now();
            let Some(rung) = model.choose(&*self.abr, asked) else { break };
            let Some(chunk) = model.next_chunk() else { break };
            let mut cmcd = self.cmcd(model, asked, rung);
            cmcd.value = self.value(model, asked, rung);
            if let Some(lie) = self.lie {
                lie(&mut cmcd);
            }
            model.on_request(asked, rung);
            let bytes = fetch.chunk(rung, chunk, &cmcd).await?;
            let now = runtime.now();
            arrived(&model.on_chunk(now, bytes, now - asked));
        }
        Ok(())
    }

    /// The value function of what follows the next request, if it is to be sent.
    fn value(&self, model: &PlayerModel, now: Time, rung: usize) -> Option<String> {
        let ahead = OnDemand::new(self.setting.clone(), self.abr.clone(), self.send_value?);
        let (chunk, buffer) = (model.next_chunk()?, model.buffer(now).as_secs_f64());
        Some(SentCurve::sample(&self.setting, &ahead, chunk, rung, buffer)?.to_text())
    }

    /// Report of the player on itself, for a request.
    fn cmcd(&self, model: &PlayerModel, now: Time, rung: usize) -> Cmcd {
        let video = self.setting.video();
        let chunks = model.chunks();
        let starved = chunks.last().is_some_and(|c| !c.stall.is_zero());
        Cmcd {
            buffer: Some(model.buffer(now)),
            bitrate: video.rungs.get(rung).map(|r| r.nominal),
            top_bitrate: video.rungs.last().map(|r| r.nominal),
            duration: Some(video.chunk),
            throughput: chunks.last().map(|c| airlane_base::Rate::from_bps_f64(c.throughput_bps)),
            session: Some(self.session_id.clone()),
            content: Some(video.name.clone()),
            startup: chunks.is_empty() || starved,
            starved,
            past_qoe: (!chunks.is_empty()).then(|| model.totals().mean_qoe()).flatten(),
            chunks_played: Some(chunks.len() as u64),
            stalled: Some(model.stalled(now)),
            abr: Some(self.abr_name.clone()),
            metric: self.metric_name.clone(),
            ..Cmcd::default()
        }
    }
}
