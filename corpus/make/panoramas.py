"""Four 360-degree videos of our own, drawn on the sphere from a seed.

Each video is one kind of scene in several shots, which differ in what is where
and in how much of it moves. A frame is a function of the video and its number
alone, so that any part can be drawn again. Panoramas are equirectangular:
longitude -pi at the left edge, latitude pi/2 at the top. Luma is drawn; chroma
follows from it.
"""

from functools import cache

import numpy as np

WIDTH, HEIGHT, FPS = 1536, 768, 30
SEED = 360


def rng(*names):
    """A generator of its own for each name, free of the order of use."""
    words = [int.from_bytes(str(name).encode().ljust(8, b"\0")[:8], "little") for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([SEED, *words])))


def _axes():
    longitude = ((np.arange(WIDTH) + 0.5) / WIDTH * 2 - 1) * np.pi
    latitude = (0.5 - (np.arange(HEIGHT) + 0.5) / HEIGHT) * np.pi
    return longitude.astype(np.float32), latitude.astype(np.float32)


LONGITUDE, LATITUDE = _axes()
DIRECTIONS = np.stack(np.broadcast_arrays(
    np.cos(LATITUDE)[:, None] * np.cos(LONGITUDE), np.cos(LATITUDE)[:, None] * np.sin(LONGITUDE),
    np.sin(LATITUDE)[:, None]), axis=-1).astype(np.float32)


def sphere_noise(generator, finest, octaves=7, fall=0.6):
    """Noise on the sphere without a seam: octaves of 3-D value noise, mean 0, deviation 1.

    `finest` is the number of grains of the finest octave along the sphere's radius; each finer
    octave is `fall` times as strong as the one before.
    """
    size = 48
    total = np.zeros((HEIGHT, WIDTH), np.float32)
    for octave in range(octaves):
        lattice = generator.standard_normal((size, size, size)).astype(np.float32)
        at = DIRECTIONS * (finest / 2 ** (octaves - 1 - octave)) + 1000.5
        low = np.floor(at).astype(np.int32)
        part = at - low
        part = part * part * (3 - 2 * part)
        value = 0
        for corner in np.ndindex(2, 2, 2):
            index = [(low[..., i] + corner[i]) % size for i in range(3)]
            weight = np.prod([part[..., i] if corner[i] else 1 - part[..., i] for i in range(3)],
                             axis=0)
            value = value + weight * lattice[tuple(index)]
        total += fall ** octave * value
    return (total - total.mean()) / total.std()


def plane_noise(generator, side=1024, octaves=8, fall=0.65):
    """A square texture that repeats without a seam, mean 0, deviation 1.

    Octaves have equal energy with a `fall` of 1; with less, the finer ones have less.
    """
    frequency = np.fft.fftfreq(side) * side
    radius = np.hypot(frequency[:, None], frequency[None, :])
    radius[0, 0] = 1
    spectrum = np.fft.fft2(generator.standard_normal((side, side)))
    slope = -1 - np.log2(1 / fall)
    spectrum *= radius ** slope * (radius < 2 ** octaves)
    spectrum[0, 0] = 0
    texture = np.fft.ifft2(spectrum).real
    return (texture / texture.std()).astype(np.float32)


def sample(texture, x, y):
    """Bilinear samples of a repeating texture at coordinates in its pixels."""
    side = texture.shape[0]
    left, top = np.floor(x).astype(np.int32), np.floor(y).astype(np.int32)
    fx, fy = x - left, y - top
    l, t = left % side, top % side
    r, b = (l + 1) % side, (t + 1) % side
    upper = texture[t, l] * (1 - fx) + texture[t, r] * fx
    return upper * (1 - fy) + (texture[b, l] * (1 - fx) + texture[b, r] * fx) * fy


class Ground:
    """A plane below the eye: where each pixel of the lower half meets it."""

    def __init__(self, height, scale):
        below = LATITUDE < -0.02
        self.first = int(np.argmax(below))
        down = DIRECTIONS[self.first:]
        reach = height / -down[..., 2]
        self.x, self.y = (reach * down[..., 0] * scale), (reach * down[..., 1] * scale)
        # Far away a pixel covers many grains: they average out.
        spread = reach / -down[..., 2] * scale * np.pi / HEIGHT
        self.fade = np.minimum(1, 3 / np.maximum(spread, 1e-3)).astype(np.float32)

    def draw(self, texture, dx, dy, stretch=1.0):
        return self.fade * sample(texture, (self.x + dx) * stretch, (self.y + dy) * stretch)


class Walker:
    """A textured figure that moves along a circle of latitude and bobs."""

    def __init__(self, generator, low, high, speed, size):
        self.longitude = generator.uniform(-np.pi, np.pi)
        self.latitude = generator.uniform(low, high)
        self.speed = generator.choice([-1, 1]) * generator.uniform(0.3, 1) * speed
        self.height = size * generator.uniform(0.6, 1.4)
        self.width = self.height * generator.uniform(0.3, 0.6)
        self.level = generator.uniform(40, 200)
        self.contrast = generator.uniform(15, 45)
        self.phase = generator.uniform(0, 2 * np.pi)
        self.grain = plane_noise(generator, 128, 6, 0.8)

    def draw(self, luma, t):
        latitude = self.latitude + 0.06 * self.height * np.sin(7 * t + self.phase)
        top = int((0.5 - (latitude + self.height / 2) / np.pi) * HEIGHT)
        tall = int(self.height / np.pi * HEIGHT)
        wide = max(4, int(self.width / np.cos(latitude) / (2 * np.pi) * WIDTH))
        middle = ((self.longitude + self.speed * t + np.pi) / (2 * np.pi) * WIDTH) % WIDTH
        start = int(np.floor(middle - wide / 2))
        rows = np.arange(max(0, top), min(HEIGHT, top + tall))
        if rows.size == 0:
            return
        columns = np.arange(start, start + wide + 1)
        v = (rows - top) / tall
        u = (columns - (middle - wide / 2)) / wide
        # Legs that swing: the lower half of the figure sways with its steps.
        sway = 0.25 * np.sin(7 * t + self.phase) * np.maximum(0, v - 0.5)
        across = u[None, :] * 2 - 1 + sway[:, None]
        inside = np.clip((1 - across ** 2 - (2 * v[:, None] - 1) ** 4) * 8, 0, 1)
        skin = self.level + self.contrast * sample(
            self.grain, u[None, :] * 100 + sway[:, None] * 60, np.broadcast_to(
                v[:, None] * 120, inside.shape))
        place = np.ix_(rows, columns % WIDTH)
        luma[place] += inside * (skin - luma[place])


class Scene:
    """What the shots of all videos share: grain, chroma and rounding to 8 bits."""

    name, title, grain = "", "", 1.0
    # First frame of each shot, and how lively it is: motion, detail and figures beside the mean.
    shots = ()

    def __init__(self, shot):
        self.vigour = self.shots[shot][1]
        self.generator = rng(self.name, f"shot {shot}")
        generator = rng(self.name, f"hue {shot}")
        self.hue = [sphere_noise(generator, 6, 3)[::2, ::2] * 8 for _ in range(2)]
        self.tint = generator.uniform(-0.35, 0.35, 2)

    def luma(self, t):
        raise NotImplementedError

    def frame(self, number):
        """The planes Y, U and V of a frame of the video, 4:2:0."""
        luma = self.luma(number / FPS)
        noise = rng(self.name, "grain", number).standard_normal(luma.shape, np.float32)
        luma = np.clip(luma + self.grain * noise, 16, 235)
        small = (luma[::2, ::2] + luma[1::2, ::2] + luma[::2, 1::2] + luma[1::2, 1::2]) / 4
        chroma = [np.clip(128 + hue + tint * (small - 110), 16, 240)
                  for hue, tint in zip(self.hue, self.tint)]
        return [np.rint(plane).astype(np.uint8) for plane in (luma, *chroma)]


class Coast(Scene):
    """Calm: a sky with slow clouds over moving water."""

    name, title, grain = "coast", "Sky and water", 0.6
    shots = ((0, 0.7), (165, 1.5), (300, 0.4), (450, 1.0))

    def __init__(self, shot):
        super().__init__(shot)
        generator = self.generator
        self.clouds = np.maximum(0, sphere_noise(generator, 24 * self.vigour, 5))
        self.water = plane_noise(generator, 1024, 9, 0.9)
        self.swell = plane_noise(generator, 1024, 5, 0.5)
        self.ground = Ground(2.0, 60)

    def luma(self, t):
        shift = 1.5 * t
        whole = int(np.floor(shift))
        part = shift - whole
        clouds = (1 - part) * np.roll(self.clouds, whole, 1) + part * np.roll(
            self.clouds, whole + 1, 1)
        luma = 150 + 40 * np.sin(np.maximum(LATITUDE, 0))[:, None] + 22 * clouds
        sea = self.ground
        waves = sea.draw(self.water, 28 * t, 10 * t) + sea.draw(self.water, -18 * t, 22 * t + 300)
        swell = sea.draw(self.swell, 40 * t, 8 * t, 0.4)
        luma[sea.first:] = 95 + 14 * self.vigour * waves + 16 * swell
        return luma


class Stage(Scene):
    """One busy place in a dark hall: nearly all motion is in front."""

    name, title, grain = "stage", "Concert hall", 1.2
    shots = ((0, 0.5), (120, 1.0), (285, 1.8), (480, 0.7))

    def __init__(self, shot):
        super().__init__(shot)
        generator = self.generator
        self.hall = 42 + 9 * sphere_noise(generator, 90, 7, 0.7)
        self.crowd = 14 * self.vigour * sphere_noise(generator, 160, 4, 0.9)
        self.place = np.exp(-(LONGITUDE / 0.75) ** 4)[None, :] * np.exp(
            -((LATITUDE - 0.05) / 0.45) ** 4)[:, None]
        self.set = sphere_noise(generator, 120, 6, 0.8)
        count = round(6 * self.vigour)
        self.players = [Walker(generator, -0.2, 0.05, 0.0, 0.45) for _ in range(count)]
        for number, player in enumerate(self.players):
            player.longitude = 1.4 * ((number + 0.5) / count - 0.5)
        self.sway = generator.uniform(0.5, 2.0, count)

    def luma(self, t):
        light = 0.75 + 0.25 * self.vigour * np.sin(2.1 * t) * np.sin(5.3 * t + 1)
        beam = np.exp(-((LONGITUDE - 0.6 * np.sin(0.9 * t)) / 0.22) ** 2)[None, :]
        luma = self.hall + self.place * (light * (60 + 25 * self.set) + 50 * beam)
        audience = ((LATITUDE < -0.35) & (LATITUDE > -0.9))[:, None]
        luma += audience * self.crowd * (1 + 0.4 * np.sin(4 * t + 9 * LONGITUDE))[None, :]
        for player, sway in zip(self.players, self.sway):
            home = player.longitude
            player.longitude = home + 0.08 * np.sin(sway * t + player.phase)
            player.draw(luma, t)
            player.longitude = home
        return luma


class Street(Scene):
    """Facades all around, full of detail, and figures that pass at all speeds."""

    name, title, grain = "street", "Street corner", 1.0
    shots = ((0, 1.0), (180, 0.4), (315, 1.7), (480, 0.8))

    def __init__(self, shot):
        super().__init__(shot)
        generator = self.generator
        wall = 118 + 16 * sphere_noise(generator, 180, 7, 0.75)
        houses = generator.uniform(0.35, 0.85, 18)
        tone = generator.uniform(-45, 45, 18)
        house = ((LONGITUDE + np.pi) / (2 * np.pi) * 18).astype(int) % 18
        roof = houses[house]
        up = np.tan(np.clip(LATITUDE, -1.4, 1.4))[:, None] * 6
        across = (LONGITUDE + np.pi)[None, :] * 18
        window = ((up % 1 > 0.35) & (across % 1 > 0.4)) * generator.uniform(20, 60)
        wall = wall + tone[house][None, :] - window
        sky = 200 + 25 * np.sin(LATITUDE)[:, None] + 4 * sphere_noise(generator, 12, 4)
        self.still = np.where(LATITUDE[:, None] > roof[None, :], sky, wall).astype(np.float32)
        self.ground = Ground(1.7, 130)
        stones = plane_noise(generator, 1024, 9, 1.0)
        self.still[self.ground.first:] = 100 + 24 * self.ground.draw(stones, 0, 0)
        self.people = [Walker(generator, -0.35, -0.05, 0.5, 0.4)
                       for _ in range(round(24 * self.vigour))]
        self.cars = [Walker(generator, -0.3, -0.15, 1.6, 0.3)
                     for _ in range(round(6 * self.vigour))]
        for car in self.cars:
            car.width = 2.2 * car.height

    def luma(self, t):
        luma = self.still.copy()
        for figure in sorted(self.people + self.cars, key=lambda f: -f.latitude):
            figure.draw(luma, t)
        return luma


class Ride(Scene):
    """Fast flight over rough ground with a camera that sways: motion everywhere."""

    name, title, grain = "ride", "Low flight", 1.6
    shots = ((0, 0.8), (150, 1.4), (345, 0.3), (450, 1.0))

    def __init__(self, shot):
        super().__init__(shot)
        generator = self.generator
        self.sky = 175 + 30 * np.maximum(0, sphere_noise(generator, 40, 6, 0.65))
        self.rock = plane_noise(generator, 1024, 9, 1.0)
        self.field = plane_noise(generator, 1024, 5, 0.5)
        self.ground = Ground(1.0, 200)
        peaks = generator.uniform(0, 1, 40)
        self.hills = 0.06 + 0.05 * np.interp(
            np.arange(WIDTH), np.linspace(0, WIDTH, 41), np.append(peaks, peaks[0]))

    def luma(self, t):
        ground = self.ground
        luma = np.where(LATITUDE[:, None] < self.hills[None, :], 88, self.sky).astype(np.float32)
        # The integral of a speed that swings between 35 and 85 grains of four pixels a second.
        way = 4 * self.vigour * (60 * t - 62.5 * (np.cos(0.4 * t) - 1))
        turn = 160 * np.sin(0.3 * t)
        rock = ground.draw(self.rock, way, turn)
        field = ground.draw(self.field, way, turn, 0.25)
        luma[ground.first:] = 96 + 30 * min(1, self.vigour) * rock + 22 * field
        return np.roll(luma, int(np.rint(18 * np.sin(0.8 * t) + 9 * np.sin(1.9 * t))), 1)


VIDEOS = (Coast, Stage, Street, Ride)


@cache
def _shot(video, shot):
    return video(shot)


def frame(video, number):
    """The planes Y, U and V of a frame of one of the videos."""
    shot = max(n for n, (first, _) in enumerate(video.shots) if first <= number)
    return _shot(video, shot).frame(number)
