// A folder of models: versions by id in a database, artifacts beside it in files named by their digests.
//
//   DIR/store.sqlite        models, versions, operations, groups, support
//   DIR/objects/5f0c...     artifacts, never written after they have this name
//   DIR/incoming/           copies that are not complete
//   DIR/lock                one writer at a time
//
// The commit of a version's row makes the version visible. Its file is on the disk by then. So a process that dies
// anywhere leaves the old or the new state, and at most a file that no version needs, which `faults` finds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/store/artifact_facts.h"
#include "tools/store/database.h"

namespace gart::store {

/// A model by its id, and perhaps a version: "resnet", "resnet@3".
struct Reference {
  std::string id;
  std::optional<int64_t> version;  // nullopt: the latest
};

/// Fails unless the id has 1 to 128 letters, digits, '.', '_' or '-', and begins with a letter or digit.
Reference parse_reference(const std::string& text);

struct StoredVersion {
  std::string id;
  int64_t version = 0;
  std::string digest;
  int64_t bytes = 0;
  std::string added;      // UTC: "2026-01-31 12:00:00"
  int64_t rows = 1;       // limit of the rows that a server joins along the first axis; 1: it does not join requests
  std::string signature;  // the artifact's signature in hexadecimal digits; empty: the artifact was added without one
  ArtifactFacts facts;
};

struct NewVersion {
  Reference model;  // without a version: the next number above the highest that the model ever had
  std::string artifact;
  bool replaces = false;  // replaces the version if it exists
  int64_t rows = 1;
  std::string signature;  // a file, as gcc-graph sign writes it; empty: none
};

class Store {
 public:
  enum class Access { read, write };
  /// `write` creates the store if the folder is empty or does not exist. Refuses a folder with other contents.
  Store(const std::string& folder, Access access);

  StoredVersion add(const NewVersion& version);
  /// Removes a version, or all versions of a model. Returns their number. Programs that run them are not affected.
  int64_t remove(const Reference& model);
  /// All versions, or those of a model; ascending.
  std::vector<StoredVersion> list(const std::string& id = {}) const;
  /// Fails if there is no such version.
  StoredVersion find(const Reference& model) const;
  std::string path_of(const StoredVersion& version) const;
  /// Refuses a file whose size or digest differs from the file that was added.
  void check(const StoredVersion& version) const;
  /// All faults as sentences. `cleans`: files that no version needs are removed, and are not faults.
  std::vector<std::string> faults(bool cleans);

 private:
  void create();
  void check_format() const;
  void place(const StoredVersion& version, class Incoming& copy) const;
  void insert(StoredVersion& version, const NewVersion& new_version) const;
  void insert_facts(const StoredVersion& version) const;
  ArtifactFacts facts_of(const std::string& id, int64_t version) const;
  bool is_needed(const std::string& digest) const;
  void find_unneeded(bool cleans, std::vector<std::string>& faults) const;

  std::string folder_;
  std::unique_ptr<Database> database_;
};

}  // namespace gart::store
