// Facts that hold for all devices of a class. Callers test a fact, not the class.
#pragma once

#include "compiler/kernel/target.h"

namespace gcg {

struct DeviceTraits {
  const char* kind;          // "cpu": the class's name in fleets, options and files
  const char* name;          // "CPU": the name of such a device in messages
  const char* first;         // the class's first device, in fleets that no file describes: "cuda:0"
  bool has_cores = false;    // a device is a pool of cores; otherwise it has an ordinal
  bool has_streams = false;  // a step is a launch on a stream; otherwise threads share the tasks of a step
  bool has_libraries = false;
  // Kernels read weights from the mapped file, in the file's layout. If false, weight relayout at load can make other
  // layouts.
  bool reads_mapped_weights = false;
  bool prefers_programs = false;       // uses statements in order (ProgramKernel) even if a lowering exists
  bool multiplies_integers = false;    // has kernels for contractions of 8-bit integers
  bool multiplies_doubles = false;     // has kernels for products of f64
  bool multiplies_blocks = false;      // has kernels for products of floats and block-quantised integers (BlockPacking)
  bool narrows_results = false;        // contractions can store 16-bit results
  bool copies_parts_together = false;  // one kernel can copy all parts of a Concat
  bool inlines_sums = false;           // a contraction lowered to a loop joins the pointwise operator that reads it
  bool joins_dimensions = false;       // long rows are fast, also where a load joins only a part of its dimensions
  bool computes_masks = false;         // attention computes masks itself, from positions and a few numbers
  bool calls_the_application = false;  // can call the functions of the application's own operators
  int64_t fewest_queries = 0;          // with a known, smaller number of queries, attention is three steps
  // The most columns of Q and V that an attention kernel supports (their number must be known); 0: any.
  int64_t largest_head = 0;
  double step_work = 0;  // cost of starting a kernel and waiting for it, in the unit of loop_work
};

inline constexpr DeviceClass kDeviceClasses[] = {DeviceClass::cpu, DeviceClass::cuda};

const DeviceTraits& traits_of(DeviceClass device);

}  // namespace gcg
