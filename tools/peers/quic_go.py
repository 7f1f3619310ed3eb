"""Programs on quic-go, of the version that peers/quic-go has."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.running import ROOT


def build(source, built):
    """Builds a program of one file. Returns None, or why it is not built."""
    if not shutil.which("go"):
        return "go is not installed"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(source, Path(folder) / "main.go")
        for name in ("go.mod", "go.sum"):
            shutil.copy(ROOT / "peers/quic-go" / name, folder)
        done = subprocess.run(["go", "build", "-o", str(built), "."], cwd=folder, check=False,
                              capture_output=True, text=True)
    reason = " ".join(done.stderr.split())[-200:]
    return f"it does not build: {reason}" if done.returncode else None
