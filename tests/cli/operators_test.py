"""docs/operators.md equals the output of `gcc-graph operators`."""
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def main():
    said = subprocess.run([os.environ["GCC_GRAPH"], "operators"], capture_output=True, text=True, check=True).stdout
    with open(os.path.join(ROOT, "docs", "operators.md")) as f:
        written = f.read()
    if said == written:
        return 0
    there = set(written.splitlines())
    print("docs/operators.md is not current; gcc-graph operators > docs/operators.md makes it so. New lines:")
    print("\n".join(line for line in said.splitlines() if line not in there))
    return 1


if __name__ == "__main__":
    sys.exit(main())
