"""Moving point clouds: three clips, drawn from a seed, with nothing of others in them.

A scene is a set of bodies (ends of bones with a radius each, and balls) that move. Every frame is
captured anew, as cameras do: points fall on the surfaces at random, with the noise of a depth
camera, and have the colour of what they fell on. Axes: x to the right, y up, z towards the viewer;
metres. The viewer stands still (`cloud_render.py`).
"""

import math

import numpy as np

SEED = 61
FPS = 20
FRAMES = 200
# Noise of a point's place, m, and of its colour, of 255.
DEPTH_NOISE = 0.0008
COLOUR_NOISE = 5.0
# Where light comes from.
LIGHT = np.array([0.35, 0.65, 0.68])


class Bone:
    """A round body between two places, with a radius at each end."""

    def __init__(self, a, b, ra, rb, paint, flat=1.0):
        self.a, self.b = np.asarray(a, float), np.asarray(b, float)
        self.ra, self.rb, self.paint, self.flat = ra, rb, paint, flat

    def area(self):
        length = np.linalg.norm(self.b - self.a)
        return math.pi * (self.ra + self.rb) * length + 2 * math.pi * (self.ra**2 + self.rb**2)

    def points(self, count, rng):
        """Places, normals, and coordinates on the surface in metres, of `count` points."""
        axis = self.b - self.a
        length = max(np.linalg.norm(axis), 1e-9)
        axis = axis / length
        side = np.cross(axis, [0.0, 0.0, 1.0])
        if np.linalg.norm(side) < 1e-3:
            side = np.cross(axis, [1.0, 0.0, 0.0])
        side /= np.linalg.norm(side)
        depth = np.cross(side, axis)
        # Along the axis the ends are half balls.
        total = length + self.ra + self.rb
        s = rng.uniform(-self.ra, length + self.rb, count)
        turn = rng.uniform(-math.pi, math.pi, count)
        inside = np.clip(s, 0, length)
        radius = self.ra + (self.rb - self.ra) * inside / length
        over = s - inside
        ring = np.sqrt(np.maximum(radius**2 - over**2, 0))
        normal = (np.cos(turn) * ring)[:, None] * depth + (np.sin(turn) * ring)[:, None] * side
        normal += over[:, None] * axis
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
        out = (np.cos(turn) * ring)[:, None] * depth * self.flat
        out += (np.sin(turn) * ring)[:, None] * side
        place = self.a + s[:, None] * axis + out
        return place, normal, s + 0.5 * total, turn * radius


def mix(a, b, share):
    """Of two colours, `share` of the second."""
    return np.asarray(a, float) + np.asarray(share, float)[:, None] * (np.asarray(b, float) - a)


def grain(u, v, scale):
    """A pattern that does not repeat soon, 0 to 1: sums of waves in several directions."""
    waves = ((1.0, 0.3, 0.1), (-0.4, 1.3, 1.7), (2.1, 1.1, 0.6), (1.7, -2.3, 2.9), (3.9, 2.7, 4.1))
    total = sum(np.sin(scale * (a * u + b * v) + c) / (i + 1)
                for i, (a, b, c) in enumerate(waves))
    return np.clip(0.5 + 0.25 * total, 0, 1)


def plain(base, other, scale=90.0):
    """Cloth: one colour with a weave."""
    return lambda u, v: mix(base, other, grain(u, v, scale))


def stripes(base, other, width):
    """Cloth with stripes around the body."""
    def paint(u, v):
        edge = np.clip(6 * np.sin(2 * math.pi * u / width) + 0.5, 0, 1)
        return mix(base, other, edge) + 22 * (grain(u, v, 150)[:, None] - 0.5)
    return paint


def checks(base, other, width):
    """Cloth with squares."""
    def paint(u, v):
        square = np.sin(2 * math.pi * u / width) * np.sin(2 * math.pi * v / width)
        return mix(base, other, np.clip(8 * square + 0.5, 0, 1)) + 18 * (
            grain(u, v, 170)[:, None] - 0.5)
    return paint


SKIN = plain((226, 176, 146), (196, 140, 112), 60)
HAIR = plain((60, 38, 26), (112, 74, 46), 320)
SHOE = plain((40, 40, 46), (86, 86, 92), 120)


def limb(start, lengths, angles, radii, paints):
    """Bones one after the other from `start`, each at an angle from straight down (sideways, then
    towards the viewer). Gives the bones and where the last one ends."""
    bones, at = [], np.asarray(start, float)
    for length, (sideways, forward), (ra, rb), paint in zip(lengths, angles, radii, paints):
        way = np.array([math.sin(sideways) * math.cos(forward),
                        -math.cos(sideways) * math.cos(forward), math.sin(forward)])
        end = at + length * way
        bones.append(Bone(at, end, ra, rb, paint))
        at = end
    return bones, at


def head(at, lean, paint_hair=HAIR, scale=1.0, mouth=0.0):
    """A head on its neck, its face towards the viewer."""
    x, y, z = at
    up = np.array([math.sin(lean), math.cos(lean), 0.05])
    centre = np.array([x, y, z]) + 0.16 * scale * up
    bones = [Bone(at, centre, 0.055 * scale, 0.06 * scale, SKIN),
             Bone(centre - 0.035 * scale * up, centre + 0.045 * scale * up, 0.075 * scale,
                  0.088 * scale, SKIN),
             Bone(centre + 0.06 * scale * up + [0, 0, -0.025 * scale],
                  centre + 0.005 * scale * up + [0, 0, -0.05 * scale], 0.09 * scale,
                  0.085 * scale, paint_hair)]
    front = np.array([0, 0, 0.083 * scale])
    right = np.array([math.cos(lean), -math.sin(lean), 0])
    for sign in (-1, 1):
        eye = centre + front + 0.03 * scale * sign * right + 0.02 * scale * up
        dark = plain((34, 52, 66), (24, 30, 40))
        bones.append(Bone(eye, eye + [0, 0, 0.002], 0.012 * scale, 0.011 * scale, dark))
        ear = centre + 0.086 * scale * sign * right
        bones.append(Bone(ear, ear + 0.02 * scale * up, 0.016 * scale, 0.018 * scale, SKIN))
    nose = centre + front - 0.004 * scale * up
    bones.append(Bone(nose, nose + [0, 0, 0.014 * scale], 0.011 * scale, 0.009 * scale, SKIN))
    lip = centre + front - (0.045 + 0.012 * mouth) * scale * up
    red = plain((172, 60, 66), (130, 36, 46))
    width = (0.024 - 0.008 * mouth) * scale
    bones.append(Bone(lip - width * right, lip + width * right, (0.006 + 0.010 * mouth) * scale,
                      (0.006 + 0.010 * mouth) * scale, red))
    return bones


def person(hip, lean, arms, legs, clothes, turn=0.0, mouth=0.0):
    """Somebody who stands: `arms` and `legs` are angles of upper and lower part, left and right."""
    top, trousers, sleeve = clothes
    hip = np.asarray(hip, float)
    up = np.array([math.sin(lean), math.cos(lean), 0.0])
    across = np.array([math.cos(turn), -math.sin(lean), math.sin(turn)])
    chest, neck = hip + 0.3 * up, hip + 0.52 * up
    bones = [Bone(hip, chest, 0.15, 0.165, top, 0.72), Bone(chest, neck - 0.08 * up, 0.165, 0.13,
                                                         top, 0.72)]
    for sign, arm, leg in ((-1, *[p[0] for p in (arms, legs)]), (1, *[p[1] for p in (arms, legs)])):
        shoulder = neck - 0.06 * up + 0.18 * sign * across
        part, hand = limb(shoulder, (0.29, 0.26), arm, ((0.058, 0.046), (0.045, 0.033)),
                          (sleeve, SKIN))
        bones += part + [Bone(hand, hand + 0.02 * up, 0.042, 0.036, SKIN)]
        joint = hip + 0.09 * sign * across - 0.05 * up
        part, foot = limb(joint, (0.42, 0.42), leg, ((0.092, 0.065), (0.062, 0.042)),
                          (trousers, trousers))
        bones += part + [Bone(foot, foot + [0.02 * sign, -0.02, 0.15], 0.05, 0.04, SHOE)]
    return bones + head(neck, lean * 0.6, mouth=mouth)


class Dancer:
    """Somebody who dances on the spot, turning and swinging."""

    name, title, points = "dancer", "A dancer in a striped dress", 205_000
    height = 1.75

    @staticmethod
    def bodies(t):
        beat = 2 * math.pi * t
        sway = 0.16 * math.sin(0.5 * beat)
        hip = (0.12 * math.sin(0.25 * beat), 0.93 + 0.03 * math.cos(beat), 0.06 * math.sin(
            0.35 * beat))
        swing = math.sin(0.5 * beat)
        other = math.sin(0.5 * beat + 1.9)
        arms = (((-0.9 - 0.9 * swing, 0.5 * other), (-1.5 - 1.1 * swing, 0.7)),
                ((0.9 + 0.9 * other, 0.5 * swing), (1.6 + 1.0 * other, 0.5 * swing)))
        legs = (((-0.14 - 0.16 * swing, 0.35 * other), (-0.1, -0.25 - 0.2 * other)),
                ((0.14 + 0.16 * other, 0.35 * swing), (0.1, -0.25 - 0.2 * swing)))
        dress = stripes((206, 44, 74), (244, 226, 206), 0.07)
        bones = person(hip, sway, arms, legs, (dress, plain((66, 60, 96), (40, 36, 62)), dress),
                       turn=0.5 * math.sin(0.3 * beat))
        # The skirt swings out as the dancer turns.
        hem = np.array(hip) + [0.1 * swing, -0.42, 0.05 * other]
        return bones + [Bone(hip, hem, 0.16, 0.26 + 0.03 * swing, dress, 0.85)]


class Bust:
    """Somebody who talks: head, shoulders and a hand, life-size."""

    name, title, points = "bust", "A speaker, head and shoulders", 100_000
    height = 0.75

    @staticmethod
    def bodies(t):
        nod = 0.07 * math.sin(2.3 * t) + 0.05 * math.sin(5.1 * t)
        mouth = 0.5 + 0.5 * math.sin(9 * t) * math.sin(1.3 * t)
        shirt = checks((52, 92, 140), (214, 224, 236), 0.05)
        low = np.array([0.02 * math.sin(0.9 * t), 0.0, 0.0])
        chest = low + [0, 0.26, 0]
        bones = [Bone(low, chest, 0.17, 0.175, shirt, 0.7),
                 Bone(chest + [-0.14, 0.07, 0], chest + [0.14, 0.07, 0], 0.1, 0.1, shirt, 0.8)]
        for sign in (-1, 1):
            lift = 0.5 + 0.5 * math.sin(1.7 * t + sign)
            arm = ((sign * 0.35, 0.1), (-sign * (0.4 + 0.3 * lift), 0.9 + 0.4 * lift))
            part, hand = limb(chest + [sign * 0.22, 0.06, 0.0], (0.22, 0.2), arm,
                              ((0.062, 0.05), (0.046, 0.034)), (shirt, SKIN))
            bones += part
            for finger in range(4):
                tip = hand + [sign * (0.012 * finger - 0.02), 0.07, 0.02 + 0.01 * lift * finger]
                bones.append(Bone(hand, tip, 0.014, 0.009, SKIN))
        return bones + head(chest + [0, 0.17, 0], nod, mouth=mouth, scale=1.15)


class Players:
    """Two who throw a ball to each other."""

    name, title, points = "players", "Two players and a ball", 150_000
    height = 1.8

    @staticmethod
    def bodies(t):
        # A throw takes 1.2 s; it goes to and fro.
        throw, phase = divmod(t, 1.2)
        phase /= 1.2
        side = 1 if int(throw) % 2 == 0 else -1
        bones = []
        for sign, dress in ((-1, (checks((40, 120, 70), (232, 226, 120), 0.09),
                                  plain((40, 44, 60), (70, 76, 96)))),
                            (1, (stripes((240, 240, 240), (30, 60, 160), 0.08),
                                 plain((150, 120, 86), (116, 90, 60))))):
            throws = side == -sign
            reach = math.exp(-((phase if throws else 1 - phase) / 0.25) ** 2)
            bend = 0.04 * math.sin(4 * t + sign)
            inner = (-sign * (0.3 + 1.1 * reach), 0.3 + 0.3 * reach)
            outer = (sign * 0.25, 0.3 + 0.4 * reach)
            arms = [(outer, (sign * 0.1, 0.8)), (inner, (-sign * (0.5 + 1.0 * reach), 0.5))]
            legs = [((-0.12, 0.08 * bend), (-0.08, -0.1)), ((0.12, -0.2 * reach), (0.1, -0.2))]
            arms = arms[::-1] if sign > 0 else arms
            bones += person((sign * 0.48, 0.9 + 0.02 * math.cos(5 * t), 0.05 * sign + bend),
                            -0.12 * sign * reach, arms, legs, (*dress, dress[0]),
                            turn=0.25 * sign)
        at = np.array([side * (0.3 * (2 * phase - 1)), 1.15 + 0.5 * 4 * phase * (1 - phase) * 0.45,
                       0.28])
        ball = checks((238, 130, 30), (60, 30, 20), 0.1)
        return bones + [Bone(at, at + [0, 0.002, 0], 0.115, 0.115, ball)]


CLIPS = (Dancer, Bust, Players)


def capture(clip, number):
    """The cloud of a frame: places in metres, colours of 0 to 255; the order of points is random."""
    rng = np.random.default_rng([SEED, CLIPS.index(clip), number])
    bodies = clip.bodies(number / FPS)
    areas = np.array([body.area() for body in bodies])
    counts = np.maximum((clip.points * areas / areas.sum()).astype(int), 20)
    places, colours = [], []
    for body, count in zip(bodies, counts):
        place, normal, u, v = body.points(count, rng)
        shade = 0.55 + 0.45 * np.clip(normal @ LIGHT, -0.4, 1)
        places.append(place + normal * rng.normal(0, DEPTH_NOISE, (count, 1)))
        colours.append(body.paint(u, v) * shade[:, None] + rng.normal(0, COLOUR_NOISE, (count, 3)))
    order = rng.permutation(counts.sum())
    places = np.concatenate(places)[order].astype(np.float32)
    return places, np.clip(np.concatenate(colours)[order], 0, 255).astype(np.uint8)
