#include "codegen/cuda/assembler/assemble.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "codegen/cuda/text/text_hash.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

/// The number directly before `words` in a line; 0 if there is none.
int number_before(const std::string& line, const std::string& words) {
  const size_t at = line.find(words);
  if (at == std::string::npos || at < 2) return 0;
  const size_t begin = line.find_last_not_of("0123456789", at - 2);
  int number = 0;
  std::from_chars(line.data() + (begin == std::string::npos ? 0 : begin + 1), line.data() + at, number);
  return number;
}

/// The option with which every thread keeps the number of registers that it has at entry.
const std::string kEven = "-DGART_EVEN_REGISTERS=1";

/// The options that are tried in this order when ptxas runs out of registers.
const std::string kPressureLevels[] = {"-DGART_REGISTER_PRESSURE=1", "-DGART_REGISTER_PRESSURE=2"};

bool eases_pressure(const std::string& source) {
  return source.find("gart_register_pressure.cuh") != std::string::npos;
}

}  // namespace

Usage usage_of(const std::string& log) {
  Usage usage;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    usage.registers = std::max(usage.registers, number_before(line, "registers"));
    usage.spill_bytes += number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
    usage.shared_bytes += number_before(line, "bytes smem");
    if (line.find("C75") != std::string::npos) usage.notes.push_back(line);
  }
  return usage;
}

Assembler::Assembler(const Target& target, const CubinCache& cache)
    : target_(target), cache_(cache), nvrtc_(Nvrtc::for_driver(target.driver, target.is_ptx())) {
  if (!nvrtc_.supports(target.sm))
    fail("NVRTC ", nvrtc_.major(), ".", nvrtc_.minor(), " (", nvrtc_.path(), ") cannot generate code for ",
         target.name);
  const std::string architecture = target.is_ptx() ? concat("compute_", target.sm) : target.name;
  // ptxas writes its arguments into the code. The arguments are always the same, so that equal text gives equal bytes.
  // Products and sums are not contracted. A kernel that needs fmaf calls it, and so gives the same result on every
  // machine.
  options_ = {"--gpu-architecture=" + architecture, "--std=c++17", "-default-device", "--fmad=false",
              "--ptxas-options=-v"};
  std::error_code error;  // a library that the loader found has no path here
  const auto changed = std::filesystem::last_write_time(nvrtc_.path(), error).time_since_epoch().count();
  version_ = concat(nvrtc_.path(), ' ', nvrtc_.version(), ' ', error ? 0 : changed, '\n');
  for (const std::string& o : options_) version_ += o + '\n';
  for (const std::string& o : kPressureLevels) version_ += o + '\n';
  version_ += kEven + '\n';
  for (const Header& h : device_headers()) version_ += h.name + '\n' + h.text + '\n';
}

AssembledProgram Assembler::assemble(const std::string& source, int least_registers) const {
  const std::string key = hash_text(version_ + source);
  if (auto found = cache_.find(key)) return *std::move(found);
  AssembledProgram program = nvrtc_.compile(source, device_headers(), options_, target_.is_ptx());
  if (eases_pressure(source)) recompile_while_it_spills(source, program);
  if (!target_.is_ptx() && usage_of(program.log).registers < least_registers)
    program = nvrtc_.compile(source, device_headers(), with(kEven), false);
  cache_.put(key, program);
  return program;
}

std::vector<std::string> Assembler::with(const std::string& option) const {
  std::vector<std::string> options = options_;
  options.push_back(option);
  return options;
}

void Assembler::recompile_while_it_spills(const std::string& source, AssembledProgram& program) const {
  for (const std::string& level : kPressureLevels) {
    const int spilled = usage_of(program.log).spill_bytes;
    if (spilled == 0) return;
    AssembledProgram other = nvrtc_.compile(source, device_headers(), with(level), target_.is_ptx());
    if (usage_of(other.log).spill_bytes < spilled) program = std::move(other);
  }
}

}  // namespace gcg::cuda
