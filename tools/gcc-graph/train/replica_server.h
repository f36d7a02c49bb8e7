// The work of a rank other than 0 in a training job.
#pragma once

#include <functional>
#include <string>

#include "gart/hosts.hpp"
#include "tools/gcc-graph/io/model_inputs.h"

namespace gcg::tools {

/// Computes gradients for rank 0's HostReplicas, until rank 0 leaves the job. `path`: of this rank's own copy of the
/// artifact; may throw if there is none. Does not fail: rank 0 gets the errors.
void serve_replicas(const gart::fleet::Hosts& hosts, const std::function<std::string()>& path,
                    const InputOptions& options);

}  // namespace gcg::tools
