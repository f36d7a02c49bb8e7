// A device of a model, on a rank other than 0: a thread that loads and runs the parts which rank 0 sends.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/fleet/program_engines.h"
#include "runtime/fleet_hosts/rank_link.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// A model that a rank has opened, or is opening.
struct ServedModel {
  std::unique_ptr<ProgramEngines> engines;
  Block bytes;  // the file, if rank 0 sent it
  ~ServedModel() {
    if (opener_.joinable()) opener_.join();
  }
  /// Calls open(*this) in a thread of its own.
  template <class Open>
  void begin(Open open) {
    opener_ = std::thread([this, open = std::move(open)] {
      const Result<void> done = guarded([&] { open(*this); });
      if (!done) error_ = done.error();
      state_.store(done ? 1 : 2, std::memory_order_release);
    });
  }
  /// Waits until the model is open. Throws Failure if it could not be opened.
  void wait() const {
    for (Pauses pauses; state_.load(std::memory_order_acquire) == 0; pauses.next()) {
    }
    if (state_.load(std::memory_order_relaxed) == 2) throw Failure{error_};
  }

 private:
  std::atomic<int> state_{0};  // 1: open, 2: failed
  Error error_;
  std::thread opener_;
};

class Station {
 public:
  /// `tag`: the tag of the station's commands. The thread also ends if rank 0 is lost.
  Station(RankLink& link, std::shared_ptr<ServedModel> model, int tag, uint32_t device);
  ~Station();  ///< ends the thread
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

 private:
  void loop();
  bool handle(const std::vector<uint8_t>& message);  // returns false if the station must end
  void load(Reader& command);
  void run(Reader& command);
  TensorView input_of(Reader& command, size_t index);
  void receive_inputs();
  void answer(int tag, const Result<void>& done, const Writer& good);

  /// How an output reaches its reader: as a message with this tag, or in this rank's memory.
  struct Output {
    bool is_sent = false;
    int tag = 0;
  };
  RankLink& link_;
  const std::shared_ptr<ServedModel> model_;
  const int tag_;
  const uint32_t device_;
  std::unique_ptr<PartEngine> engine_;
  // These belong to the current run:
  std::vector<TensorView> inputs_, results_;
  std::vector<OutputBuffer> buffers_;
  std::vector<Output> outputs_;
  std::vector<Block> rooms_, sent_;  // memory of the inputs that arrive as messages, and of the outputs that are sent
  std::vector<Transfer> arriving_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gart::fleet
