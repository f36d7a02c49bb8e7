// Diagnostics about a valid model whose compilation may surprise the user. They are data; tools/ makes sentences of
// them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/plan/recomputation.h"
#include "compiler/report/trained_parameters.h"
#include "compiler/support/unmatched_request.h"

namespace gcg {

struct Plan;
enum class DeviceClass : uint8_t;
enum class LibraryOperation : uint8_t;

/// An option that has no effect because no target is a GPU.
enum class UnusedOption : uint8_t { libraries, tf32 };

/// A name, given by the user or the model, that matches nothing: "device 'p': denies 'Sofplus'".
struct UnmatchedName {
  std::string what, of;  // of: the kind of thing that it should name, "operator or element type"
  std::string nearest;   // "; the nearest: 'Softplus'", or empty
};

/// The model's TrainingInfoProtos, which are left out.
struct OmittedTraining {
  int64_t graphs = 0;
};

/// Extents that the compiled model assumes to be equal. Broadcasting would allow them to differ if one is 1 at run
/// time; such a run is refused.
struct EqualExtents {
  struct Pair {
    std::string reason, a, b;  // "Add 'sum': broadcasting", "n", "2*m"
  };
  std::vector<Pair> pairs;  // never empty
};

/// These nodes read only the last `window` tokens, but their caches, which are states, keep all of them, because the
/// model does not ask for less.
struct WholeCaches {
  std::vector<std::string> nodes;  // never empty
  int64_t window = 0;              // the largest one
};

/// The effect of --precision fp16 or bf16 on a CPU's plan, in bytes; `before` is 0 if there is none.
struct NarrowedWeights {
  std::string type;  // "f16"
  int64_t before = 0, after = 0;
  int64_t others = 0;  // f32 constants that stay unchanged
};

/// A loop kernel does `factor` times the work that separate kernels for these nodes would do.
struct RepeatedWork {
  std::vector<std::string> nodes;
  double factor = 0;
};

/// A GPU's run waits for the host, which reads the extent `symbol` of these nodes' results.
struct HostWait {
  std::string nodes, symbol;
};

/// A requested library does nothing in the plan. `steps` counts the steps of its operations. `unfit` of them fail only
/// because of the form of their weights or memory.
struct UnusedLibrary {
  std::string library;
  std::vector<LibraryOperation> operations;
  int64_t steps = 0, unfit = 0;
};

/// Steps that run as kernels because of the older target `too_old`, although the library supports them on sm_`least_sm`
/// and newer.
struct SkippedLibrary {
  std::string library;
  int least_sm = 0;
  std::string too_old, first_nodes;
  int64_t steps = 0;
};

struct Remark {
  struct Plans {
    DeviceClass device;
    std::map<std::string, int64_t> fixed;  // fixed values of symbols; empty: any shape
  };
  std::optional<Plans> plans;  // the plans concerned; nullopt: all plans
  std::variant<UnusedOption, UnmatchedRequest, UnmatchedName, OmittedTraining, TrainedParameters, EqualExtents,
               WholeCaches, NarrowedWeights, RepeatedWork, HostWait, UnusedLibrary, SkippedLibrary, Recomputation>
      fact;
};

/// All plans that are copies of this one.
Remark::Plans plans_of(const Plan& plan);

}  // namespace gcg
