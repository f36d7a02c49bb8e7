"""Functions for the checks of style: the list of sources, and the tools that tools/test.sh installs beside its
Python."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = 77


def tool(name):
    """The tool's path, beside this Python or in PATH. Skips the test if the tool is missing."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    found = beside if os.path.exists(beside) else shutil.which(name)
    if not found:
        print(f"SKIP: there is no {name} (tools/test.sh installs it)")
        sys.exit(SKIPPED)
    return found


def git(*arguments):
    """The lines that git prints. None if it fails, as in a tree without history."""
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return answer.stdout.split("\n")[:-1] if answer.returncode == 0 else None


def sources():
    """The tracked files and the untracked files that git does not ignore, relative to the root. In a tree without git:
    all files of the folders that hold code."""
    tracked = git("ls-files", "--cached", "--others", "--exclude-standard")
    if tracked is not None:
        return [f for f in tracked if os.path.exists(os.path.join(ROOT, f))]
    found = []
    for top in ("artifact_schema", "codegen", "compiler", "examples", "runtime", "tests", "tools"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(found)
