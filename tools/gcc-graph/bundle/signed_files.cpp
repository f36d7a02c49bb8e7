#include "tools/gcc-graph/bundle/signed_files.h"

#include <algorithm>
#include <map>

#include "tools/gcc-graph/bundle/sha256.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(path.begin(), path.end(), folder.begin(), folder.end()).second == folder.end();
}

/// Collects the files of a folder.
class FolderWalk {
 public:
  FolderWalk(fs::path root, SignedFiles& out) : root_(std::move(root)), out_(out) {}

  void enter(const fs::path& inside) {
    for (const fs::directory_entry& entry : fs::directory_iterator(root_ / inside)) {
      const fs::path name = inside / entry.path().filename();
      const auto covers = [&](const std::string& ignored) { return is_below(name, ignored); };
      if (std::ranges::none_of(out_.ignored, covers)) add(name, entry.path());
    }
  }

 private:
  void add(const fs::path& name, const fs::path& path) {
    const bool is_link = fs::is_symlink(path);
    if (is_link && !(out_.follows_links && fs::is_regular_file(path)))
      fail(path.string(), " is a symbolic link, which a signature of this folder cannot cover");
    if (fs::is_directory(path)) return enter(name);
    if (!fs::is_regular_file(path)) fail(path.string(), " is not a file or a folder");
    out_.files.push_back({name.string(), sha256_of_file(path)});
  }

  fs::path root_;
  SignedFiles& out_;
};

/// "'a', 'b', 'c' and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string out;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > kMost ? concat(out, " and ", names.size() - kMost, " more") : out;
}

}  // namespace

bool is_inside(const fs::path& name) {
  return !name.empty() && name.is_relative() && name.lexically_normal().native() == name.native() &&
         std::ranges::none_of(name, [](const fs::path& part) { return part.empty() || part == "." || part == ".."; });
}

SignedFiles find_files(const std::string& path, SignedFiles rules, const std::string& bundle) try {
  SignedFiles out = std::move(rules);
  const fs::path root = fs::canonical(path);
  out.model = root.filename().string();
  out.files.clear();
  if (fs::is_regular_file(root)) {
    out.files.push_back({".", sha256_of_file(root)});
    return out;
  }
  if (!fs::is_directory(root)) fail(path, " is not a file or a folder");
  const fs::path own = fs::weakly_canonical(bundle).lexically_relative(root);
  if (is_inside(own) && std::ranges::count(out.ignored, own.string()) == 0) out.ignored.push_back(own.string());
  FolderWalk(root, out).enter({});
  std::ranges::sort(out.files, {}, [](const FileDigest& f) { return fs::path(f.name); });
  return out;
} catch (const fs::filesystem_error& error) {
  fail("cannot read ", error.path1().string(), ": ", error.code().message());
}

std::string digest_of_all(const std::vector<FileDigest>& files) {
  Sha256 digest;
  for (const FileDigest& file : files) digest.update(bytes_of_digits(file.sha256));
  return digest.digits();
}

std::string differences(const std::vector<FileDigest>& expected, const std::vector<FileDigest>& found) {
  std::map<std::string, std::string> rest;
  for (const FileDigest& file : found) rest.emplace(file.name, file.sha256);
  std::vector<std::string> changed, missing, added;
  for (const FileDigest& file : expected) {
    const auto at = rest.find(file.name);
    if (at == rest.end())
      missing.push_back(file.name);
    else if (at->second != file.sha256)
      changed.push_back(file.name);
    rest.erase(file.name);
  }
  for (const auto& [name, digest] : rest) added.push_back(name);
  std::string out;
  const auto tell = [&](const char* fact, const std::vector<std::string>& names) {
    if (!names.empty()) out += concat(out.empty() ? "" : "; ", fact, ": ", some_of(names));
  };
  tell("changed", changed);
  tell("missing", missing);
  tell("added", added);
  return out;
}

}  // namespace gcg::tools
