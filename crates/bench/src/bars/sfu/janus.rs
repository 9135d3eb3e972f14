//! The peer: Janus and its video room, driven over HTTP. Each participant has one connection for what it sends and one for
//! what it receives, as clients of Janus have.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};

use super::generator::Generator;
use super::{PEOPLE, http, on_server_core};
use crate::bar::Problem;
use crate::process::{Running, Scratch, free_port, output};

/// Plugins and transports that have nothing to do.
const IDLE_PLUGINS: &str = "libjanus_audiobridge.so,libjanus_duktape.so,libjanus_echotest.so,libjanus_lua.so,\
    libjanus_nosip.so,libjanus_recordplay.so,libjanus_sip.so,libjanus_streaming.so,libjanus_textroom.so,\
    libjanus_videocall.so,libjanus_voicemail.so";
const IDLE_TRANSPORTS: &str = "libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,libjanus_rabbitmq.so,\
    libjanus_websockets.so";
/// Events of others that may come before the one that is waited for.
const MAX_EVENTS: u32 = 1000;

/// Version of Janus.
///
/// # Errors
/// [`Problem::Skipped`] if it is not installed.
pub(super) fn version() -> Result<String, Problem> {
    let said = output(Command::new("janus").arg("--version"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    // Its first line is `Janus version: 1102 (1.1.2)`.
    let version = said.lines().next().and_then(|line| line.rsplit(['(', ')']).nth(1));
    Ok(version.unwrap_or("of unknown version").to_owned())
}

/// Starts it on the server's core, with rooms full of participants.
pub(super) fn start(
    generator: &Generator,
    rooms: u32,
    folder: &Scratch,
) -> Result<Running, Problem> {
    let broke = |e: std::io::Error| Problem::Broke(format!("janus: {e}"));
    let at = free_port()?;
    let own = folder.path("janus");
    std::fs::create_dir_all(&own).map_err(broke)?;
    let settings = format!(
        "general: {{ configs_folder = \"{own}\", debug_level = 2, session_timeout = 0 }}\n\
         nat: {{ ice_lite = true, ice_enforce_list = \"{ip}\" }}\n\
         plugins: {{ disable = \"{IDLE_PLUGINS}\" }}\ntransports: {{ disable = \"{IDLE_TRANSPORTS}\" }}\n",
        own = own.display(),
        ip = generator.ip,
    );
    let of_http = format!(
        "general: {{ json = \"compact\", base_path = \"/janus\", http = true, ip = \"{}\", port = {}, https = false }}\n",
        at.ip(),
        at.port(),
    );
    std::fs::write(own.join("janus.jcfg"), settings).map_err(broke)?;
    std::fs::write(own.join("janus.transport.http.jcfg"), of_http).map_err(broke)?;
    let mut command = Command::new("janus");
    command.arg("-C").arg(own.join("janus.jcfg")).arg("-F").arg(&own);
    let mut server = on_server_core(|| Running::start("janus", &mut command))?;
    server.answers_at(at)?;
    for room in 0..rooms {
        let session = Session::new(at)?;
        let of_room = session.attach()?;
        of_room.ask(&json!({ "request": "create", "room": room + 1, "publishers": PEOPLE, "videocodec": "vp8" }))?;
        let numbers = room * PEOPLE..(room + 1) * PEOPLE;
        let mut sessions = Vec::new();
        for number in numbers.clone() {
            let session = Session::new(at)?;
            publish(generator, &session, room + 1, number)?;
            sessions.push((number, session));
        }
        for (number, session) in &sessions {
            let others = numbers.clone().filter(|of| of != number);
            subscribe(generator, session, room + 1, *number, others)?;
        }
    }
    Ok(server)
}

fn publish(
    generator: &Generator,
    session: &Session,
    room: u32,
    number: u32,
) -> Result<(), Problem> {
    let mut client = generator.client(number)?;
    let jsep = json!({ "type": "offer", "sdp": client.offer(0)? });
    // Zero would be no identifier.
    let body = json!({ "request": "joinandconfigure", "ptype": "publisher", "room": room, "id": number + 1 });
    let event = session.attach()?.request(&body, Some(jsep))?;
    client.accept(event["jsep"]["sdp"].as_str().unwrap_or_default())?;
    generator.run(client);
    // Until it is connected nobody may subscribe to it.
    session.wait("webrtcup", |event| event["janus"] == "webrtcup")?;
    Ok(())
}

fn subscribe(
    generator: &Generator,
    session: &Session,
    room: u32,
    number: u32,
    others: impl Iterator<Item = u32>,
) -> Result<(), Problem> {
    let mut client = generator.client(number)?;
    let streams: Vec<Value> = others.map(|of| json!({ "feed": of + 1 })).collect();
    let body =
        json!({ "request": "join", "ptype": "subscriber", "room": room, "streams": streams });
    let handle = session.attach()?;
    let event = handle.request(&body, None)?;
    let answer = client.answer(event["jsep"]["sdp"].as_str().unwrap_or_default())?;
    generator.run(client);
    let jsep = json!({ "type": "answer", "sdp": answer });
    handle.request(&json!({ "request": "start" }), Some(jsep))?;
    Ok(())
}

/// Session of a client of Janus.
struct Session {
    at: SocketAddr,
    path: String,
}

/// Its use of the video room.
struct Handle<'a> {
    session: &'a Session,
    path: String,
}

/// Answer of Janus, if it is no error.
fn answered(answer: Value) -> Result<Value, Problem> {
    let data = &answer["plugindata"]["data"];
    match answer["janus"] == "error" || data.get("error").is_some() {
        true => Err(Problem::Broke(format!("janus: {answer}"))),
        false => Ok(answer),
    }
}

fn post(at: SocketAddr, path: &str, body: &Value) -> Result<Value, Problem> {
    answered(http::post(at, path, body)?)
}

impl Session {
    fn new(at: SocketAddr) -> Result<Self, Problem> {
        let made = post(at, "/janus", &json!({ "janus": "create", "transaction": "create" }))?;
        Ok(Self { at, path: format!("/janus/{}", made["data"]["id"]) })
    }

    fn attach(&self) -> Result<Handle<'_>, Problem> {
        let body = json!({ "janus": "attach", "plugin": "janus.plugin.videoroom", "transaction": "attach" });
        let made = post(self.at, &self.path, &body)?;
        Ok(Handle { session: self, path: format!("{}/{}", self.path, made["data"]["id"]) })
    }

    /// The first event that is the one looked for.
    fn wait(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value, Problem> {
        for _ in 0..MAX_EVENTS {
            let event = answered(http::get(self.at, &self.path)?)?;
            if is_it(&event) {
                return Ok(event);
            }
        }
        Err(Problem::Broke(format!("janus: {what} does not come")))
    }
}

impl Handle<'_> {
    /// Asks for what is answered at once.
    fn ask(&self, body: &Value) -> Result<Value, Problem> {
        let message = json!({ "janus": "message", "transaction": "ask", "body": body });
        post(self.session.at, &self.path, &message)
    }

    /// Asks for what an event answers.
    fn request(&self, body: &Value, jsep: Option<Value>) -> Result<Value, Problem> {
        let transaction = format!("{} {}", self.path, body["request"]);
        let mut message = json!({ "janus": "message", "transaction": transaction, "body": body });
        if let Some(jsep) = jsep {
            message["jsep"] = jsep;
        }
        post(self.session.at, &self.path, &message)?;
        let is_it = |event: &Value| event["transaction"] == transaction.as_str();
        self.session.wait(&format!("an answer to {body}"), is_it)
    }
}
