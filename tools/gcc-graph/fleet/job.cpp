#include "tools/gcc-graph/fleet/job.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/printable.h"
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

/// Serves until rank 0 leaves the job, or is lost.
void serve(const gart::fleet::Hosts& hosts, const std::function<void(const gart::fleet::Hosts& hosts)>& help) {
  if (!help) return value_or_throw(hosts.serve());
  std::signal(SIGTERM, SIG_IGN);  // of a launcher that ends the job: rank 0 may still save its work
  gart::Result<void> served;
  std::thread server([&] { served = hosts.serve(); });
  try {
    help(hosts);
  } catch (const std::exception& error) {
    // The other thread would go on. The launcher ends the job if a process ends without leaving it.
    std::cerr << "gcc-graph: " << error.what() << '\n';
    _exit(1);
  }
  server.join();
  value_or_throw(std::move(served));
}

}  // namespace

void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work) { in_job(work, {}); }

void in_job(const std::function<void(const gart::fleet::Hosts* hosts)>& work,
            const std::function<void(const gart::fleet::Hosts& hosts)>& help) {
  if (processes() == 1) return work(nullptr);
  const gart::fleet::Hosts hosts = value_or_throw(gart::fleet::Hosts::join());
  if (hosts.rank() != 0) return serve(hosts, help);
  std::signal(SIGTERM, say_that_the_job_ended);
  try {
    work(&hosts);
  } catch (const Error& error) {
    // The other ranks fail when this one leaves the job. The launcher drops messages that come after that.
    std::cerr << "gcc-graph: " << printable(error.what()) << '\n';
    throw CLI::RuntimeError(1);
  }
}

}  // namespace gcg::tools
