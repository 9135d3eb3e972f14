"""Pictures of point clouds, and how alike two are.

The viewer stands 2.5 m in front of the middle of the scene (Octopus, section 6.3) and looks at it
through a picture of 1080 lines that is 60 degrees high. A point is a square whose side is three
pixels where all points of its cell are there, and wider with fewer, so that surfaces stay closed:
by the square root of how many are missing.
"""

import math

import numpy as np

DISTANCE = 2.5
LINES, COLUMNS = 1080, 1920
FOCAL = LINES / 2 / math.tan(math.radians(30))
# Luma of the background, black as in a headset.
BLACK = 16.0
WINDOW, STEP = 8, 4
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def side(layers, of):
    """The side of a point's square, pixels, if `layers` of `of` parts of a cell's points are there."""
    return max(1, round(3 * math.sqrt(of / layers)))


def luma(colours):
    """BT.601, limited range."""
    return 16 + colours.astype(np.float32) @ (np.array([65.738, 129.057, 25.064]) / 256)


class Picture:
    """What is seen of some points: luma and distance of each pixel."""

    def __init__(self):
        self.luma = np.full((LINES, COLUMNS), BLACK, np.float32)
        self.far = np.full((LINES, COLUMNS), np.inf, np.float32)

    def over(self, other):
        """Both together, the nearer in front."""
        both = Picture.__new__(Picture)
        nearer = other.far < self.far
        both.luma = np.where(nearer, other.luma, self.luma)
        both.far = np.minimum(self.far, other.far)
        return both


def render(places, colours, middle, width):
    """The picture of points as squares of `width` pixels; `middle` is what the viewer looks at."""
    picture = Picture()
    if len(places) == 0:
        return picture
    x, y, z = (places[:, axis].astype(np.float32) - middle[axis] for axis in range(3))
    far = DISTANCE - z
    # The farthest first: of several assignments to one pixel the last holds.
    order = np.argsort(-far)
    far, bright = far[order], luma(colours)[order]
    column = np.floor(COLUMNS / 2 + FOCAL * x[order] / far - (width - 1) / 2).astype(int)
    line = np.floor(LINES / 2 - FOCAL * y[order] / far - (width - 1) / 2).astype(int)
    for down in range(width):
        for across in range(width):
            at_line, at_column = line + down, column + across
            fits = (at_line >= 0) & (at_line < LINES) & (at_column >= 0) & (at_column < COLUMNS)
            layer = Picture()
            layer.luma[at_line[fits], at_column[fits]] = bright[fits]
            layer.far[at_line[fits], at_column[fits]] = far[fits]
            picture = picture.over(layer)
    return picture


def windows(values):
    """Sums over windows of 8x8, four samples apart."""
    total = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(np.cumsum(values, 0, dtype=float), 1, out=total[1:, 1:])
    lines = np.arange(0, values.shape[0] - WINDOW + 1, STEP)
    columns = np.arange(0, values.shape[1] - WINDOW + 1, STEP)
    corner = lambda dl, dc: total[np.ix_(lines + dl, columns + dc)]
    return corner(WINDOW, WINDOW) - corner(0, WINDOW) - corner(WINDOW, 0) + corner(0, 0)


def ssim_map(a, b):
    """SSIM of luma in each window, as ffmpeg's filter has it."""
    n = WINDOW * WINDOW
    sa, sb, aa, bb, ab = (windows(v) for v in (a, b, a * a, b * b, a * b))
    va, vb, cov = aa - sa * sa / n, bb - sb * sb / n, ab - sa * sb / n
    light = (2 * sa * sb + C1 * n * n) / (sa * sa + sb * sb + C1 * n * n)
    return light * (2 * cov + C2 * n) / (va + vb + C2 * n)
