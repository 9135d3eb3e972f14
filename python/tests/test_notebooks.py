"""The notebooks, executed from their first cell to their last."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    done = client.execute()
    shown = [kind for cell in done.cells for out in cell.get("outputs", []) for kind in out.get("data", {})]
    assert "text/html" in shown
