// The input options that `run` and `bench` share.
#pragma once

#include <string>
#include <vector>

#include "tools/gcc-graph/io/media_input.h"
#include "tools/gcc-graph/io/tensor_io.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/support/fail.h"

namespace CLI {
class App;
}

namespace gcg::tools {

struct InputOptions {
  std::string npz;                 // --inputs F.npz
  std::vector<std::string> files;  // --input NAME=F.npy|F.pb|F.png|F.wav|NUMBER
  MediaOptions media;
  int64_t random_seed = -1;       // --random SEED
  std::vector<std::string> dims;  // --dim NAME=VALUE, for --random
  std::string entry;              // the entry point; "": the first
  std::string device;             // "": the best device
  std::string target;
  int threads = 0;
  std::string parallel;  // --parallel intra=2,inter=1,replicas=1
  bool spin = true;
  bool verify = true;
  bool blocking = false;
  TrustOption trust;

  void add_to(CLI::App& command);
};

gart::Program load_program(const std::string& path, const InputOptions& options);
/// Loads from memory, which must outlive the program.
gart::Program load_program(std::span<const uint8_t> file, const InputOptions& options);
/// The inputs of the entry point. Throws Error if there is no such entry point.
std::span<const gart::TensorInfo> inputs_of(const gart::Program& program, const InputOptions& options);
/// Returns one tensor per input of a program. Fails if an input is missing, or if a name is not an input of the model.
NamedTensors collect_inputs(std::span<const gart::TensorInfo> infos, const InputOptions& options);

/// Throws Error with the result's error message.
template <class T>
T value_or_throw(gart::Result<T> result) {
  if (!result.ok()) throw Error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace gcg::tools
