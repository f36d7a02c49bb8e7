// Engines of the simulated cuDNN. Engine 0 uses tensor cores, engine 1 needs too much workspace, engines 2 and 3 are
// usable. Engines 0 and 2 can fill graphs themselves. Engine 2 has two knobs, engine 3 has none, the others have one.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_ENGINE_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_ENGINE_H

#include "tests/cuda/sim/libraries/cudnn_descriptor.h"

namespace gart_sim::cudnn {

// These functions finalize descriptors that the caller has set up: an engine by its index, a knob with a value, an
// engine with some of its knobs.
int finalize_engine(Descriptor& d);
int finalize_knob_choice(Descriptor& d);
int finalize_config(Descriptor& d);

// Attributes of heuristics, configurations, engines and knob choices.
bool is_of_engines(int name);
int get_of_engines(const Descriptor& d, int name, int type, int64_t requested, int64_t* count, void* values);

bool fills_graphs(const Descriptor& plan);
int64_t workspace_of(const Descriptor& plan);

// gart_sim_count counts "engine 12 of cuDNN", and for each knob "knob 14 at 3 of cuDNN".
void count_run(const Descriptor& plan);

}  // namespace gart_sim::cudnn
#endif
