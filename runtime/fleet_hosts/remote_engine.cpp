#include "runtime/fleet_hosts/remote_engine.h"

namespace gart::fleet {
namespace {

constexpr uint32_t kStations = kFirstFreeTag - kFirstStationTag;

}  // namespace

RemoteEngine::RemoteEngine(std::shared_ptr<RankJob> job, int rank, uint32_t model, uint32_t device)
    : job_(std::move(job)),
      link_(job_->link),
      space_(*job_->spaces[size_t(rank)]),
      rank_(rank),
      tag_(kFirstStationTag + int(job_->stations++ % kStations)) {
  Writer command;
  command.put(Command::station).put(int32_t{tag_}).put(model).put(device);
  link_.post(rank_, kCommandTag, command);
}

RemoteEngine::~RemoteEngine() {
  static_cast<void>(guarded([&] { link_.post(rank_, tag_, Writer().put(Command::close)); }));
}

void RemoteEngine::add(std::span<const uint32_t> parts) {
  Writer command;
  command.put(Command::load).put(uint32_t(parts.size()));
  for (const uint32_t part : parts) command.put(part);
  const std::vector<uint8_t> answer = link_.ask(rank_, tag_, std::move(command));
  Reader reader(answer);
  check_answer(reader);
  if (!target_.empty()) return;  // the lane may be reading them
  device_ = text("rank ", rank_, " ", reader.text());
  target_ = reader.text();
}

void RemoteEngine::put_input(const TensorView& input) {
  command_.put(input.dtype).shape(input.shape);
  const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(input.data), bytes_of(input));
  if (is_there(input.device)) {
    command_.put(At::in_memory).put(number(input.data));
  } else if (bytes.size() <= kInMessage) {
    command_.put(At::in_message).raw(bytes.data(), bytes.size());
  } else {
    inputs_.push_back({link_.new_tag(), bytes});
    command_.put(At::on_the_way).put(int32_t{inputs_.back().tag});
  }
}

void RemoteEngine::put_output(size_t index, const OutputBuffer& output) {
  if (output.data == nullptr) {
    command_.put(At::not_decided).put(int32_t{tags_[index] = link_.new_tag()});
    return;
  }
  command_.put(is_there(output.device) ? At::in_memory : At::on_the_way).put(output.dtype);
  if (is_there(output.device)) {
    command_.put(number(output.data));
  } else {
    const int tag = link_.new_tag();
    outputs_[index] = link_.receive(rank_, tag, {static_cast<uint8_t*>(output.data), output.bytes});
    command_.put(int32_t{tag});
  }
  command_.put(uint64_t{output.bytes});
}

void RemoteEngine::take_output(size_t index, const OutputBuffer& output, Reader& answer, TensorView& result) {
  result = {output.data, answer.get<DType>(), answer.shape(), "cpu"};
  if (output.data != nullptr) {
    outputs_[index].wait();
    if (is_there(output.device)) result.device = space_.name();
    return;
  }
  Block& room = results_[index];
  room.reserve(std::max<size_t>(bytes_of(result), 1));
  link_.receive(rank_, tags_[index], {room.data(), bytes_of(result)}).wait();
  result.data = room.data();
}

Result<void> RemoteEngine::run(uint32_t entry, std::span<const TensorView> inputs,
                               std::span<const OutputBuffer> outputs, std::span<TensorView> results) {
  return guarded([&] {
    inputs_.clear();
    outputs_.clear();
    outputs_.resize(outputs.size());
    tags_.resize(outputs.size());
    while (results_.size() < outputs.size()) results_.emplace_back();
    command_ = {};
    command_.put(Command::run).put(entry).put(uint32_t(inputs.size()));
    for (const TensorView& input : inputs) put_input(input);
    command_.put(uint32_t(outputs.size()));
    for (size_t i = 0; i < outputs.size(); ++i) put_output(i, outputs[i]);
    constexpr size_t kErrorBytes = 4096, kOutputBytes = 16 + 8 * kMaxRank;
    answer_.resize(kErrorBytes + kOutputBytes * outputs.size());
    const int tag = link_.new_tag();
    command_.put(int32_t{tag});
    Transfer answered = link_.receive(rank_, tag, answer_);
    link_.post(rank_, tag_, command_);
    // The rank receives all inputs before it can fail, so these transfers end.
    std::vector<Transfer> sent;
    for (const OnTheWay& input : inputs_) sent.push_back(link_.send(rank_, input.tag, input.bytes));
    for (Transfer& transfer : sent) transfer.wait();
    answered.wait();
    Reader answer(answer_);
    check_answer(answer);
    for (size_t i = 0; i < outputs.size(); ++i) take_output(i, outputs[i], answer, results[i]);
  });
}

}  // namespace gart::fleet
