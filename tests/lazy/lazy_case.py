"""Shared by the tests of gart.lazy."""
import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "tools", "python")]
os.environ.setdefault("GCC_GRAPH_LAZY_CACHE", "")

import gart.lazy as gl  # noqa: E402

gl.settings(cache_folder="")


def compiled(f, *arguments):
    """The value computed by compiled code."""
    with gl.deterministic():
        return f(*arguments).numpy()
