// The C API of jobs of several processes.
#include "runtime/c_status.h"
#include "runtime/fleet/c_handles.h"

using gart::fleet::last_error;

gart_status gart_hosts_join(int silence_ms, gart_hosts** hosts) {
  return gart::status_of(last_error(), [&] {
    gart::require(hosts);
    *hosts = nullptr;
    gart::fleet::HostOptions options;
    if (silence_ms != 0) options.silence_ms = silence_ms;
    *hosts = new gart_hosts{value_or_fail(gart::fleet::Hosts::join(options))};
  });
}

void gart_hosts_free(gart_hosts* hosts) { delete hosts; }

int gart_hosts_rank(const gart_hosts* hosts) { return hosts == nullptr ? -1 : hosts->hosts.rank(); }

int gart_hosts_size(const gart_hosts* hosts) { return hosts == nullptr ? 0 : hosts->hosts.size(); }

gart_status gart_hosts_serve(const gart_hosts* hosts) {
  return gart::status_of(last_error(), [&] {
    gart::require(hosts);
    const gart::Result<void> done = hosts->hosts.serve();
    if (!done) throw gart::Failure{done.error()};
  });
}
