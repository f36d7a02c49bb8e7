#include "compiler/kernel/device_traits.h"

#include <iterator>

namespace gcg {
namespace {

/// By class.
constexpr DeviceTraits kTraits[] = {{.kind = "cpu",
                                     .name = "CPU",
                                     .first = "cpu",
                                     .has_cores = true,
                                     .reads_mapped_weights = true,
                                     .prefers_programs = true,
                                     .multiplies_integers = true,
                                     .multiplies_doubles = true,
                                     .multiplies_blocks = true,
                                     .narrows_results = true,
                                     .joins_dimensions = true,
                                     .calls_the_application = true,
                                     .fewest_queries = 8,
                                     .step_work = 4e3},
                                    {.kind = "cuda",
                                     .name = "GPU",
                                     .first = "cuda:0",
                                     .has_streams = true,
                                     .has_libraries = true,
                                     .copies_parts_together = true,
                                     .inlines_sums = true,
                                     .computes_masks = true,
                                     .largest_head = 128,  // larger heads do not fit into registers
                                     .step_work = 4e6}};
static_assert(std::size(kTraits) == std::size(kDeviceClasses));

}  // namespace

const DeviceTraits& traits_of(DeviceClass device) { return kTraits[static_cast<size_t>(device)]; }

}  // namespace gcg
