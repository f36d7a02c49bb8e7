#!/usr/bin/env python3
"""check_packages.py FOLDER: the packages that `ninja packages` writes to FOLDER work when they are unpacked side by side. As root with $GCC_GRAPH_BARE_DEBIAN, a folder from debootstrap, apt also installs them on a copy of that system.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
MODEL = os.path.join(TREE, "tests", "artifact", "golden", "2.0.gart")
PROGRAM = os.path.join(TREE, "tests", "runtime", "alone", "program.c")
FOLDER = sys.argv[1]
NEEDS = {  # the dependencies that each package must have
    "libgart0": ["libc6 (>= 2.28)", "libstdc++6 (>= 8)"],
    "libgart-dev": ["libgart0 (= VERSION)"],
    "python3-gart": ["python3-numpy", "libgart0 (= VERSION)"],
    "gcc-graph": ["libc6", "libprotobuf", "libzip"],
    "gart-run": ["libgart0 (= VERSION)"],
}
MPI = "libgart-mpi0"  # only where MPI is installed
NEEDS_OF_MPI = ["libgart0 (= VERSION)", "mpi"]
USE_PYTHON = "import gart; model = gart.load({model!r}); print(gart.__version__, model.inputs)"


def ran(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def packages():
    """{name: path}"""
    return {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(FOLDER, "*.deb"))}


def version():
    with open(os.path.join(TREE, "CMakeLists.txt")) as text:
        return re.search(r"project\(gcc_graph VERSION ([\d.]+)", text.read())[1]


def fields():
    if MPI in packages():
        NEEDS[MPI] = NEEDS_OF_MPI
    assert packages().keys() == NEEDS.keys(), packages().keys()
    for name, path in packages().items():
        depends = ran("dpkg-deb", "-f", path, "Depends")
        missing = [need for need in NEEDS[name] if need.replace("VERSION", version()) not in depends]
        assert not missing and ran("dpkg-deb", "-f", path, "Version").strip() == version(), f"{name}: {depends} lacks {missing}"
        print(f"{name}: {os.path.getsize(path)} bytes, needs {depends.strip()}")


def works(root, libraries):
    """Builds a C program with the unpacked files and runs it; `libraries` is the folder of libgart.so."""
    env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(libraries, "pkgconfig"), "LD_LIBRARY_PATH": libraries}
    program = os.path.join(root, "program")
    ran("cc", PROGRAM, "-o", program, *ran("pkg-config", "--cflags", "--libs", "gart", env=env).split(), env=env)
    assert "in x" in ran(program, MODEL, env=env)
    return env


def unpacked(folder):
    for path in packages().values():
        ran("dpkg-deb", "-x", path, folder)
    usr = os.path.join(folder, "usr")
    env = works(folder, os.path.dirname(glob.glob(os.path.join(usr, "lib", "**", "libgart.so.0"), recursive=True)[0]))
    print(ran(os.path.join(usr, "bin", "gcc-graph"), "--version", env=env), end="")
    assert "sound" in ran(os.path.join(usr, "bin", "gart-run"), "check", MODEL, env=env)
    env.pop("GART_LIBRARY", None)
    env["PYTHONPATH"] = os.path.join(usr, "lib", "python3", "dist-packages")
    print(ran(sys.executable, "-c", USE_PYTHON.format(model=MODEL), env=env), end="")


def tarball(folder):
    path, = glob.glob(os.path.join(FOLDER, f"gart-{version()}-*.tar.gz"))
    with tarfile.open(path) as file:
        names = file.getnames()
        file.extractall(folder)
    assert not [n for n in names if "gcc" in n or n.endswith(".py")], names
    works(folder, os.path.dirname(glob.glob(os.path.join(folder, "lib", "**", "libgart.so.0"), recursive=True)[0]))
    print(f"{os.path.basename(path)}: {os.path.getsize(path)} bytes")


def bare_system(folder):
    base = os.environ.get("GCC_GRAPH_BARE_DEBIAN")
    if not base or os.geteuid() != 0:
        print("not installed on a bare Debian: that needs root and $GCC_GRAPH_BARE_DEBIAN")
        return
    root = os.path.join(folder, "system")
    ran("cp", "-a", base, root)
    for name in ("resolv.conf", "hosts"):
        shutil.copy("/etc/" + name, os.path.join(root, "etc", name))
    os.mkdir(os.path.join(root, "packages"))
    for path in [*packages().values(), MODEL]:
        shutil.copy(path, os.path.join(root, "packages"))
    env = {**os.environ, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "PYTHONPATH": ""}
    for name in ("LD_LIBRARY_PATH", "GART_LIBRARY"):
        env.pop(name, None)
    use = USE_PYTHON.format(model="/packages/" + os.path.basename(MODEL))
    ran("chroot", root, "sh", "-ec", "apt-get update -qq && apt-get install -y -qq --no-install-recommends /packages/*.deb", env=env)
    print("bare Debian:", ran("chroot", root, "gcc-graph", "--version", env=env).strip(), ran("chroot", root, "python3", "-c", use, env=env).strip())


fields()
for check in (unpacked, tarball, bare_system):
    with tempfile.TemporaryDirectory() as temporary:
        check(temporary)
