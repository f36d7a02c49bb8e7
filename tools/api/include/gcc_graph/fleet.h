// Devices that a model is cut and placed for, and the links between them, as JSON both ways (docs/using.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gcc_graph/types.h"

namespace gcc_graph {

struct FleetDevice {
  enum class Kind : uint8_t { cpu, cuda };
  std::string name;  ///< "cpu:0-3", "cuda:1", "acc:0", "hostB/cuda:0"; unique in its fleet
  Kind kind = Kind::cpu;
  std::vector<int> cores;                     ///< of a CPU pool; empty: all of its host
  int ordinal = 0;                            ///< of a GPU
  std::string target;                         ///< whose code it runs: "x86-64-v3", "sm_90a"; empty: not known
  std::string host;                           ///< empty: this one
  int64_t memory_bytes = 0;                   ///< 0: not known, taken as enough
  std::vector<std::string> supports, denies;  ///< patterns (* and ?) over operators ("Conv") and element types ("f16")
  bool infers = true, trains = true;          ///< what it may be used for
  double gflops = 0, gbytes_per_s = 0;        ///< measured; 0: as machines of its kind commonly have
};

/// One direction.
struct FleetLink {
  int from = 0, to = 0;  ///< devices, by number
  double gbytes_per_s = 0;
  double us = 0;  ///< of a transfer without bytes
};

struct Fleet {
  std::vector<FleetDevice> devices;
  std::vector<FleetLink> links;  ///< pairs that are not here: defaults by the kinds of the two
};

/// `source` is what messages call the text. Throws Error naming the field that is malformed or impossible.
GCC_GRAPH_API Fleet parse_fleet(const std::string& json, const std::string& source);
GCC_GRAPH_API std::string print_fleet(const Fleet& fleet);

/// What predictions take an open extent for where nothing better is known.
inline constexpr int64_t kTypicalExtent = 64;

/// What a GPU of a target's kind can do in f32 and how fast its memory is, as the cost model has it. Throws Error for a
/// target that is none.
struct Rates {
  double gflops = 0, gbytes_per_s = 0;
};
GCC_GRAPH_API Rates rates_of_gpu(const std::string& target);

/// The target whose code an sm_<sm> runs best: with its own instructions, then plainly, then what every GPU from sm_80
/// on takes. Empty: there is none.
GCC_GRAPH_API std::string target_of_sm(int sm);
/// "sm_90a:12.0": that target for a driver (cuDriverGetVersion's number, 12060) and the older ones that load the same
/// code. Throws Error where there is no such target, or no compiler here that makes its code.
GCC_GRAPH_API std::string target_for_driver(int sm, int driver);

}  // namespace gcc_graph
