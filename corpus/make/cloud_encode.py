"""What a frame of a moving point cloud costs and how it looks: cells, layers, Draco, SSIM.

A frame is cut into four cells of as many points each, first into left and right, then each half into
what is towards the viewer and what is behind: cells 0 and 1 are the left and the right one in front,
2 and 3 those behind them (Octopus, section 6.3 and figure 10). Each cell has five layers, every one a fifth of its points drawn at random and encoded on its own. For
those who do not have layers each cell is encoded whole at five densities, of the same points.
"""

import DracoPy
import numpy as np

from cloud_render import Picture, render, side, ssim_map, windows

CELLS, FRONTS, LAYERS = 4, 2, 5
# Draco: bits of a coordinate within the bounds of what is encoded together, and how hard it tries.
QUANTISER, LEVEL = 11, 7
# Pixels around the cloud that are looked at.
MARGIN = 24


def draco(places, colours):
    """The points as Draco has them, with a kd-tree."""
    return DracoPy.encode(places, colors=colours, quantization_bits=QUANTISER,
                          compression_level=LEVEL)


def cells_of(places, colours):
    """The layers of each cell: by cell, then by layer, places and colours."""
    right = places[:, 0] > np.median(places[:, 0])
    depth = places[:, 2]
    plane = np.where(right, np.median(depth[right]), np.median(depth[~right]))
    number = right.astype(int) + FRONTS * (depth < plane).astype(int)
    cells = []
    for cell in range(CELLS):
        own = number == cell
        # The order of a cloud's points is random.
        cells.append([(places[own][layer::LAYERS], colours[own][layer::LAYERS])
                      for layer in range(LAYERS)])
    return cells


def middle_of(places):
    """The middle of a cloud: what the viewer looks at."""
    return (places.min(axis=0) + places.max(axis=0)) / 2


def joined(layers):
    return tuple(np.concatenate([layer[part] for layer in layers]) for part in (0, 1))


def measure_bytes(places, colours):
    """Of a frame: by cell the bytes of each layer, and of the cell whole at each density."""
    cells = cells_of(places, colours)
    layers = [[len(draco(*layer)) for layer in cell] for cell in cells]
    # A whole cell of one fifth is the first layer.
    whole = [[own[0]] + [len(draco(*joined(cell[:count]))) for count in range(2, LAYERS + 1)]
             for own, cell in zip(layers, cells)]
    return {"layer_bytes": layers, "whole_bytes": whole}


def box_of(picture):
    """The part of a picture in which something is, with a margin."""
    seen = np.isfinite(picture.far)
    lines, columns = np.where(seen.any(axis=1))[0], np.where(seen.any(axis=0))[0]
    return tuple(slice(max(0, where[0] - MARGIN), where[-1] + MARGIN) for where in (lines, columns))


def cut(picture, box):
    part = Picture.__new__(Picture)
    part.luma, part.far = picture.luma[box], picture.far[box]
    return part


class Looks:
    """The pictures of a frame: of its source, and of each cell with each number of layers."""

    def __init__(self, places, colours):
        middle = middle_of(places)
        cells = cells_of(places, colours)
        full = [render(*joined(cell), middle, side(LAYERS, LAYERS)) for cell in cells]
        whole = full[0]
        for other in full[1:]:
            whole = whole.over(other)
        box = box_of(whole)
        self.source = cut(whole, box)
        full = [cut(picture, box) for picture in full]
        # Which pair of cells is seen where.
        near = [np.minimum(full[p].far, full[p + FRONTS].far) for p in range(FRONTS)]
        seen = np.isfinite(self.source.far)
        owner = [seen & (near[0] <= near[1]), seen & (near[1] < near[0])]
        counts = [windows(own.astype(np.float32)) for own in owner]
        self.windows = [(counts[0] >= counts[1]) & (counts[0] > 0), counts[1] > counts[0]]
        self.cells = []
        for cell in cells:
            decoded = []
            for places_, colours_ in cell:
                got = DracoPy.decode(draco(places_, colours_))
                decoded.append((got.points, got.colors))
            pictures = [cut(Picture(), box)]
            for count in range(1, LAYERS + 1):
                points = joined(decoded[:count])
                pictures.append(cut(render(*points, middle, side(count, LAYERS)), box))
            self.cells.append(pictures)

    def pair(self, number, front, behind):
        """The picture of a front cell and the one behind with so many layers each."""
        return self.cells[number][front].over(self.cells[number + FRONTS][behind])

    def ssim(self, picture):
        """Sums of SSIM over each pair's windows."""
        values = ssim_map(self.source.luma, picture.luma)
        return [float(values[own].sum()) for own in self.windows]


def measure_ssim(places, colours):
    """Of a frame, by pair: its windows, and the sums of SSIM over them by layers of the front cell
    and of the one behind, the other pair having all."""
    looks = Looks(places, colours)
    pairs = []
    for number in range(FRONTS):
        rest = looks.pair(1 - number, LAYERS, LAYERS)
        sums = [[looks.ssim(looks.pair(number, front, behind).over(rest))[number]
                 for behind in range(LAYERS + 1)] for front in range(LAYERS + 1)]
        pairs.append({"windows": int(looks.windows[number].sum()), "sums": sums})
    return pairs


def additive_error(places, colours, draws):
    """By how much SSIM of whole pictures differs from what the pairs say alone, at most."""
    looks = Looks(places, colours)
    pairs = measure_ssim(places, colours)
    total = sum(pair["windows"] for pair in pairs)
    worst = 0.0
    for (f0, b0), (f1, b1) in draws:
        whole = sum(looks.ssim(looks.pair(0, f0, b0).over(looks.pair(1, f1, b1)))) / total
        alone = (pairs[0]["sums"][f0][b0] + pairs[1]["sums"][f1][b1]) / total
        worst = max(worst, abs(whole - alone))
    return worst
