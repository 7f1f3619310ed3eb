"""What the tests of all rooms share."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def program(name):
    """The program `name` of tools/, such as check/layout, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("/", "_"), str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def folder(test):
    """An empty directory that ends with `test`."""
    made = tempfile.TemporaryDirectory()
    test.addCleanup(made.cleanup)
    return pathlib.Path(made.name)
