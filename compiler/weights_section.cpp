#include "compiler/weights_section.h"

#include <cstring>
#include <functional>
#include <string_view>

namespace gcg {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

uint64_t WeightsSection::place(const TensorRef& tensor) {
  if (auto it = by_tensor_.find(tensor.get()); it != by_tensor_.end()) return it->second;
  const auto size = static_cast<size_t>(tensor->bytes());
  const size_t hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(tensor->data()), size});
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (it->second.second == size && std::memcmp(bytes_.data() + it->second.first, tensor->data(), size) == 0)
      return by_tensor_[tensor.get()] = it->second.first;
  bytes_.resize((bytes_.size() + kAlignment - 1) / kAlignment * kAlignment);
  const uint64_t offset = bytes_.size();
  bytes_.insert(bytes_.end(), tensor->data(), tensor->data() + size);
  by_hash_.emplace(hash, std::pair(offset, size));
  return by_tensor_[tensor.get()] = offset;
}

}  // namespace gcg
