#!/usr/bin/env python3
"""Exports of torchvision's detectors, of scikit-learn and of Keras, compiled and compared with onnxruntime.

  check_exports.py [--envs DIR] [--python FAMILY=PYTHON ...] [FAMILY...]        FAMILY: torchvision, sklearn, keras; or trees

Each family has a virtual environment of its own in DIR, because the exporters need different versions of onnx. If it is missing, it is created with the
packages in exports/FAMILY.txt (about 2 GB in all, from PyPI). --python names an interpreter that has them. `trees` runs only if it is named. It times
scikit-learn's trees, fails if onnxruntime is faster at a batch of 1 or of 1024, and needs a machine without other load. The last line is `N passed, N failed`.
"""
import argparse
import os
import re
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILIES = {"torchvision": ["check_detectors.py"], "sklearn": ["check_sklearn.py"], "keras": ["check_keras.py"]}
TIMED = {"trees": ["check_sklearn.py", "--trees", "--least", "1"]}
ENVIRONMENTS = {"trees": "sklearn"}  # those that are not called as their family
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed")


def environment(family, folder):
    """The Python of the family's environment, which is created if it is missing."""
    place = os.path.join(os.path.abspath(folder), family)
    python, ready = os.path.join(place, "bin", "python"), os.path.join(place, "ready")
    if not os.path.exists(ready):
        venv.create(place, with_pip=True)
        packages = os.path.join(HERE, "exports", family + ".txt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", packages], check=True)
        open(ready, "w").close()
    return python


def check(family, python):
    """(passed, failed). A family whose script ends without counts is one failure."""
    print(f"-- {family}", flush=True)
    script, *options = {**FAMILIES, **TIMED}[family]
    done = subprocess.Popen([python, os.path.join(HERE, script), *options], stdout=subprocess.PIPE, text=True)
    counts = None
    for line in done.stdout:
        print(line, end="", flush=True)
        counts = COUNTS.match(line) or counts
    done.wait()
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--envs", default="exports_envs", help="where the virtual environments are (default: exports_envs here)")
    p.add_argument("--python", action="append", default=[], metavar="FAMILY=PYTHON")
    p.add_argument("families", nargs="*", choices=[[], *FAMILIES, *TIMED])
    a = p.parse_args()
    interpreters = dict(entry.split("=", 1) for entry in a.python)
    passed = failed = 0
    for family in a.families or FAMILIES:
        good, bad = check(family, interpreters.get(family) or environment(ENVIRONMENTS.get(family, family), a.envs))
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
