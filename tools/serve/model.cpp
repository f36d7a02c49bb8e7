#include "tools/serve/model.h"

#include <algorithm>

#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

bool is_wanted(std::span<const std::string> requested, std::string_view name) {
  return requested.empty() || std::ranges::find(requested, name) != requested.end();
}

}  // namespace

void refuse_error(const gart::Error& error) {
  using gart::ErrorCode;
  const bool is_request = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::run_failed;
  throw Refusal(is_request ? 400 : error.code == ErrorCode::out_of_memory ? 503 : 500, error.message);
}

Model::Model(gart::store::StoredVersion stored, const std::string& path, std::shared_ptr<const ArtifactBytes> bytes,
             const DeviceOptions& options, MemoryTotal memory)
    : stored_(std::move(stored)), memory_(std::move(memory)), file_(memory_, stored_.bytes), bytes_(std::move(bytes)) {
  // The file needs no verification: the store has compared its digest with the file that was verified when it was
  // added.
  if (!stored_.facts.groups.empty() && options.device.empty()) {
    gart::fleet::LoadOptions load;
    load.verify = false;
    load.threads = options.threads;
    load.manager = options.manager.get();
    fleet_ = value_or_refuse(bytes_ ? gart::fleet::load(bytes_->get(), load) : gart::fleet::load(path, load));
  } else {
    gart::LoadOptions load;
    load.verify = false;
    load.threads = options.threads;
    load.device = options.device;
    program_ = value_or_refuse(bytes_ ? gart::load(bytes_->get(), load) : gart::load(path, load));
  }
}

std::string Model::device() const {
  if (program_) return program_->device();
  std::string all;
  for (const gart::fleet::DeviceInfo& device : fleet_->devices()) all += (all.empty() ? "" : ",") + device.name;
  return all;
}

void Model::check_entry(const std::string& entry) const {
  if (entry.empty()) return;
  const std::vector<std::string> all = program_ ? program_->entry_points() : std::vector<std::string>();
  if (std::ranges::find(all, entry) == all.end())
    refuse(400, "the model '", id(), "' has no entry point '", entry, "' that this server runs");
}

std::span<const gart::TensorInfo> Model::inputs(const std::string& entry) const {
  check_entry(entry);
  return program_ ? program_->inputs(entry) : fleet_->inputs();
}

std::span<const gart::TensorInfo> Model::outputs(const std::string& entry) const {
  check_entry(entry);
  return program_ ? program_->outputs(entry) : fleet_->outputs();
}

std::string_view Model::kind_of(const std::string& entry) const {
  for (const gart::store::Operation& operation : stored_.facts.operations)
    if (entry.empty() || operation.entry == entry) return operation.kind;
  return "";
}

int64_t Model::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = file_.bytes();
  for (const auto& [entry, all] : idle_)
    for (const Borrowed& one : all) bytes += one.memory.bytes();
  return bytes;
}

void Model::check_output(const std::string& entry, const std::string& name) const {
  const auto has = [&](std::span<const gart::TensorInfo> infos) {
    return std::ranges::find(infos, name, &gart::TensorInfo::name) != infos.end();
  };
  if (!has(outputs(entry)) && !(fleet_ && has(fleet_->values())))
    refuse(400, "the model '", id(), "' has no output '", name, "'");
}

Model::Borrowed Model::borrow(const std::string& entry) {
  {
    const std::lock_guard lock(mutex_);
    std::vector<Borrowed>& idle = idle_[entry];
    if (!idle.empty()) {
      Borrowed borrowed = std::move(idle.back());
      idle.pop_back();
      return borrowed;
    }
  }
  return {value_or_refuse(program_->new_invocation(entry)), CountedBytes(memory_, 0)};
}

void Model::give_back(const std::string& entry, Borrowed borrowed) {
  borrowed.memory.set(borrowed.invocation.memory().arena_bytes);
  const std::lock_guard lock(mutex_);
  idle_[entry].push_back(std::move(borrowed));
}

void Model::run(const std::string& entry, std::span<const gart::NamedTensor> inputs,
                std::span<const std::string> requested, const Take& take) {
  if (fleet_) return run_on_fleet(inputs, requested, take);
  if (kind_of(entry) == "training") has_changed_ = true;
  Borrowed borrowed = borrow(entry);
  gart::Invocation& invocation = borrowed.invocation;
  for (const gart::NamedTensor& input : inputs) value_or_refuse(invocation.set_input(input.name, input.tensor));
  value_or_refuse(invocation.run());
  const std::span<const gart::TensorInfo> infos = outputs(entry);
  for (size_t i = 0; i < infos.size(); ++i)
    if (is_wanted(requested, infos[i].name)) take(infos[i].name, invocation.output(i));
  give_back(entry, std::move(borrowed));
}

void Model::run_on_fleet(std::span<const gart::NamedTensor> inputs, std::span<const std::string> requested,
                         const Take& take) {
  std::optional<gart::fleet::Request> request;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_requests_.empty()) {
      request = std::move(idle_requests_.back());
      idle_requests_.pop_back();
    }
  }
  if (!request) request = value_or_refuse(fleet_->new_request());
  for (const gart::NamedTensor& input : inputs) value_or_refuse(request->set_input(input.name, input.tensor));
  const std::vector<std::string_view> names(requested.begin(), requested.end());
  value_or_refuse(request->fetch(names));
  value_or_refuse(request->run());
  for (size_t i = 0; i < request->outputs(); ++i)
    take(requested.empty() ? fleet_->outputs()[i].name : requested[i], request->output(i));
  const std::lock_guard lock(mutex_);
  idle_requests_.push_back(std::move(*request));
}

void Model::run(const gart::Session& session, const std::string& entry, std::span<const gart::NamedTensor> inputs,
                std::span<const std::string> requested, const Take& take) {
  for (const gart::Tensor& output : value_or_refuse(session.run(inputs, entry)))
    if (is_wanted(requested, output.name())) take(output.name(), output);
}

gart::Session Model::new_session() const {
  if (!program_) refuse(400, "the model '", id(), "' runs on a fleet, which keeps no sequences");
  return value_or_refuse(program_->new_session());
}

gart::Generator Model::new_generator() const {
  const gart::Session session = new_session();
  return value_or_refuse(gart::Generator::create(*program_, session));
}

}  // namespace gcg::serve
