// Computes the graphs of the simulated cuDNN.
#ifndef GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_PROGRAM_H
#define GART_TESTS_CUDA_SIM_LIBRARIES_CUDNN_PROGRAM_H

#include "tests/cuda/sim/libraries/cudnn_descriptor.h"

namespace gart_sim::cudnn {

// Dense, row-major, always f32 whatever the type in memory is.
struct Values {
  std::vector<int64_t> extents;
  std::vector<float> data;
};

int64_t product(const std::vector<int64_t>& values);

// The operations that a plan keeps, with copies of the attributes that they point to.
struct Program {
  struct Operation {
    int type, mode;                         // mode: for pointwise operations and reductions
    std::vector<const Descriptor*> inputs;  // pointwise, convolution: x, b or w; attention: q, k, v, scale; may be null
    const Descriptor *result, *how;         // how: for convolutions
  };
  std::vector<Operation> operations;

  explicit Program(const Descriptor& graph);

 private:
  const Descriptor* keep(const Descriptor* d);
  std::map<const Descriptor*, std::shared_ptr<Descriptor>> copies_;
};

using Memory = std::map<int64_t, void*>;  // by uid: all tensors that are not virtual; scalars are in host memory

void run(const Program& program, const Memory& memory);

Values convolve(const Values& x, const Values& w, const std::vector<int64_t>& out, const Descriptor& how);
Values multiply(const Values& a, const Values& b);
Values attend(const Values& q, const Values& k, const Values& v, float scale);

}  // namespace gart_sim::cudnn
#endif
