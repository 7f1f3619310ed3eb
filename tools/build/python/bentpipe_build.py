"""Builds the Python package: the report page if it is missing, then the wheel by maturin.

A PEP 517 backend. maturin has no hook for a step before cargo, and cargo never runs Node.
"""

import os
import pathlib
import shutil
import subprocess

import maturin
from build_progress import say, showing_progress
from maturin import (  # noqa: F401
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "studio" / "dist" / "index.html"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build_page()
    with showing_progress():
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    build_page()
    with showing_progress():
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_page():
    """Builds the report page, which the extension module embeds, unless it is there."""
    if PAGE.exists():
        return
    if os.environ.get("BENTPIPE_PAGE") == "plain":
        print("bentpipe: without the report page; reports are plain HTML")
        return
    missing = [tool for tool in ("make", "npm") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(
            f"bentpipe: the report page is not built, and {' and '.join(missing)} to build it "
            "is not installed. Install Node 20 or later with npm, or build the page elsewhere "
            "(`make page`) and copy it to studio/dist, or set BENTPIPE_PAGE=plain for reports in "
            "plain HTML."
        )
    say("bentpipe: building the report page (npm)")
    result = subprocess.run(["make", "page"], cwd=ROOT, check=False)
    if result.returncode != 0 or not PAGE.exists():
        raise SystemExit(
            "bentpipe: the report page cannot be built. `make page` shows why; set "
            "BENTPIPE_PAGE=plain for reports in plain HTML."
        )
