// The job of several processes that started this one, for models over several hosts.
#pragma once

#include <functional>

#include "gart/hosts.hpp"

namespace gcg::tools {

/// Calls work(hosts). In a job of several processes, such as one that mpirun started, `hosts` is rank 0's place in it,
/// and the other ranks run the parts that rank 0 sends instead of calling `work`. Without a job `hosts` is null. Throws
/// Error.
void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work);
/// On ranks other than 0, a second thread calls help(hosts) meanwhile, which answers messages of `work` until rank 0
/// leaves the job.
void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work,
            const std::function<void(const gart::fleet::Hosts& hosts)>& help);

}  // namespace gcg::tools
