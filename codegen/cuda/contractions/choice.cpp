#include "codegen/cuda/contractions/choice.h"

#include "compiler/kernel/decisions.h"

namespace gcg::cuda {

Choice choose(const Target& target, const std::string& kind, const std::string& shape,
              std::vector<std::string> candidates) {
  if (target.decisions == nullptr) return {};
  const auto chosen =
      target.decisions->choose({target.name, name_of(target.precision), kind, shape, std::move(candidates)});
  return chosen ? Choice{*chosen, true} : Choice{};
}

}  // namespace gcg::cuda
