// Models in a store (gcc-graph store add), by id and version. libgart_store.so, over libgart.
//
//   auto model = gart::store::load("/srv/models", "resnet@3");     // without @3: the latest version
//   auto found = gart::store::find("/srv/models", "resnet");
//   auto fleet = gart::fleet::load(found->path);                   // the file, for every other function that takes one
//
// Every call reports failure through Result (result.h); none throws. Any number of threads and processes may read a
// store while others add and remove versions. A program that was loaded keeps its version.
#pragma once

#include <cstdint>
#include <string>

#include "gart/gart.hpp"

namespace gart::store {

struct Found {
  std::string id;
  int64_t version = 0;
  std::string digest;  ///< of the file's bytes, as gcc-graph store show prints it
  std::string path;    ///< of the artifact; its bytes never change
};

/// Finds "ID" or "ID@VERSION". Fails if the store lacks it, or if the file is not the one that was added. `verify`:
/// compare the file's digest, which takes about 10 ms per 100 MB.
GART_API Result<Found> find(const std::string& store, const std::string& model, bool verify = true);

/// find() and gart::load(). With trusted keys, the signature is that of the store, unless the options have one.
GART_API Result<Program> load(const std::string& store, const std::string& model, const LoadOptions& options = {});

}  // namespace gart::store
