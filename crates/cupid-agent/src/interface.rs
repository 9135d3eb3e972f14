//! Cupid's agent on a machine with a monitor interface: what the interface hears becomes the rates that the
//! machine's downloads report to their servers.

use std::fs;
use std::str::FromStr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use airlane_base::InputError;
use airlane_capture::{Decoder, Monitor};
use airlane_cupid::{AgentOptions, EstimatorOptions};
use airlane_runtime::RuntimeHandle;
use airlane_wifi::{Address, Heard};
use parking_lot::Mutex;

use crate::clock::Shift;
use crate::{AgentError, AirAgent};

/// Maximum time of a wait for the interface, after which the reader checks whether the agent is
/// still in use.
const READ_TIMEOUT: Duration = Duration::from_millis(50);
/// Transmissions that nobody has taken yet at most; older ones are forgotten.
const MAX_TRANSMISSIONS: usize = 1 << 16;

/// A monitor interface, and the station whose air it is: `IFACE`, or `IFACE,MAC`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AirInterface {
    /// The interface.
    pub name: String,
    /// The machine's address on the WiFi; `None`: that of the interface.
    pub station: Option<Address>,
}

impl FromStr for AirInterface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, address)) = text.split_once(',') else {
            return Ok(Self { name: text.to_owned(), station: None });
        };
        let wrong = || format!("\"{address}\" is no address such as 02:00:00:00:00:01");
        let station = address_of(address).ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), station: Some(station) })
    }
}

/// Six numbers of two hexadecimal digits each.
fn address_of(text: &str) -> Option<Address> {
    let mut bytes = [0; 6];
    let mut parts = text.trim().split(':');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.len() == 2)?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(Address(bytes))
}

/// Transmissions that were heard and not taken yet; `None` once the interface is gone.
type Heards = Mutex<Option<Vec<Heard>>>;

/// An agent that listens to an interface until it is dropped, or the interface is gone: then it reports
/// nothing more, and senders go on without it.
///
/// # Errors
/// If the interface is no monitor interface, listening is not allowed, or it has no address.
pub fn agent(runtime: &RuntimeHandle, interface: &AirInterface) -> Result<AirAgent, AgentError> {
    let name = &interface.name;
    let monitor = Monitor::open(name)?;
    let own = interface.station.or_else(|| {
        address_of(&fs::read_to_string(format!("/sys/class/net/{name}/address")).ok()?)
    });
    let own = own.ok_or_else(|| {
        let expected = "give the machine's address on the WiFi: IFACE,MAC";
        InputError::new(format!("{name} has no address"), expected)
    })?;
    let heard: Arc<Heards> = Arc::new(Mutex::new(Some(Vec::new())));
    let (told, clock) = (Arc::downgrade(&heard), runtime.clone());
    std::thread::Builder::new()
        .name("air".to_owned())
        .spawn(move || listen(monitor, &clock, &told))
        .map_err(|error| InputError::new(error.to_string(), "room for a thread"))?;
    let options = AgentOptions::new(EstimatorOptions::new(own));
    Ok(AirAgent::new(options, runtime.now(), move || heard.lock().as_mut().map(std::mem::take)))
}

/// However listening ends, the agent learns that nobody listens any more: silence is no idle air.
struct Listening<'a>(&'a Weak<Heards>);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        if let Some(told) = self.0.upgrade() {
            *told.lock() = None;
        }
    }
}

/// Hears until nobody wants to know any more, or the interface is gone.
fn listen(mut monitor: Monitor, clock: &RuntimeHandle, told: &Weak<Heards>) {
    let _listening = Listening(told);
    let mut decoder = Decoder::default();
    let mut shift = Shift::default();
    loop {
        let read = match monitor.read(READ_TIMEOUT) {
            // Those that are malformed are skipped.
            Ok(record) => record.map(|record| decoder.push(&record)).is_some(),
            Err(error) => {
                tracing::warn!("the air is not listened to any more: {error}");
                return;
            }
        };
        if !read {
            decoder.finish();
        }
        let Some(told) = told.upgrade() else { return };
        let mut told = told.lock();
        let Some(heard) = told.as_mut() else { return };
        while let Some(transmission) = decoder.pop() {
            shift.on_record(transmission.end(), clock.now());
            if heard.len() >= MAX_TRANSMISSIONS {
                heard.drain(..MAX_TRANSMISSIONS / 2);
            }
            heard.push(Heard { at: shift.here(transmission.heard.at), ..transmission.heard });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_stops_listening_or_panics_says_so() {
        let heard: Arc<Heards> = Arc::new(Mutex::new(Some(Vec::new())));
        let told = Arc::downgrade(&heard);
        let listener = std::thread::spawn(move || {
            let _listening = Listening(&told);
            panic!("as a decoder might");
        });
        assert!(listener.join().is_err());
        assert!(heard.lock().is_none());
    }

    #[test]
    fn interfaces_and_addresses_are_read() {
        let read = |text: &str| AirInterface::from_str(text);
        assert_eq!(read("mon0").unwrap(), AirInterface { name: "mon0".into(), station: None });
        let with = read("mon0,02:00:00:00:0a:FF").unwrap();
        assert_eq!(with.station, Some(Address([2, 0, 0, 0, 10, 255])));
        for wrong in ["mon0,", "mon0,02:00", "mon0,02:00:00:00:00:0g", "mon0,2:0:0:0:0:1:2"] {
            assert!(read(wrong).unwrap_err().contains("is no address such as"), "{wrong}");
        }
    }
}
