"""The compiler of gcc-graph as a package: gart.compile runs its program, gart.lazy loads its library."""
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def main():
    """The command gcc-graph."""
    program = os.path.join(FOLDER, "bin", "gcc-graph")
    os.execv(program, [program, *sys.argv[1:]])
