#include "codegen/cuda/assembler/nvrtc_search.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace gcg::cuda {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The entries of a folder that begin with `prefix`, in reverse alphabetical order: newest versions first.
std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// The wheels under one Python prefix: PREFIX/lib/python3.X/{site,dist}-packages/nvidia/*/lib.
void add_wheels(const fs::path& prefix, std::vector<fs::path>& folders) {
  for (const fs::path& python : entries(prefix / "lib", "python3"))
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const fs::path& wheel : entries(python / packages / "nvidia", "")) folders.push_back(wheel / "lib");
}

/// The prefix of the python3 that the shell would run.
fs::path python_prefix() {
  std::string path = environment("PATH");
  while (!path.empty()) {
    const std::string folder = path.substr(0, path.find(':'));
    path.erase(0, std::min(path.size(), folder.size() + 1));
    std::error_code error;
    if (!folder.empty() && fs::exists(fs::path(folder) / "python3", error)) return fs::path(folder).parent_path();
  }
  return {};
}

/// Adds the wheels of the project's virtual environment: .venv in this folder or a parent folder, or in a parent folder
/// of the compiler's own file.
void add_project_wheels(std::vector<fs::path>& folders) {
  std::error_code error;
  for (fs::path at : {fs::current_path(error), fs::read_symlink("/proc/self/exe", error).parent_path()})
    for (; !at.empty(); at = at.parent_path()) {
      if (fs::exists(at / ".venv", error)) add_wheels(at / ".venv", folders);
      if (at == at.parent_path()) break;
    }
}

std::vector<fs::path> folders() {
  std::vector<fs::path> folders;
  auto add_toolkit = [&](const fs::path& root) {
    folders.push_back(root / "lib64");
    folders.push_back(root / "lib");
  };
  if (const std::string home = environment("CUDA_HOME"); !home.empty()) add_toolkit(home);
  for (const fs::path& toolkit : entries("/usr/local", "cuda")) add_toolkit(toolkit);
  if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty()) add_wheels(venv, folders);
  add_project_wheels(folders);
  if (const fs::path prefix = python_prefix(); !prefix.empty()) add_wheels(prefix, folders);
  add_wheels("/usr/local", folders);
  if (const std::string home = environment("HOME"); !home.empty()) add_wheels(fs::path(home) / ".local", folders);
  return folders;
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  if (const std::string only = environment("GCC_GRAPH_NVRTC"); !only.empty()) return {only};
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const fs::path& folder : folders())
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      std::error_code error;
      const fs::path file = fs::canonical(folder / name, error);
      if (!error && seen.insert(file.string()).second) found.push_back(file.string());
    }
  found.insert(found.end(), {"libnvrtc.so.13", "libnvrtc.so.12"});
  return found;
}

std::string install_line(const std::string& package) {
  const std::string pip = "pip install " + package;
  return environment("VIRTUAL_ENV").empty() ? "python3 -m venv .venv && .venv/bin/" + pip : pip;
}

}  // namespace gcg::cuda
