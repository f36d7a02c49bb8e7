#!/usr/bin/env python3
"""Runs the tutorial docs/lazy.md: its Python blocks in order, in one program. A line "# -> text" gives the output of the last
print."""
import contextlib
import io
import os
import re
import sys
import tempfile

from lazy_case import ROOT


def main():
    with open(os.path.join(ROOT, "docs", "lazy.md")) as file:
        text = file.read()
    scope, blocks = {"__name__": "tutorial"}, re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 5, "the tutorial was not found"
    os.chdir(tempfile.mkdtemp(prefix="gcc-graph-"))
    for block in blocks:
        said = io.StringIO()
        print(block)
        with contextlib.redirect_stdout(said):
            exec(compile(block, "docs/lazy.md", "exec"), scope)
        for expected in re.findall(r"# -> (.*)", block):
            assert expected in said.getvalue(), f"'{expected}' is not in {said.getvalue()!r}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
