//! The options of `airlane call`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::InputError;
use airlane_call_daemon::client::{
    CallTarget, CallUrl, ClientConfig, Clip, InvalidCallUrl, Party, SendQueue, Sound, SoundError,
};
use airlane_call_daemon::{
    CallLimits, CallServerConfig, CertificateFiles, InvalidRoomName, InvalidTurnUri, RoomName,
    Transport, TurnConfig, TurnUri, VideoCodec,
};
use clap::{Args, Subcommand, ValueEnum};

use super::addresses::{listen_addresses, local_address};
use super::{number, positive_number};

const CLIP_EXPECTED: &str = "make one by: ffmpeg -i VIDEO -c:v libvpx -b:v 800k -g 60 -an FILE.ivf";
const SOUND_EXPECTED: &str = "make one by: ffmpeg -i SOUND -c:a libopus -b:a 32k FILE.opus";

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(subcommand)]
    pub(crate) verb: CallVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CallVerb {
    /// Serve calls: browsers join a room by its link, other programs by WHIP and WHEP
    Serve(CallServeArgs),
    /// Take part in a call without a browser: send files, and tell what was received
    Join(CallJoinArgs),
    /// Invite to rooms of a server that has a key for them: sign their links
    Invite(CallInviteArgs),
}

/// Codec of video.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CodecName {
    /// AV1 in layers
    Av1,
    /// VP9 in layers
    Vp9,
    /// VP8 in two encodings
    Vp8,
}

/// Transport of media.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TransportName {
    /// UDP
    Udp,
    /// TCP, as browsers do that cannot send UDP
    Tcp,
}

/// Switch of a part.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Switch {
    /// It is done
    On,
    /// It is not done
    Off,
}

/// Queue of frames that wait.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum QueueName {
    /// The pacer of WebRTC
    Pacer,
    /// One in front of it that drops by Octopus's rules
    Octopus,
}

impl CodecName {
    fn codec(self) -> VideoCodec {
        match self {
            Self::Av1 => VideoCodec::Av1,
            Self::Vp9 => VideoCodec::Vp9,
            Self::Vp8 => VideoCodec::Vp8,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallServeArgs {
    /// Address to listen on: over TCP for pages and signalling (HTTPS), over UDP, with the same
    /// number, for all media of all calls, and over TCP for media of who cannot send UDP; a name
    /// stands for all its addresses, none for all of this machine's; may be repeated, and media is at
    /// the first
    #[arg(long, value_name = "ADDR:PORT", default_value = "localhost:4460")]
    listen: Vec<String>,
    /// Address to listen on without TLS, for this machine's own browsers or behind a proxy that has
    /// the certificate: cameras work on pages of http://localhost and of https alone; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    http: Vec<String>,
    /// Show the status over HTTP here, to this machine and its private networks: a page, /status in
    /// JSON, /metrics for Prometheus
    #[arg(long, value_name = "ADDR:PORT", value_parser = local_address)]
    status: Option<SocketAddr>,
    /// Address, and port if it is another, at which clients reach the port of --listen for media,
    /// over UDP and TCP, such as that of a router in front of this machine; may be repeated [default:
    /// those of this machine]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = announced)]
    announce: Vec<SocketAddr>,
    /// The server's certificates in PEM, its own first [default: one for development]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Let in those alone whose link `airlane call invite` has signed with this key: 32 bytes or more
    /// in a file that its owner alone may read (openssl rand 32)
    #[arg(long, value_name = "FILE")]
    room_key: Option<PathBuf>,
    /// TURN server for clients that can reach this server neither over UDP nor over TCP, such as
    /// turn:turn.example.org:3478: they get credentials that are good for 12 hours; may be repeated
    #[arg(long, value_name = "URI", requires = "turn_secret", value_parser = turn_uri)]
    turn: Vec<TurnUri>,
    /// File of the secret that the TURN server shares with this one (coturn's static-auth-secret),
    /// readable by its owner alone
    #[arg(long, value_name = "FILE", requires = "turn")]
    turn_secret: Option<PathBuf>,
    /// Codec of video that browsers are asked to send; one that cannot sends the next one it has
    #[arg(long, value_enum, value_name = "CODEC", default_value = "av1")]
    codec: CodecName,
    /// Participants of a room at most
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(2..=50))]
    max_participants: u32,
    /// Participants of all rooms together at most
    #[arg(long, value_name = "N", default_value = "400", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    max_total_participants: u32,
    /// Rooms at most; a room is there while somebody is in it
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_rooms: u32,
    /// Bitrate that a participant sends at most, and receives at most, in kbit/s
    #[arg(long, value_name = "KBPS", default_value = "6000", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    max_bitrate: u32,
    /// Coordinate what participants send and receive on channels whose two directions share the air,
    /// as Plum does; off: each direction takes what its congestion control finds
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    plum: Switch,
    /// Mark video as PDU Sets (3GPP TS 26.522), also for browsers that do not offer it: so a cell on
    /// the way knows which frames it may drop
    #[arg(long)]
    pdu_sets: bool,
    /// Identifier of the RTP header extension that marks PDU Sets, 1 to 14
    #[arg(long, value_name = "ID", default_value = "6", requires = "pdu_sets",
          value_parser = clap::value_parser!(u8).range(1..=14))]
    pdu_set_id: u8,
    /// Offers to join that one IPv4 address or IPv6 /64 may make in a minute
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_offers: u32,
    /// Print nothing but the line that says where it serves, and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl CallServeArgs {
    /// Configuration of the server.
    ///
    /// # Errors
    /// If a name has no address.
    pub(crate) fn request(&self) -> Result<CallServerConfig, InputError> {
        let certificate = match (&self.cert, &self.key) {
            (Some(chain), Some(key)) => {
                Some(CertificateFiles { chain: chain.clone(), key: key.clone() })
            }
            _ => None,
        };
        Ok(CallServerConfig {
            http: all_addresses(&self.http, "--http")?,
            status: self.status,
            announce: self.announce.clone(),
            certificate,
            room_key: self.room_key.clone(),
            turn: self
                .turn_secret
                .clone()
                .map(|secret| TurnConfig { uris: self.turn.clone(), secret }),
            codec: self.codec.codec(),
            limits: CallLimits {
                max_participants: self.max_participants as usize,
                max_total_participants: self.max_total_participants as usize,
                max_rooms: self.max_rooms as usize,
                max_offers_per_minute: self.max_offers,
                max_bitrate_bps: u64::from(self.max_bitrate) * 1000,
                is_coordinated: matches!(self.plum, Switch::On),
                pdu_set_id: self.pdu_sets.then_some(self.pdu_set_id),
                ..CallLimits::default()
            },
            ..CallServerConfig::new(all_addresses(&self.listen, "--listen")?)
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallInviteArgs {
    /// Names of rooms, or links that end in one, such as <https://calls.example.org:4460/my-room>
    #[arg(value_name = "ROOM", required = true, value_parser = invited_room)]
    pub(crate) rooms: Vec<InvitedRoom>,
    /// File of the key that `airlane call serve --room-key` has
    #[arg(long, value_name = "FILE")]
    pub(crate) room_key: PathBuf,
    /// Time for which the links are good
    #[arg(long = "for", value_name = "TIME", default_value = "7d", value_parser = humantime::parse_duration)]
    pub(crate) good_for: Duration,
}

/// Room to which somebody is invited.
#[derive(Clone, Debug)]
pub(crate) struct InvitedRoom {
    /// Link without a token: the text as it was given, or a path.
    pub(crate) link: String,
    pub(crate) name: RoomName,
}

#[derive(Debug, Args)]
pub(crate) struct CallJoinArgs {
    /// Link of the room, such as <https://localhost:4460/my-room>; with /whep behind the room, receive
    /// alone (WHEP): the others do not see it
    #[arg(value_name = "URL", value_parser = call_url)]
    url: CallUrl,
    /// Video to send, again and again: IVF with VP8 or VP9, as `ffmpeg -c:v libvpx` makes it; given
    /// several times, the lowest bitrate first: encodings of one video (simulcast), of which those
    /// are sent that fit the uplink
    #[arg(long, value_name = "FILE")]
    video: Vec<PathBuf>,
    /// Temporal layers of the video, which must be VP8: its frames are taken to be of the layers 0,
    /// 1, or 0, 2, 1, 2, again and again, as `ffmpeg -ts-parameters` makes them
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=3))]
    temporal_layers: u8,
    /// Queue of frames that the uplink does not carry yet: the pacer's, which drops nothing, or one in
    /// front of it, which keeps the pacer's short and drops frames of the same or a higher
    /// temporal layer than a newer one (Octopus), and what waited for 500 ms
    #[arg(long, value_enum, value_name = "QUEUE", default_value = "pacer")]
    queue: QueueName,
    /// Audio to send, again and again: Opus in Ogg, as `ffmpeg -c:a libopus FILE.opus` makes it
    #[arg(long, value_name = "FILE")]
    audio: Option<PathBuf>,
    /// Name that others see; with several participants each has a number behind it
    #[arg(long, value_name = "NAME", default_value = "robot")]
    name: String,
    /// Participants, each with a connection of its own
    #[arg(long, short = 'n', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    participants: u32,
    /// Seconds from one participant's beginning to the next one's
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds)]
    stagger: f64,
    /// Others that each can receive
    #[arg(long, value_name = "N", default_value = "11", value_parser = clap::value_parser!(u32).range(0..=60))]
    max_people: u32,
    /// Seconds that each takes part, from its connection on [default: until it is stopped]
    #[arg(long, value_name = "S", value_parser = positive_seconds)]
    duration: Option<f64>,
    /// Transport of media
    #[arg(long, value_enum, value_name = "TRANSPORT", default_value = "udp")]
    transport: TransportName,
    /// Trust any certificate, such as one for development
    #[arg(long)]
    insecure: bool,
    /// Write what each sent and received, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print errors only
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl CallJoinArgs {
    /// The participants. Their videos begin at places of their own.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn party(&self) -> Result<Party, InputError> {
        if self.url.is_whep() && !(self.video.is_empty() && self.audio.is_none()) {
            let expected = "no --video and no --audio, or the link of the room without /whep";
            return Err(InputError::new("receivers alone (WHEP) send nothing", expected));
        }
        let clip = |path: &PathBuf| {
            let clip = Clip::read(&read(path)?);
            clip.and_then(|clip| clip.with_temporal_layers(self.temporal_layers))
                .map(Arc::new)
                .map_err(|e| InputError::new(e.to_string(), CLIP_EXPECTED).at_file(path))
        };
        let video: Vec<Arc<Clip>> = self.video.iter().map(clip).collect::<Result<_, _>>()?;
        let sound = |path: &PathBuf| {
            let sound = Sound::read(&read(path)?);
            let wrong =
                |e: SoundError| InputError::new(e.to_string(), SOUND_EXPECTED).at_file(path);
            sound.map(Arc::new).map_err(wrong)
        };
        let audio = self.audio.as_ref().map(sound).transpose()?;
        let config = |n: u32| ClientConfig {
            name: match self.participants {
                1 => self.name.clone(),
                _ => format!("{}-{}", self.name, n + 1),
            },
            video: video.clone(),
            audio: audio.clone(),
            max_people: self.max_people as usize,
            queue: match self.queue {
                QueueName::Pacer => SendQueue::Pacer,
                QueueName::Octopus => SendQueue::Octopus,
            },
            offset: f64::from(n) / f64::from(self.participants),
        };
        let trust = airlane_certificate::trust(self.insecure);
        let transport = match self.transport {
            TransportName::Udp => Transport::Udp,
            TransportName::Tcp => Transport::Tcp,
        };
        Ok(Party {
            target: CallTarget { url: self.url.clone(), trust, transport },
            clients: (0..self.participants).map(config).collect(),
            stagger: Duration::from_secs_f64(self.stagger),
            length: self.duration.map(Duration::from_secs_f64),
        })
    }
}

fn read(path: &PathBuf) -> Result<Vec<u8>, InputError> {
    std::fs::read(path).map_err(|e| InputError::io(path, "read it", &e))
}

fn turn_uri(text: &str) -> Result<TurnUri, String> {
    text.parse().map_err(|e: InvalidTurnUri| e.to_string())
}

fn invited_room(text: &str) -> Result<InvitedRoom, String> {
    let (link, room) = match text.rsplit_once('/') {
        None => (format!("/{text}"), text),
        Some((_, room)) => (text.to_owned(), room),
    };
    let name = room.parse().map_err(|e: InvalidRoomName| e.to_string())?;
    Ok(InvitedRoom { link, name })
}

fn call_url(text: &str) -> Result<CallUrl, String> {
    text.parse().map_err(|e: InvalidCallUrl| e.to_string())
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e6)
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    positive_number(text)
}

fn all_addresses(texts: &[String], key: &str) -> Result<Vec<SocketAddr>, InputError> {
    let mut all = Vec::new();
    for text in texts {
        for address in listen_addresses(text, key)? {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
    Ok(all)
}

/// An address, with port 0 if it has none.
fn announced(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    let address = address.or_else(|_| text.parse::<SocketAddr>());
    let is_usable = |at: &SocketAddr| !at.ip().is_unspecified() && !at.ip().is_multicast();
    address.ok().filter(is_usable).ok_or_else(|| {
        "expected an address that clients reach, such as 203.0.113.5 or 203.0.113.5:4460".to_owned()
    })
}
