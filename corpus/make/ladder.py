"""The ladder: what every video is cut into and at which rates."""

from dataclasses import dataclass

FPS = 24
CHUNK_S = 4.0
CHUNK_FRAMES = 96  # FPS * CHUNK_S
DISTINCT_CHUNKS = 25  # really encoded and measured
TABLE_CHUNKS = 75  # the 25, three times over
REF_WIDTH, REF_HEIGHT = 1280, 720

# Every eleventh frame is scored, eight or nine per chunk. Eleven shares no factor
# with 96 or with x264's mini-GoP of four, so P and B frames are sampled in
# proportion; every eighth would land on the better P frames (+1.5 VMAF points).
SCORE_EVERY = 11


@dataclass(frozen=True)
class Rung:
    kbps: int
    width: int
    height: int

    @property
    def name(self):
        return f"{self.height}p-{self.kbps}k"

    @property
    def bps(self):
        return self.kbps * 1000


RUNGS = (
    Rung(300, 384, 216),
    Rung(550, 512, 288),
    Rung(1000, 640, 360),
    Rung(1600, 768, 432),
    Rung(2500, 960, 540),
    Rung(3600, 1280, 720),
    Rung(5000, 1280, 720),
    Rung(6500, 1280, 720),
)

# The two rungs that the spread is fitted and checked on; run first.
PILOT_RUNGS = tuple(r for r in RUNGS if r.kbps in (1000, 2500))
