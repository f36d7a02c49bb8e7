#!/usr/bin/env python3
"""sbom.py [BUILD [FILE]]: writes the software bill of materials of BUILD (default: build/release) as SPDX 2.3 in JSON to FILE (default:
BUILD/packages/gcc-graph-VERSION.spdx.json): the products, and the libraries of others that are linked into or with each.

The facts come from the build: products from the rules to install, static libraries from Ninja's inputs, headers from the compiler's dependencies, shared libraries from the
files themselves. Versions come from Debian's packages. A library without a row in LICENCES is an error."""
import datetime
import glob
import hashlib
import json
import os
import re
import subprocess
import sys

import sdist

OURS = "Apache-2.0 WITH LLVM-exception"
# Licences by the name of Debian's source package, without its version. They cover the parts that a program contains or
# links, not build scripts.
LICENCES = {
    "abseil": "Apache-2.0", "boost": "BSL-1.0", "cli11": "BSD-3-Clause", "flatbuffers": "Apache-2.0", "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later", "hwloc": "BSD-3-Clause", "libjpeg-turbo": "IJG AND BSD-3-Clause AND Zlib", "libpng": "libpng-2.0", "libsndfile": "LGPL-2.1-or-later", "libtirpc": "BSD-3-Clause", "libxcrypt": "LGPL-2.1-or-later",
    "libzip": "BSD-3-Clause", "libzstd": "BSD-3-Clause", "linux": "GPL-2.0-only WITH Linux-syscall-note", "llvm-toolchain": OURS,
    "mpich": "mpich2", "nlohmann-json3": "MIT", "onnx": "Apache-2.0", "openmpi": "BSD-3-Clause-Open-MPI", "openssl": "Apache-2.0", "protobuf": "BSD-3-Clause", "python": "PSF-2.0",
    "sqlite3": "blessing", "xxhash": "BSD-2-Clause", "zlib": "Zlib",
}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def project_of(source):
    """The row of LICENCES: "gcc-12" and "llvm-toolchain-19" are versions of a project."""
    return next((name for name in (source, re.sub(r"-?[\d.]+$", "", source)) if name in LICENCES), None)


class Debian:
    """The installed packages that files belong to."""

    def __init__(self, paths):
        self.owners = {}
        known = sorted({path for given in paths for path in self.places(given)})
        for i in range(0, len(known), 500):
            found = subprocess.run(["dpkg", "-S", *known[i:i + 500]], capture_output=True, text=True).stdout
            for line in found.splitlines():
                owners, _, path = line.partition(": ")
                if not owners.startswith("diversion"):
                    self.owners[path] = owners.split(",")[0].strip()
        names = sorted(set(self.owners.values()))
        rows = output_of("dpkg-query", "-W", "-f", "${binary:Package}\t${Package}\t${source:Package}\t${source:Version}\n", *names) if names else ""
        self.sources = {}
        for row in rows.splitlines():
            binary, plain, source, version = row.split("\t")
            self.sources[binary] = self.sources[plain] = (source, version)

    @staticmethod
    def places(path):
        """The path, and its other name on systems where /lib is /usr/lib."""
        real = os.path.realpath(path)
        return {path, real, *(p.removeprefix("/usr") for p in (path, real)), *("/usr" + p for p in (path, real) if p.startswith("/lib"))}

    def source_of(self, path):
        """(source package, version)"""
        for place in self.places(path):
            if place in self.owners:
                return self.sources[self.owners[place]]
        sys.exit(f"sbom: {path} belongs to no package of this system")


def products_of(build):
    """The programs and libraries that the build installs, by their places in the build."""
    found = set()
    for script in glob.glob(os.path.join(build, "**", "cmake_install.cmake"), recursive=True):
        with open(script) as file:
            for names in re.findall(r"TYPE (?:EXECUTABLE|MODULE|SHARED_LIBRARY|STATIC_LIBRARY)[^)]*? FILES\s+([^)]*)\)", file.read()):
                found.update(os.path.relpath(name, build) for name in re.findall(r'"([^"]*)"', names))
    return sorted(p for p in found if os.path.isfile(os.path.join(build, p)) and not os.path.islink(os.path.join(build, p)))


def inputs_of(build, product, products):
    """The files from which Ninja builds the product, directly or indirectly. Excludes the inputs of our shared
    libraries, because the product contains only their names."""
    def all_of(path):
        return set(output_of("ninja", "-C", build, "-t", "inputs", path).splitlines())
    inputs = all_of(product)
    return inputs.difference(*(all_of(p) for p in products if p != product and p in inputs and ".so" in p))


def headers_by_object(build):
    headers, of = {}, None
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            of = headers.setdefault(line.split(": #")[0], set())
        elif line.strip().startswith("/usr/"):
            of.add(os.path.normpath(line.strip()))
    return headers


def shared_of(path):
    """The paths of the shared libraries that the file itself names, except ours."""
    if path.endswith(".a"):
        return set()
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", path)))
    lines = [line.split() for line in output_of("ldd", path).splitlines()]
    found = {words[0]: words[2] for words in lines if len(words) > 2} | {os.path.basename(w[0]): w[0] for w in lines if w[0].startswith("/")}
    return {found[name] for name in needed if not name.startswith(("libgart", "libgcc_graph"))}


def identifier(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def package(name, version, licence, **more):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def product_package(build, product):
    with open(os.path.join(build, product), "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    purpose = "APPLICATION" if product.startswith("bin/") else "LIBRARY"
    more = {"comment": "Opens libcrypto, the CUDA driver and CUDA's libraries at run time if they are asked for."} if "libgart" in product else {}
    return package(product, sdist.version(), OURS, primaryPackagePurpose=purpose, packageFileName=product, supplier="Organization: gcc-graph",
                   checksums=[{"algorithm": "SHA256", "checksumValue": digest}], **more)


def library_package(source, version):
    project = project_of(source)
    if project is None:
        sys.exit(f"sbom: the licence of '{source}' is not known: add a row to LICENCES in tools/package/sbom.py")
    distribution = "ubuntu" if "ubuntu" in version else "debian"
    locator = f"pkg:deb/{distribution}/{source}@{version.replace('+', '%2B').replace(':', '%3A')}?arch=source"
    return package(source, version, LICENCES[project], externalRefs=[
        {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}])


def bill(build):
    products = products_of(build)
    if not products:
        sys.exit(f"sbom: {build} has no product: build it first")
    headers = headers_by_object(build)
    inputs = {p: inputs_of(build, p, products) for p in products}
    included = {p: set().union(*(headers.get(name, set()) for name in names)) for p, names in inputs.items()}
    archives = {p: {name for name in names if name.startswith("/usr") and name.endswith(".a")} for p, names in inputs.items()}
    shared = {p: shared_of(os.path.join(build, p)) for p in products}
    debian = Debian(set().union(*included.values(), *shared.values(), *archives.values()))
    libraries, relations = {}, []
    for product in products:
        links = {}
        for kind, paths in (("STATIC_LINK", included[product]), ("DYNAMIC_LINK", shared[product]), ("STATIC_LINK", archives[product])):
            for path in paths:
                source, version = debian.source_of(path)
                libraries[source] = version
                links[source] = kind  # a library whose headers alone are used is part of the product
        relations += [{"spdxElementId": identifier(product), "relationshipType": kind, "relatedSpdxElement": identifier(source)}
                      for source, kind in sorted(links.items())]
    packages = [product_package(build, p) for p in products] + [library_package(s, v) for s, v in sorted(libraries.items())]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": identifier(p)} for p in products] + relations
    digest = hashlib.sha256(json.dumps([packages, relations]).encode()).hexdigest()
    created = datetime.datetime.fromtimestamp(sdist.time_of_source(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = f"gcc-graph-{sdist.version()}"
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"https://gcc-graph.invalid/spdx/{name}-{digest}",
            "creationInfo": {"created": created, "creators": ["Tool: gcc-graph-sbom", "Organization: gcc-graph"]},
            "packages": packages, "relationships": relations}


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(sdist.TREE, "build", "release")
    path = sys.argv[2] if len(sys.argv) > 2 else os.path.join(build, "packages", f"gcc-graph-{sdist.version()}.spdx.json")
    content = json.dumps(bill(build), indent=1) + "\n"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(content)
    print(path)


if __name__ == "__main__":
    main()
