#include <exception>
#include <new>

#include "gart/store.hpp"
#include "tools/store/signature_bytes.h"
#include "tools/store/store.h"
#include "tools/store/store_error.h"

namespace gart::store {
namespace {

struct FoundVersion {
  StoredVersion version;
  std::string path;
};

Result<FoundVersion> find_version(const std::string& store, const std::string& model, bool verify) try {
  const Store opened(store, Store::Access::read);
  const StoredVersion version = opened.find(parse_reference(model));
  if (verify) opened.check(version);
  return FoundVersion{version, opened.path_of(version)};
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, "not enough memory to read the store"};
} catch (const std::exception& error) {
  return Error{ErrorCode::io, error.what()};
}

}  // namespace

Result<Found> find(const std::string& store, const std::string& model, bool verify) {
  const Result<FoundVersion> found = find_version(store, model, verify);
  if (!found) return found.error();
  return Found{found->version.id, found->version.version, found->version.digest, found->path};
}

Result<Program> load(const std::string& store, const std::string& model, const LoadOptions& options) {
  const Result<FoundVersion> found = find_version(store, model, options.verify);
  if (!found) return found.error();
  LoadOptions rest = options;
  rest.verify = false;  // find_version() has just compared all bytes with the digest of the file that was verified when
                        // it was added
  std::vector<uint8_t> signature;
  if (!options.trusted_keys.empty() && options.signature.empty()) {
    signature = signature_bytes(found->version);
    if (signature.empty())
      return Error{ErrorCode::untrusted, "the model '" + found->version.id + "@" +
                                             std::to_string(found->version.version) +
                                             "' has no signature in the store"};
    rest.signature = signature;
  }
  return gart::load(found->path, rest);
}

}  // namespace gart::store
