//! A proxy of TCP and UDP that stands for the air: it tells interfaces apart by the address that they
//! send from, and can stall each or take it away.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;
use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;

/// What an interface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    /// It carries.
    Up,
    /// Nothing passes, and nobody is told.
    Dark,
    /// Its connections of TCP are reset, and new ones refused; its datagrams are lost.
    Down,
}

/// The air between two ends.
pub struct Air {
    pub address: SocketAddr,
    interfaces: Interfaces,
}

type Interfaces = Arc<Mutex<BTreeMap<IpAddr, watch::Sender<Interface>>>>;

impl Air {
    /// One in front of `server`.
    pub async fn before(server: SocketAddr) -> Self {
        let (listener, datagrams) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            // The port that is free for one may not be for the other.
            if let Ok(datagrams) = UdpSocket::bind(listener.local_addr().unwrap()).await {
                break (listener, datagrams);
            }
        };
        let address = listener.local_addr().unwrap();
        let interfaces = Interfaces::default();
        let runtime = TokioRuntime::new(Seed(1));
        runtime.spawn("air udp", relay(runtime.clone(), datagrams, server, interfaces.clone()));
        let (on, known) = (runtime.clone(), interfaces.clone());
        runtime.spawn("air", async move {
            while let Ok((near, from)) = listener.accept().await {
                let state = {
                    let mut known = known.lock();
                    known
                        .entry(from.ip())
                        .or_insert_with(|| watch::Sender::new(Interface::Up))
                        .subscribe()
                };
                carry(&on, near, server, state);
            }
        });
        Self { address, interfaces }
    }

    /// From now on the interface at `address` is like this.
    pub fn set(&self, address: IpAddr, interface: Interface) {
        let mut interfaces = self.interfaces.lock();
        interfaces
            .entry(address)
            .or_insert_with(|| watch::Sender::new(interface))
            .send_replace(interface);
    }
}

fn carry(
    on: &RuntimeHandle,
    near: TcpStream,
    server: SocketAddr,
    state: watch::Receiver<Interface>,
) {
    let runtime = on.clone();
    on.spawn("air connection", async move {
        SockRef::from(&near).set_linger(Some(Duration::ZERO)).unwrap();
        if *state.borrow() == Interface::Down {
            return;
        }
        let Ok(far) = TcpStream::connect(server).await else { return };
        SockRef::from(&far).set_linger(Some(Duration::ZERO)).unwrap();
        let (from_near, to_near) = near.into_split();
        let (from_far, to_far) = far.into_split();
        runtime.spawn("air up", pass(from_near, to_far, state.clone()));
        pass(from_far, to_near, state).await;
    });
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut state: watch::Receiver<Interface>,
) {
    let mut down = state.clone();
    let passing = async {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = from.read(&mut buffer).await.unwrap_or(0);
            let is_up = state.wait_for(|interface| *interface == Interface::Up).await.is_ok();
            if read == 0 || !is_up || to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        _ = down.wait_for(|interface| *interface == Interface::Down) => {}
        () = passing => {}
    }
}

/// Passes datagrams on while their interface is up, from a socket of its own for each sender.
async fn relay(
    runtime: RuntimeHandle,
    near: UdpSocket,
    server: SocketAddr,
    interfaces: Interfaces,
) {
    let near = Arc::new(near);
    let is_up = move |ip: IpAddr| {
        interfaces.lock().get(&ip).is_none_or(|interface| *interface.borrow() == Interface::Up)
    };
    let is_up = Arc::new(is_up);
    let mut senders: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
    let mut buffer = vec![0; 2048];
    while let Ok((length, from)) = near.recv_from(&mut buffer).await {
        let far = match senders.get(&from) {
            Some(far) => far.clone(),
            None => {
                let far = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
                far.connect(server).await.unwrap();
                senders.insert(from, far.clone());
                let (back, near, is_up) = (far.clone(), near.clone(), is_up.clone());
                runtime.spawn("air udp back", async move {
                    let mut buffer = vec![0; 2048];
                    while let Ok(length) = back.recv(&mut buffer).await {
                        if is_up(from.ip()) {
                            drop(near.send_to(&buffer[..length], from).await);
                        }
                    }
                });
                far
            }
        };
        if is_up(from.ip()) {
            drop(far.send(&buffer[..length]).await);
        }
    }
}
