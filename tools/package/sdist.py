#!/usr/bin/env python3
"""sdist.py FOLDER: writes the source distributions of the wheels gart and gcc-graph to FOLDER: GART-VERSION.tar.gz, with the tree
(without its tests) and the package's pyproject.toml at its root. `pip install` of the file builds the wheel from it alone.

The bytes depend only on the tree and on $SOURCE_DATE_EPOCH (default: the time of the last commit)."""
import gzip
import io
import os
import re
import subprocess
import sys
import tarfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEFT_OUT = ("tests/", ".ci/", ".git", "build/")
PROJECTS = {"gart": "tools/python", "gcc_graph": "tools/python/compiler"}  # by the name of the Python package


def git(*arguments):
    """Git's answer about the tree; None if git does not know the tree, as for an unpacked distribution."""
    if not os.path.exists(os.path.join(TREE, ".git")):
        return None
    done = subprocess.run(["git", *arguments], cwd=TREE, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def files():
    """The files that git knows, or all files of a tree without git."""
    listed = git("ls-files", "-z")
    if listed is not None:
        names = listed.split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, name), TREE) for folder, _, names in os.walk(TREE) for name in names]
        names = [name for name in names if "__pycache__" not in name and name not in ("pyproject.toml", "PKG-INFO")]
    return sorted(name for name in names if name and not name.startswith(LEFT_OUT) and os.path.isfile(os.path.join(TREE, name)))


def time_of_source():
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    committed = git("log", "-1", "--format=%ct")
    return int(committed) if committed else int(os.path.getmtime(os.path.join(TREE, "CMakeLists.txt")))


def replaced(text, old, new):
    if text.count(old) != 1:
        sys.exit(f"sdist: pyproject.toml has '{old}' {text.count(old)} times, expected once")
    return text.replace(old, new)


def pyproject(package, folder):
    """The project's file, with its paths relative to the root of the tree."""
    with open(os.path.join(TREE, folder, "pyproject.toml"), encoding="utf-8") as file:
        text = file.read()
    up = "/".join([".."] * len(folder.split("/")))
    text = replaced(text, f'cmake.source-dir = "{up}"', 'cmake.source-dir = "."')
    text = replaced(text, f'wheel.packages = ["{package}"]', f'wheel.packages = ["{folder}/{package}"]')
    return replaced(text, f'input = "{up}/CMakeLists.txt"', 'input = "CMakeLists.txt"')


def version():
    with open(os.path.join(TREE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(gcc_graph VERSION ([\d.]+)", file.read())[1]


def information(project):
    field = {name: re.search(rf'^{name} = "(.*)"$', project, re.M)[1] for name in ("name", "description", "requires-python")}
    return (f"Metadata-Version: 2.1\nName: {field['name']}\nVersion: {version()}\nSummary: {field['description']}\n"
            f"Requires-Python: {field['requires-python']}\n")


def write(folder, package, project_folder, time):
    root, project = f"{package}-{version()}", pyproject(package, project_folder)
    path = os.path.join(folder, root + ".tar.gz")

    def add(archive, name, content, mode=0o644):
        entry = tarfile.TarInfo(f"{root}/{name}")
        entry.size, entry.mtime, entry.mode = len(content), time, mode
        archive.addfile(entry, io.BytesIO(content))

    with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=time) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add(archive, "PKG-INFO", information(project).encode())
        add(archive, "pyproject.toml", project.encode())
        for name in files():
            source = os.path.join(TREE, name)
            with open(source, "rb") as file:
                add(archive, name, file.read(), 0o755 if os.access(source, os.X_OK) else 0o644)
    return path


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for package, project_folder in PROJECTS.items():
        print(write(folder, package, project_folder, time_of_source()))


if __name__ == "__main__":
    main()
