#include "codegen/library/library_binder.h"

#include <algorithm>

#include "codegen/library/bindings.h"
#include "compiler/support/error.h"

namespace gcg::library {
namespace {

struct Library {
  const char* name;
  std::optional<LibraryCall> (*bind)(const Kernel&);
};
constexpr Library kLibraries[] = {{"cublasLt", bind_matmul}, {"cudnn", bind_convolution}};

class Binder final : public LibraryBinder {
 public:
  explicit Binder(std::vector<std::string> names) : names_(std::move(names)) {}

  std::optional<LibraryCall> bind(const Kernel& kernel) const override {
    for (const Library& library : kLibraries) {
      if (std::find(names_.begin(), names_.end(), library.name) == names_.end()) continue;
      if (auto call = library.bind(kernel)) return call;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> known_libraries() {
  std::vector<std::string> names;
  for (const Library& library : kLibraries) names.emplace_back(library.name);
  return names;
}

std::unique_ptr<LibraryBinder> make_library_binder(const std::vector<std::string>& names) {
  const std::vector<std::string> known = known_libraries();
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail("there is no library '", name, "' to bind; known are: ", list);
  return std::make_unique<Binder>(names);
}

}  // namespace gcg::library
