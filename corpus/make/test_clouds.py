"""Tests of the moving point clouds: python3 -m unittest, in this folder.

What draws needs numpy, what encodes the Draco that made the tables; tests say what they leave out.
"""

import unittest

import describe_clouds

try:
    import numpy as np

    import cloud_encode
    import cloud_render
    import clouds
    import make_clouds
except ModuleNotFoundError as missing:
    raise unittest.SkipTest(f"needs {missing.name}") from missing


class Clouds(unittest.TestCase):
    def test_a_frame_depends_on_its_number_alone(self):
        for clip in clouds.CLIPS:
            first = clouds.capture(clip, 7)
            clouds.capture(clip, 3)
            for a, b in zip(first, clouds.capture(clip, 7)):
                np.testing.assert_array_equal(a, b)
            self.assertTrue((first[0][:1000] != clouds.capture(clip, 8)[0][:1000]).any())

    def test_bodies_move_smoothly(self):
        for clip in clouds.CLIPS:
            for number in range(0, clouds.FRAMES - 1, 17):
                now, then = (clip.bodies((number + n) / clouds.FPS) for n in (0, 1))
                for a, b in zip(now, then):
                    self.assertLess(np.linalg.norm(a.a - b.a), 0.35, (clip.name, number))

    def test_points_lie_on_their_bone(self):
        bone = clouds.Bone([0, 0, 0], [0, 1, 0], 0.1, 0.1, clouds.SKIN)
        place, normal, _, _ = bone.points(2000, np.random.default_rng(1))
        nearest = np.clip(place[:, 1:2], 0, 1) * [[0, 1, 0]]
        np.testing.assert_allclose(np.linalg.norm(place - nearest, axis=1), 0.1, atol=1e-6)
        np.testing.assert_allclose(place, nearest + 0.1 * normal, atol=1e-6)


class Cells(unittest.TestCase):
    def test_cells_have_as_many_points_and_front_cells_are_in_front(self):
        places, colours = clouds.capture(clouds.Bust, 0)
        cells = cloud_encode.cells_of(places, colours)
        counts = [sum(len(layer[0]) for layer in cell) for cell in cells]
        self.assertEqual(sum(counts), len(places))
        self.assertLess(max(counts) - min(counts), 5)
        for cell in cells:
            sizes = [len(layer[0]) for layer in cell]
            self.assertLessEqual(max(sizes) - min(sizes), 1)
        for front in range(cloud_encode.FRONTS):
            nearest = [cloud_encode.joined(cells[front + n * cloud_encode.FRONTS])[0][:, 2]
                       for n in (0, 1)]
            self.assertGreaterEqual(nearest[0].min(), nearest[1].max())


class Pictures(unittest.TestCase):
    def test_the_nearer_point_is_seen(self):
        places = np.array([[0, 0, -0.2], [0, 0, 0.2]], np.float32)
        colours = np.array([[255, 255, 255], [0, 0, 0]], np.uint8)
        for order in ([0, 1], [1, 0]):
            picture = cloud_render.render(places[order], colours[order], np.zeros(3), 3)
            middle = (cloud_render.LINES // 2, cloud_render.COLUMNS // 2)
            self.assertAlmostEqual(float(picture.luma[middle]), 16, places=3)
            self.assertAlmostEqual(float(picture.far[middle]), 2.3, places=3)

    def test_equal_pictures_have_an_ssim_of_one(self):
        rng = np.random.default_rng(2)
        picture = rng.uniform(0, 255, (64, 80)).astype(np.float32)
        np.testing.assert_allclose(cloud_render.ssim_map(picture, picture), 1, atol=1e-6)
        other = np.clip(picture + rng.normal(0, 40, picture.shape), 0, 255)
        self.assertLess(cloud_render.ssim_map(picture, other).mean(), 0.95)

    def test_pairs_add_up_to_the_picture(self):
        cloud = clouds.capture(clouds.Bust, 40)
        draws = [((5, 5), (3, 0)), ((1, 0), (2, 1)), ((4, 2), (1, 5))]
        self.assertLess(cloud_encode.additive_error(*cloud, draws), 0.02)


class Tables(unittest.TestCase):
    def test_all_clips_have_a_table_and_the_page_describes_them(self):
        tables = describe_clouds.load()
        self.assertEqual({table["video"] for table in tables},
                         {clip.name for clip in clouds.CLIPS})
        page = describe_clouds.PAGE.read_text()
        for line in describe_clouds.lines(tables):
            self.assertIn(line, page)

    def test_frames_encoded_anew_are_those_of_the_tables(self):
        for clip in clouds.CLIPS:
            made = make_clouds.load(clip)["made"]
            mine = make_clouds.made_with()
            if {name: made[name] for name in mine} != mine:
                self.skipTest(f"{clip.name} was made with {made}, this is {mine}")
        self.assertEqual(make_clouds.check(clouds.CLIPS), [])


if __name__ == "__main__":
    unittest.main()
