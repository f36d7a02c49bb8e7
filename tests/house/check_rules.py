#!/usr/bin/env python3
"""The rules of the house that a program can check, for all files. Compilers and formatters check the others."""
import ast
import os
import re
import sys

from style_tools import ROOT, sources

CODE = ("artifact_schema", "codegen", "compiler", "runtime", "tools")
LONGEST_FUNCTION = 50       # limit of lines between a function's braces
LONGEST_TEST_FUNCTION = 80  # for tests, which have tables and long scripts
# The files that may name a class of devices: its definition, the code that builds fleets and targets, and the choices
# of passes and file formats.
NAMES_DEVICE_CLASS = re.compile(
    r"codegen/cpu/cpu_backend|codegen/cuda/cuda_backend|compiler/fleet/fleet_tables|compiler/kernel/(device_traits|target)\."
    r"|compiler/passes/pipeline\.cpp|tools/api/tune/")

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*', re.S | re.M)
SCOPE = re.compile(r"(template\s*<.*>\s*)?(inline\s+)?(namespace|class|struct|enum|union|extern)\b", re.S)


def bare(text, strings=False):
    """The text without comments and preprocessor lines; with `strings`, keeps strings."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'R":
            return token if strings else "0" + re.sub(r"[^\n]", "_", token[1:])
        return re.sub(r"[^\n]", " ", token)
    return TOKEN.sub(blank, re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "_", text))


def functions(text):
    """(lines, name, first line) of each function that a file defines."""
    text, open_braces, begin = bare(text), [], 0
    for match in re.finditer(r"[{};]", text):
        head = text[begin:match.start()].strip()
        if match.group(0) == ";" and head.count("(") > head.count(")"):
            continue  # of a for loop
        begin = match.end()
        if match.group(0) == "{":
            outside = all(kind == "scope" for kind, _, _ in open_braces)
            is_scope = SCOPE.match(head) and not re.search(r"\)\s*(const|noexcept|override|final|->.*)*$", head)
            kind = "inner" if not outside else "scope" if is_scope else "function" if "(" in head and not head.endswith("=") else "other"
            open_braces.append((kind, match.start(), head))
        elif match.group(0) == "}":
            kind, at, head = open_braces.pop()
            if kind == "function":
                name = re.search(r"([~\w:]+|operator\S+)\s*\(", head)
                yield text.count("\n", at, match.start()) - 1, name.group(1) if name else head, text.count("\n", 0, at) + 1


def lines_with(pattern, path, text):
    return [f"{path}:{number}: {line.strip()}" for number, line in enumerate(text.split("\n"), 1) if re.search(pattern, line)]


def of_folder(path, *folders):
    return any(path.startswith(f + "/") for f in folders)


def functions_are_short(path, text):
    most = LONGEST_TEST_FUNCTION if of_folder(path, "tests") else LONGEST_FUNCTION
    return [f"{path}:{line}: {name} has {n} lines, more than {most}" for n, name, line in functions(text) if n > most]


def own_header_first(path, text):
    """A source has the name of the header that declares its contents, and includes it first. Parts of a larger unit
    have no such header."""
    if not of_folder(path, *CODE) or not path.endswith(".cpp"):
        return []
    own = path[:-len(".cpp")] + ".h"
    included = re.findall(r'^#include "([^"]+)"', text, re.M)
    if os.path.exists(os.path.join(ROOT, own)):
        return [] if included and included[0] in (own, os.path.basename(own)) else [f"{path}: its first include is not {own}"]
    return [] if included else [f"{path}: no header declares what it defines"]


def silent_below_the_tools(path, text):
    """Only tools/ makes user-visible text, from data. The layers below may return an error, but print nothing."""
    if not of_folder(path, "artifact_schema", "codegen", "compiler", "runtime"):
        return []
    found = lines_with(r"\bstd::(cout|cerr|clog|puts|printf)\b|\bf?printf *\(|\bputs *\(", path, bare(text))
    if of_folder(path, "compiler/report"):
        found += lines_with(r'"[^"]*\w+ \w+ \w+ \w+[^"]*"', path, "\n".join(
            line for line in bare(text, strings=True).split("\n") if "GCG_CHECK" not in line and "#include" not in line))
    # Exception: reading the value of a Result that holds an error prints a message and ends the program.
    return [f for f in found if "runtime/include/gart/result.h" not in f]


def cpu_is_a_device(path, text):
    """A null pointer must not mean the CPU."""
    if not of_folder(path, "runtime"):
        return []
    return lines_with(r"\b(device_|gpu_?|cuda_?|lane_)(\.get\(\))? *[!=]= *nullptr|!(device_|gpu_?|cuda_?)\b|\bif \((device_|gpu_?|cuda_?)(\.get\(\))?\)", path, bare(text))


def no_lists_of_operators(path, text):
    """Operators that share a property have a trait in their OpDefs, or a kind; code does not list them."""
    if not of_folder(path, "compiler", "codegen") or of_folder(path, "compiler/ops", "compiler/import", "compiler/export"):
        return []
    name = r'"[A-Z][a-z]\w+"'
    text = bare(text, strings=True)
    return [f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {' '.join(m.group(0).split())}"
            for m in re.finditer(rf"{name}, *{name},\s*{name}", text)]


def devices_are_asked_not_named(path, text):
    if not of_folder(path, "compiler", "codegen", "tools") or NAMES_DEVICE_CLASS.match(path):
        return []
    # A default argument or member does not choose a code path, so it may name a class.
    return [f for f in lines_with(r"\bDeviceClass::(cpu|cuda)\b", path, bare(text)) if not re.search(r"DeviceClass \w+ = ", f)]


def hardware_is_in_one_table(path, text):
    """Sizes and rates of machines belong in compiler/kernel/machine."""
    if not of_folder(path, "compiler", "codegen") or path.startswith("compiler/kernel/machine."):
        return []
    return lines_with(r"constexpr \w+ \w*(?i:l1|l2|l3|cache_?line|linebytes|line_bytes|warp(_?threads)?\b|gigahertz|bandwidth|reserved_?shared|bytes_per_second)"
                      r"\w* *= *[0-9]", path, re.sub(r"kLineBytes = 128", "", bare(text)))  # of a swizzled tile


def words_of_the_field(path, text):
    """Names that were replaced by the field's standard terms."""
    return lines_with(r"(?i)\b\w*(few_lines|fewlines|thrift|steering|stand_?in_(kernel|launch)|on_host_step|HostCode|behind|in_?front)\w*", path, bare(text)) \
        if of_folder(path, *CODE) and path.endswith((".h", ".cpp")) else []


def passes_say_what_they_ensure(path, text):
    """The headers of passes, which the pipeline includes, have a line with the state that later passes rely on."""
    if not of_folder(path, "compiler/passes") or not path.endswith(".h"):
        return []
    with open(os.path.join(ROOT, "compiler/passes/pipeline.cpp"), encoding="utf-8") as f:
        is_pass = f'#include "{path}"' in f.read() and path != "compiler/passes/pass.h"
    return [f"{path}: has no comment with 'Ensures: '"] if is_pass and not re.search(r"^///.*\bEnsures: ", text, re.M) else []


def fleets_name_no_device(path, text):
    """The kinds of devices of a fleet are rows in runtime/fleet_devices."""
    if not of_folder(path, "runtime/fleet"):
        return []
    return lines_with(r"(?i)cuda|TargetKind::(?!cpu)", path, bare(text, strings=True))


RULES = [functions_are_short, own_header_first, silent_below_the_tools, cpu_is_a_device, no_lists_of_operators,
         devices_are_asked_not_named, hardware_is_in_one_table, words_of_the_field, passes_say_what_they_ensure,
         fleets_name_no_device]

def imported(module, text, modules):
    """The modules among `modules` that a Python module imports, also inside of functions."""
    package, found = modules[module], set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - max(node.level - 1, 0)] if node.level else []
            base = ".".join(above + ([node.module] if node.module else []))
            found.update(f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base for alias in node.names)
    # A package may load its own modules late, and these modules may import the package.
    return {m for m in found if m in modules and m != module and not m.startswith(module + ".") and not module.startswith(m + ".")}


def circle_of_imports(texts):
    """An import cycle among Python modules, as a list of their names. `texts`: sources by path below tools/python."""
    modules = {}  # by name: its package
    for path in texts:
        name = path.removesuffix(".py").replace("/", ".")
        modules[name.removesuffix(".__init__")] = name.rsplit(".", 1)[0]
    names = {path: path.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for path in texts}
    edges = {names[path]: imported(names[path], text, modules) for path, text in texts.items()}
    done = set()

    def walk(module, way):
        if module in way:
            return way[way.index(module):] + [module]
        if module in done:
            return []
        for other in sorted(edges[module]):
            if circle := walk(other, way + [module]):
                return circle
        done.add(module)
        return []

    return next((circle for module in sorted(edges) if (circle := walk(module, []))), [])


# Each rule must find its broken example.
BROKEN = {
    functions_are_short: ("compiler/a.cpp", "int f() {\n" + "  g();\n" * 51 + "}\n"),
    own_header_first: ("compiler/compile.cpp", '#include "compiler/options.h"\n'),
    silent_below_the_tools: ("compiler/a.cpp", 'void f() { std::cout << "done"; }'),
    cpu_is_a_device: ("runtime/a.cpp", "if (device_ == nullptr) run();"),
    no_lists_of_operators: ("compiler/passes/a.cpp", 'const std::set<std::string> k = {"Relu", "Tanh", "Gelu"};'),
    devices_are_asked_not_named: ("compiler/passes/a.cpp", "if (device == DeviceClass::cpu) return;"),
    hardware_is_in_one_table: ("codegen/cpu/a.cpp", "constexpr int64_t l2_bytes = 1 << 20;"),
    words_of_the_field: ("codegen/cuda/a.cpp", "int few_lines = 8;"),
    fleets_name_no_device: ("runtime/fleet/a.cpp", 'if (device.starts_with("cuda")) options.threads = 0;'),
    passes_say_what_they_ensure: ("compiler/passes/canonicalize.h", "/// Requires: every value has a rank.\nbool canonicalize(Graph& graph);\n"),
}


def main():
    failed = 0
    for rule, (path, text) in BROKEN.items():
        if not rule(path, text):
            print(f"{rule.__name__} does not find what it forbids: {text[:60]!r}")
            failed = 1
    files = [f for f in sources() if f.endswith((".h", ".cpp")) and of_folder(f, *CODE, "examples", "tests")]
    assert len(files) > 500, "the sources were not found"
    for path in files:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        for rule in RULES:
            for found in rule(path, text):
                print(f"{found}  [{rule.__name__}]")
                failed = 1
    if circle_of_imports({"p/__init__.py": "from . import a", "p/a.py": "def f():\n    from .b import g", "p/b.py": "from . import a"}) != ["p.a", "p.b", "p.a"]:
        print("circle_of_imports does not find a circle")
        failed = 1
    python = {f[len("tools/python/"):]: open(os.path.join(ROOT, f), encoding="utf-8").read()
              for f in sources() if f.startswith("tools/python/gart/") and f.endswith(".py")}
    if circle := circle_of_imports(python):
        print(f"imports form a circle: {' -> '.join(circle)}")
        failed = 1
    print(f"{len(files)} files, {len(RULES)} rules, {len(python)} Python modules without circles")
    return failed


if __name__ == "__main__":
    sys.exit(main())
