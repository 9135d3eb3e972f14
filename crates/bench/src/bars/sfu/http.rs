//! Requests of signalling over plain HTTP, with JSON in them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::bar::Problem;

/// Time in which a server has to answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Posts a body; the answer.
pub(super) fn post(at: SocketAddr, path: &str, body: &Value) -> Result<Value, Problem> {
    let body = body.to_string();
    let fields = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    exchange(at, "POST", path, &fields, &body)
}

/// Gets an answer.
pub(super) fn get(at: SocketAddr, path: &str) -> Result<Value, Problem> {
    exchange(at, "GET", path, "", "")
}

fn exchange(
    at: SocketAddr,
    method: &str,
    path: &str,
    fields: &str,
    body: &str,
) -> Result<Value, Problem> {
    let broke = |e: &dyn std::fmt::Display| Problem::Broke(format!("{method} {path}: {e}"));
    let mut stream = TcpStream::connect(at).map_err(|e| broke(&e))?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(|e| broke(&e))?;
    // Of this version: an answer in chunks would have to be put together.
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {at}\r\nConnection: close\r\n{fields}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).map_err(|e| broke(&e))?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|e| broke(&e))?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(|| broke(&"no answer"))?;
    let status = head.split(' ').nth(1).unwrap_or_default();
    if !status.starts_with('2') {
        return Err(broke(&format!("{status} {}", body.trim())));
    }
    serde_json::from_str(body).map_err(|e| broke(&e))
}
