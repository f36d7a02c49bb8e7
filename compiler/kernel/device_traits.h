// What holds for all devices of a class: who needs such a fact asks for it, and not which class it is.
#pragma once

#include "compiler/kernel/target.h"

namespace gcg {

struct DeviceTraits {
  const char* kind;          // "cpu": what fleets, options and files call the class
  const char* name;          // "CPU": what sentences call one
  bool has_streams = false;  // a step is a launch on a stream; else threads share its tasks
  bool has_libraries = false;
  bool reads_mapped_weights =
      false;  // where the file is mapped, in the form that it has there; else load-time packing can make others
  bool prefers_programs = false;       // statements in order (ProgramKernel), where there is a form of elements, too
  bool multiplies_integers = false;    // of 8 bits, in contractions
  bool multiplies_blocks = false;      // of integers of few bits with scales (BlockPacking), by floats
  bool narrows_results = false;        // to 16 bits, where contractions store them
  bool copies_parts_together = false;  // of a Concat, in one kernel
  bool inlines_sums = false;           // a contraction lowered to a loop joins the pointwise operator that reads it
  bool computes_masks = false;         // attention computes masks itself, from positions and few numbers
  bool calls_the_application = false;  // for operators of its own
  int64_t fewest_queries = 0;  // that an attention kernel is worth, where their number is known; else three steps
  int64_t largest_head = 0;    // columns of Q and V that an attention kernel takes, known ones; 0: any
  double step_work = 0;        // starting a kernel and waiting for it, in the unit of loop_work
};

inline constexpr DeviceClass kDeviceClasses[] = {DeviceClass::cpu, DeviceClass::cuda};

const DeviceTraits& traits_of(DeviceClass device);

}  // namespace gcg
