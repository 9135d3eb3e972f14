//! What monitors hear: the MAC headers that come through, headers of PPDUs, energy.

use airlane_wifi::{
    Access, Address, BlockAck, Format, Frame, FrameKind, Heard, Response, What, mac,
};

use super::exchange::Carries;
use super::ids::RadioId;
use super::medium::Medium;
use super::reception::{Purpose, Transmission, chance};

impl Medium {
    /// A PPDU that a radio took the channel for busy for has ended.
    pub(super) fn hear(&mut self, radio: RadioId, sent: &Transmission, is_locked: bool) {
        let of = &self.radios[radio];
        if of.logs.is_empty() || of.is_asleep {
            return;
        }
        let what = match self.received(radio, sent) {
            Some([]) => What::Energy,
            Some(came) => {
                let frames = self.frames(sent).into_iter().zip(came);
                what(sent, frames.filter(|(_, came)| **came).map(|(frame, _)| frame).collect())
            }
            None => self.made_out(radio, sent, is_locked),
        };
        self.radios[radio].hear(sent, what);
    }

    /// Part of a PPDU for another radio that a radio makes out.
    fn made_out(&mut self, radio: RadioId, sent: &Transmission, is_locked: bool) -> What {
        let sinr = self.sinr_of(radio, sent);
        let header = self.errors.header(&sent.vector, sinr);
        if !is_locked || !chance(header, &mut self.hearing_rng) {
            return What::Energy;
        }
        let mut frames = self.frames(sent);
        frames.retain(|frame| {
            let p = self.errors.success(&sent.vector, sinr, frame.bytes);
            chance(p, &mut self.hearing_rng)
        });
        what(sent, frames)
    }

    /// Reception of each frame of a PPDU at the radio that it is for, empty if its header did not
    /// come; `None` of other radios and PPDUs.
    fn received(&self, radio: RadioId, sent: &Transmission) -> Option<&[bool]> {
        let exchange = self.contenders[sent.contender].exchange.as_ref()?;
        let is_meant = sent.to == radio && sent.purpose == Purpose::Data;
        (is_meant && exchange.link().is_some()).then_some(&exchange.came)
    }

    /// A radio knows what it has sent itself.
    pub(super) fn hear_own(&mut self, sent: &Transmission) {
        if !self.radios[sent.from].logs.is_empty() {
            let what = what(sent, self.frames(sent));
            self.radios[sent.from].hear(sent, what);
        }
    }

    /// A PPDU has ended: a monitor that misses nothing hears it, collisions with all that is in them. Of what
    /// a station sends that has left meanwhile, that the air was busy.
    pub(super) fn monitor(&mut self, sent: &Transmission) {
        let Some(mut monitor) = self.monitor.take() else { return };
        let what = match self.radios[sent.from].is_gone {
            true => What::Energy,
            false => what(sent, self.frames(sent)),
        };
        monitor.hear(&Heard { at: sent.start, duration: sent.end - sent.start, what });
        self.monitor = Some(monitor);
    }

    /// The frames of a PPDU.
    fn frames(&self, sent: &Transmission) -> Vec<Frame> {
        let address = |radio: RadioId| self.radios[radio].address;
        let ap = self.aps[self.radios[sent.from].ap].radio;
        let control = |kind, transmitter, bytes| Frame {
            kind,
            receiver: address(sent.to),
            transmitter,
            bssid: None,
            is_down: sent.from == ap,
            bytes,
            is_retry: false,
            sequence: 0,
            remaining: sent.nav - sent.end,
            tid: 0,
            block_ack: None,
        };
        let from = Some(address(sent.from));
        let tid = match self.contenders[sent.contender].access {
            Access::BACKGROUND => 1,
            Access::VIDEO => 5,
            Access::VOICE => 6,
            _ => 0,
        };
        let Some(exchange) = &self.contenders[sent.contender].exchange else { return Vec::new() };
        match sent.purpose {
            Purpose::Rts => vec![control(FrameKind::Rts, from, mac::RTS)],
            Purpose::Cts => vec![control(FrameKind::Cts, None, mac::CTS)],
            Purpose::Beacon => {
                let frame = control(FrameKind::Beacon, from, sent.bytes);
                vec![Frame { receiver: Address::BROADCAST, bssid: from, ..frame }]
            }
            Purpose::Response if exchange.cost.response == Response::Ack => {
                vec![control(FrameKind::Ack, None, mac::ACK)]
            }
            Purpose::Response => {
                let start = exchange.psdu.numbers.first().copied().unwrap_or(0);
                let mut came = [0; 4];
                for (number, _) in
                    exchange.psdu.numbers.iter().zip(&exchange.came).filter(|(_, c)| **c)
                {
                    let bit = (number - start) as usize;
                    if let Some(word) = came.get_mut(bit / 64) {
                        *word |= 1 << (bit % 64);
                    }
                }
                let block_ack = Some(BlockAck { start: twelve_bits(start), came });
                let frame = control(FrameKind::BlockAck, from, sent.bytes);
                vec![Frame { block_ack, ..frame }]
            }
            Purpose::Data => {
                let Carries::Packets(link) = exchange.carries else {
                    let frame = control(FrameKind::Null, from, sent.bytes);
                    return vec![Frame { bssid: Some(address(ap)), ..frame }];
                };
                let window = &self.links[link].window;
                let numbered =
                    exchange.psdu.numbers.iter().filter_map(|n| Some((*n, window.get(*n)?)));
                let frame = |(number, mpdu): (u64, &super::window::Mpdu)| Frame {
                    bssid: Some(address(ap)),
                    is_retry: mpdu.tries > 0,
                    sequence: twelve_bits(number),
                    tid,
                    ..control(FrameKind::QosData, from, mpdu.bytes)
                };
                numbered.map(frame).collect()
            }
        }
    }
}

fn what(sent: &Transmission, frames: Vec<Frame>) -> What {
    if frames.is_empty() {
        return What::Header(sent.vector);
    }
    let has_delimiters = matches!(sent.vector.format, Format::Vht | Format::He);
    let is_aggregate = sent.purpose == Purpose::Data && (has_delimiters || frames.len() > 1);
    What::Frames { vector: sent.vector, is_aggregate, frames }
}

/// A number as it is in the air.
fn twelve_bits(number: u64) -> u16 {
    (number & 0xfff) as u16
}
