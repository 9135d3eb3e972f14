//! Players that come and go: processes, since those can vanish. Most play to their end; some are
//! killed in the middle, some are stopped, so that their system takes what comes and nobody reads
//! it, and are killed later.
//!
//! What a player does follows from its number, by cycles whose lengths have no common divisor: the
//! crowd is a mixture that stays the same over minutes.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;

use super::world::{World, broke};
use super::{FILMS, HOLD};
use crate::bar::Problem;
use crate::process::{self, Running};

/// Time between two arrivals of players.
const EVERY: Duration = Duration::from_secs(1);
/// Versions of HTTP.
const HTTP: [u8; 4] = [3, 2, 3, 1];
/// Sessions of each.
const SESSIONS: [u32; 5] = [2, 5, 1, 6, 4];
/// Durations for which players play, in seconds.
const SECONDS: [u64; 7] = [12, 5, 30, 8, 60, 16, 20];
/// Ways in which players end.
const ENDS: [End; 11] = {
    use End::{Freezes, Killed, Plays};
    [Plays, Plays, Killed, Plays, Plays, Plays, Freezes, Plays, Killed, Plays, Plays]
};
/// Buffer of the players: two chunks, as long as HTTP/1.1 stays open between requests.
const BUFFER_S: &str = "--buffer=8";
/// Seconds between the beginnings of a process's sessions.
const STAGGER_S: &str = "--stagger=0.2";

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Plays,
    Killed,
    Freezes,
}

/// One process.
struct Group {
    running: Running,
    what: String,
    dump: PathBuf,
    sessions: usize,
    /// The version of HTTP of one that is followed by another when it has ended.
    long: Option<u8>,
    end: End,
    /// Time of the next action on the group, if there is one.
    at: Option<Duration>,
}

/// All that play.
pub(super) struct Crowd {
    world: Arc<World>,
    groups: Vec<Group>,
    number: u64,
    /// Time at which the next group comes.
    next: Duration,
}

/// Part of a session's result that is read.
#[derive(Debug, Deserialize)]
struct Played {
    number: u32,
    failure: Option<String>,
    carrier: Option<String>,
    retries: u32,
    stalls: u32,
    chunks: u64,
}

impl Crowd {
    /// The first ones: those that play for long, one over each version of HTTP.
    pub(super) fn new(world: Arc<World>) -> Result<Self, Problem> {
        let mut crowd = Self { world, groups: Vec::new(), number: 0, next: Duration::ZERO };
        for http in [3, 2, 1] {
            crowd.come_for_long(http)?;
        }
        Ok(crowd)
    }

    /// Has players come, vanish and be asked for their results, as is due at `now`.
    pub(super) fn on_tick(&mut self, now: Duration) -> Result<(), Problem> {
        while self.next <= now {
            self.come(now)?;
            self.next += EVERY;
        }
        let mut left = Vec::new();
        for mut group in std::mem::take(&mut self.groups) {
            if let Some(ended) = group.running.ended()? {
                self.hear(&group, ended);
                if let Some(http) = group.long {
                    self.come_for_long(http)?;
                }
            } else if group.at.is_some_and(|at| at <= now) {
                match group.end {
                    End::Killed => self.world.note(|a| a.killed += 1),
                    _ => {
                        group.running.signal(Signal::STOP)?;
                        self.world.note(|a| a.frozen += 1);
                        (group.end, group.at) = (End::Killed, Some(now + HOLD));
                        left.push(group);
                    }
                }
            } else {
                left.push(group);
            }
        }
        self.groups.extend(left);
        Ok(())
    }

    fn come(&mut self, now: Duration) -> Result<(), Problem> {
        let of = |length: usize| (self.number % length as u64) as usize;
        let (http, end) = (HTTP[of(HTTP.len())], ENDS[of(ENDS.len())]);
        let (sessions, seconds) = (SESSIONS[of(SESSIONS.len())], SECONDS[of(SECONDS.len())]);
        let film = of(FILMS);
        // Anywhere between a tenth and nine tenths of its time.
        let share = 0.1 + 0.8 * (self.number * 37 % 101) as f64 / 100.0;
        let at = (end != End::Plays).then(|| now + Duration::from_secs_f64(seconds as f64 * share));
        let path = format!("/film-{film}/manifest.mpd");
        let mut group = self.start(&path, http, sessions, Duration::from_secs(seconds))?;
        (group.end, group.at) = (end, at);
        self.groups.push(group);
        Ok(())
    }

    fn come_for_long(&mut self, http: u8) -> Result<(), Problem> {
        let group = self.start("/long/manifest.mpd", http, 1, self.world.plan.long)?;
        self.groups.push(Group { long: Some(http), ..group });
        Ok(())
    }

    fn start(
        &mut self,
        path: &str,
        http: u8,
        sessions: u32,
        time: Duration,
    ) -> Result<Group, Problem> {
        self.number += 1;
        let dump = self.world.folder.path(format!("played-{}.json", self.number));
        let mut command = Command::new(process::airlane()?);
        command.args(["play", "--quiet", "--insecure", BUFFER_S, STAGGER_S]);
        command.arg(format!("--http={http}")).arg(format!("--sessions={sessions}"));
        command.arg(format!("--duration={}", time.as_secs_f64()));
        command.arg("--dump").arg(&dump).arg(format!("{}{path}", self.world.address));
        let what = format!("player {} of {path} over HTTP/{http}", self.number);
        let running = Running::start("airlane play", &mut command)?;
        let sessions = sessions as usize;
        Ok(Group { running, what, dump, sessions, long: None, end: End::Plays, at: None })
    }

    /// Notes how the sessions of a process went that has ended by itself.
    fn hear(&self, group: &Group, is_well: bool) {
        let read = std::fs::read(&group.dump).map_err(broke);
        let all = read.and_then(|text| serde_json::from_slice::<Vec<Played>>(&text).map_err(broke));
        // Nobody else asks for it.
        let _ = std::fs::remove_file(&group.dump);
        let Some(all) = self.world.expect(&group.what, all) else { return };
        if !is_well || all.len() != group.sessions {
            self.world.fail(format_args!("{}: {} of its sessions ended", group.what, all.len()));
        }
        self.world.note(|account| {
            account.ended += 1;
            account.played += all.len() as u64;
            account.chunks += all.iter().map(|p| p.chunks).sum::<u64>();
            account.stalls += all.iter().map(|p| u64::from(p.stalls)).sum::<u64>();
        });
        for played in all {
            if played.failure.is_some() || played.retries > 0 || played.chunks == 0 {
                self.world.fail(format_args!(
                    "{}: session {} over {:?} had {} chunks, asked {} times again and ended with \
                     {:?}",
                    group.what,
                    played.number,
                    played.carrier,
                    played.chunks,
                    played.retries,
                    played.failure
                ));
            }
        }
    }
}
