#include "runtime/cuda/driver/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "runtime/cuda/driver/symbols.h"
#include "runtime/errors.h"

namespace gart::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

constexpr char kSymbols[] =
#define GART_CUDA_SYMBOL(name, ...) GART_SYMBOL(name)
    GART_CUDA_FUNCTIONS(GART_CUDA_SYMBOL)
#undef GART_CUDA_SYMBOL
    ;

void check_version(Driver& driver, void* library) {
  const auto get_version = reinterpret_cast<decltype(driver.cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
  if (get_version != nullptr && get_version(&driver.version) == CUDA_SUCCESS && driver.version >= kOldestDriver) return;
  fail(ErrorCode::unsupported, "the CUDA driver is too old: a driver for CUDA ", version_text(kOldestDriver),
       " or newer is needed, this one is for ", version_text(driver.version));
}

void fill(Driver& driver, void* library) {
  const char* missing = find_symbols(library, kSymbols, static_cast<DriverFunctions*>(&driver));
  if (missing != nullptr) fail(ErrorCode::unsupported, kLibrary, " has no function ", missing);
}

}  // namespace

Result<const Driver*> open_driver() {
  static std::mutex mutex;
  static Driver driver;
  static bool ready = false;
  return guarded([]() -> const Driver* {
    const std::lock_guard lock(mutex);
    if (ready) return &driver;
    void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* reason = dlerror();
      fail(ErrorCode::unsupported, "there is no CUDA driver here: ", reason == nullptr ? kLibrary : reason);
    }
    check_version(driver, library);
    fill(driver, library);
    if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
      fail(ErrorCode::unsupported, "the CUDA driver does not start: ", result_text(driver, result));
    }
    ready = true;
    return &driver;
  });
}

std::string version_text(int version) { return text(version / 1000, ".", version % 1000 / 10); }

std::string result_text(const Driver& driver, CUresult result) {
  const char *sentence = nullptr, *name = nullptr;
  driver.cuGetErrorString(result, &sentence);
  driver.cuGetErrorName(result, &name);
  return text(sentence == nullptr ? "unknown error" : sentence, " (", name == nullptr ? "CUDA error" : name,
              name == nullptr ? text(" ", result) : "", ")");
}

bool is_sticky(CUresult result) {
  constexpr CUresult kSticky[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999};
  return std::find(std::begin(kSticky), std::end(kSticky), result) != std::end(kSticky);
}

}  // namespace gart::cuda
