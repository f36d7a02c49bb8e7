// A vector that is indexed by strong ids.
#pragma once

#include <cstddef>
#include <ranges>
#include <utility>
#include <vector>

#include "compiler/support/ids.h"

namespace gcg {

/// Elements have the ids Id(0), Id(1), ...
template <class Id, class T>
class IndexedVector {
 public:
  IndexedVector() = default;
  explicit IndexedVector(size_t size, const T& value = T()) : items_(size, value) {}

  decltype(auto) operator[](Id id) { return items_[static_cast<size_t>(id.index)]; }
  decltype(auto) operator[](Id id) const { return items_[static_cast<size_t>(id.index)]; }
  bool contains(Id id) const { return id.valid() && static_cast<size_t>(id.index) < items_.size(); }

  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id(static_cast<int64_t>(items_.size()) - 1);
  }
  /// All ids, in order.
  auto ids() const {
    return std::views::iota(0, static_cast<int>(items_.size())) | std::views::transform([](int i) { return Id(i); });
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void clear() { items_.clear(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  decltype(auto) front() { return items_.front(); }
  decltype(auto) front() const { return items_.front(); }
  decltype(auto) back() { return items_.back(); }
  decltype(auto) back() const { return items_.back(); }

 private:
  std::vector<T> items_;
};

}  // namespace gcg
