//! Random walk in a box.

use std::f64::consts::TAU;
use std::time::Duration;

use airlane_base::{Rng, Seed, Time};
use rand::RngExt;
use serde::Serialize;

use crate::position::Position;

/// A box: from one corner to the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Area {
    low: Position,
    high: Position,
}

impl Area {
    /// Between two corners, whichever they are.
    pub fn new(a: Position, b: Position) -> Self {
        Self {
            low: Position::new(a.x.min(b.x), a.y.min(b.y)),
            high: Position::new(a.x.max(b.x), a.y.max(b.y)),
        }
    }

    /// A square of so many metres to each side of a place.
    pub fn around(centre: Position, metres: f64) -> Self {
        let (x, y) = (centre.x, centre.y);
        Self::new(Position::new(x - metres, y - metres), Position::new(x + metres, y + metres))
    }

    /// True if a place lies in the area.
    pub fn contains(&self, place: Position) -> bool {
        (self.low.x..=self.high.x).contains(&place.x)
            && (self.low.y..=self.high.y).contains(&place.y)
    }

    /// Position of something that went straight to this place and was thrown back by the walls.
    fn fold(&self, place: Position) -> Position {
        Position::new(
            fold(place.x, self.low.x, self.high.x),
            fold(place.y, self.low.y, self.high.y),
        )
    }
}

fn fold(x: f64, low: f64, high: f64) -> f64 {
    let side = high - low;
    if side <= 0.0 {
        return low;
    }
    let there = (x - low).rem_euclid(2.0 * side);
    // Rounding must not carry it through the wall.
    (low + if there > side { 2.0 * side - there } else { there }).clamp(low, high)
}

/// Time or distance for which a walker keeps its speed and direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Leg {
    /// For so many metres.
    Metres(f64),
    /// For so long.
    Time(Duration),
}

/// No leg is shorter, and nobody walks longer: together they bound what a question costs.
const MIN_S: f64 = 0.01;
const MAX_S: f64 = 7.0 * 86_400.0;

/// Random walk: legs in a direction and at a speed that are drawn evenly for each, thrown back at the walls
/// of the box as light is. Asking costs what the legs since the last question cost. After a week it stands
/// still.
#[derive(Clone, Debug)]
pub struct Walk {
    seed: Seed,
    area: Area,
    start: Position,
    speed: [f64; 2],
    leg: Leg,
    rng: Rng,
    /// The leg under way: from where and when to when, and metres to the second.
    from: Position,
    began_s: f64,
    ends_s: f64,
    velocity: Position,
}

impl Walk {
    /// A walk from `start` (or the place in the box that is nearest) at speeds between two, m/s.
    pub fn new(seed: Seed, area: Area, start: Position, speed: [f64; 2], leg: Leg) -> Self {
        let start = Position::new(
            start.x.clamp(area.low.x, area.high.x),
            start.y.clamp(area.low.y, area.high.y),
        );
        // What is no speed is none.
        let speed = speed.map(|speed| if speed.is_finite() { speed } else { 0.0 });
        let seed = seed.split("walk");
        let mut walk = Self {
            seed,
            area,
            start,
            speed,
            leg,
            rng: seed.rng(),
            from: start,
            began_s: 0.0,
            ends_s: 0.0,
            velocity: Position::default(),
        };
        walk.restart();
        walk
    }

    /// The default of ns-3's `RandomWalk2dMobilityModel`, which Plum's evaluation used (table
    /// II): 2 to 4 m/s, another direction after each metre.
    pub fn pedestrian(seed: Seed, area: Area, start: Position) -> Self {
        Self::new(seed, area, start, [2.0, 4.0], Leg::Metres(1.0))
    }

    /// Position at a time.
    pub fn position(&mut self, at: Time) -> Position {
        let time = at.as_secs_f64().min(MAX_S);
        if time < self.began_s {
            self.restart();
        }
        while time >= self.ends_s {
            self.from = self.place(self.ends_s);
            self.began_s = self.ends_s;
            self.draw();
        }
        self.place(time)
    }

    fn place(&self, time: f64) -> Position {
        let passed = time - self.began_s;
        self.area.fold(Position::new(
            self.from.x + self.velocity.x * passed,
            self.from.y + self.velocity.y * passed,
        ))
    }

    fn restart(&mut self) {
        self.rng = self.seed.rng();
        self.from = self.start;
        self.began_s = 0.0;
        self.draw();
    }

    /// The leg that begins now.
    fn draw(&mut self) {
        let [slow, fast] = self.speed;
        let speed = slow + (fast - slow) * self.rng.random::<f64>();
        let angle = TAU * self.rng.random::<f64>();
        self.velocity = Position::new(speed * angle.cos(), speed * angle.sin());
        let seconds = match self.leg {
            Leg::Metres(metres) => metres / speed.abs(),
            Leg::Time(time) => time.as_secs_f64(),
        };
        // Whoever does not move has a leg without end.
        let seconds = if seconds.is_nan() { f64::INFINITY } else { seconds.max(MIN_S) };
        self.ends_s = self.began_s + seconds;
    }
}
