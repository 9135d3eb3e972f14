"""`airlane tunnel` between two network namespaces: a file comes whole, and over both paths at once.

How fast it is beside its peers is the bench's to say: scripts/bench/tunnel.
"""

import os
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts/bench/tunnel"))

import measure  # noqa: E402
from network import Network  # noqa: E402
from programs import Missing  # noqa: E402
from scenes import SCENES  # noqa: E402

AIRLANE = Path(os.environ["AIRLANE_BIN"])
SIZE = 12 << 20
#: What a path carries of a file at least, and both together at most: acknowledgements, retries and what one
#: path sends again for the other take far less.
LEAST, MOST = SIZE // 8, 2 * SIZE


class BetweenNamespaces(unittest.TestCase):
    def test_a_file_comes_whole_and_over_both_paths(self):
        scene = next(s for s in SCENES if s.name == "20-30")
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            try:
                network = stack.enter_context(Network(scene, AIRLANE))
            except Missing as why:
                if os.environ.get("AIRLANE_STRICT") == "1":
                    raise
                self.skipTest(str(why))
            measured = measure.Measured()
            tunnels = measure.start_tunnels(network, AIRLANE, Path(folder), stack, measured)
            self.assertEqual(tunnels, list(measure.OVERS), measured)
            for over in tunnels:
                with self.subTest(over):
                    paths = range(len(scene.paths))
                    before = [network.received_bytes(i) for i in paths]
                    # It compares checksums.
                    measure.fetch_file(network, measure.OVERS[over], Path(folder), SIZE)
                    carried = [network.received_bytes(i) - before[i] for i in paths]
                    self.assertGreater(min(carried), LEAST, carried)
                    self.assertLess(sum(carried), MOST, carried)


if __name__ == "__main__":
    unittest.main()
