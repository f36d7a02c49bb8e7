#!/usr/bin/env python3
"""Checks that every source is formatted by .clang-format, with the version of clang-format that tools/test.sh installs
(other versions differ)."""
import os
import re
import subprocess
import sys

from style_tools import ROOT, sources, tool

VERSION = "19."


def main():
    clang_format = tool("clang-format")
    said = subprocess.run([clang_format, "--version"], capture_output=True, text=True, check=True).stdout
    if not re.search(r"version " + re.escape(VERSION), said):
        print(f"SKIP: clang-format {VERSION}x is wanted, here is {said.strip()}")
        return 77
    files = [f for f in sources() if f.endswith((".h", ".cpp"))]
    assert len(files) > 500, "the sources were not found"
    failed = subprocess.run([clang_format, "--dry-run", "--Werror", "--ferror-limit=1", *files], cwd=ROOT).returncode
    print(f"{len(files)} files; to format one: {os.path.basename(clang_format)} -i FILE" if failed else f"{len(files)} files")
    return failed


if __name__ == "__main__":
    sys.exit(main())
