"""Tests of the layered real-time video: python3 -m unittest, in this folder.

They need no encoder, but for the last class: cc, libvpx's headers and the ffmpeg of the corpus;
it says what it leaves out.
"""

import copy
import re
import shutil
import subprocess
import tempfile
import unittest
from math import log10
from pathlib import Path

import describe_layers
import layer_encode
import make_layers
from layer_check import SHARES, problems
from layer_clips import CLIPS, FRAMES

LARGEST_FILE = 160_000
QUALITY_LINES = "9 8 7 0.9 0.95 0.99\n5 4 3 0.8 0.81 1.0\n"


class Reading(unittest.TestCase):
    def test_layers_are_kept_apart(self):
        columns = layer_encode.read("quality", QUALITY_LINES, 2)
        self.assertEqual(columns["bytes"], [[9, 8, 7], [5, 4, 3]])
        self.assertEqual(columns["ssim_db"], [[10.0, 13.01, 20.0], [6.99, 7.212, 100.0]])

    def test_a_single_layer_has_key_frames_beside_it(self):
        columns = layer_encode.read("rate", "9 90 0.9 17\n8 80 0.5 18\n", 2)
        self.assertEqual(columns, {"bytes": [9, 8], "key_bytes": [90, 80],
                                   "ssim_db": [10.0, 3.01]})

    def test_a_frame_too_few_is_refused(self):
        with self.assertRaises(RuntimeError):
            layer_encode.read("quality", QUALITY_LINES, 3)
        with self.assertRaises(RuntimeError):
            layer_encode.read("temporal", "9 0.9 1\n", 1)

    def test_a_rate_counts_all_frames(self):
        self.assertEqual(layer_encode.rate([1000, 3000]), 480_000)

    def test_every_run_has_a_name_of_its_own(self):
        names = [name for name, *_ in layer_encode.jobs()]
        self.assertEqual(len(names), 2 * len(layer_encode.KBPS) + 3)
        self.assertEqual(len(set(names)), len(names))
        self.assertLessEqual(set(make_layers.CHECKED), set(names))


class Together(unittest.TestCase):
    """The scripts and the C program say the same."""

    def setUp(self):
        self.program = layer_encode.SOURCE.read_text()

    def test_shares_and_gop_are_those_of_the_program(self):
        shares = re.search(r"SHARES\[LAYERS\] = \{([^}]*)\}", self.program)[1]
        self.assertEqual([int(share) / 100 for share in shares.split(",")], list(SHARES))
        constants = dict(re.findall(r"(\w+) = (\d+)[,\s]", self.program))
        self.assertEqual(int(constants["LAYERS"]), layer_encode.LAYERS)
        self.assertEqual(int(constants["TEMPORAL_GOP"]), layer_encode.TEMPORAL_GOP)

    def test_temporal_layers_are_the_priorities(self):
        text = re.search(r"TEMPORAL_LAYER\[TEMPORAL_GOP\] = \{([^}]*)\}", self.program)[1]
        layers = [int(layer) for layer in text.split(",")]
        self.assertEqual([layer + 1 for layer in layers],
                         [1 if place % 4 == 0 else 2 if place % 2 == 0 else 3
                          for place in range(layer_encode.TEMPORAL_GOP)])


class Tables(unittest.TestCase):
    def test_all_clips_have_a_table_that_makes_sense(self):
        tables = describe_layers.load()
        self.assertEqual([table["video"] for table in tables], sorted(clip.name for clip in CLIPS))
        for table in tables:
            self.assertEqual(problems(table), [], table["video"])
            path = make_layers.TABLES / f"{table['video']}.json.gz"
            self.assertLess(path.stat().st_size, LARGEST_FILE, path.name)

    def test_the_tables_were_made_by_these_scripts(self):
        for table in describe_layers.load():
            self.assertEqual(table["made"]["scripts"], make_layers.scripts(), table["video"])

    def test_the_page_describes_them(self):
        page = describe_layers.PAGE.read_text()
        for line in describe_layers.lines(describe_layers.load()):
            self.assertIn(line, page)

    def test_damage_is_seen(self):
        whole = describe_layers.load()[0]
        top = whole["quality"]["encodings"][-1]

        def damaged(change):
            table = copy.deepcopy(whole)
            change(table)
            return problems(table)

        def swapped(table):
            for frame in table["quality"]["encodings"][-1]["ssim_db"]:
                frame.reverse()

        self.assertEqual(len(top["bytes"]), FRAMES)
        self.assertTrue(damaged(lambda table: table["temporal"]["bytes"].pop()))
        self.assertTrue(damaged(lambda table: table["temporal"]["bytes"].__setitem__(9, 0)))
        self.assertTrue(damaged(lambda table: table["single"]["encodings"].reverse()))
        self.assertTrue(damaged(swapped))


class Program(unittest.TestCase):
    def setUp(self):
        wanted = ["pkg-config", "--exists", "vpx"]
        if not (shutil.which("cc") and shutil.which("pkg-config")
                and subprocess.run(wanted, check=False).returncode == 0):
            self.skipTest("needs cc and libvpx-dev")

    def test_ssim_is_that_of_ffmpegs_filter(self):
        try:
            ffmpeg = make_layers.ffmpeg()
        except ModuleNotFoundError as missing:
            self.skipTest(f"needs {missing.name}")
        width, height, frames = 112, 72, 3
        harness = f'''#define main layers_main
#include "{layer_encode.SOURCE}"
#undef main
int main(int count, char **words) {{
  char *about[] = {{ words[count - 2], "{width}", "{height}", "30", "{frames}", "8" }};
  Clip clip = open_clip(about);
  about[0] = words[count - 1];
  Clip other = open_clip(about);
  for (int frame = 0; frame < clip.frames; frame++) {{
    vpx_image_t image;
    wrap(&other, frame, &image);
    printf("%.9f\\n", ssim(&clip, frame, &image));
  }}
}}
'''
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            raw = [folder / "clean.yuv", folder / "noisy.yuv"]
            source = f"testsrc2=s={width}x{height}:r=30,noise=alls=9,format=yuv420p"
            for path, more in zip(raw, ("", ",noise=alls=30:allf=t,boxblur=1")):
                subprocess.run([ffmpeg, "-v", "error", "-f", "lavfi", "-i", source + more,
                                "-frames:v", str(frames), "-f", "rawvideo", path], check=True)
            (folder / "harness.c").write_text(harness)
            subprocess.run(["cc", "-O2", "-ffp-contract=off", folder / "harness.c", "-o",
                            folder / "harness",
                            *subprocess.run(["pkg-config", "--cflags", "--libs", "vpx"],
                                            capture_output=True, text=True,
                                            check=True).stdout.split()], check=True)
            ours = subprocess.run([folder / "harness", *raw], capture_output=True, text=True,
                                  check=True).stdout.split()
            inputs = []
            for path in raw:
                inputs += ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}",
                           "-i", path]
            subprocess.run([ffmpeg, "-v", "error", *inputs, "-lavfi", "ssim=stats_file=theirs",
                            "-f", "null", "-"], check=True, cwd=folder)
            theirs = re.findall(r"Y:(\S+)", (folder / "theirs").read_text())
        self.assertEqual(len(ours), frames)
        for a, b in zip(ours, theirs):
            self.assertAlmostEqual(float(a), float(b), delta=2e-6)
            self.assertLess(-10 * log10(1 - float(a)), 20)


if __name__ == "__main__":
    unittest.main()
