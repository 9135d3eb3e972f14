"""Tests of what can go wrong without ffmpeg: python3 -m unittest, in this folder."""

import struct
import tempfile
import unittest
from pathlib import Path

import check
import ladder
import tables
from encode import chunk_means, fragment_sizes
from videos import VIDEOS


class FakeStudio:
    """Answers every kind of shot with its own name and arguments."""

    def __getattr__(self, kind):
        return lambda *args, **more: (kind, args, tuple(sorted(more.items())))


def box(kind, payload):
    return struct.pack(">I4s", 8 + payload, kind) + bytes(payload)


class Make(unittest.TestCase):
    def test_a_chunk_is_its_moof_and_mdat(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.mp4"
            path.write_bytes(box(b"ftyp", 16) + box(b"moov", 90)
                             + box(b"moof", 20) + box(b"mdat", 100)
                             + box(b"moof", 24) + box(b"mdat", 50) + box(b"mfra", 9))
            self.assertEqual(fragment_sizes(path), [28 + 108, 32 + 58])

    def test_picked_frames_land_in_their_chunks(self):
        frames = []
        for n in range(0, 2 * ladder.CHUNK_FRAMES, ladder.SCORE_EVERY):
            chunk = n // ladder.CHUNK_FRAMES
            frames.append({"frameNum": 2 * (n // ladder.SCORE_EVERY), "metrics": {
                "vmaf": 50 + chunk, "psnr_y": 30 + chunk, "float_ssim": 0.9 + chunk / 100}})
        means = chunk_means(frames, 2)
        self.assertEqual(means, {"vmaf": [50, 51], "psnr_db": [30, 31], "ssim": [0.9, 0.91]})

    def test_videos_fill_their_chunks_and_never_repeat_a_shot(self):
        for video in VIDEOS:
            shots = video.shots(FakeStudio())
            self.assertEqual(sum(f for _, f in shots),
                             ladder.CHUNK_FRAMES * ladder.DISTINCT_CHUNKS, video.name)
            kinds = [shot for shot, _ in shots]
            self.assertEqual(len(set(kinds)), len(kinds), video.name)

    def test_names_are_unique(self):
        self.assertEqual(len({v.name for v in VIDEOS}), len(VIDEOS))

    def table(self, folder):
        measured = {
            rung.kbps: {
                "size_bytes": [rung.kbps * 400 + i for i in range(25)],
                "quality": {"vmaf": [20.0 + 9 * at + i % 2 for i in range(25)],
                            "psnr_db": [30.0 + at] * 25, "ssim": [0.9 + at / 100] * 25},
            } for at, rung in enumerate(ladder.RUNGS)
        }
        tables.write_table(folder, VIDEOS[0], measured)
        return check.load(folder)[0]

    def test_a_table_is_looped_sane_and_the_same_bytes_twice(self):
        with tempfile.TemporaryDirectory() as folder:
            table = self.table(folder)
            path = Path(folder) / f"{VIDEOS[0].name}.json.gz"
            first = path.read_bytes()
            self.table(folder)
            self.assertEqual(path.read_bytes(), first)
        self.assertEqual(check.sane(table), [])
        sizes = table["rungs"][3]["size_bytes"]
        self.assertEqual(len(sizes), 75)
        self.assertEqual(sizes[:25], sizes[50:])

    def test_faults_are_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            table = self.table(folder)
        table["rungs"][2]["quality"]["vmaf"][4] = float("nan")
        table["rungs"][5]["quality"]["vmaf"] = [0.1] * 75
        faults = " ".join(check.sane(table))
        self.assertIn("360p-1000k: not a number", faults)
        self.assertIn("mean VMAF falls with the rate", faults)


if __name__ == "__main__":
    unittest.main()
