"""Compilers and their parts as machines have them; used by setup and wasm."""

import os
import pathlib
import re
import shutil
import tomllib

from tools.running import ROOT, said

# The sources of Rust's library below a sysroot.
SOURCES = "lib/rustlib/src/rust/library"
# Where Debian has those of its compiler for browsers.
DEBIAN = pathlib.Path("/usr")
BINDGEN = ROOT / "target/wasm-tools/bin/wasm-bindgen"


def sysroot():
    """The directory of Rust's library."""
    return pathlib.Path(said(os.environ.get("RUSTC", "rustc"), "--print", "sysroot"))


def has_sources():
    """Whether the compiler has the sources of its library."""
    return (sysroot() / SOURCES).is_dir()


def locked(package, text=None):
    """The version of a package in Cargo.lock."""
    document = tomllib.loads(text or (ROOT / "Cargo.lock").read_text())
    return next(one["version"] for one in document["package"] if one["name"] == package)


def tool(name):
    """The newest of a tool that Debian names with a version, from 14 on; `None` without any."""
    names = [f"{name}-{version}" for version in range(22, 18, -1)]
    names += [name, *(f"{name}-{version}" for version in range(18, 13, -1))]
    return next(filter(None, map(shutil.which, names)), None)


def has_tool(name):
    """Whether PATH has a tool, of whatever version."""
    form = re.compile(rf"{re.escape(name)}(-[0-9]+)?")
    for directory in os.get_exec_path():
        if os.path.isdir(directory) and any(map(form.fullmatch, os.listdir(directory))):
            return True
    return False
