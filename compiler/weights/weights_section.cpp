#include "compiler/weights/weights_section.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/deferred.h"
#include "compiler/weights/constant_roots.h"

namespace gcg {
namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

uint64_t WeightsSection::place(const TensorRef& tensor, const std::string& name) {
  if (auto it = by_tensor_.find(tensor.get()); it != by_tensor_.end()) return it->second;
  const auto size = static_cast<size_t>(tensor->bytes());
  const size_t hash = hash_of_elements(*tensor);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it) {
    const Placed& known = placed_[it->second];
    if (same_elements(*known.tensor, *tensor)) return by_tensor_[tensor.get()] = known.offset;
  }
  const uint64_t offset = gart::align_up(end_, kAlignment);
  end_ = offset + size;
  by_hash_.emplace(hash, placed_.size());
  placed_.push_back({tensor, name, offset});
  return by_tensor_[tensor.get()] = offset;
}

std::vector<gart::WeightPiece> WeightsSection::pieces() const {
  std::vector<gart::WeightPiece> out;
  for (const Placed& p : placed_)
    out.push_back({p.offset, static_cast<uint64_t>(p.tensor->bytes()), [tensor = p.tensor](std::span<uint8_t> to) {
                     std::memcpy(to.data(), tensor->computed().data(), to.size());
                   }});
  return out;
}

std::vector<StoredTwice> WeightsSection::stored_twice(
    const std::vector<std::pair<TensorRef, std::string>>& sources) const {
  ConstantRoots roots;
  std::map<TensorRef, std::string> names;
  for (const auto& [tensor, name] : sources) names.emplace(roots.of(tensor), name);
  std::map<TensorRef, size_t> number;
  std::vector<StoredTwice> all;
  std::vector<int64_t> largest;
  for (const auto& [tensor, name, offset] : placed_) {
    const TensorRef root = roots.of(tensor);
    const auto [it, is_new] = number.emplace(root, all.size());
    if (is_new) {
      const auto known = names.find(root);
      all.push_back({known == names.end() ? name : known->second, 0});
      largest.push_back(tensor->bytes());
      continue;
    }
    int64_t& most = largest[it->second];
    all[it->second].bytes += std::min(most, tensor->bytes());
    most = std::max(most, tensor->bytes());
  }
  std::erase_if(all, [](const StoredTwice& s) { return s.bytes == 0; });
  std::stable_sort(all.begin(), all.end(),
                   [](const StoredTwice& a, const StoredTwice& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace gcg
