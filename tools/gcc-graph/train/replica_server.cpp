#include "tools/gcc-graph/train/replica_server.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "artifact_schema/container.h"
#include "runtime/errors.h"
#include "runtime/memory.h"
#include "tools/gcc-graph/fleet/rank_messages.h"
#include "tools/gcc-graph/train/replicas.h"

namespace gcg::tools {
namespace {

using nlohmann::json;

/// True if the file is the artifact that rank 0 has.
bool is_same(const std::string& path, const json& wanted) {
  const auto file = gart::guarded([&] { return gart::Mapping::of_file(path); });
  if (!file.ok() || file->bytes().size() != wanted.at("bytes").get<size_t>()) return false;
  const std::vector<uint8_t>& prologue = wanted.at("prologue").get_binary();
  return file->bytes().size() >= prologue.size() && std::equal(prologue.begin(), prologue.end(), file->bytes().begin());
}

class ReplicaServer {
 public:
  ReplicaServer(const gart::fleet::Hosts& hosts, const InputOptions& options)
      : messages_(hosts, 0), options_(options) {}

  void open(const std::function<std::string()>& path) {
    const json wanted = messages_.receive();
    std::string own;
    static_cast<void>(answer_of([&] { return json(own = path()); }));
    const bool lacks = own.empty() || !is_same(own, wanted);
    messages_.send(json{{"lacks", lacks}});
    if (lacks) {
      file_.resize(wanted.at("bytes").get<size_t>());
      messages_.receive(std::span<uint8_t>(file_));
    }
    messages_.send(answer_of([&] {
      program_ = lacks ? load_program(file_, options_) : load_program(own, options_);
      return json{{"device", program_->device()}};
    }));
  }

  /// Computes the batches of one group.
  void step() {
    const json request = messages_.receive();
    receive_states(request.at("states"));
    const size_t count = request.at("batches").size();
    inputs_.resize(count);
    for (size_t i = 0; i < count; ++i) receive_all(request.at("batches").at(i), inputs_[i]);
    std::vector<json> answers(count);
    while (invocations_.size() < count) invocations_.emplace_back();
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < count; ++i)
        threads.emplace_back([&, i] { answers[i] = answer_of([&] { return compute(i); }); });
    }
    messages_.send(json(answers));
    for (size_t i = 0; i < count; ++i)
      for (size_t o = 0; answers[i].contains("outputs") && o < answers[i].at("outputs").size(); ++o)
        messages_.send(invocations_[i]->output(o));
  }

 private:
  using Named = std::vector<std::pair<std::string, HostTensor>>;

  void receive_all(const json& descriptions, Named& tensors) const {
    tensors.resize(descriptions.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].first = descriptions.at(i).at("name").get<std::string>();
      messages_.receive(descriptions.at(i), tensors[i].second);
    }
  }

  void receive_states(const json& descriptions) {
    receive_all(descriptions, states_);
    state_error_ = {};
    for (const auto& [name, tensor] : states_)
      if (const auto set = program_->set_state(name, tensor.view()); !set.ok()) state_error_ = set.error().message;
  }

  json compute(size_t index) {
    if (!state_error_.empty()) fail(state_error_);
    if (invocations_[index] == nullptr)
      invocations_[index] =
          std::make_unique<gart::Invocation>(value_or_throw(program_->new_invocation(kGradientsEntry)));
    gart::Invocation& invocation = *invocations_[index];
    for (const auto& [name, tensor] : inputs_[index]) value_or_throw(invocation.set_input(name, tensor.view()));
    value_or_throw(invocation.run());
    json outputs = json::array();
    const auto infos = program_->outputs(kGradientsEntry);
    for (size_t o = 0; o < infos.size(); ++o) outputs.push_back(described(infos[o].name, invocation.output(o)));
    return {{"outputs", std::move(outputs)}};
  }

  const RankMessages messages_;
  const InputOptions& options_;
  std::vector<uint8_t> file_;  // if rank 0 sent it
  std::optional<gart::Program> program_;
  Named states_;
  std::string state_error_;
  std::vector<Named> inputs_;                                   // per batch
  std::vector<std::unique_ptr<gart::Invocation>> invocations_;  // per batch
};

}  // namespace

void serve_replicas(const gart::fleet::Hosts& hosts, const std::function<std::string()>& path,
                    const InputOptions& options) {
  ReplicaServer server(hosts, options);
  try {
    for (server.open(path);;) server.step();
  } catch (const LostRank&) {
    // Rank 0 has left the job, or is lost: serve() knows.
  }
}

}  // namespace gcg::tools
