#include "codegen/cuda/assembler/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "codegen/cuda/assembler/nvrtc_search.h"
#include "compiler/support/error.h"

namespace gcg::cuda {
namespace {

using Program = struct OpaqueProgram*;  // nvrtcProgram
using Result = int;                     // nvrtcResult; 0 is success
constexpr Result kCompilationError = 6;

/// "12.6" for 12060.
std::string version_text(int version) { return concat(version / 1000, ".", version % 1000 / 10); }

std::string package_of(int major) { return major == 12 ? "nvidia-cuda-nvrtc-cu12" : "nvidia-cuda-nvrtc"; }

}  // namespace

/// The functions of NVRTC that are used, as nvrtc.h of 12.0 and later declares them.
struct Nvrtc::Functions {
  const char* (*error_string)(Result);
  Result (*version)(int*, int*);
  Result (*count_architectures)(int*);
  Result (*architectures)(int*);
  Result (*create)(Program*, const char* text, const char* name, int, const char* const* headers,
                   const char* const* names);
  Result (*destroy)(Program*);
  Result (*compile)(Program, int, const char* const* options);
  Result (*cubin_size)(Program, size_t*);
  Result (*cubin)(Program, char*);
  Result (*ptx_size)(Program, size_t*);
  Result (*ptx)(Program, char*);
  Result (*log_size)(Program, size_t*);
  Result (*log)(Program, char*);

  template <class Function>
  static bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    return function != nullptr;
  }
  bool load(void* l) {
    return find(l, "nvrtcGetErrorString", error_string) && find(l, "nvrtcVersion", version) &&
           find(l, "nvrtcGetNumSupportedArchs", count_architectures) &&
           find(l, "nvrtcGetSupportedArchs", architectures) && find(l, "nvrtcCreateProgram", create) &&
           find(l, "nvrtcDestroyProgram", destroy) && find(l, "nvrtcCompileProgram", compile) &&
           find(l, "nvrtcGetCUBINSize", cubin_size) && find(l, "nvrtcGetCUBIN", cubin) &&
           find(l, "nvrtcGetPTXSize", ptx_size) && find(l, "nvrtcGetPTX", ptx) &&
           find(l, "nvrtcGetProgramLogSize", log_size) && find(l, "nvrtcGetProgramLog", log);
  }
  void check(Result result, const char* what) const {
    if (result != 0) fail("NVRTC: ", what, ": ", error_string(result));
  }
  std::string program_log(Program program) const {
    size_t size = 0;
    check(log_size(program, &size), "reading the log");
    std::string text(size, '\0');
    if (size > 0) check(log(program, text.data()), "reading the log");
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }
  std::vector<uint8_t> program_code(Program program, bool as_ptx) const {
    size_t size = 0;
    check(as_ptx ? ptx_size(program, &size) : cubin_size(program, &size), "reading the code");
    std::vector<uint8_t> code(size);
    char* to = reinterpret_cast<char*>(code.data());
    check(as_ptx ? ptx(program, to) : cubin(program, to), "reading the code");
    return code;
  }
};

std::shared_ptr<const Nvrtc> Nvrtc::open(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // the library stays open until the process ends
  if (library == nullptr) return nullptr;
  auto functions = std::make_shared<Functions>();
  std::shared_ptr<Nvrtc> nvrtc(new Nvrtc(path));
  int count = 0;
  if (!functions->load(library) || functions->version(&nvrtc->major_, &nvrtc->minor_) != 0 ||
      functions->count_architectures(&count) != 0)
    return nullptr;
  nvrtc->architectures_.resize(static_cast<size_t>(std::max(0, count)));
  if (functions->architectures(nvrtc->architectures_.data()) != 0) return nullptr;
  nvrtc->functions_ = std::move(functions);
  return nvrtc;
}

const std::vector<std::shared_ptr<const Nvrtc>>& Nvrtc::all() {
  static const std::vector<std::shared_ptr<const Nvrtc>> libraries = [] {
    std::vector<std::shared_ptr<const Nvrtc>> found;
    for (const std::string& path : nvrtc_candidates()) {
      auto library = open(path);
      const auto is_same = [&](const auto& other) { return other->version() == library->version(); };
      if (library && std::none_of(found.begin(), found.end(), is_same)) found.push_back(std::move(library));
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a->version() > b->version(); });
    return found;
  }();
  return libraries;
}

const Nvrtc* Nvrtc::find_for_driver(int driver, bool ptx) {
  const auto suits = [&](const Nvrtc& n) {
    return driver == 0 || (ptx ? n.version() <= driver : n.major() <= driver / 1000);
  };
  for (const auto& library : all())
    if (suits(*library)) return library.get();
  return nullptr;
}

const Nvrtc& Nvrtc::for_driver(int driver, bool ptx) {
  if (const Nvrtc* found = find_for_driver(driver, ptx)) return *found;
  const char* named = std::getenv("GCC_GRAPH_NVRTC");
  const bool is_named = named != nullptr && *named != '\0';
  if (is_named && all().empty())
    fail("GCC_GRAPH_NVRTC names ", named, ", which is not an NVRTC library that can be loaded");
  const std::string package = package_of(driver == 0 ? 13 : driver / 1000);
  if (all().empty())
    fail("code for GPUs needs NVIDIA's compiler library NVRTC, which was not found; ", install_line(package),
         " installs it");
  const Nvrtc& oldest = *all().back();
  const std::string found = concat(version_text(oldest.version()), " (", oldest.path(), ")");
  const std::string needed =
      concat(ptx ? "PTX" : "code", " for drivers from ", version_text(driver), " on needs NVRTC ",
             ptx ? version_text(driver) + " or older" : std::to_string(driver / 1000));
  if (is_named) fail(needed, ", GCC_GRAPH_NVRTC names ", found);
  fail(needed, ", but found ", found, "; ",
       install_line(ptx ? concat("'", package, "==", version_text(driver), ".*'") : package), " installs it");
}

/// NVRTC opens this library by its name, and expects the loader to look beside NVRTC. AddressSanitizer replaces dlopen,
/// so the loader looks elsewhere. It finds a library of this name that is already open.
void Nvrtc::open_builtins() const {
  const size_t folder = path_.rfind('/');
  if (folder == std::string::npos) return;
  const std::string name = concat("libnvrtc-builtins.so.", version_text(version()));
  dlopen((path_.substr(0, folder + 1) + name).c_str(), RTLD_NOW | RTLD_LOCAL);
}

bool Nvrtc::supports(int architecture) const {
  return std::find(architectures_.begin(), architectures_.end(), architecture) != architectures_.end();
}

AssembledProgram Nvrtc::compile(const std::string& text, const std::vector<Header>& headers,
                                const std::vector<std::string>& options, bool ptx) const {
  std::vector<const char*> names, texts, flags;
  for (const Header& h : headers) {
    names.push_back(h.name.c_str());
    texts.push_back(h.text.c_str());
  }
  for (const std::string& o : options) flags.push_back(o.c_str());
  open_builtins();
  const Functions& f = *functions_;
  Program program = nullptr;
  f.check(f.create(&program, text.c_str(), "kernel.cu", static_cast<int>(headers.size()), texts.data(), names.data()),
          "creating a program");
  const std::shared_ptr<void> destroy(nullptr, [&](void*) { f.destroy(&program); });
  const Result result = f.compile(program, static_cast<int>(flags.size()), flags.data());
  const std::string log = f.program_log(program);
  if (result == kCompilationError) fail("NVRTC rejects the kernel's text: ", log);
  if (result != 0) fail("NVRTC: compiling: ", f.error_string(result), log.empty() ? "" : ": ", log);
  return {f.program_code(program, ptx), log};
}

}  // namespace gcg::cuda
