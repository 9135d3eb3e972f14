"""Tests of the 360-degree content: python3 -m unittest, in this folder.

What draws needs numpy, what encodes the ffmpeg that made the tables; tests say what they leave out.
"""

import gzip
import json
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import describe_tiles

try:
    import numpy as np

    import make_tiles
    import panoramas
    import tile_encode
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(f"needs {missing.name}") from missing


class Panoramas(unittest.TestCase):
    def test_a_frame_depends_on_its_number_alone(self):
        video = panoramas.Stage
        first = panoramas.frame(video, 130)
        panoramas.frame(video, 3)
        for a, b in zip(first, panoramas.frame(video, 130)):
            np.testing.assert_array_equal(a, b)
        self.assertTrue((first[0] != panoramas.frame(video, 131)[0]).any())

    def test_a_shot_begins_at_its_frame(self):
        video = panoramas.Coast
        cut = video.shots[1][0]
        before, last, first = (panoramas.frame(video, n)[0].astype(int)
                               for n in (cut - 2, cut - 1, cut))
        self.assertGreater(np.abs(first - last).mean(), 5 * np.abs(last - before).mean())

    def test_the_seam_is_no_edge(self):
        for video in panoramas.VIDEOS:
            luma = panoramas.frame(video, 0)[0].astype(int)
            at_seam = np.abs(luma[:, 0] - luma[:, -1]).mean()
            inside = np.abs(np.diff(luma, axis=1)).mean(axis=0)
            self.assertLess(at_seam, inside.max() + 1, video.name)


class TileEncode(unittest.TestCase):
    def test_tiles_are_cut_in_raster_order(self):
        high, wide = panoramas.HEIGHT, panoramas.WIDTH
        numbers = np.arange(96, dtype=np.uint8).reshape(8, 12)
        planes = [np.kron(numbers, np.ones((h // 8, w // 12), np.uint8))
                  for h, w in ((high, wide), (high // 2, wide // 2), (high // 2, wide // 2))]
        tiles = tile_encode.cut(planes)
        self.assertEqual(tiles.shape, (96, tile_encode.FRAME_BYTES))
        for number, tile in enumerate(tiles):
            self.assertTrue((tile == number).all(), number)

    def test_a_gop_begins_with_its_parameter_sets(self):
        sps, pps, idr = b"\0\0\0\1\x67ab", b"\0\0\0\1\x68c", b"\0\0\1\x65defg"
        stream = sps + pps + idr + sps + pps + idr + b"\0\0\1\x41hh"
        one = len(sps + pps + idr)
        self.assertEqual(tile_encode.gop_sizes(stream), [one, one + 6])

    def test_a_still_tile_that_is_missing_costs_nothing(self):
        still = np.full((2, tile_encode.GOP_FRAMES, tile_encode.LUMA), 130, np.float32)
        held = np.roll(still[:, -1:], 1, axis=0)
        self.assertEqual(tile_encode.mean_squares(still - held), [0, 0])
        self.assertEqual(tile_encode.mean_squares(still - tile_encode.GREY), [4, 4])


class Tables(unittest.TestCase):
    def test_all_videos_have_a_table_and_the_page_describes_them(self):
        tables = describe_tiles.load()
        self.assertEqual({table["video"] for table in tables},
                         {video.name for video in panoramas.VIDEOS})
        page = describe_tiles.PAGE.read_text()
        for line in describe_tiles.lines(tables):
            self.assertIn(line, page)

    def test_the_first_gop_encoded_anew_is_that_of_the_tables(self):
        try:
            version = make_tiles.version()
        except ModuleNotFoundError as missing:
            self.skipTest(f"needs {missing.name}")
        for video in panoramas.VIDEOS:
            packed = (make_tiles.TABLES / f"{video.name}.json.gz").read_bytes()
            made = json.loads(gzip.decompress(packed))["made"]["ffmpeg"]
            if made != version:
                self.skipTest(f"{video.name} was made with ffmpeg {made}, this is {version}")
        with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(2) as pool:
            self.assertEqual(make_tiles.check(Path(work), pool), [])
