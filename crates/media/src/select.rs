//! Drawing the videos of a mix.

use std::sync::Arc;

use airlane_base::{InputError, Seed};
use rand::RngExt;

use crate::corpus::Corpus;
use crate::video::Video;

/// Draws `k` distinct videos uniformly from those with at least `min_chunks` chunks, in the order
/// in which they were drawn (section 8.1.2 of Minerva: "uniformly at random without
/// replacement").
///
/// # Errors
/// If the corpus has fewer than `k` such videos.
pub fn draw(
    corpus: &Corpus,
    k: usize,
    min_chunks: usize,
    seed: Seed,
) -> Result<Vec<Arc<Video>>, InputError> {
    let mut pool = pool(corpus, k, min_chunks)?;
    let mut rng = seed.split("select").rng();
    // The first k steps of a Fisher-Yates shuffle.
    for i in 0..k {
        let j = rng.random_range(i..pool.len());
        pool.swap(i, j);
    }
    Ok(pool.into_iter().take(k).cloned().collect())
}

/// Draws `k` videos uniformly from those with at least `min_chunks` chunks, each from all of them.
///
/// # Errors
/// If the corpus has no such video.
pub fn draw_independent(
    corpus: &Corpus,
    k: usize,
    min_chunks: usize,
    seed: Seed,
) -> Result<Vec<Arc<Video>>, InputError> {
    let pool = pool(corpus, 1, min_chunks)?;
    let mut rng = seed.split("select").rng();
    Ok((0..k).map(|_| pool[rng.random_range(0..pool.len())].clone()).collect())
}

/// The videos that are long enough, at least `k`.
fn pool(corpus: &Corpus, k: usize, min_chunks: usize) -> Result<Vec<&Arc<Video>>, InputError> {
    let pool: Vec<&Arc<Video>> = corpus.videos().filter(|v| v.chunks() >= min_chunks).collect();
    if pool.len() < k {
        return Err(InputError::new(
            format!("{} has {} videos of at least {min_chunks} chunks", corpus.name, pool.len()),
            format!("this draws {k} different ones: expected that many"),
        ));
    }
    Ok(pool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn corpus() -> Corpus {
        let mut videos = synthetic::corpus(6, 60, Seed(1));
        videos.push(synthetic::flat("short", 20, 5e5));
        Corpus::from_videos("test", videos).unwrap()
    }

    #[test]
    fn draws_are_distinct_long_enough_repeatable_and_uniform() {
        let c = corpus();
        let mut counts = [0u32; 7];
        for i in 0..3000 {
            let mix = draw(&c, 4, 50, Seed(9).index(i)).unwrap();
            assert_eq!(mix, draw(&c, 4, 50, Seed(9).index(i)).unwrap());
            for (n, v) in mix.iter().enumerate() {
                assert!(mix[..n].iter().all(|w| w.name != v.name));
                counts[c.videos().position(|w| w.name == v.name).unwrap()] += 1;
            }
        }
        assert_eq!(counts[6], 0, "the short one");
        assert!(counts[..6].iter().all(|n| (1900..2100).contains(n)), "{counts:?}");
    }

    #[test]
    fn too_few_long_videos_are_an_error() {
        assert_eq!(
            draw(&corpus(), 7, 50, Seed(0)).unwrap_err().to_string(),
            "test has 6 videos of at least 50 chunks; this draws 7 different ones: expected that \
             many"
        );
    }
}
