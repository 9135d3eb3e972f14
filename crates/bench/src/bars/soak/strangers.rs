//! Clients that the server must be rid of by itself: some say nothing, some stop reading in the
//! middle of an answer.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_http_client::Speak;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;
use tokio::net::TcpSocket;

use super::world::{World, broke, sleep};
use super::{BIG, HOLD};
use crate::bar::Problem;

/// Time between two arrivals of such clients.
const EVERY: Duration = Duration::from_secs(2);
/// A record of a TLS handshake that announces 512 bytes, of which these are the first.
const HALF_A_HELLO: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc];

/// Behaviour of an unresponsive client.
#[derive(Clone, Copy, Debug)]
enum Stranger {
    /// Connects over TCP and sends this alone.
    Begins(&'static [u8]),
    /// Asks for one thing, and then for nothing.
    Idles(Speak),
    /// Asks for a large file, and stops reading after its beginning.
    Stalls(Speak),
}

const ALL: [Stranger; 8] = {
    use Stranger::{Begins, Idles, Stalls};
    [
        Begins(&[]),
        Idles(Speak::Http3),
        Stalls(Speak::Http3),
        Idles(Speak::Tcp),
        Stalls(Speak::Tcp),
        Begins(HALF_A_HELLO),
        Idles(Speak::Http1),
        Stalls(Speak::Http1),
    ]
};

/// Has them come, each for longer than the server waits.
pub(super) async fn keep_coming(world: Arc<World>) {
    let runtime = TokioRuntime::new(Seed(1));
    for stranger in ALL.into_iter().cycle() {
        let there = world.clone();
        runtime.spawn("a stranger", async move {
            let came = come(&there, stranger).await;
            there.expect(format_args!("a client that {stranger:?}"), came);
        });
        sleep(EVERY).await;
    }
}

async fn come(world: &World, stranger: Stranger) -> Result<(), Problem> {
    match stranger {
        Stranger::Begins(with) => {
            let address = world.address.trim_start_matches("https://").parse().map_err(broke)?;
            let socket = TcpSocket::new_v4().map_err(broke)?;
            socket.bind((world.next_source(), 0).into()).map_err(broke)?;
            let stream = socket.connect(address).await.map_err(broke)?;
            stream.writable().await.map_err(broke)?;
            stream.try_write(with).map_err(broke)?;
            world.note(|account| account.silent += 1);
            sleep(HOLD).await;
            Ok(())
        }
        Stranger::Idles(speak) => {
            let client = world.client(speak)?;
            let url = world.url("/film-0/manifest.mpd")?;
            client.get_all(&url, None, 1 << 20).await.map_err(broke)?;
            world.note(|account| account.silent += 1);
            sleep(HOLD).await;
            Ok(())
        }
        Stranger::Stalls(speak) => {
            let client = world.client(speak)?;
            let url = world.url(BIG)?;
            let (mut answer, url) = client.get(&url, None).await.map_err(broke)?;
            client.next(&mut answer, &url).await.map_err(broke)?;
            world.note(|account| account.stalled += 1);
            sleep(HOLD).await;
            loop {
                match client.next(&mut answer, &url).await {
                    Ok(Some(_)) => {}
                    Ok(None) => return Err(broke("its answer was not broken off")),
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}
