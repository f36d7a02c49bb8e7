#include "runtime/fleet_hosts/worker.h"

#include <sys/mman.h>

#include <algorithm>

#include "artifact_schema/container.h"
#include "runtime/fleet/lane.h"

namespace gart::fleet {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr int kSilences = 4;  // rank 0 may be silent for this many times its own limit

struct ModelMessage {
  std::string path;
  uint64_t bytes = 0;
  Digest digest{};
  int file_tag = 0, ready_tag = 0, answer = 0;
  LoadOptions options;
};

ModelMessage read_model(Reader& command) {
  ModelMessage model;
  model.path = command.text();
  model.bytes = command.get<uint64_t>();
  model.digest = command.get<Digest>();
  model.file_tag = command.get<int32_t>();
  model.ready_tag = command.get<int32_t>();
  model.options.verify = command.get<bool>();
  model.options.threads = command.get<int32_t>();
  model.options.spin = command.get<bool>();
  model.options.blocking = command.get<bool>();
  model.options.devices.resize(command.get<uint32_t>());
  for (DeviceHere& here : model.options.devices) {
    here.name = command.text();
    here.device = command.text();
  }
  model.answer = command.get<int32_t>();
  return model;
}

/// This rank's copy of the file; without bytes if it has none, or another one.
Mapping own_copy(const ModelMessage& wanted) {
  Mapping file;
  if (wanted.path.empty()) return file;
  const Result<void> opened = guarded([&] { file = Mapping::of_file(wanted.path); });
  if (!opened || file.bytes().size() != wanted.bytes || wanted.bytes < sizeof(Prologue)) return {};
  Prologue prologue;
  std::memcpy(&prologue, file.bytes().data(), sizeof prologue);
  return prologue.digest == wanted.digest ? std::move(file) : Mapping();
}

/// Opens the model; see Command::model.
void open_model(RankLink& link, ServedModel& model, const ModelMessage& wanted) {
  Mapping file = own_copy(wanted);
  const bool lacks = file.bytes().empty();
  Transfer arrives;
  const Result<void> prepared = guarded([&] {
    if (!lacks) return;
    model.bytes.reserve(std::max<size_t>(wanted.bytes, 1));
    arrives = link.receive(0, wanted.file_tag, {model.bytes.data(), wanted.bytes});
  });
  Writer first = good_answer();
  link.post(0, wanted.answer, prepared ? first.put(lacks) : answer_of(prepared.error()));
  if (!prepared) throw Failure{prepared.error()};
  arrives.wait();
  const Result<void> opened = guarded([&] {
    const std::span<const uint8_t> bytes =
        lacks ? std::span<const uint8_t>(model.bytes.data(), wanted.bytes) : file.bytes();
    model.engines = std::make_unique<ProgramEngines>(wanted.options, true);
    static_cast<void>(model.engines->read(std::move(file), bytes, {}));
    // Digests read the whole file. This rank keeps only the pages of its own parts.
    if (!lacks) madvise(const_cast<uint8_t*>(bytes.data()), bytes.size(), MADV_DONTNEED);
  });
  link.post(0, wanted.ready_tag, opened ? good_answer() : answer_of(opened.error()));
  if (!opened) throw Failure{opened.error()};
}

}  // namespace

Worker::~Worker() {
  for (auto& [number, model] : models_) model.stations.clear();
}

void Worker::serve() {
  answer(kHelloTag, std::move(Writer().text(link_.host())));
  const int64_t silence_ns = job_.host_options.silence_ms * kNsPerMs * kSilences;
  int64_t heard = now_ns() + kStartNs;  // rank 0 begins when all ranks have started
  for (Pauses pauses;; pauses.next()) {
    const std::vector<uint8_t> message = link_.poll(0, kCommandTag);
    if (!message.empty()) {
      if (!handle(message)) return;
      heard = now_ns();
      pauses = {};
    }
    go_on();
    if (now_ns() - heard > silence_ns) link_.lose(0, text("it has been silent for ", silence_ns / kNsPerMs, " ms"));
    if (link_.is_lost(0)) link_.fail_lost(0);
  }
}

void Worker::answer(int tag, Writer message) {
  auto bytes = std::make_unique<Writer>(std::move(message));
  Transfer transfer = link_.send(0, tag, bytes->bytes());
  sending_.push_back({std::move(bytes), std::move(transfer)});
}

/// Ends the transfers that are complete.
void Worker::go_on() {
  std::erase_if(sending_, [](Sending& sending) { return sending.transfer.is_done(); });
  std::erase_if(receiving_, [&](Receiving& receiving) {
    if (!receiving.transfer.is_done()) return false;
    answer(receiving.answer, good_answer());
    return true;
  });
}

bool Worker::handle(const std::vector<uint8_t>& message) {
  Reader command(message);
  switch (command.get<Command>()) {
    case Command::ping:
      return answer(kPongTag, std::move(Writer().put(uint8_t{1}))), true;
    case Command::model:
      return begin_model(command), true;
    case Command::station: {
      const int tag = command.get<int32_t>();
      Model& model = models_[command.get<uint32_t>()];
      model.stations.push_back(std::make_unique<Station>(link_, model.open, tag, command.get<uint32_t>()));
      return true;
    }
    case Command::allocate:
      return allocate(command), true;
    case Command::release:
      return memory_.erase(command.get<uint64_t>()), true;
    case Command::send:
      return send(command), true;
    case Command::receive:
      return receive(command), true;
    case Command::forget:
      return models_.erase(command.get<uint32_t>()), true;
    default:
      return false;
  }
}

/// Opens the model in a thread of its own, because digests of large files take longer than a ping may take.
void Worker::begin_model(Reader& command) {
  const auto number = command.get<uint32_t>();
  Model& model = models_[number];
  model.open->begin(
      [&link = link_, wanted = read_model(command)](ServedModel& open) { open_model(link, open, wanted); });
}

void Worker::allocate(Reader& command) {
  size_t bytes = command.get<uint64_t>();
  Writer good = good_answer();
  const Result<void> done = guarded([&] {
    Block block;
    block.reserve(bytes);
    const uint64_t key = number(block.data());
    good.put(key).put(uint64_t{block.capacity()});
    memory_.emplace(key, std::move(block));
  });
  answer(command.get<int32_t>(), done ? good : answer_of(done.error()));
}

void Worker::send(Reader& command) {
  const auto* const from = static_cast<const uint8_t*>(address(command.get<uint64_t>()));
  const size_t bytes = command.get<uint64_t>();
  const int rank = command.get<int32_t>();
  sending_.push_back({nullptr, link_.send(rank, command.get<int32_t>(), {from, bytes})});
}

void Worker::receive(Reader& command) {
  auto* const to = static_cast<uint8_t*>(address(command.get<uint64_t>()));
  const size_t bytes = command.get<uint64_t>();
  const int rank = command.get<int32_t>();
  Transfer transfer = link_.receive(rank, command.get<int32_t>(), {to, bytes});
  receiving_.push_back({std::move(transfer), command.get<int32_t>()});
}

}  // namespace gart::fleet
