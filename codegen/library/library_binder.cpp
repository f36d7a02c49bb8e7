#include "codegen/library/library_binder.h"

#include <algorithm>

#include "codegen/library/bindings.h"
#include "compiler/support/error.h"

namespace gcg::library {
namespace {

struct Binding {
  const char* library;
  LibraryOperation operation;
  std::optional<LibraryCall> (*bind)(const Kernel&);
};
constexpr Binding kBindings[] = {{"cublasLt", LibraryOperation::matmul, bind_matmul},
                                 {"cudnn", LibraryOperation::convolution, bind_convolution},
                                 {"cudnn", LibraryOperation::attention, bind_attention}};

class Binder final : public LibraryBinder {
 public:
  explicit Binder(std::vector<std::string> names) : names_(std::move(names)) {}

  std::vector<LibraryScope> scopes() const override {
    std::vector<LibraryScope> all;
    for (const std::string& name : names_) {
      LibraryScope scope{name, {}};
      for (const Binding& binding : kBindings)
        if (name == binding.library) scope.operations.push_back(binding.operation);
      all.push_back(std::move(scope));
    }
    return all;
  }

  std::optional<LibraryCall> bind(const Kernel& kernel) const override {
    for (const Binding& binding : kBindings) {
      if (std::find(names_.begin(), names_.end(), binding.library) == names_.end()) continue;
      if (auto call = binding.bind(kernel)) return call;
    }
    return std::nullopt;
  }

 private:
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> known_libraries() {
  std::vector<std::string> names;
  for (const Binding& binding : kBindings)
    if (names.empty() || names.back() != binding.library) names.emplace_back(binding.library);
  return names;
}

std::unique_ptr<LibraryBinder> make_library_binder(const std::vector<std::string>& names) {
  const std::vector<std::string> known = known_libraries();
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail("there is no library '", name, "' to bind; known: ", list);
  return std::make_unique<Binder>(names);
}

}  // namespace gcg::library
