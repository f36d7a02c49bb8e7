// NVIDIA's run-time compiler, opened when a GPU target is asked for: the compiler itself builds and runs without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gcg::cuda {

/// A text that programs may include by name.
struct Header {
  std::string name;
  std::string text;
};

struct Assembled {
  std::vector<uint8_t> code;  // cubin, or PTX text with its trailing NUL
  std::string log;            // of the front end and of ptxas
};

/// One loaded NVRTC library. Compiling is safe from several threads.
class Nvrtc {
 public:
  /// The newest library whose code a driver of that floor (12060 is 12.6; 0: any) loads: its major version is at most
  /// the driver's, or, for PTX, its whole version is. Looked for in $GCC_GRAPH_NVRTC (this file and no other),
  /// $CUDA_HOME, /usr/local/cuda*, the loader's path and the PyPI wheels. Throws CompileError with the line that
  /// installs one.
  static const Nvrtc& for_driver(int driver, bool ptx = false);
  /// The same; null if there is none.
  static const Nvrtc* find_for_driver(int driver, bool ptx = false);

  int major() const { return major_; }
  int minor() const { return minor_; }
  int version() const { return major_ * 1000 + minor_ * 10; }  // as a driver says it
  const std::string& path() const { return path_; }
  /// Can it generate code for sm_<architecture>?
  bool supports(int architecture) const;
  /// Compiles one program. Throws CompileError with the log where the text is wrong.
  Assembled compile(const std::string& text, const std::vector<Header>& headers,
                    const std::vector<std::string>& options, bool ptx) const;

 private:
  struct Functions;
  explicit Nvrtc(std::string path) : path_(std::move(path)) {}
  static std::shared_ptr<const Nvrtc> open(const std::string& path);
  static const std::vector<std::shared_ptr<const Nvrtc>>& all();

  std::string path_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace gcg::cuda
