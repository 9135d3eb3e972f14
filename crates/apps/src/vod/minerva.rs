//! Minerva's place in the origin: one session per connection, from requests to weights.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use airlane_abr::{AbrKind, Setting};
use airlane_base::Time;
use airlane_media::Metric;
use airlane_minerva::{Config, Minerva, Normalisation, Progress, Request};
use airlane_quic::{ControlHandle, ControlStats};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::Notify;

use super::OriginEvents;
use crate::cmcd::Cmcd;
use crate::content::Object;

/// Bytes of a full packet that are not body: first byte, packet number (2), tag (16) and STREAM
/// frame (about 8); a player without a connection id of its own, as Chromium is, adds none.
pub const PACKET_OVERHEAD_BYTES: u64 = 27;

/// What a provider of videos knows: how its titles look under its metric, and its normalisation.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The titles as decisions see them, by name and measure of quality.
    pub titles: BTreeMap<(String, Metric), Arc<Setting>>,
    /// The measure for players that name none.
    pub metric: Metric,
    /// The algorithm of players that name none that is known.
    pub abr: AbrKind,
    /// f of section 5.4.
    pub normalisation: Arc<Normalisation>,
    /// How weights are found.
    pub config: Config,
    /// UDP payload of a full packet, to tell body bytes from packet bytes.
    pub payload_bytes: u64,
}

impl Provider {
    /// The title as a player sees it that says `cmcd` of itself.
    fn setting(&self, title: &str, cmcd: &Cmcd) -> Option<&Arc<Setting>> {
        let named = cmcd.metric.as_deref().and_then(Metric::from_name);
        let of = |metric| self.titles.get(&(title.to_owned(), metric));
        named.and_then(of).or_else(|| of(self.metric))
    }

    /// The algorithm that the player names, if it is known.
    fn abr_of(&self, cmcd: &Cmcd) -> AbrKind {
        match cmcd.abr.as_deref() {
            Some(name) if name != self.abr.to_string() => name.parse().unwrap_or(self.abr),
            _ => self.abr,
        }
    }
}

/// One connection's session.
pub(super) struct Weigher {
    provider: Arc<Provider>,
    control: ControlHandle,
    state: Mutex<Option<Minerva>>,
    started: Notify,
}

impl Weigher {
    pub(super) fn new(provider: Arc<Provider>, control: ControlHandle) -> Arc<Self> {
        Arc::new(Self { provider, control, state: Mutex::new(None), started: Notify::new() })
    }

    /// A request for an object came with what the player says of itself.
    pub(super) fn on_request(&self, now: Time, object: &Object, cmcd: &Cmcd) {
        let Some(setting) = self.provider.setting(&object.video.name, cmcd) else { return };
        let request = Request {
            chunk: object.chunk,
            rung: object.rung,
            buffer: cmcd.buffer.unwrap_or_default(),
            stalled: cmcd.stalled.unwrap_or_default(),
        };
        let progress = self.progress();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let minerva = state.get_or_insert_with(|| {
            let p = &self.provider;
            let abr = Arc::new(p.abr_of(cmcd));
            Minerva::new(setting.clone(), abr, p.normalisation.clone(), p.config)
        });
        minerva.on_request(now, request, progress);
        drop(state);
        self.started.notify_one();
    }

    /// Sets weights for as long as it is polled.
    pub(super) async fn run(
        self: Arc<Self>,
        runtime: RuntimeHandle,
        peer: SocketAddr,
        events: Arc<dyn OriginEvents>,
    ) {
        loop {
            let next = self.with(|m| m.next_event()).flatten();
            match next {
                None => self.started.notified().await,
                Some(at) => {
                    runtime.sleep_until(at).await;
                    let progress = self.progress();
                    let update = self.with(|m| m.poll(runtime.now(), progress)).flatten();
                    if let Some(update) = update {
                        self.control.set_weight(update.weight);
                        events.weighed(peer, &update);
                    }
                }
            }
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut Minerva) -> T) -> Option<T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(f)
    }

    fn progress(&self) -> Progress {
        progress(&self.control.stats(), self.provider.payload_bytes)
    }
}

/// A connection's totals in body bytes.
fn progress(stats: &ControlStats, payload_bytes: u64) -> Progress {
    let body = payload_bytes.saturating_sub(PACKET_OVERHEAD_BYTES);
    let acked_bytes =
        u128::from(stats.acked_bytes) * u128::from(body) / u128::from(payload_bytes.max(1));
    Progress {
        acked_bytes: u64::try_from(acked_bytes).unwrap_or(u64::MAX),
        busy: stats.busy,
        min_rtt: stats.rtt.map_or(Duration::ZERO, |r| r.min),
    }
}
