// What the compiler has to say about a model that is right but may surprise: data, of which tools/ make sentences.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace gcg {

enum class DeviceClass : uint8_t;
enum class LibraryOperation : uint8_t;

/// An option that is for GPUs, and there is none among the targets.
enum class IdleOption : uint8_t { libraries, tf32 };

/// An assignment "PATTERN=DEVICE" whose nodes model passes have done away with; `node` was one of them.
struct IdleAssignment {
  std::string assignment, node;
};

/// A name that the user or the model wrote and that names nothing here: "device 'p': denies 'Sofplus'".
struct IdleName {
  std::string what, of;  // of: what it should have named, "operator or element type"
  std::string nearest;   // "; the nearest: 'Softplus'", or empty
};

/// Extents that broadcasting would let differ where one is 1 at run time, and that are taken to be equal: such a run is
/// refused.
struct EqualExtents {
  struct Pair {
    std::string reason, a, b;  // "Add 'sum': broadcasting", "n", "2*m"
  };
  std::vector<Pair> pairs;  // never empty
};

/// What --precision fp16 or bf16 has made of a CPU's plan, in bytes; `before` is 0 where it has made nothing.
struct NarrowedWeights {
  std::string type;  // "f16"
  int64_t before = 0, after = 0;
  int64_t others = 0;  // of f32 constants that stay
};

/// A loop kernel does `factor` times the work of kernels of their own for these nodes.
struct RepeatedWork {
  std::vector<std::string> nodes;
  double factor = 0;
};

/// A GPU's run waits for the host, which reads the extent `symbol` of what these nodes give.
struct HostWait {
  std::string nodes, symbol;
};

/// A library that was asked for does nothing in the plan: of the steps of its operations, `unfit` ones it could do, but
/// for the form of their weights or memory.
struct IdleLibrary {
  std::string library;
  std::vector<LibraryOperation> operations;
  int64_t steps = 0, unfit = 0;
};

/// Steps that the library does on sm_`least_sm` and newer are left to kernels, because of the older target `too_old`.
struct LibraryLeftOut {
  std::string library;
  int least_sm = 0;
  std::string too_old, first_nodes;
  int64_t steps = 0;
};

struct Remark {
  struct Plans {
    DeviceClass device;
    std::map<std::string, int64_t> fixed;  // symbols; empty: any shape
  };
  std::optional<Plans> plans;  // that it is about; none: all
  std::variant<IdleOption, IdleAssignment, IdleName, EqualExtents, NarrowedWeights, RepeatedWork, HostWait, IdleLibrary,
               LibraryLeftOut>
      fact;
};

}  // namespace gcg
