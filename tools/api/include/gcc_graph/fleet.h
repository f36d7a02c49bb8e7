// Devices that a model is cut and placed for, and the links between them. Reads and writes them as JSON
// (docs/using.md).
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
  std::vector<int> cores;    ///< cores of a CPU pool; empty: all cores of its host
  int ordinal = 0;           ///< of a GPU
  std::string target;        ///< target of the code that it runs: "x86-64-v3", "sm_90a"; empty: not known
  std::string host;          ///< empty: this host
  int64_t memory_bytes = 0;  ///< 0: not known, assumed to be enough
  std::vector<std::string> supports, denies;  ///< patterns (* and ?) over operators ("Conv") and element types ("f16")
  bool infers = true, trains = true;          ///< whether the device may run inference and training
  double gflops = 0, gbytes_per_s = 0;        ///< measured; 0: typical values for its kind are assumed
};

/// A link in one direction.
struct FleetLink {
  int from = 0, to = 0;  ///< indices of devices
  double gbytes_per_s = 0;
  double us = 0;  ///< latency: time of an empty transfer
};

struct Fleet {
  std::vector<FleetDevice> devices;
  std::vector<FleetLink> links;  ///< pairs that are not listed get defaults for the kinds of the two devices
};

/// `source`: the name that messages use for the text. Throws Error that names the malformed or impossible field.
GCC_GRAPH_API Fleet parse_fleet(const std::string& json, const std::string& source);
GCC_GRAPH_API std::string print_fleet(const Fleet& fleet);

/// The extent that predictions assume for a symbolic dimension if nothing better is known.
inline constexpr int64_t kTypicalExtent = 64;

struct Rates {
  double gflops = 0, gbytes_per_s = 0;
};
/// The rates of arithmetic and of memory that the cost model assumes for a GPU target. `note` is the note of a kernel
/// in an artifact. It names the unit that multiplies ("64x64x32 f16 wgmma"); without a note, it is the f32 unit. Throws
/// Error if `target` names no GPU.
GCC_GRAPH_API Rates rates_of_gpu(const std::string& target, const std::string& note = "");

/// The CPU target with the best code for this machine; empty: there is none. Asks the system for the permission to use
/// AMX if the CPU has it.
GCC_GRAPH_API std::string host_target();
/// All CPU targets whose code this machine runs, the best one last.
GCC_GRAPH_API std::vector<std::string> host_targets();
/// Bytes of the vectors that code for a CPU target uses. Throws Error if there is no such target.
GCC_GRAPH_API int vector_bytes_of_cpu(const std::string& target);

/// The best target for an sm_<sm>: one with the GPU's own instructions; if there is none, the plain one; if there is
/// none either, code that every GPU from sm_80 on runs. Empty: there is no target.
GCC_GRAPH_API std::string target_of_sm(int sm);
/// The same target with a version, such as "sm_90a:12.0". It fits this driver, and older ones that load the same code.
/// `driver`: cuDriverGetVersion's number, such as 12060. Throws Error if there is no such target, or no compiler here
/// makes its code.
GCC_GRAPH_API std::string target_for_driver(int sm, int driver);

}  // namespace gcc_graph
