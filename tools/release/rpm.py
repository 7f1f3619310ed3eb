"""The RPM of a laid out package."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.running import ROOT, run

# What Debian calls an architecture, and RPM.
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
# Places that differ.
MOVED = {"usr/share/zsh/vendor-completions/_bentpipe": "usr/share/zsh/site-functions/_bentpipe"}
# Directories that are the package's own; the others belong to the system.
OWN = ("usr/share/doc/bentpipe",)


def build(tree, version, architecture, out):
    """Builds the RPM of the files in `tree`, but for Debian's own. Returns its path."""
    there = ARCHITECTURES[architecture]
    with tempfile.TemporaryDirectory() as place:
        files = Path(place, "files")
        shutil.copytree(tree, files, symlinks=True, ignore=shutil.ignore_patterns("DEBIAN"))
        for before, after in MOVED.items():
            (files / after).parent.mkdir(parents=True, exist_ok=True)
            (files / before).rename(files / after)
        listed = Path(place, "list")
        listed.write_text("\n".join(names(files)) + "\n")
        defined = {"version": version, "tree": files, "list": listed,
                   "_topdir": Path(place, "build"), "_rpmdir": out,
                   "_rpmfilename": "%{name}-%{version}-%{release}.%{arch}.rpm"}
        run("rpmbuild", "-bb", "--quiet", "--target", f"{there}-linux",
            *(part for name, value in defined.items() for part in ("--define", f"{name} {value}")),
            ROOT / "packaging/rpm/bentpipe.spec", stdout=subprocess.DEVNULL)
    return out / f"bentpipe-{version}-1.{there}.rpm"


def names(files):
    """The lines of a list of files for RPM, with who owns them and how they may be used."""
    lines = [f"%dir %attr(0755, root, root) /{own}" for own in OWN]
    for path in sorted(files.rglob("*")):
        name = path.relative_to(files)
        if path.is_dir():
            if any(name.is_relative_to(own) and str(name) != own for own in OWN):
                lines.append(f"%dir %attr(0755, root, root) /{name}")
        else:
            lines.append(f"%attr({path.stat().st_mode & 0o777:04o}, root, root) /{name}")
    return lines
