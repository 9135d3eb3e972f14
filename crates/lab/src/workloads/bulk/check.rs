//! What schemes ask of transfers that go over something else than QUIC.

use airlane_base::InputError;
use airlane_net::Direction;

use super::{Transfer, TransferEnd, Transfers, Transport};
use airlane_scenario::{Algorithm, Scenario, Scheme};

/// Checks that each scheme can carry the transfers of its scenario.
pub(super) fn schemes(transfers: &Transfers, scenario: &Scenario) -> Result<(), InputError> {
    for scheme in &scenario.schemes {
        let transport = Transport::of(scheme);
        for transfer in &transfers.0 {
            controller(transport, scheme, transfer)?;
            if transport != Transport::Quic {
                datagrams(scheme, transfer)?;
            }
        }
        if matches!(transport, Transport::Oracle | Transport::OracleStale) {
            oracle(scheme, transfers, scenario)?;
        }
    }
    Ok(())
}

fn refused(scheme: &Scheme, found: String, expected: &str) -> InputError {
    let found = format!("{found} under scheme \"{}\"", scheme.name);
    InputError::new(found, expected).at_key("bulk_transport")
}

/// ABC reads the mark of each packet, and QUIC acknowledges several at a time.
fn controller(
    transport: Transport,
    scheme: &Scheme,
    transfer: &Transfer,
) -> Result<(), InputError> {
    let control = transfer.control.as_ref().unwrap_or(&scheme.control);
    if control.algorithm() != Some(Algorithm::Abc) || transport != Transport::Quic {
        return Ok(());
    }
    let expected = "expected bulk_transport = \"datagrams\": ABC reads the mark of each packet";
    Err(refused(scheme, format!("\"{}\" has controller \"abc\"", transfer.name), expected))
}

/// Nothing is sent again, over one access.
fn datagrams(scheme: &Scheme, transfer: &Transfer) -> Result<(), InputError> {
    let name = &transfer.name;
    if Transport::of(scheme) == Transport::Constant {
        return constant(scheme, transfer);
    }
    if matches!(transfer.until, TransferEnd::Bytes(_)) {
        let found = format!("\"{name}\" ends after so many bytes");
        return Err(refused(
            scheme,
            found,
            "expected stop_s or nothing: what is lost is not sent again",
        ));
    }
    if transfer.limit.is_some() {
        let found = format!("\"{name}\" has limit_bps");
        return Err(refused(
            scheme,
            found,
            "expected none: only over QUIC an application has limits",
        ));
    }
    if transfer.is_upload || transfer.other_way.is_some() {
        let found = format!("\"{name}\" goes up");
        return Err(refused(scheme, found, "expected a download: only QUIC goes up"));
    }
    if transfer.at.len() > 1 {
        let found = format!("\"{name}\" is on several accesses");
        return Err(refused(scheme, found, "expected one: only QUIC goes over several"));
    }
    Ok(())
}

/// Datagrams at a constant rate need one in each way.
fn constant(scheme: &Scheme, transfer: &Transfer) -> Result<(), InputError> {
    let name = &transfer.name;
    let (found, expected) = if transfer.ways().iter().any(|way| way.limit.is_none()) {
        (format!("\"{name}\" has a way without a limit"), "expected limit_bps: the constant rate")
    } else if matches!(transfer.until, TransferEnd::Bytes(_)) {
        (format!("\"{name}\" ends after so many bytes"), "expected stop_s or nothing")
    } else if transfer.at.len() > 1 {
        (format!("\"{name}\" is on several accesses"), "expected one: only QUIC goes over several")
    } else {
        return Ok(());
    };
    Err(refused(scheme, found, expected))
}

/// An oracle knows one link, and nothing of what others put into its queue.
fn oracle(scheme: &Scheme, transfers: &Transfers, scenario: &Scenario) -> Result<(), InputError> {
    let users: usize = scenario.participants.iter().map(|traffic| traffic.places().len()).sum();
    let Some(transfer) = transfers.0.first() else { return Ok(()) };
    if users != 1 {
        let found = format!("{users} use the network");
        return Err(refused(
            scheme,
            found,
            "expected one transfer alone: an oracle knows the link only",
        ));
    }
    let access = &scenario.network.accesses[transfer.at[0]];
    if access.is_half_duplex() {
        let found = format!("\"{}\" is half-duplex", access.name);
        let expected = "expected a link whose way down is its own: acknowledgements take a part of \
                        this one";
        return Err(refused(scheme, found, expected));
    }
    let way = access.way(Direction::Down);
    if access.behind.is_some() || way.loss.is_some() || !way.jitter.is_zero() {
        let found = format!("\"{}\" has more than a delay in front of its queue", access.name);
        return Err(refused(
            scheme,
            found,
            "expected an access at the core without loss and jitter",
        ));
    }
    Ok(())
}
