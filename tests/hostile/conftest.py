"""Servers under attack. Processes are started as in tests/e2e."""

import importlib.util
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
E2E = HERE.parent / "e2e"
sys.path[:0] = [str(HERE), str(E2E)]


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


e2e = load("e2e_conftest", E2E / "conftest.py")
pytest_configure, strait, site = e2e.pytest_configure, e2e.strait, e2e.site
