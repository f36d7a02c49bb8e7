#include "tools/gcc-graph/fleet/job.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

int number_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? 0 : std::atoi(value);
}

/// The number of processes in the job, from the variables of Open MPI and of launchers with PMI, such as MPICH's.
int processes() { return std::max({1, number_of("OMPI_COMM_WORLD_SIZE"), number_of("PMI_SIZE")}); }

/// Handles SIGTERM, which a launcher sends to all processes of a job if one process dies.
extern "C" void say_that_the_job_ended(int) {
  constexpr char kWords[] = "gcc-graph: the launcher ended this process, because another process of the job failed\n";
  static_cast<void>(!write(STDERR_FILENO, kWords, sizeof kWords - 1));
  _exit(128 + SIGTERM);
}

}  // namespace

void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work) {
  if (processes() == 1) return work(nullptr);
  const gart::fleet::Hosts hosts = value_or_throw(gart::fleet::Hosts::join());
  if (hosts.rank() != 0) return value_or_throw(hosts.serve());
  std::signal(SIGTERM, say_that_the_job_ended);
  work(&hosts);
}

}  // namespace gcg::tools
