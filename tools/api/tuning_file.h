// Measurements on GPUs, as a readable file that can be moved between machines.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/kernel/decisions.h"

namespace gcg {

struct Measured {
  std::string choice;                          // the fastest candidate
  std::string expected;                        // the cost model's choice
  std::map<std::string, double> microseconds;  // time of each candidate
  std::string device, driver;                  // "NVIDIA H200", "13.0"
};

/// JSON: {"format": "gcc-graph tuning 1", "measured": [{"target": ..., "precision": ..., "kernel": ..., "shape": ...,
/// "choice": ..., ...}]}. It is sorted, so the same results give the same bytes.
class TuningFile final : public Decisions {
 public:
  /// Throws CompileError that names `origin`, the entry and the fault.
  static TuningFile parse(const std::vector<uint8_t>& bytes, const std::string& origin);
  std::vector<uint8_t> bytes() const;

  bool has(const Decision& decision) const { return entries_.count(key(decision)) != 0; }
  void put(const Decision& decision, Measured measured) { entries_[key(decision)] = std::move(measured); }
  /// Adds the entries of the other file that this one does not have.
  void add(const TuningFile& other) { entries_.insert(other.entries_.begin(), other.entries_.end()); }
  size_t size() const { return entries_.size(); }

  /// A choice that is not among the candidates counts as unknown, because another version of the compiler made the
  /// file.
  std::optional<size_t> choose(const Decision& decision) const override;
  std::optional<LibraryAlgorithm> algorithm(const Decision& decision) const override;
  /// Number of entries that were used, and number of entries whose choice is not among the candidates.
  size_t used() const { return used_.size(); }
  size_t stale() const { return stale_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;  // target, precision, kernel, shape
  static Key key(const Decision& d) { return {d.target, d.precision, d.kernel, d.shape}; }

  std::map<Key, Measured> entries_;
  mutable std::set<Key> used_, stale_;
};

}  // namespace gcg
