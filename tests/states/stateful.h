// Small graphs with states, compiled to artifacts in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gart/gart.hpp"

namespace gart::test {

/// The artifact of a graph in text form. `requests` and `capacity`: as for pair_states. Its bytes exist until the
/// process ends.
std::span<const uint8_t> compiled(const std::string& graph, const std::vector<std::string>& requests,
                                  int64_t capacity = 0);

/// The artifact of several models. The first is `graph`, and each other runs as the entry point of its graph's name.
std::span<const uint8_t> compiled_with(const std::string& graph, const std::vector<std::string>& others,
                                       const std::vector<std::string>& requests);

/// The artifact of compiled(), loaded on the CPU. Fails the test if loading fails.
Program loaded(const std::string& graph, const std::vector<std::string>& requests, int64_t capacity = 0,
               int threads = 1);

/// y = the sum of all rows of a cache; each run appends one row to it along its axis 1. Input "x" f32[b,1,3], state
/// "past" f32[b,p,3], output "y" f32[b,3].
std::string appending();

/// total = total + x, and y = the old total. Input "x" f32[n], state "total" f32[n], output "y" f32[n].
std::string summing();

/// A graph with both kinds of state, and y = data[index]. For an index out of range, the run fails after both states
/// were computed.
std::string failing();

inline TensorView view(const std::vector<float>& values, const Shape& shape) {
  return {values.data(), DType::f32, shape, "cpu"};
}

inline std::vector<float> floats(const Tensor& tensor) {
  const auto elements = tensor.elements<float>();
  return {elements.begin(), elements.end()};
}

/// The elements of a session's state. If the state has no value, fails the test and returns an empty vector.
std::vector<float> state(const Session& session, std::string_view name);

}  // namespace gart::test
