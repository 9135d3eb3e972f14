//! Airlane's conference server: each participant has one connection, as pages have.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;

use super::generator::Generator;
use super::{PEOPLE, http, on_server_core};
use crate::bar::Problem;
use crate::process::{Running, Scratch, airlane};

/// Starts it on its core, with rooms full of participants.
pub(super) fn start(
    generator: &Generator,
    rooms: u32,
    folder: &Scratch,
) -> Result<Running, Problem> {
    let mut command = Command::new(airlane()?);
    command.args(["call", "serve", "--http", "127.0.0.1:0", "--max-offers", "100000", "--quiet"]);
    command.arg("--listen").arg(SocketAddr::new(generator.ip, 0).to_string());
    // Where it keeps its certificate.
    command.env("XDG_DATA_HOME", folder.path("data"));
    let (server, line) = on_server_core(|| Running::announced("airlane call serve", &mut command))?;
    let at = line.split_whitespace().find_map(|w| w.strip_prefix("http://")?.strip_suffix('/'));
    let at = at.and_then(|at| at.parse().ok());
    let at = at.ok_or_else(|| Problem::Broke(format!("airlane call serve printed: {line}")))?;
    for room in 0..rooms {
        for place in 0..PEOPLE {
            let number = room * PEOPLE + place;
            let mut client = generator.client(number)?;
            let offer = client.offer(PEOPLE as usize - 1)?;
            let body = json!({ "name": format!("p{number}"), "sdp": offer });
            let answer = http::post(at, &format!("/r{room}/join"), &body)?;
            client.accept(answer["sdp"].as_str().unwrap_or_default())?;
            generator.run(client);
        }
    }
    Ok(server)
}
