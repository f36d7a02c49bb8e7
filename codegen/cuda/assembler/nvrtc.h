// NVIDIA's run-time compiler. The library is only opened if a GPU target is requested: gcc-graph itself builds and runs
// without it.
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

struct AssembledProgram {
  std::vector<uint8_t> code;  // cubin, or PTX text with its trailing NUL
  std::string log;            // the messages of the front end and of ptxas
};

/// One loaded NVRTC library. Compiling is safe from several threads.
class Nvrtc {
 public:
  /// Finds the newest library whose code loads on drivers from version `driver` on (12060 is 12.6; 0: any). For cubins
  /// its major version must be at most the driver's; for PTX its whole version must be. Searches $CUDA_HOME,
  /// /usr/local/cuda*, the loader's path and the PyPI wheels. If $GCC_GRAPH_NVRTC is set, only the file that it names
  /// is tried. Throws CompileError with the command that installs a library.
  static const Nvrtc& for_driver(int driver, bool ptx = false);
  /// As for_driver(), but returns null if there is no such library.
  static const Nvrtc* find_for_driver(int driver, bool ptx = false);

  int major() const { return major_; }
  int minor() const { return minor_; }
  int version() const { return major_ * 1000 + minor_ * 10; }  // as a CUDA version number: 12060 for 12.6
  const std::string& path() const { return path_; }
  /// True if it can generate code for sm_<architecture>.
  bool supports(int architecture) const;
  /// Compiles one program. Throws CompileError with the log if the text has errors.
  AssembledProgram compile(const std::string& text, const std::vector<Header>& headers,
                           const std::vector<std::string>& options, bool ptx) const;

 private:
  struct Functions;
  explicit Nvrtc(std::string path) : path_(std::move(path)) {}
  static std::shared_ptr<const Nvrtc> open(const std::string& path);
  void open_builtins() const;
  static const std::vector<std::shared_ptr<const Nvrtc>>& all();

  std::string path_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
  std::shared_ptr<const Functions> functions_;
};

}  // namespace gcg::cuda
