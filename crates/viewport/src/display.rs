//! What a display shows where a tile is missing.

/// Replacement of a missing tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concealment {
    /// The tile's place as the display showed it in the previous GoP; mid-grey before the first.
    #[default]
    Previous,
    /// Mid-grey (128).
    Grey,
}

/// Error of a tile in a GoP when it is missing. Both are mean squared errors against the
/// original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileContent {
    /// Of the last picture of the previous GoP's original in its place, standing still.
    pub change_mse: f64,
    /// Of mid-grey in its place.
    pub grey_mse: f64,
}

/// Display of tiles, GoP after GoP: the error of what each tile shows.
///
/// The model of a previous tile: the change of the content and the coding error of what is still
/// shown are uncorrelated, so their squares add up: `MSE = change + MSE shown before`. That grows
/// with every GoP in a row that is missing, but two pictures with no relation at all differ by no
/// more than twice what each differs from mid-grey if their brightness is alike; so `2 * grey_mse`
/// is its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Display {
    concealment: Concealment,
    /// `None` where nothing has been shown.
    shown: Vec<Option<f64>>,
}

impl Display {
    /// A display of so many tiles that has shown nothing.
    pub fn new(tiles: usize, concealment: Concealment) -> Self {
        Self { concealment, shown: vec![None; tiles] }
    }

    /// The mean squared error of a tile if it is missing in the GoP to come: Dmiss.
    pub fn missing(&self, tile: usize, content: TileContent) -> f64 {
        match (self.concealment, self.shown[tile]) {
            (Concealment::Previous, Some(before)) => {
                (content.change_mse + before).min(2.0 * content.grey_mse)
            }
            _ => content.grey_mse,
        }
    }

    /// A GoP is over: for each tile its content, and the mean squared error of what arrived, `None`
    /// if it is missing. Returns the mean squared error that each tile shows.
    ///
    /// # Panics
    /// If there are not as many tiles as the display has.
    pub fn show(&mut self, gop: &[(TileContent, Option<f64>)]) -> Vec<f64> {
        assert_eq!(gop.len(), self.shown.len(), "one entry per tile");
        let now: Vec<f64> = gop
            .iter()
            .enumerate()
            .map(|(tile, &(content, mse))| mse.unwrap_or_else(|| self.missing(tile, content)))
            .collect();
        for (shown, (&(_, mse), &now)) in self.shown.iter_mut().zip(gop.iter().zip(&now)) {
            // Mid-grey stays mid-grey, until a tile arrives.
            if mse.is_some() || shown.is_some() {
                *shown = Some(now);
            }
        }
        now
    }
}
