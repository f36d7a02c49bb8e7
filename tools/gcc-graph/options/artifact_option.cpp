#include "tools/gcc-graph/options/artifact_option.h"

#include <CLI/CLI.hpp>

#include "tools/gcc-graph/support/fail.h"
#include "tools/store/signature_bytes.h"
#include "tools/store/store.h"

namespace gcg::tools {

void ArtifactOption::add_to(CLI::App& command) {
  CLI::Option* file = command.add_option("artifact", file_, "The .gart file; or use --store and --model");
  CLI::Option* store = command.add_option("--store", store_, "DIR: the store of models that has --model");
  CLI::Option* model = command.add_option("--model", model_, "ID or ID@VERSION: a model of --store");
  store->needs(model)->excludes(file);
  model->needs(store);
}

std::string ArtifactOption::path() const {
  if (store_.empty() && file_.empty()) fail("artifact is required; or give --store and --model");
  if (store_.empty()) return file_;
  const gart::store::Store store(store_, gart::store::Store::Access::read);
  const gart::store::StoredVersion version = store.find(gart::store::parse_reference(model_));
  store.check(version);
  return store.path_of(version);
}

std::vector<uint8_t> ArtifactOption::signature(bool is_needed) const {
  if (store_.empty()) return {};
  const gart::store::Store store(store_, gart::store::Store::Access::read);
  const gart::store::StoredVersion version = store.find(gart::store::parse_reference(model_));
  if (is_needed && version.signature.empty())
    fail("the model '", version.id, "@", version.version, "' has no signature in the store, which --trusted-key needs");
  return gart::store::signature_bytes(version);
}

}  // namespace gcg::tools
