#include "compiler/weights_section.h"

#include <algorithm>
#include <cstring>

#include "compiler/constant_roots.h"

namespace gcg {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

uint64_t WeightsSection::place(const TensorRef& tensor, const std::string& name) {
  if (auto it = by_tensor_.find(tensor.get()); it != by_tensor_.end()) return it->second;
  const auto size = static_cast<size_t>(tensor->bytes());
  const size_t hash = hash_of_bytes(*tensor);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (it->second.second == size && std::memcmp(bytes_.data() + it->second.first, tensor->data(), size) == 0)
      return by_tensor_[tensor.get()] = it->second.first;
  bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
  const uint64_t offset = bytes_.size();
  bytes_.insert(bytes_.end(), tensor->data(), tensor->data() + size);
  by_hash_.emplace(hash, std::pair(offset, size));
  placed_.emplace_back(tensor, name);
  return by_tensor_[tensor.get()] = offset;
}

std::vector<StoredTwice> WeightsSection::stored_twice(const std::vector<std::pair<TensorRef, std::string>>& sources) const {
  ConstantRoots roots;
  std::map<TensorRef, std::string> names;
  for (const auto& [tensor, name] : sources) names.emplace(roots.of(tensor), name);
  std::map<TensorRef, size_t> number;
  std::vector<StoredTwice> all;
  std::vector<int64_t> largest;
  for (const auto& [tensor, name] : placed_) {
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
  std::stable_sort(all.begin(), all.end(), [](const StoredTwice& a, const StoredTwice& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace gcg
