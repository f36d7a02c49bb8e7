// The files that an OpenSSF Model Signing bundle covers, with their digests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gcg::tools {

struct FileDigest {
  std::string name;    // relative to the folder, with '/'; "." if the model is a single file
  std::string sha256;  // hexadecimal digits
};

struct SignedFiles {
  std::string model;                 // its name: informative
  bool follows_links = false;        // symbolic links to files are read as these files
  std::vector<std::string> ignored;  // paths of files and folders that are not covered
  std::vector<FileDigest> files;     // without duplicates
};

/// True if `name` leads to a file below a folder: relative, in normal form, without "." and "..".
bool is_inside(const std::filesystem::path& name);

/// Reads all files of `path`, a file or a folder, in the order of their names. `rules`: its `follows_links` and
/// `ignored` apply. `bundle`: this file is not covered either, and becomes an element of `ignored` if it is in the
/// folder. Throws Error for a symbolic link that may not be followed, and for devices and the like.
SignedFiles find_files(const std::string& path, SignedFiles rules, const std::string& bundle);

/// The SHA-256 of all digests in their order: the digest of the whole model.
std::string digest_of_all(const std::vector<FileDigest>& files);

/// "changed: 'a'; missing: 'b'; added: 'c', 'd'"; empty if there is no difference.
std::string differences(const std::vector<FileDigest>& expected, const std::vector<FileDigest>& found);

}  // namespace gcg::tools
