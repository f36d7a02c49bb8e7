#include "runtime/fleet_hosts/remote_model.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <set>

#include "artifact_schema/container.h"
#include "runtime/fleet_hosts/remote_engine.h"

namespace gart::fleet {
namespace {

/// The absolute path, for processes in other folders. Returns `path` unchanged if there is no such file.
std::string absolute(const std::string& path) {
  char found[PATH_MAX];
  return path.empty() || realpath(path.c_str(), found) == nullptr ? path : found;
}

}  // namespace

std::vector<int> ranks_of(const std::vector<Device>& devices, const std::vector<std::string>& machines) {
  std::vector<std::string> hosts;  // in the order of the devices; "" is rank 0
  for (const Device& device : devices)
    if (std::find(hosts.begin(), hosts.end(), device.host) == hosts.end()) hosts.push_back(device.host);
  std::map<std::string, int> ranks;
  std::set<int> taken;
  const auto give = [&](const std::string& host, int rank) {
    ranks[host] = rank;
    taken.insert(rank);
  };
  if (std::find(hosts.begin(), hosts.end(), "") != hosts.end()) give("", 0);
  for (const std::string& host : hosts)
    for (int rank = 0; rank < int(machines.size()) && !ranks.contains(host); ++rank)
      if (machines[size_t(rank)] == host && !taken.contains(rank)) give(host, rank);
  std::string names;
  int free = 0;
  for (const std::string& host : hosts) {
    names += text(names.empty() ? "" : ", ", host.empty() ? "this host" : text("'", host, "'"));
    while (taken.contains(free)) ++free;
    if (!ranks.contains(host)) give(host, free);
  }
  if (hosts.size() > machines.size())
    fail(ErrorCode::invalid_argument, "the file's devices are on ", hosts.size(), " hosts (", names,
         "), but the job has ", machines.size(), machines.size() == 1 ? " process" : " processes");
  std::vector<int> of_devices;
  for (const Device& device : devices) of_devices.push_back(ranks.at(device.host));
  return of_devices;
}

RemoteModel::RemoteModel(std::shared_ptr<RankJob> job, const Assembly& assembly, std::span<const uint8_t> file,
                         const std::string& path, const LoadOptions& options)
    : job_(std::move(job)),
      file_(file),
      path_(absolute(path)),
      number_(job_->models++),
      introduced_(size_t(job_->link.size())) {
  if (job_->link.rank() != 0)
    fail(ErrorCode::invalid_argument, "rank ", job_->link.rank(), " cannot load: rank 0 of a job loads, others serve");
  ranks_ = ranks_of(assembly.devices, job_->machines);
  for (const Device& device : assembly.devices) names_.push_back(device.name);
  options_.put(options.verify).put(int32_t{options.threads}).put(options.spin).put(options.blocking);
  options_.put(uint32_t(options.devices.size()));
  for (const DeviceHere& here : options.devices) options_.text(here.name).text(here.device);
}

RemoteModel::~RemoteModel() {
  for (int rank = 1; rank < job_->link.size(); ++rank) {
    if (introduced_[size_t(rank)] == 0) continue;
    Writer command;
    command.put(Command::forget).put(number_);
    static_cast<void>(guarded([&] { job_->link.post(rank, kCommandTag, command); }));
  }
}

void RemoteModel::introduce(int rank) {
  RankLink& link = job_->link;
  const int file_tag = link.new_tag(), ready_tag = link.new_tag();
  std::vector<uint8_t> second(4096);
  Transfer ready = link.receive(rank, ready_tag, second);
  Writer command;
  Prologue prologue;
  std::memcpy(&prologue, file_.data(), sizeof prologue);
  command.put(Command::model).put(number_).text(path_).put(uint64_t{file_.size()}).put(prologue.digest);
  command.put(int32_t{file_tag}).put(int32_t{ready_tag}).raw(options_.bytes().data(), options_.bytes().size());
  introduced_[size_t(rank)] = 1;
  const std::vector<uint8_t> first = link.ask(rank, kCommandTag, std::move(command));
  Reader answer(first);
  check_answer(answer);
  if (answer.get<bool>()) link.send(rank, file_tag, file_).wait();
  ready.wait();
  Reader opened(second);
  check_answer(opened);
}

std::unique_ptr<PartEngine> RemoteModel::open(uint32_t device, std::span<const uint32_t> parts) {
  const int rank = ranks_[device];
  try {
    {
      const std::lock_guard lock(mutex_);
      if (introduced_[size_t(rank)] == 0) introduce(rank);
    }
    auto engine = std::make_unique<RemoteEngine>(job_, rank, number_, device);
    engine->add(parts);
    return engine;
  } catch (const Failure& failure) {
    fail(failure.error.code, "device '", names_[device], "' on rank ", rank, " (", job_->machines[size_t(rank)],
         "): ", failure.error.message);
  }
}

std::unique_ptr<RemoteParts> RankJob::share(const Assembly& assembly, std::span<const uint8_t> file,
                                            const std::string& path, const LoadOptions& options) {
  return std::make_unique<RemoteModel>(shared_from_this(), assembly, file, path, options);
}

}  // namespace gart::fleet
