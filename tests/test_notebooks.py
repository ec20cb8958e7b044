"""The notebooks run from top to bottom, each by itself, and are kept without what they print."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))

# One kernel for all of them, as starting one takes longer than most notebooks; each begins with nothing defined.
RUN = """
import json
import sys
import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

kernel = KernelManager(kernel_name="python3")
kernel.start_kernel()
pictures = []
try:
    for path in sys.argv[1:]:
        notebook = nbformat.read(path, as_version=4)
        notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
        NotebookClient(notebook, km=kernel, timeout=300).execute()
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        pictures.append(sum("image/png" in output.get("data", {}) for output in outputs))
finally:
    kernel.shutdown_kernel(now=True)
print(json.dumps(pictures))
"""


def test_every_paper_has_a_notebook():
    assert [path.stem for path in NOTEBOOKS] == ["s0", "s1", "s2", "s3", "s4"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


def test_every_notebook_runs_and_shows_pictures(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", RUN, *NOTEBOOKS], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert told.returncode == 0, told.stderr
    pictures = json.loads(told.stdout)
    assert len(pictures) == len(NOTEBOOKS)
    assert min(pictures) >= 1
