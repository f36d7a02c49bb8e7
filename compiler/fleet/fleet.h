// A fleet: the devices that a model is cut and placed for, and the links between them. It describes this machine
// (runtime inventory), or another one from a file. docs/using.md describes the JSON form.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/kernel/target.h"

namespace gcg {

struct FleetDevice {
  std::string name;  // "cpu:0-3", "cuda:1", "acc:0", "hostB/cuda:0"; unique in its fleet
  DeviceClass kind = DeviceClass::cpu;
  std::vector<int> cores;                     // CPU pool: its cores; empty: all cores of the host
  int ordinal = 0;                            // GPU
  std::string target;                         // the target whose code it runs: "x86-64-v3", "sm_90a"; empty: not known
  std::string host;                           // empty: this host
  int64_t memory_bytes = 0;                   // 0: not known, assumed to be enough
  std::vector<std::string> supports, denies;  // patterns (* and ?) over operators ("Conv") and element types ("f16")
  bool infers = true, trains = true;          // permitted uses
  double gflops = 0, gbytes_per_s = 0;        // measured; 0: taken from its Machine
};

/// A link in one direction.
struct FleetLink {
  int from = 0, to = 0;  // devices, by number
  double gbytes_per_s = 0;
  double us = 0;  // latency: a transfer of 0 bytes, in microseconds
};

struct Fleet {
  std::vector<FleetDevice> devices;
  std::vector<FleetLink> links;  // missing pairs get defaults for the two kinds

  int find(const std::string& name) const;  // -1: there is none
};

/// `source` is the text's name in messages. Throws CompileError naming the field that is malformed or impossible.
Fleet parse_fleet(const std::string& json, const std::string& source);
std::string print_fleet(const Fleet& fleet);

}  // namespace gcg
