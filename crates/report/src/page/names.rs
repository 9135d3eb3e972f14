//! Who is who in a section: the order of schemes and actors gives colours and marks.

use crate::model::{Scheme, Section};

/// Colours of actors that differ; further ones repeat them with another dash.
pub const ACTOR_COLOURS: usize = 8;

/// Marks (colours with shapes) of schemes that differ.
const SCHEME_MARKS: usize = 6;

/// The schemes and actors of a section, in order.
pub struct Names {
    /// The schemes listed, and then those that are only mentioned.
    pub schemes: Vec<Scheme>,
    /// Names of actors.
    pub actors: Vec<String>,
    /// Description of each actor.
    pub details: Vec<String>,
}

impl Names {
    /// Collects them.
    pub fn of(section: &Section) -> Self {
        let mut names =
            Self { schemes: section.schemes.clone(), actors: Vec::new(), details: Vec::new() };
        for run in &section.runs {
            names.mention_scheme(&run.scheme);
            for actor in &run.actors {
                names.mention_actor(&actor.name, &actor.detail);
            }
        }
        for row in section.dots.iter().flat_map(|d| &d.rows) {
            names.mention_scheme(&row.scheme);
            for dot in &row.dots {
                names.mention_actor(&dot.actor, "");
            }
        }
        for point in section.tradeoffs.iter().flat_map(|t| &t.points) {
            names.mention_scheme(&point.scheme);
        }
        for mark in section.multiples.iter().flat_map(|m| &m.panels).flat_map(|p| &p.marks) {
            names.mention_scheme(&mark.scheme);
        }
        for mark in section.curves.iter().flat_map(|g| &g.charts).flat_map(|c| &c.marks) {
            names.mention_scheme(&mark.scheme);
        }
        for line in section.cdfs.iter().flat_map(|c| &c.lines) {
            names.mention_scheme(&line.scheme);
        }
        names
    }

    fn mention_scheme(&mut self, id: &str) {
        if !self.schemes.iter().any(|s| s.id == id) {
            self.schemes.push(Scheme::new(id, id, ""));
        }
    }

    fn mention_actor(&mut self, name: &str, detail: &str) {
        if !self.actors.iter().any(|a| a == name) {
            self.actors.push(name.to_owned());
            self.details.push(detail.to_owned());
        }
    }

    /// Position of a scheme; every scheme that the section mentions has one.
    pub fn scheme(&self, id: &str) -> usize {
        self.schemes.iter().position(|s| s.id == id).unwrap_or(0)
    }

    /// The mark of the scheme at a position: baselines come first, and the last scheme always has
    /// the mark that stands out.
    pub fn mark(&self, scheme: usize) -> usize {
        const STANDS_OUT: usize = 2;
        let last = self.schemes.len().saturating_sub(1);
        match scheme {
            0 => 0,
            s if s == last => STANDS_OUT,
            1 => 1,
            s => 3 + (s - 2) % (SCHEME_MARKS - 3),
        }
    }

    /// The form of an actor's name beside its figures: the last word, where no other name ends in
    /// it.
    pub fn brief(&self, name: &str) -> String {
        fn last(name: &str) -> &str {
            name.split_whitespace().last().unwrap_or("")
        }
        match self.actors.iter().filter(|a| last(a) == last(name)).count() {
            0 | 1 => last(name).to_owned(),
            _ => name.to_owned(),
        }
    }

    /// Position of an actor, `None` for a name that no run and no dot has.
    pub fn actor(&self, name: &str) -> Option<usize> {
        self.actors.iter().position(|a| a == name)
    }
}

/// The short form of an actor's name, for a dot: the first characters of its last word.
pub fn short(name: &str) -> String {
    name.split_whitespace().last().unwrap_or("").chars().take(2).collect()
}
