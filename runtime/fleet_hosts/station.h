// A device of a model on a rank that serves: a thread that loads and runs the parts which rank 0 sends.
#pragma once

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/fleet/program_engines.h"
#include "runtime/fleet_hosts/link.h"
#include "runtime/memory.h"

namespace gart::fleet {

/// A model that a rank has opened, or is opening.
struct OpenModel {
  std::unique_ptr<ProgramEngines> engines;
  Block bytes;                     // the file, if rank 0 sent it
  std::shared_future<void> ready;  // throws Failure if the model cannot be opened
};

class Station {
 public:
  /// `tag`: of its commands. `silence_ns`: it ends if the link is closed, see Worker.
  Station(Link& link, std::shared_ptr<OpenModel> model, int tag, uint32_t device);
  ~Station();  ///< ends the thread
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

 private:
  void loop();
  bool handle(const std::vector<uint8_t>& message);  // false: the end
  void load(Reader& command);
  void run(Reader& command);
  TensorView input_of(Reader& command, size_t index);
  void receive_inputs();
  void answer(int tag, const Result<void>& done, const Writer& good);

  /// Where an output goes.
  struct Output {
    bool is_sent = false;
    int tag = 0;
  };
  Link& link_;
  const std::shared_ptr<OpenModel> model_;
  const int tag_;
  const uint32_t device_;
  std::unique_ptr<PartEngine> engine_;
  // These belong to the current run:
  std::vector<TensorView> inputs_, results_;
  std::vector<OutputBuffer> buffers_;
  std::vector<Output> outputs_;
  std::vector<Block> rooms_, sent_;  // per input that arrives; per output that is sent
  std::vector<Transfer> arriving_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace gart::fleet
