#include <exception>
#include <new>

#include "gart/store.hpp"
#include "tools/store/store.h"
#include "tools/store/store_error.h"

namespace gart::store {

Result<Found> find(const std::string& store, const std::string& model, bool verify) try {
  const Store opened(store, Store::Access::read);
  const StoredVersion version = opened.find(parse_reference(model));
  if (verify) opened.check(version);
  return Found{version.id, version.version, version.digest, opened.path_of(version)};
} catch (const std::bad_alloc&) {
  return Error{ErrorCode::out_of_memory, "not enough memory to read the store"};
} catch (const std::exception& error) {
  return Error{ErrorCode::io, error.what()};
}

Result<Program> load(const std::string& store, const std::string& model, const LoadOptions& options) {
  const Result<Found> found = find(store, model, options.verify);
  if (!found) return found.error();
  LoadOptions rest = options;
  rest.verify = false;  // find() has just compared all bytes with the digest of the file that was verified when it was
                        // added
  return gart::load(found->path, rest);
}

}  // namespace gart::store
