#include "compiler/kernel/device_traits.h"

namespace gcg {
namespace {

constexpr DeviceTraits kCpu = {.kind = "cpu",
                               .name = "CPU",
                               .reads_mapped_weights = true,
                               .prefers_programs = true,
                               .multiplies_integers = true,
                               .multiplies_blocks = true,
                               .narrows_results = true,
                               .calls_the_application = true,
                               .fewest_queries = 8,
                               .step_work = 4e3};
constexpr DeviceTraits kCuda = {.kind = "cuda",
                                .name = "GPU",
                                .has_streams = true,
                                .has_libraries = true,
                                .copies_parts_together = true,
                                .inlines_sums = true,
                                .computes_masks = true,
                                .largest_head = 128,  // larger heads do not fit into registers
                                .step_work = 4e6};

}  // namespace

const DeviceTraits& traits_of(DeviceClass device) { return device == DeviceClass::cpu ? kCpu : kCuda; }

}  // namespace gcg
