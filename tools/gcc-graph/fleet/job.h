// The job of several processes that started this one, for models over several hosts.
#pragma once

#include <functional>

#include "gart/hosts.hpp"

namespace gcg::tools {

/// Calls work(hosts). Without a job of several processes, `hosts` is null. In a job, for example one that mpirun
/// started, only rank 0 calls `work`, with its place in the job; the other ranks run the parts that rank 0 sends.
/// Throws Error.
void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work);

}  // namespace gcg::tools
