// A simulated NVRTC (libnvrtc_sim.so): its functions, implemented by the host's C++ compiler. $GCC_GRAPH_NVRTC tells
// the compiler where this library is. $GART_SIM_NVRTC=MAJOR.MINOR sets the version that it reports (13.0).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tests/cuda/sim/nvrtc/host_compiler.h"
#include "tests/cuda/sim/nvrtc/ptx_text.h"

namespace gart_sim {
namespace {

enum Result {
  kSuccess = 0,
  kOutOfMemory = 1,
  kProgramCreationFailure = 2,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
};

struct Program {
  SourceText source;
  Architecture architecture;
  Compiled compiled;
  std::string ptx;
  bool is_compiled = false;
};

std::pair<int, int> version() {
  int major = 13, minor = 0;
  if (const char* text = getenv("GART_SIM_NVRTC")) sscanf(text, "%d.%d", &major, &minor);
  return {major, minor};
}

constexpr std::array kArchitectures12 = {50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90};
constexpr std::array kArchitectures13 = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121};

bool is_supported(int sm) {
  const auto in = [sm](const auto& list) { return std::find(list.begin(), list.end(), sm) != list.end(); };
  return version().first >= 13 ? in(kArchitectures13) : in(kArchitectures12);
}

std::optional<Architecture> parse_architecture(std::string_view text) {
  Architecture architecture;
  if (text.starts_with("compute_")) {
    architecture.is_virtual = true;
    text.remove_prefix(8);
  } else if (text.starts_with("sm_")) {
    text.remove_prefix(3);
  } else {
    return std::nullopt;
  }
  if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
    architecture.variant = text.back();
    text.remove_suffix(1);
  }
  architecture.sm = atoi(std::string(text).c_str());
  if (!is_supported(architecture.sm) || (architecture.variant && architecture.sm < 90)) return std::nullopt;
  return architecture;
}

// Accepts only the options that the product documents, so that tests find a misspelt option.
bool parse_options(Program& program, int count, const char* const* options) {
  constexpr std::string_view known[] = {"--std=c++17",        "--default-device", "-default-device",
                                        "--ptxas-options=-v", "-lineinfo",        "--generate-line-info"};
  bool has_architecture = false;
  for (int i = 0; i < count; ++i) {
    const std::string_view option = options[i];
    if (constexpr std::string_view key = "--gpu-architecture="; option.starts_with(key)) {
      const auto architecture = parse_architecture(option.substr(key.size()));
      if (!architecture) return false;
      const bool contracts = program.architecture.contracts;
      program.architecture = *architecture;
      program.architecture.contracts = contracts;
      has_architecture = true;
    } else if (option == "--fmad=false" || option == "-fmad=false") {
      program.architecture.contracts = false;
    } else if (std::find(std::begin(known), std::end(known), option) == std::end(known)) {
      program.compiled.log = "nvrtc: error: unrecognized option " + std::string(option) + "\n";
      return false;
    }
  }
  return has_architecture;
}

Result put_size(const Program* program, const std::string& text, size_t* size, size_t extra) {
  if (!program) return kInvalidProgram;
  if (!size) return kInvalidInput;
  *size = text.size() + extra;
  return kSuccess;
}

Result put_text(const Program* program, const std::string& text, char* out, size_t extra) {
  if (!program) return kInvalidProgram;
  if (!out) return kInvalidInput;
  memcpy(out, text.c_str(), text.size() + extra);
  return kSuccess;
}

}  // namespace
}  // namespace gart_sim

#define GART_SIM_EXPORT extern "C" __attribute__((visibility("default")))
using gart_sim::Program;
using gart_sim::Result;

GART_SIM_EXPORT Result nvrtcVersion(int* major, int* minor) {
  if (!major || !minor) return gart_sim::kInvalidInput;
  std::tie(*major, *minor) = gart_sim::version();
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcGetNumSupportedArchs(int* count) {
  if (!count) return gart_sim::kInvalidInput;
  *count = static_cast<int>(gart_sim::version().first >= 13 ? gart_sim::kArchitectures13.size()
                                                            : gart_sim::kArchitectures12.size());
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcGetSupportedArchs(int* out) {
  if (!out) return gart_sim::kInvalidInput;
  const auto copy = [out](const auto& list) { std::copy(list.begin(), list.end(), out); };
  gart_sim::version().first >= 13 ? copy(gart_sim::kArchitectures13) : copy(gart_sim::kArchitectures12);
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcCreateProgram(Program** out, const char* text, const char* name, int header_count,
                                          const char* const* headers, const char* const* header_names) {
  if (!out || !text || header_count < 0 || (header_count && (!headers || !header_names)))
    return gart_sim::kInvalidInput;
  auto program = std::make_unique<Program>();
  program->source = {name ? name : "default_program", text, {}};
  for (int i = 0; i < header_count; ++i) program->source.headers.emplace_back(header_names[i], headers[i]);
  *out = program.release();
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcDestroyProgram(Program** program) {
  if (!program || !*program) return gart_sim::kInvalidProgram;
  delete *program;
  *program = nullptr;
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcCompileProgram(Program* program, int option_count, const char* const* options) {
  if (!program || program->is_compiled) return gart_sim::kInvalidProgram;
  if (!gart_sim::parse_options(*program, option_count, options)) return gart_sim::kInvalidOption;
  program->architecture.toolkit = gart_sim::version().first;
  program->compiled = gart_sim::compile_for_host(program->source, program->architecture);
  if (program->compiled.module.empty()) return gart_sim::kCompilation;
  program->is_compiled = true;
  program->ptx = gart_sim::to_ptx(program->compiled.module);
  // As in NVRTC, there is no cubin for a virtual architecture.
  if (program->architecture.is_virtual) program->compiled.module.clear();
  return gart_sim::kSuccess;
}

GART_SIM_EXPORT Result nvrtcGetCUBINSize(const Program* program, size_t* size) {
  return gart_sim::put_size(program, program ? program->compiled.module : "", size, 0);
}
GART_SIM_EXPORT Result nvrtcGetCUBIN(const Program* program, char* out) {
  return gart_sim::put_text(program, program ? program->compiled.module : "", out, 0);
}
GART_SIM_EXPORT Result nvrtcGetPTXSize(const Program* program, size_t* size) {
  return gart_sim::put_size(program, program ? program->ptx : "", size, 1);
}
GART_SIM_EXPORT Result nvrtcGetPTX(const Program* program, char* out) {
  return gart_sim::put_text(program, program ? program->ptx : "", out, 1);
}
GART_SIM_EXPORT Result nvrtcGetProgramLogSize(const Program* program, size_t* size) {
  return gart_sim::put_size(program, program ? program->compiled.log : "", size, 1);
}
GART_SIM_EXPORT Result nvrtcGetProgramLog(const Program* program, char* out) {
  return gart_sim::put_text(program, program ? program->compiled.log : "", out, 1);
}

GART_SIM_EXPORT const char* nvrtcGetErrorString(Result result) {
  constexpr const char* texts[] = {"NVRTC_SUCCESS",
                                   "NVRTC_ERROR_OUT_OF_MEMORY",
                                   "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                   "NVRTC_ERROR_INVALID_INPUT",
                                   "NVRTC_ERROR_INVALID_PROGRAM",
                                   "NVRTC_ERROR_INVALID_OPTION",
                                   "NVRTC_ERROR_COMPILATION"};
  return result >= 0 && result < static_cast<int>(std::size(texts)) ? texts[result] : "NVRTC_ERROR unknown";
}
