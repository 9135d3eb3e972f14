"""Live video between network namespaces: what `scripts/wire-octopus` compares can be measured.

Whether sockets do what the laboratory says takes a quiet machine, minutes and a release build: the
script says that. Here it runs for seconds and may find what it will.
"""

import subprocess
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/wire-octopus"


class BetweenNamespaces(unittest.TestCase):
    def test_both_queues_are_measured_on_the_wire_and_in_the_laboratory(self):
        words = [SCRIPT, "--seconds", "8", "--runs", "1", "--within", "1e9"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "not compared" in done.stderr:
            self.skipTest(done.stderr)
        for queue in ("octopus", "droptail"):
            self.assertIn(f"{queue:<10}sqi_ssim_db", done.stdout)


if __name__ == "__main__":
    unittest.main()
