// Devices that a model is cut and placed for, and the links between them: the machine at hand (runtime inventory), or
// one elsewhere, by a file. The JSON form, both ways: docs/using.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace gcg {

struct FleetDevice {
  std::string name;  // "cpu:0-3", "cuda:1", "acc:0", "hostB/cuda:0"; unique in its fleet
  DeviceClass kind = DeviceClass::cpu;
  std::vector<int> cores;                     // of a CPU pool; empty: all of its host
  int ordinal = 0;                            // of a GPU
  std::string target;                         // whose code it runs: "x86-64-v3", "sm_90a"; empty: not known
  std::string host;                           // empty: this one
  int64_t memory_bytes = 0;                   // 0: not known, taken as enough
  std::vector<std::string> supports, denies;  // patterns (* and ?) over operators ("Conv") and element types ("f16")
  bool infers = true, trains = true;          // what it may be used for
  double gflops = 0, gbytes_per_s = 0;        // measured; 0: by its Machine
};

/// One direction.
struct FleetLink {
  int from = 0, to = 0;  // devices, by number
  double gbytes_per_s = 0;
  double us = 0;  // of a transfer without bytes
};

struct Fleet {
  std::vector<FleetDevice> devices;
  std::vector<FleetLink> links;  // pairs that are not here: defaults by the kinds of the two

  int find(const std::string& name) const;  // -1: there is none
};

/// `source` is what messages call the text. Throws CompileError naming the field that is malformed or impossible.
Fleet parse_fleet(const std::string& json, const std::string& source);
std::string print_fleet(const Fleet& fleet);

}  // namespace gcg
