#include "runtime/fleet_hosts/station.h"

#include <algorithm>

namespace gart::fleet {

Station::Station(RankLink& link, std::shared_ptr<ServedModel> model, int tag, uint32_t device)
    : link_(link), model_(std::move(model)), tag_(tag), device_(device), thread_(&Station::loop, this) {}

Station::~Station() {
  stop_.store(true, std::memory_order_relaxed);
  thread_.join();
}

void Station::loop() {
  bool goes_on = true;
  // A failure here is a failure of the connection. Rank 0 either notices it, too, or is lost.
  const Result<void> done = guarded([&] {
    for (Pauses pauses; goes_on && !stop_.load(std::memory_order_relaxed); pauses.next()) {
      const std::vector<uint8_t> message = link_.poll(0, tag_);
      if (message.empty()) continue;
      goes_on = handle(message);
      pauses = {};
    }
  });
  if (!done) link_.lose(0, done.error().message);
}

bool Station::handle(const std::vector<uint8_t>& message) {
  Reader command(message);
  switch (command.get<Command>()) {
    case Command::load:
      return load(command), true;
    case Command::run:
      return run(command), true;
    default:
      return false;
  }
}

void Station::answer(int tag, const Result<void>& done, const Writer& good) {
  link_.post(0, tag, done ? good : answer_of(done.error()));
}

void Station::load(Reader& command) {
  std::vector<uint32_t> parts(command.get<uint32_t>());
  for (uint32_t& part : parts) part = command.get<uint32_t>();
  Writer good = good_answer();
  const Result<void> done = guarded([&] {
    model_->wait();
    if (engine_ != nullptr) return engine_->add(parts);
    engine_ = model_->engines->open_here(device_, parts);
  });
  if (done) good.text(engine_->device()).text(engine_->target());
  answer(command.get<int32_t>(), done, good);
}

TensorView Station::input_of(Reader& command, size_t index) {
  TensorView input;
  input.dtype = command.get<DType>();
  input.shape = command.shape();
  const size_t bytes = bytes_of(input);
  switch (command.get<At>()) {
    case At::in_memory:
      input.data = address(command.get<uint64_t>());
      break;
    case At::on_the_way:
      rooms_[index].reserve(std::max<size_t>(bytes, 1));
      arriving_.push_back(link_.receive(0, command.get<int32_t>(), {rooms_[index].data(), bytes}));
      input.data = rooms_[index].data();
      break;
    default:  // copied, because the command's bytes are not aligned
      rooms_[index].reserve(std::max<size_t>(bytes, 1));
      if (bytes > 0) std::memcpy(rooms_[index].data(), command.raw(bytes), bytes);
      input.data = rooms_[index].data();
  }
  return input;
}

void Station::run(Reader& command) {
  const auto part = command.get<uint32_t>();
  inputs_.resize(command.get<uint32_t>());
  while (rooms_.size() < inputs_.size()) rooms_.emplace_back();
  arriving_.clear();
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = input_of(command, i);
  for (Transfer& input : arriving_) input.wait();
  buffers_.resize(command.get<uint32_t>());
  outputs_.assign(buffers_.size(), {});
  results_.resize(buffers_.size());
  while (sent_.size() < buffers_.size()) sent_.emplace_back();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i] = {};
    const auto at = command.get<At>();
    if (at != At::not_decided) buffers_[i].dtype = command.get<DType>();
    if (at == At::in_memory) {
      buffers_[i].data = address(command.get<uint64_t>());
    } else {
      outputs_[i] = {true, command.get<int32_t>()};
    }
    if (at != At::not_decided) buffers_[i].bytes = command.get<uint64_t>();
    if (at == At::on_the_way) {
      sent_[i].reserve(std::max<size_t>(buffers_[i].bytes, 1));
      buffers_[i].data = sent_[i].data();
    }
  }
  const Result<void> done = engine_->run(part, inputs_, buffers_, results_);
  Writer good = good_answer();
  std::vector<Transfer> sending;
  for (size_t i = 0; done && i < buffers_.size(); ++i) {
    good.put(results_[i].dtype).shape(results_[i].shape);
    const std::span<const uint8_t> bytes(static_cast<const uint8_t*>(results_[i].data), bytes_of(results_[i]));
    if (outputs_[i].is_sent) sending.push_back(link_.send(0, outputs_[i].tag, bytes));
  }
  answer(command.get<int32_t>(), done, good);
  for (Transfer& output : sending) output.wait();
}

}  // namespace gart::fleet
