#include "tests/cuda/sim/libraries/library_work.h"

#include <cstdlib>

namespace gart_sim {
namespace {

// Visits every contiguous run of elements, from the outermost axis inwards.
void add_runs(std::vector<gart_sim_range>& ranges, const Tensor& t, size_t axis, uint64_t address) {
  if (axis == t.extents.size()) {
    ranges.push_back({address, address + static_cast<uint64_t>(t.element_bytes)});
    return;
  }
  const bool is_run = axis + 1 == t.extents.size() && t.strides[axis] == 1;
  if (is_run) {
    ranges.push_back({address, address + static_cast<uint64_t>(t.extents[axis] * t.element_bytes)});
    return;
  }
  for (int64_t i = 0; i < t.extents[axis]; ++i) {
    add_runs(ranges, t, axis + 1, address + static_cast<uint64_t>(i * t.strides[axis] * t.element_bytes));
  }
}

}  // namespace

LibraryWork& LibraryWork::add(Ranges& ranges, const Tensor& t) {
  add_runs(ranges, t, 0, t.address);
  return *this;
}

int LibraryWork::give(int (*take)(void*, const gart_sim_work*), void* to) const {
  const gart_sim_work work = {name_,
                              [](void* data) { (*static_cast<std::function<void()>*>(data))(); },
                              [](void* data) { delete static_cast<std::function<void()>*>(data); },
                              new std::function<void()>(compute_),
                              reads_.data(),
                              reads_.size(),
                              writes_.data(),
                              writes_.size()};
  return take(to, &work);
}

void count(const std::string& what) { gart_sim_call(what.c_str()); }

size_t setting(const char* variable, size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace gart_sim
