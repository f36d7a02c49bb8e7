#include "tests/cuda/sim/nvrtc/host_compiler.h"

#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace gart_sim {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kStaticSharedLimit = 48 * 1024;

// A temporary folder that is deleted with the object.
struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "gart-sim-XXXXXX").string();
    if (mkdtemp(name.data())) path = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
};

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value && *value ? value : otherwise;
}

bool is_watched() { return setting("GART_SIM_WATCH", "1") != "0"; }

std::string compose(const SourceText& source, const std::vector<KernelText>& kernels,
                    const Architecture& architecture) {
  std::ostringstream text;
  text << "#line 1 \"" << source.name << "\"\n"
       << source.text << "\n#line 1 \"module\"\n"
       << "#include \"" << GART_SIM_SHIM_FOLDER << "/module_end.h\"\nGART_SIM_MODULE_BEGIN\n";
  for (const KernelText& kernel : kernels) {
    text << "GART_SIM_KERNEL(" << kernel.name << ", " << kernel.cluster << ", " << kernel.bounds << ")\n";
  }
  text << "GART_SIM_MODULE_END(" << architecture.sm << ", ";
  if (architecture.is_virtual) {
    text << "'p'";
  } else if (architecture.variant) {
    text << '\'' << architecture.variant << '\'';
  } else {
    text << '0';
  }
  text << ", " << architecture.toolkit << ")\n";
  return text.str();
}

std::vector<std::string> command_line(const Architecture& architecture, const std::string& source_name) {
  // No sanitizer library is linked. Jump threading is off, so that the compiler does not duplicate a barrier.
  std::vector<std::string> words = {setting("GART_SIM_CXX", GART_SIM_CXX),
                                    "-x",
                                    "c++",
                                    "-std=c++17",
                                    "-O1",
                                    "-w",
                                    "-fPIC",
                                    "-shared",
                                    "-nostdlib",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-strict-aliasing",
                                    architecture.contracts ? "-ffp-contract=fast" : "-ffp-contract=off",
                                    "-fvisibility=hidden",
                                    "-fno-stack-protector",
                                    "-frandom-seed=" + source_name,
                                    "-Wl,--build-id=none",
                                    "-I."};
#ifdef __x86_64__
  words.push_back("-march=native");
#endif
#ifndef __clang__
  words.insert(words.end(), {"-fno-thread-jumps", "-fno-gnu-unique"});
#endif
#ifdef GART_SIM_MOLD
  words.push_back("-fuse-ld=mold");
#endif
  if (is_watched()) words.insert(words.end(), {"-DGART_SIM_WATCHED", "-fsanitize=thread,alignment"});
  words.push_back("-D__CUDA_ARCH__=" + std::to_string(architecture.sm * 10));
  if (architecture.variant == 'a') words.push_back("-D__CUDA_ARCH_FEAT_SM" + std::to_string(architecture.sm) + "_ALL");
  words.insert(words.end(), {"-include", GART_SIM_SHIM_FOLDER "/shim.h", "module.cu", "-x", "none",
                             GART_SIM_WATCH_OBJECT, "-o", "module.so", "-lm", "-lc"});
  return words;
}

// Runs the command in `folder` and writes its output to `folder`/log. Returns false if the command failed or could not
// be started.
bool run(const std::vector<std::string>& words, const fs::path& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    write_file(folder / "log", "cannot start " + words[0] + ": " + strerror(error) + "\n");
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Bytes of static shared memory: the module's thread-local data without the 16 bytes that the shim adds.
unsigned static_shared_bytes(const std::string& module) {
  Elf64_Ehdr header;
  if (module.size() < sizeof header) return 0;
  memcpy(&header, module.data(), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    memcpy(&part, module.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_TLS) return static_cast<unsigned>(part.p_memsz - 16);
  }
  return 0;
}

std::string name_of(const Architecture& architecture) {
  return "sm_" + std::to_string(architecture.sm) + (architecture.variant ? std::string(1, architecture.variant) : "");
}

// ptxas gives a kernel of one resident block all registers that its threads can have. The simulation invents the other
// numbers.
int registers_of(const KernelText& kernel) {
  constexpr int kAll = 65536, kMost = 255, kMadeUp = 32;
  const size_t comma = kernel.bounds.find(',');
  if (comma == std::string::npos || std::stoi(kernel.bounds.substr(comma + 1)) != 1) return kMadeUp;
  return std::min(kMost, kAll / std::stoi(kernel.bounds) / 8 * 8);
}

// The assembler's notes in ptxas's format.
std::string resource_log(const std::vector<KernelText>& kernels, const std::string& module,
                         const Architecture& architecture) {
  std::ostringstream log;
  log << "ptxas info    : 0 bytes gmem\n";
  for (const KernelText& kernel : kernels) {
    log << "ptxas info    : Compiling entry function '" << kernel.name << "' for '" << name_of(architecture) << "'\n"
        << "ptxas info    : Function properties for " << kernel.name << "\n"
        << "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        << "ptxas info    : Used " << registers_of(kernel) << " registers, used 1 barriers, "
        << static_shared_bytes(module) << " bytes smem\n";
  }
  return log.str();
}

}  // namespace

std::vector<KernelText> find_kernels(const std::string& text) {
  static const std::string head = "extern \"C\" __global__ void __launch_bounds__(";
  std::vector<KernelText> kernels;
  for (size_t at = text.find(head); at != std::string::npos; at = text.find(head, at)) {
    at += head.size();
    static const std::string dims = "__cluster_dims__(";
    const size_t end = text.find(')', at);
    size_t after = end == std::string::npos ? end : text.find_first_not_of(" \n", end + 1);
    if (after == std::string::npos) break;
    std::string cluster = "1";
    if (text.compare(after, dims.size(), dims) == 0) {
      cluster = text.substr(after + dims.size(), text.find(',', after) - after - dims.size());
      after = text.find_first_not_of(" \n", text.find(')', after) + 1);
    }
    const size_t open = text.find('(', after);
    if (open == std::string::npos) break;
    kernels.push_back({text.substr(after, open - after), text.substr(at, end - at), cluster});
  }
  return kernels;
}

Compiled compile_for_host(const SourceText& source, const Architecture& architecture) {
  const std::vector<KernelText> kernels = find_kernels(source.text);
  if (kernels.empty())
    return {"", source.name + ": no kernel of the form extern \"C\" __global__ void __launch_bounds__(N) NAME(\n"};
  TemporaryFolder folder;
  if (folder.path.empty()) return {"", "cannot make a temporary folder\n"};
  const std::string text = compose(source, kernels, architecture);
  write_file(folder.path / "module.cu", text);
  for (const auto& [name, header] : source.headers) write_file(folder.path / name, header);
  if (const std::string keep = setting("GART_SIM_KEEP", ""); !keep.empty()) {
    fs::create_directories(keep);
    write_file(fs::path(keep) / (kernels[0].name + ".cu"), text);
    for (const auto& [name, header] : source.headers) write_file(fs::path(keep) / name, header);
  }
  const bool done = run(command_line(architecture, kernels[0].name), folder.path);
  if (!done) return {"", read_file(folder.path / "log")};
  Compiled compiled;
  compiled.module = read_file(folder.path / "module.so");
  if (const unsigned bytes = static_shared_bytes(compiled.module); bytes > kStaticSharedLimit) {
    return {"", "ptxas error   : Entry function '" + kernels[0].name + "' uses too much shared data (" +
                    std::to_string(bytes) + " bytes, " + std::to_string(kStaticSharedLimit) + " max)\n"};
  }
  compiled.log = resource_log(kernels, compiled.module, architecture);
  return compiled;
}

}  // namespace gart_sim
