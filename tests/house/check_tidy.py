#!/usr/bin/env python3
"""Runs clang-tidy, with the checks of .clang-tidy, on the sources that the last commit or the working tree changed.

  check_tidy.py BUILD_DIRECTORY [FILE...]     BUILD_DIRECTORY has compile_commands.json; FILE: checks these files instead of the changed ones
"""
import json
import os
import re
import subprocess
import sys

from style_tools import ROOT, SKIPPED, git, tool

MOST = 8  # limit of files, the smallest first, because a file may take half a minute


def changed():
    committed, edited = git("diff", "--name-only", "--diff-filter=d", "HEAD~1", "HEAD"), git("diff", "--name-only", "--diff-filter=d", "HEAD")
    if committed is None or edited is None:
        print("SKIP: there is no history to see changes by")
        sys.exit(SKIPPED)
    return sorted(set(committed + edited))


def main():
    build, asked = sys.argv[1], sys.argv[2:]
    clang_tidy = tool("clang-tidy")
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        compiled = {os.path.relpath(os.path.realpath(c["file"]), os.path.realpath(ROOT)) for c in json.load(f)}
    wanted = asked or changed()
    files = [f for f in wanted if f in compiled]
    headers = "|".join(re.escape(f) for f in wanted if f.endswith(".h")) or "^$"  # warnings in others are no news
    files.sort(key=lambda f: os.path.getsize(os.path.join(ROOT, f)))
    left = files[MOST:] if not asked else []
    files = files[:len(files) - len(left)]
    for f in left:
        print("not looked at:", f)
    if not files:
        print("no source that is compiled was changed")
        return 0
    print("\n".join(files), flush=True)
    return subprocess.run([clang_tidy, "-p", build, "--quiet", "--warnings-as-errors=*", "--header-filter=" + headers, *files], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
