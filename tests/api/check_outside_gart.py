#!/usr/bin/env python3
"""check_outside_gart.py BUILD WAY...: another project builds programs with libgart, in C and in C++, and they run. The ways:

  find           finds the installed components runtime, fleet and development by find_package
  find_in_c      the same in a project without C++
  pkg_config     the same without CMake
  components     each component holds its files and no others
  subdirectory   adds this tree by add_subdirectory; only configures the project, and with `--build` also builds and runs it
  fetch          adds this tree by FetchContent, otherwise like subdirectory
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = os.path.join(TREE, "tests", "runtime", "alone")
MODEL = os.path.join(TREE, "tests", "artifact", "golden", "2.0.gart")
BUILD = sys.argv[1]


def ran(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def as_built():
    """Uses the generator and the compilers of BUILD, because CMake's defaults may not be installed."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        facts = dict(re.findall(r"^(\w+):\w+=(.*)$", cache.read(), re.M))
    return facts["CMAKE_GENERATOR"], {name: facts[name] for name in ("CMAKE_MAKE_PROGRAM", "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER")}


def configured(folder, how, languages="C;CXX", **more):
    generator, same = as_built()
    given = {**same, "HOW": how, "TREE": TREE, "PROGRAMS": PROGRAMS, "LANGUAGES": languages, **more}
    if "CXX" not in languages:
        del given["CMAKE_CXX_COMPILER"]
    ran("cmake", "-S", os.path.join(HERE, "outside_gart"), "-B", folder, "-G", generator, *(f"-D{name}={value}" for name, value in given.items()))


def installed(prefix, *components):
    for component in components:
        ran("cmake", "--install", BUILD, "--prefix", prefix, "--component", component)


def files_under(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


def works(program, **more):
    """Checks a program of PROGRAMS: it prints the model's inputs and outputs, or, if it needs a fleet or generation, why the file does not fit."""
    name = os.path.basename(program)
    printed = ran(program, MODEL, **more)
    wanted = "fleet" if "fleet" in name else "not known to generate" if "generate" in name else "in x.*out out"
    assert re.search(wanted, printed, re.S), f"{name} printed {printed!r}"
    print(f"{name}: {printed.splitlines()[0]}")


def all_work(folder, languages):
    names = [name for name in os.listdir(folder) if re.fullmatch(r"(c|cxx)_\w+", name) and os.access(os.path.join(folder, name), os.X_OK)]
    assert len(names) == {"C": 5, "C;CXX": 12}[languages], names
    for name in sorted(names):
        works(os.path.join(folder, name))


def find(folder, languages="C;CXX"):
    prefix, project = os.path.join(folder, "installed"), os.path.join(folder, "project")
    installed(prefix, "runtime", "fleet", "development")
    configured(project, "find", languages, CMAKE_PREFIX_PATH=prefix)
    ran("cmake", "--build", project)
    all_work(project, languages)


def find_in_c(folder):
    find(folder, "C")


def pkg_config(folder):
    prefix, same = os.path.join(folder, "installed"), as_built()[1]
    installed(prefix, "runtime", "fleet", "development")
    found = next(os.path.dirname(f) for f in files_under(prefix) if f.endswith("gart.pc"))
    more = {"env": {**os.environ, "PKG_CONFIG_PATH": os.path.join(prefix, found)}}
    with open(os.path.join(TREE, "CMakeLists.txt")) as text:
        version = re.search(r"project\(gcc_graph VERSION ([\d.]+)", text.read())[1]
    assert ran("pkg-config", "--modversion", "gart", **more).strip() == version
    for language, compiler, text, standard in (("c", same["CMAKE_C_COMPILER"], "program.c", "-std=c11"),
                                               ("cxx", same["CMAKE_CXX_COMPILER"], "program.cc", "-std=c++20")):
        for library in ("gart", "gart_cpu", "gart_static", "gart_fleet", "gart_fleet_static", "gart_generate", "gart_generate_static"):
            own = next((name for name in ("fleet", "generate") if name in library), None)
            source = os.path.join(HERE, "outside_gart", own + "." + text.split(".")[1]) if own else os.path.join(PROGRAMS, text)
            flags = ran("pkg-config", "--cflags", "--libs", library, **more).split()
            program = os.path.join(folder, f"{language}_{library}")
            ran(compiler, standard, source, "-o", program, *flags)
            works(program, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(os.path.join(prefix, found))})


COMPONENTS = {
    "runtime": r"lib.*/libgart(_cpu|_generate)?\.so\.0|share/doc/libgart0/copyright",
    "fleet": r"lib.*/libgart_fleet\.so\.0",
    "mpi": r"lib.*/libgart_mpi\.so\.0|share/doc/libgart-mpi0/copyright",
    "development": r"include/gart/\w+\.hp?p?|lib.*/libgart\w*\.(so|a)|lib.*/cmake/gart/gart[\w-]+\.cmake|lib.*/pkgconfig/gart\w*\.pc"
                   r"|share/doc/libgart-dev/copyright",
    "tools": r"bin/gcc-graph|include/gcc_graph/\w+\.h|lib.*/libgcc_graph\.so(\.0)?|lib.*/cmake/gcc_graph/gcc_graph-[\w-]+\.cmake"
             r"|share/doc/gcc-graph/copyright|share/man/man1/gcc-graph\.1|share/bash-completion/completions/gcc-graph",
    "runner": r"bin/gart-run|share/doc/gart-run/copyright",
    "python": r"lib/python3/dist-packages/gart/.*\.(py|pyi|typed)|share/doc/python3-gart/copyright",
}


def components(folder):
    for component, pattern in COMPONENTS.items():
        prefix = os.path.join(folder, component)
        installed(prefix, component)
        files = files_under(prefix)
        wrong = [f for f in files if not re.fullmatch(pattern, f)]
        if component == "mpi" and not files:
            print("mpi: MPI was not installed when the runtime was built")
            continue
        assert files and not wrong, f"{component} has {wrong or 'no files'}"
        assert sum("copyright" in f for f in files) == (component != "fleet"), files
        print(f"{component}: {len(files)} files")


def of_tree(how):
    def check(folder):
        configured(folder, how, CMAKE_BUILD_TYPE="RelWithDebInfo")  # without link-time optimisation, which is slow
        cache = open(os.path.join(folder, "CMakeCache.txt")).read()
        for option in ("COMPILER", "TESTS", "EXAMPLES", "INSTALL"):
            assert f"GCC_GRAPH_{option}:BOOL=OFF" in cache, option
        if "--build" in sys.argv:
            ran("cmake", "--build", folder, "--parallel", "2")
            all_work(folder, "C;CXX")
    return check


WAYS = {"find": find, "find_in_c": find_in_c, "pkg_config": pkg_config, "components": components, "subdirectory": of_tree("subdirectory"),
        "fetch": of_tree("fetch")}

for way in sys.argv[2:]:
    if way != "--build":
        with tempfile.TemporaryDirectory() as temporary:
            print(f"== {way}")
            WAYS[way](temporary)
