"""What users copy: the README, the recipes of the book, the notebook."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from .conftest import ROOT

EXAMPLES = ROOT / "examples" / "python"
RECIPES = sorted(EXAMPLES.glob("*.py"))
PNG = b"\x89PNG\r\n\x1a\n"


def run(script: pathlib.Path, directory: pathlib.Path) -> None:
    environment = {**os.environ, "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("script", RECIPES, ids=lambda script: script.stem)
def test_a_recipe_draws_its_figure(script: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    run(script, tmp_path)
    figure = (tmp_path / f"{script.stem}.png").read_bytes()
    assert figure.startswith(PNG) and len(figure) > 10_000


def test_the_book_shows_every_recipe() -> None:
    page = (ROOT / "docs" / "src" / "guides" / "python.md").read_text()
    for script in RECIPES:
        assert f"{{{{#include ../../../examples/python/{script.name}}}}}" in page, script.name


def test_the_script_of_the_readme_works_as_typed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert len(blocks) == 1
    script = tmp_path / "readme.py"
    script.write_text(blocks[0])
    run(script, tmp_path)
    assert (tmp_path / "cdf.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda file: file.stem)
def test_a_notebook_runs_and_shows_the_report(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs stay out of Git"
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not any(output.output_type == "error" for output in outputs)
    shown = [output.get("data", {}) for output in outputs]
    assert sum("<iframe srcdoc=" in data.get("text/html", "") for data in shown) == 1
    assert sum("image/png" in data for data in shown) == 2
    kept = os.environ.get("BENTPIPE_KEEP_NOTEBOOK")
    if kept:
        nbformat.write(notebook, kept)
